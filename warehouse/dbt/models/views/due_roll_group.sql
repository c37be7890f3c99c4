-- Grain: school, period, course class, date, lesson of views.due_roll, group of its students (a cohort, an administrative
--   class).
-- Rules: a roll counts for each group with a member of the course class on the day.
with members as (
    select
        rolls.*,
        students.cohort_id,
        students.admin_class_id
    from {{ ref('due_roll') }} as rolls
    inner join {{ ref('bridge_class_student') }} as members
        on members.school_id = rolls.school_id
        and members.course_class_id = rolls.course_class_id
        and coalesce(members.joined_on <= rolls.date, true)
        and coalesce(members.left_on > rolls.date, true)
    inner join {{ ref('early_warning') }} as students
        on students.school_id = rolls.school_id
        and students.semester_id = rolls.semester_id
        and students.student_id = members.student_id
)

{% for group_type in ['cohort', 'admin_class'] %}
    select distinct
        school_id,
        period,
        course_class_id,
        date,
        lesson,
        state,
        '{{ group_type }}' as group_type,
        cast({{ group_type }}_id as varchar) as group_key
    from members
    where {{ group_type }}_id is not null
    {{ 'union all' if not loop.last }}
{% endfor %}
