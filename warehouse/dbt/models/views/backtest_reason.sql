-- Grain: school, indicator that is a reason of today's list.
-- Rules: the row of backtest_week of the last finished semester in which the indicator was judged, by the first outcome, in
--   the week nearest to the eighth; null: there is none. Shares are in whole percents, of at least ten students.
select
    today.school_id,
    today.indicator,
    today.place,
    weeks.semester_id,
    weeks.semester_name,
    weeks.week,
    weeks.outcome,
    weeks.flagged,
    weeks.hits,
    weeks.precision is not null as has_precision,
    case when weeks.precision is not null then {{ percent('weeks.hits', 'weeks.flagged', places=0) }} end as precision,
    {{ percent('weeks.with_outcome', 'weeks.students', places=0) }} as base_rate
from {{ ref('indicator_today') }} as today
left join {{ ref('backtest_week') }} as weeks
    on weeks.school_id = today.school_id
    and weeks.rule = today.indicator
where today.is_reason
qualify
    row_number() over (
        partition by today.school_id, today.indicator
        order by weeks.first_day desc, weeks.outcome_order, abs(weeks.week - 8), weeks.week
    ) = 1
