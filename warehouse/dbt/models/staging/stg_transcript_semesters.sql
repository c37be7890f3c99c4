-- Grain: school, student of the v1 interface, semester. Live rows only. The figures are the platform's own.
select
    _school_id as school_id,
    student_id as v1_student_id,
    {{ core_semester('rows') }} as semester_id,
    {{ measure('grade_point_average') }} as platform_gpa,
    {{ measure('total_credit') }} as platform_credits,
    {{ measure('gained_credit') }} as platform_gained_credits
from {{ source('raw', 'transcript_semesters') }} as rows
{{ join_core_semester('rows') }}
where _deleted_at is null
