-- Grain: school, group of students (a cohort, an administrative class) with students in the semesters that are shown.
-- Rules: levels are not counted where an input of them was never loaded, since the counts would be too small. Rates are of
--   the sums over the students.
with numbers as (
    {%- for group_type, key in [('cohort', 'cohort_id'), ('admin_class', 'admin_class_id')] %}
    select
        school_id,
        '{{ group_type }}' as group_type,
        {{ key }} as group_id,
        any_value({{ 'cohort' if group_type == 'cohort' else 'admin_class' }}) as group_name,
        any_value({{ 'cohort' if group_type == 'cohort' else 'coalesce(class_title, admin_class)' }}) as group_title,
        count(*) as students,
        bool_and(inputs_loaded) as inputs_loaded,
        count(*) filter (where level = 'at_risk') as at_risk,
        count(*) filter (where level = 'warning') as warning,
        cast(sum(present) as bigint) as present,
        cast(sum(recorded) as bigint) as recorded,
        sum(score_sum) as score_sum,
        sum(full_score_sum) as full_score_sum
    from {{ ref('student_standing') }}
    where is_shown and {{ key }} is not null
    group by all
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
)

select
    numbers.school_id,
    numbers.group_type,
    numbers.group_id,
    numbers.group_name,
    numbers.group_title,
    classes.cohort_id,
    classes.cohort_name,
    classes.head_teacher_name,
    classes.deputy_names,
    numbers.students,
    case when numbers.inputs_loaded then numbers.at_risk end as at_risk,
    case when numbers.inputs_loaded then numbers.warning end as warning,
    {{ rate('numbers.present', 'numbers.recorded') }} as attendance_rate,
    {{ percent('numbers.score_sum', 'numbers.full_score_sum', places=2) }} as score_rate
from numbers
left join {{ ref('dim_admin_class') }} as classes
    on classes.school_id = numbers.school_id
    and numbers.group_type = 'admin_class'
    and classes.admin_class_id = numbers.group_id
