-- Grain: school, student, teaching week of the semesters that are shown; weeks in which nothing was recorded are left out.
-- Rules: the rates of class and cohort are empty where they have few students.
with weeks as (
    select
        school_id,
        student_id,
        week,
        cast(sum(recorded) as bigint) as recorded,
        cast(sum(present) as bigint) as present
    from {{ ref('attendance_student_day') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    where week is not null and recorded > 0
    group by all
),

members as (
    select
        school_id,
        student_id,
        any_value(admin_class_id) as admin_class_id,
        any_value(cohort_id) as cohort_id
    from {{ ref('early_warning') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    group by all
),

classes as (
    select
        school_id,
        admin_class_id,
        {{ hides_classmates('count(*)') }} as hides_classmates
    from members
    group by all
),

cohorts as (
    select
        school_id,
        cohort_id,
        {{ hides_classmates('count(*)') }} as hides_classmates
    from members
    group by all
)

select
    weeks.school_id,
    weeks.student_id,
    weeks.week,
    weeks.recorded,
    weeks.present,
    {{ rate('weeks.present', 'weeks.recorded') }} as attendance_rate,
    of_class.attendance_rate as class_rate,
    of_cohort.attendance_rate as cohort_rate
from weeks
left join members
    on members.school_id = weeks.school_id
    and members.student_id = weeks.student_id
left join classes
    on classes.school_id = members.school_id
    and classes.admin_class_id = members.admin_class_id
left join {{ ref('group_week') }} as of_class
    on of_class.school_id = weeks.school_id
    and of_class.week = weeks.week
    and of_class.group_type = 'admin_class'
    and of_class.group_id = classes.admin_class_id
    and classes.hides_classmates
left join cohorts
    on cohorts.school_id = members.school_id
    and cohorts.cohort_id = members.cohort_id
left join {{ ref('group_week') }} as of_cohort
    on of_cohort.school_id = weeks.school_id
    and of_cohort.week = weeks.week
    and of_cohort.group_type = 'cohort'
    and of_cohort.group_id = cohorts.cohort_id
    and cohorts.hides_classmates
