-- Grain: school, course of a student's transcript. Live rows only. Marks are the platform's text. A dash is null (raw's
--   _extra has it).
select
    _school_id as school_id,
    student_id as v1_student_id,
    {{ core_semester('rows') }} as semester_id,
    nullif(source_id, 0) as source_id,
    nullif(class_id, 0) as v1_class_id,
    name as course_name,
    nullif(csin, '') as class_code,
    class_name,
    subject as subject_name,
    subject_en as subject_name_en,
    attribute as attribute_name,
    teachers as teacher_names,
    cast(start_at as integer) as first_week,
    cast(end_in as integer) as last_week,
    {{ measure('credit') }} as credit,
    {{ measure('gained_credit') }} as gained_credit,
    nullif(trim(evaluation['100']), '') as score_text,
    nullif(trim(evaluation['abc']), '') as level,
    nullif(trim(evaluation['gpa']), '') as grade_points_text,
    nullif(trim(evaluation['rank']), '') as rank_text,
    coalesce(published, false) as is_published,
    published_at
from {{ source('raw', 'transcript_courses') }} as rows
{{ join_core_semester('rows') }}
where _deleted_at is null
