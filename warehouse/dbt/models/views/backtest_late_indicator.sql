-- Grain: school, first week in which indicators were judged in any finished semester; null: in none.
-- Rules: of the indicators that are judged today, those that were not judged by the eighth week.
with weeks as (
    select
        school_id,
        unnest([
            'attendance_rate', 'attendance_drop', 'lateness_rate', 'score_rate', 'score_drop', 'failed_courses',
            'missing_rate'
        ]) as indicator,
        week,
        unnest([
            attendance_rate_level, attendance_drop_level, lateness_rate_level, score_rate_level, score_drop_level,
            failed_courses_level, missing_rate_level
        ]) as level
    from {{ ref('early_warning_week') }}
),

firsts as (
    select
        school_id,
        indicator,
        min(week) as first_week
    from weeks
    where level is not null
    group by all
)

select
    today.school_id,
    firsts.first_week,
    list(today.indicator order by today.place) as indicators
from {{ ref('indicator_today') }} as today
left join firsts using (school_id, indicator)
where today.is_judged and coalesce(firsts.first_week > 8, true)
group by all
