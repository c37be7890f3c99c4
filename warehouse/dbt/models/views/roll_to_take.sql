-- Grain: school, course class with rolls of the seven days up to the last school day that were not taken.
-- Rules: the lessons without a roll, and the cohorts and administrative classes with a student in one of these lessons. The
--   names of the cohorts stand before the name of the course class: "1班" alone may be of any cohort.
with rolls as (
    select distinct school_id, course_class_id, course_name, class_name, teacher_names, date, lesson
    from {{ ref('due_roll') }}
    where period = 'last' and state = 'unrecorded'
),

student_groups as (
    select
        due.school_id,
        due.course_class_id,
        list_sort(list(distinct due.group_key) filter (due.group_type = 'cohort')) as cohort_keys,
        list_sort(list(distinct due.group_key) filter (due.group_type = 'admin_class')) as admin_class_keys,
        string_agg(distinct names.group_name, ', ' order by names.group_name) filter (due.group_type = 'cohort') as cohorts
    from {{ ref('due_roll_group') }} as due
    left join {{ ref('student_group') }} as names using (school_id, group_type, group_key)
    where due.period = 'last' and due.state = 'unrecorded'
    group by all
)

select
    rolls.school_id,
    rolls.course_class_id,
    rolls.teacher_names,
    concat_ws(
        ' ',
        any_value(student_groups.cohorts),
        case when not contains(rolls.class_name, rolls.course_name) then rolls.course_name end,
        rolls.class_name
    ) as course_class,
    any_value(student_groups.cohort_keys) as cohort_keys,
    any_value(student_groups.admin_class_keys) as admin_class_keys,
    list({'date': rolls.date, 'lesson': rolls.lesson} order by rolls.date, rolls.lesson) as lessons,
    -count(*) as most_first,
    string_agg(
        strftime(rolls.date, '%a %d %b') || ' lesson ' || rolls.lesson, ', ' order by rolls.date, rolls.lesson
    ) as lessons_en,
    string_agg(
        month(rolls.date) || '月' || day(rolls.date) || '日第' || rolls.lesson || '节', '、' order by rolls.date, rolls.lesson
    ) as lessons_zh
from rolls
left join student_groups using (school_id, course_class_id)
group by rolls.school_id, rolls.course_class_id, rolls.course_name, rolls.class_name, rolls.teacher_names
