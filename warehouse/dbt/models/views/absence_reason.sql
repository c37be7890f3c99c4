-- Grain: school, administrative class, reason for missed lessons in the semesters that are shown.
-- Rules: the reason is the kind of leave that the platform names, leave where it names none, else unexcused. A class in which
--   nobody missed a lesson has one row without a reason. percent is of the recorded lessons of the class.
with students as (
    select
        school_id,
        semester_id,
        student_id,
        cohort_id,
        cohort_name,
        admin_class_id,
        admin_class,
        class_title,
        recorded
    from {{ ref('student_standing') }}
    where is_shown and admin_class_id is not null
),

classes as (
    select
        school_id,
        admin_class_id,
        any_value(coalesce(class_title, admin_class)) as class_title,
        cast(sum(recorded) as bigint) as recorded
    from students
    group by all
),

missed as (
    select
        school_id,
        admin_class_id,
        {{ absence_reason('attendance') }} as reason,
        count(*) as lessons
    from {{ ref('fct_attendance') }} as attendance
    inner join students using (school_id, semester_id, student_id)
    where counts_in_denominator and is_absent
    group by all
)

select
    school_id,
    admin_class_id,
    heads.cohort_name,
    classes.class_title,
    classes.recorded,
    missed.reason,
    {{ in_words('absence_reason', 'missed.reason', 'reason') }},
    {{ absence_reason_order('missed.reason') }} as reason_order,
    missed.lessons,
    {{ rate('missed.lessons', 'classes.recorded') }} as percent
from classes
left join missed using (school_id, admin_class_id)
left join {{ ref('dim_admin_class') }} as heads using (school_id, admin_class_id)
