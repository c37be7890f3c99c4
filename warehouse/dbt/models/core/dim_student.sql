-- Grain: school, student.
-- Rules: students who have left stay (is_deleted), since their scores and grades stay.
--   cohort is the year of graduation, named by its term. A student without a year has that of the administrative class
--     (bridge_student_admin_class), of a class with a year in the current semester, else in the latest.
--   gender, custom_fields: from the same person in v1. custom_fields has the school's own fields that are filled in, by
--     name, since no two schools have the same fields.
--   is_boarding: a custom field says so by seeds.boarding_rules; null: no field says anything.
--   guardians: the number of live accounts linked to the student. is_guardian_reachable: at least one of these accounts
--     has a phone number or an email address, which are only in raw. Both are null if no account of the school is
--     linked to any student.
-- Source: raw.students, raw.terms, raw.v1_users, raw.user_fields, core.bridge_student_admin_class.
with students as (
    select * from {{ ref('stg_students') }}
),

class_cohorts as (
    select
        placed.school_id,
        placed.student_id,
        first(
            admin_classes.cohort_id
            order by semesters.is_current desc nulls last, semesters.first_day desc nulls last, placed.semester_id desc
        ) as cohort_id
    from {{ ref('bridge_student_admin_class') }} as placed
    inner join {{ ref('dim_admin_class') }} as admin_classes
        on admin_classes.school_id = placed.school_id
        and admin_classes.admin_class_id = placed.admin_class_id
    left join {{ ref('dim_semester') }} as semesters
        on semesters.school_id = placed.school_id
        and semesters.semester_id = placed.semester_id
    where admin_classes.cohort_id is not null
    group by placed.school_id, placed.student_id
),

terms as (
    select * from {{ ref('dim_term') }}
),

users as (
    select
        users.*,
        people.person_id
    from {{ ref('stg_v1_users') }} as users
    inner join {{ ref('bridge_v1_person') }} as people
        on people.school_id = users.school_id
        and people.v1_person_id = users.v1_person_id
),

rules as (
    select * from {{ ref('stg_boarding_rules') }}
),

boarding as (
    select
        users.school_id,
        users.person_id,
        bool_or(rules.is_boarding) as is_boarding
    from users
    inner join rules
        on rules.school_id = users.school_id
        and rules.value = users.custom_fields ->> rules.field
    group by users.school_id, users.person_id
),

guardians as (
    select
        guardians.school_id,
        wards.person_id,
        count(*) as guardians,
        bool_or(guardians.has_phone or guardians.has_email) as is_reachable
    from {{ ref('stg_v1_users') }} as guardians
    inner join users as wards
        on wards.school_id = guardians.school_id
        and wards.v1_person_id = guardians.ward_v1_id
    where
        guardians.role = 8
        and not guardians.is_deleted
    group by guardians.school_id, wards.person_id
),

schools_with_guardians as (
    select distinct school_id from guardians
)

select
    students.school_id,
    students.student_id,
    students.student_number,
    students.student_name,
    coalesce(students.graduates_in_id, class_cohorts.cohort_id) as cohort_id,
    cohort.term_caption as cohort_name,
    users.gender,
    boarding.is_boarding,
    case when asked.school_id is not null then coalesce(guardians.guardians, 0) end as guardians,
    case when asked.school_id is not null then coalesce(guardians.is_reachable, false) end as is_guardian_reachable,
    users.custom_fields,
    students.structure_ids,
    students.pupil_id,
    students.outer_id,
    students.role,
    students.status,
    students.is_deleted,
    students.deleted_at
from students
left join class_cohorts
    on class_cohorts.school_id = students.school_id
    and class_cohorts.student_id = students.student_id
left join terms as cohort
    on cohort.school_id = students.school_id
    and cohort.term_id = coalesce(students.graduates_in_id, class_cohorts.cohort_id)
left join users
    on users.school_id = students.school_id
    and users.person_id = students.student_id
left join boarding
    on boarding.school_id = students.school_id
    and boarding.person_id = students.student_id
left join guardians
    on guardians.school_id = students.school_id
    and guardians.person_id = students.student_id
left join schools_with_guardians as asked
    on asked.school_id = students.school_id
