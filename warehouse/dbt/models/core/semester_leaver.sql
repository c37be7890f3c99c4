-- Grain: school, semester, student who left the school before the last day of the semester. In a semester that is not
--   over, every student who has left by now.
-- Rules: the platform has no such student any more. left_on is the day on which the student's last membership of the
--   semester ended (bridge_class_student); without a membership, the day of the deletion. Many platforms do not say
--   when they deleted a student, and a sync may see the deletion much later.
-- Source: raw.students, core.bridge_class_student, core.dim_semester.
with students as (
    select school_id, student_id, cast(deleted_at as date) as deleted_on
    from {{ ref('dim_student') }}
    where is_deleted
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

stays as (
    select school_id, semester_id, student_id, max(left_on) as left_on
    from {{ ref('bridge_class_student') }}
    semi join students using (school_id, student_id)
    group by school_id, semester_id, student_id
)

select
    students.school_id,
    semesters.semester_id,
    students.student_id,
    coalesce(stays.left_on, students.deleted_on) as left_on
from students
inner join semesters
    on semesters.school_id = students.school_id
left join stays
    on stays.school_id = students.school_id
    and stays.semester_id = semesters.semester_id
    and stays.student_id = students.student_id
where
    not semesters.is_over
    or coalesce(stays.left_on, students.deleted_on) < semesters.last_day
