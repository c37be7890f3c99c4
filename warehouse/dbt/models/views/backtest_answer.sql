-- Grain: school, rule, outcome of backtest_question by which the rule can be judged.
-- Rules: the row is the week nearest to the eighth of the last finished semester in which the same indicators of the rule
--   were judged as today, of at least half of the students. Shares are in whole percents. lot: hits of as many students
--   drawn by lot. talks: how many of 20 talks were right.
with judged_then as (
    select
        school_id,
        semester_id,
        week,
        outcome,
        rule as indicator
    from {{ ref('early_warning_backtest') }}
    where rule_type = 'indicator' and 2 * judged >= students
),

weeks as (
    select
        weeks.*,
        questions.place
    from {{ ref('backtest_week') }} as weeks
    inner join {{ ref('backtest_question') }} as questions using (school_id, rule, outcome)
    where weeks.with_outcome > 0
),

judged_otherwise as (
    select distinct
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        weeks.rule,
        weeks.outcome
    from weeks
    inner join {{ ref('indicator_today') }} as indicators
        on indicators.school_id = weeks.school_id
        and (indicators.rule = weeks.rule or weeks.rule = 'level_warning')
    left join judged_then
        on judged_then.school_id = weeks.school_id
        and judged_then.semester_id = weeks.semester_id
        and judged_then.week = weeks.week
        and judged_then.outcome = weeks.outcome
        and judged_then.indicator = indicators.indicator
    where indicators.is_judged <> (judged_then.indicator is not null)
),

answers as (
    select weeks.*
    from weeks
    anti join judged_otherwise using (school_id, semester_id, week, rule, outcome)
    qualify
        row_number() over (
            partition by weeks.school_id, weeks.rule, weeks.outcome
            order by weeks.first_day desc, abs(weeks.week - 8), weeks.week
        ) = 1
)

select
    school_id,
    place,
    semester_id,
    semester_name,
    week,
    rule,
    outcome,
    students,
    with_outcome,
    base_rate,
    flagged,
    hits,
    missed,
    false_alarms,
    known_when,
    best_single,
    {{ ratio('single_hits', '1', places=1) }} as single_hits,
    {{ ratio('flagged * with_outcome', 'students', places=1) }} as lot,
    case when precision is not null then {{ ratio('20 * hits', 'flagged', places=0) }} end as talks,
    case when precision is not null then {{ percent('hits', 'flagged', places=0) }} end as precision,
    {{ ratio('precision_low', '1', places=0) }} as precision_low,
    {{ ratio('precision_high', '1', places=0) }} as precision_high,
    case when recall is not null then {{ percent('hits', 'with_outcome', places=0) }} end as recall,
    {{ ratio('recall_low', '1', places=0) }} as recall_low,
    {{ ratio('recall_high', '1', places=0) }} as recall_high,
    precision is not null as has_precision,
    recall is not null as has_recall,
    chance_verdict,
    verdict,
    place = min(place) over (partition by school_id) as is_first,
    bool_or(rule = 'level_warning') over (partition by school_id) as is_list_judged
from answers
