-- Grain: school, student.
-- Rules: students who have left stay, with is_deleted, since their scores and grades do. The cohort is the
--   year of graduation, named by its term.
-- Source: raw.students, raw.terms.
with students as (
    select * from {{ ref('stg_students') }}
),

terms as (
    select * from {{ ref('dim_term') }}
)

select
    students.school_id,
    students.student_id,
    students.student_number,
    students.student_name,
    students.graduates_in_id as cohort_id,
    cohort.term_caption as cohort_name,
    students.structure_ids,
    students.pupil_id,
    students.outer_id,
    students.role,
    students.status,
    students.is_deleted,
    students.deleted_at
from students
left join terms as cohort
    on cohort.school_id = students.school_id
    and cohort.term_id = students.graduates_in_id
