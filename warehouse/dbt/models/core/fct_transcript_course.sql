-- Grain: school, student, semester, course of the transcript.
-- Rules: the platform sends marks as text; marks that are numbers are shown as numbers too. rank is the number before
--   a slash. Ids are v3's (bridge_v1_person, dim_teaching_class).
-- Source: raw.transcript_courses.
with courses as (
    select * from {{ ref('stg_transcript_courses') }}
),

classes as (
    select * from {{ ref('dim_teaching_class') }}
),

people as (
    select * from {{ ref('bridge_v1_person') }}
)

select
    courses.school_id,
    people.person_id as student_id,
    courses.semester_id,
    courses.source_id,
    coalesce(classes.course_class_id, courses.v1_class_id) as course_class_id,
    courses.course_name,
    courses.class_code,
    courses.class_name,
    courses.subject_name,
    courses.subject_name_en,
    courses.attribute_name,
    courses.teacher_names,
    courses.first_week,
    courses.last_week,
    courses.credit,
    courses.gained_credit,
    courses.score_text,
    {{ measure('courses.score_text') }} as score,
    courses.level,
    courses.grade_points_text,
    {{ measure('courses.grade_points_text') }} as grade_points,
    courses.rank_text,
    try_cast(trim(split_part(courses.rank_text, '/', 1)) as bigint) as rank,
    courses.is_published,
    courses.published_at
from courses
left join people
    on people.school_id = courses.school_id
    and people.v1_person_id = courses.v1_student_id
left join classes
    on classes.school_id = courses.school_id
    and classes.v1_class_id = courses.v1_class_id
