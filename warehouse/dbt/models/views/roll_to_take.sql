-- Grain: school, course class with rolls of the seven days up to the last school day that were not taken.
-- Rules: the lessons without a roll, and the cohorts and administrative classes with a student in one of these lessons.
with rolls as (
    select * from {{ ref('due_roll') }}
    where period = 'last' and state = 'unrecorded'
),

student_groups as (
    select
        school_id,
        course_class_id,
        list_sort(list(distinct group_key) filter (group_type = 'cohort')) as cohort_keys,
        list_sort(list(distinct group_key) filter (group_type = 'admin_class')) as admin_class_keys
    from {{ ref('due_roll_group') }}
    where period = 'last' and state = 'unrecorded'
    group by all
),

classes as (
    select
        rolls.school_id,
        rolls.course_class_id,
        rolls.teacher_names,
        case
            when contains(rolls.class_name, rolls.course_name) then rolls.class_name
            else concat_ws(' ', rolls.course_name, rolls.class_name)
        end as course_class,
        any_value(student_groups.cohort_keys) as cohort_keys,
        any_value(student_groups.admin_class_keys) as admin_class_keys,
        list_sort(list(distinct {'date': rolls.date, 'lesson': rolls.lesson})) as lessons,
        -count(distinct (rolls.date, rolls.lesson)) as most_first
    from rolls
    left join student_groups using (school_id, course_class_id)
    group by rolls.school_id, rolls.course_class_id, rolls.course_name, rolls.class_name, rolls.teacher_names
)

select
    *,
    array_to_string(
        list_transform(lessons, lambda roll: strftime(roll.date, '%a %d %b') || ' lesson ' || roll.lesson), ', '
    ) as lessons_en,
    array_to_string(
        list_transform(lessons, lambda roll: month(roll.date) || '月' || day(roll.date) || '日第' || roll.lesson || '节'), '、'
    ) as lessons_zh
from classes
