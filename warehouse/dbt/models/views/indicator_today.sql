-- Grain: school, indicator of early warning.
-- Rules: is_judged: at least half of the present students are judged by the indicator in the semester that is shown. A
--   missing score belongs to grades where it counts as zero points.
with students as (
    select
        school_id,
        count(*) as students
    from {{ ref('early_warning') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    where has_left is not true
    group by all
),

judged as (
    select
        school_id,
        indicator,
        max(area) as area,
        bool_or(level in ('warning', 'at_risk')) as is_reason,
        count(*) as students
    from {{ ref('early_warning_indicator') }}
    inner join {{ ref('shown_semester') }} using (school_id, semester_id)
    where level is not null and has_left is not true
    group by all
),

today as (
    select
        judged.school_id,
        judged.indicator,
        judged.area,
        judged.is_reason
    from judged
    inner join students using (school_id)
    where 2 * judged.students >= students.students
)

select
    rules.school_id,
    rules.indicator,
    list_position(
        ['attendance_rate', 'attendance_drop', 'lateness_rate', 'score_rate', 'score_drop', 'failed_courses', 'missing_rate'],
        rules.indicator
    ) as place,
    coalesce(today.area, rules.area) || '_reasons' as rule,
    today.indicator is not null as is_judged,
    coalesce(today.is_reason, false) as is_reason
from {{ ref('stg_early_warning_rules') }} as rules
left join today
    on today.school_id = rules.school_id
    and today.indicator = rules.indicator
