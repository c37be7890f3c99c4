-- Grain: school, closed semester, teaching week, rule, outcome.
-- Rules: whom each rule in force flags by the end of the week (core.early_warning_week), held against what happened
--   after it (core.early_warning_outcome), of the students there at the end of the week whose outcome is known.
--   rule: level_warning and level_at_risk: a level of at least that. An indicator: its own level is at least a warning.
--     Baselines: failed_last_semester, worst_tenth_attendance.
--   is_contained: the rule looks at what the outcome is made of, in the same semester, so it says little of other
--     outcomes. Of a level these are all outcomes within the semester.
--   precision = hits / flagged, recall = hits / with_outcome, in percent, with 95% intervals by Wilson's score.
--   lead_weeks: median, over the hits, of the weeks from the first flag to the end of the semester.
--   auc: the chance that a student with the outcome is more at risk, by the level or the value of an indicator, than one
--     without; 0.5 is a coin. Who is not judged counts as less at risk than anybody who is. 95% interval by DeLong; null
--     where all students with the outcome stand apart from the others, so that the spread is not known.
--   Of the level: best_single is the indicator with the greatest auc, chosen with hindsight; auc_difference = auc of the
--     level less that one's, with its interval; verdict: better, worse, not distinguishable, or too few with fewer than
--     ten students with or without the outcome.
-- Source: core.early_warning_week, core.early_warning_outcome.
{%- set risks = ['level'] + warning_indicators().keys() | list %}
with {{ backtest_cases() }},

counted as (
    select
        school_id,
        semester_id,
        week,
        outcome,
        any_value(week_count) - week as weeks_left,
        max(case known_when when 'assumed' then 2 when 'dated' then 1 else 0 end) as doubt,
        {{ backtest_counts() }}
    from cases
    group by school_id, semester_id, week, outcome
),

-- How many with and without the outcome have each value, of the level and of each indicator.
steps as (
    {%- for risk in risks %}
    select
        school_id,
        semester_id,
        week,
        outcome,
        '{{ risk }}' as rule,
        cast({{ backtest_value(risk) }} as double) as value,
        count_if(has_happened) as with_outcome,
        count_if(not has_happened) as without
    from cases
    group by school_id, semester_id, week, outcome, value
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

-- share_below: of those without the outcome, the share at less risk than who is here; share_above: of those with it, the
-- share at more risk. Half of those at the same risk count.
placed as (
    select
        steps.*,
        case when rules.worse in ('below', 'at_most') then -steps.value else steps.value end as risk,
        (sum(without) over so_far - without / 2) / nullif(sum(without) over whole, 0) as share_below,
        (sum(with_outcome) over whole - sum(with_outcome) over so_far + with_outcome / 2)
            / nullif(sum(with_outcome) over whole, 0) as share_above
    from steps
    left join {{ ref('stg_early_warning_rules') }} as rules
        on rules.school_id = steps.school_id
        and rules.indicator = steps.rule
    window
        whole as (partition by steps.school_id, semester_id, week, outcome, rule),
        so_far as (
            partition by steps.school_id, semester_id, week, outcome, rule
            order by risk nulls first
            rows between unbounded preceding and current row
        )
),

areas as (
    select
        school_id,
        semester_id,
        week,
        outcome,
        rule,
        sum(with_outcome) as positives,
        sum(without) as negatives,
        sum(with_outcome * share_below) / nullif(positives, 0) as auc,
        sum(with_outcome * (share_below * share_below)) as below_squares,
        sum(without * (share_above * share_above)) as above_squares,
        greatest(below_squares - positives * auc * auc, 0) / nullif(positives - 1, 0) / positives
            + greatest(above_squares - negatives * auc * auc, 0) / nullif(negatives - 1, 0) / negatives as variance
    from placed
    group by school_id, semester_id, week, outcome, rule
),

best as (
    select
        school_id,
        semester_id,
        week,
        outcome,
        -- Of equals the first in the order of the indicators.
        arg_max(rule, (auc, -list_position(['{{ risks | join("', '") }}'], rule))) as rule
    from areas
    where
        rule <> 'level'
        and auc is not null
    group by school_id, semester_id, week, outcome
),

-- Each case with where it stands by the level and by the best single indicator.
compared as (
    select
        cases.school_id,
        cases.semester_id,
        cases.week,
        cases.outcome,
        cases.has_happened,
        if(cases.has_happened, own.share_below - single.share_below, own.share_above - single.share_above) as difference
    from cases
    inner join best
        on best.school_id = cases.school_id
        and best.semester_id = cases.semester_id
        and best.week = cases.week
        and best.outcome = cases.outcome
    inner join placed as own
        on own.school_id = cases.school_id
        and own.semester_id = cases.semester_id
        and own.week = cases.week
        and own.outcome = cases.outcome
        and own.rule = 'level'
        and own.value = {{ backtest_value('level') }}
    inner join placed as single
        on single.school_id = cases.school_id
        and single.semester_id = cases.semester_id
        and single.week = cases.week
        and single.outcome = cases.outcome
        and single.rule = best.rule
        and single.value is not distinct from case best.rule
            {%- for risk in risks[1:] %}
            when '{{ risk }}' then {{ backtest_value(risk) }}
            {%- endfor %}
        end
),

differences as (
    select
        school_id,
        semester_id,
        week,
        outcome,
        avg(difference) filter (where has_happened) as difference,
        var_samp(difference) filter (where has_happened) / count_if(has_happened)
            + var_samp(difference) filter (where not has_happened) / count_if(not has_happened) as variance,
        least(count_if(has_happened), count_if(not has_happened)) as smaller
    from compared
    group by school_id, semester_id, week, outcome
),

{{ backtest_rows() }}

select
    rows.school_id,
    rows.semester_id,
    {{ semester_names() }},
    rows.week,
    cast(rows.weeks_left as integer) as weeks_left,
    rows.rule_type,
    rows.rule,
    rows.outcome,
    {{ backtest_is_contained('rows') }} as is_contained,
    case
        when rows.area = 'attendance' or rows.doubt = 1 then 'dated'
        when rows.doubt = 2 then 'assumed'
        else 'recorded'
    end as known_when,
    {{ backtest_shares('rows') }},
    {{ rounded('areas.auc') }} as auc,
    {%- for end, sign in [('low', '-'), ('high', '+')] %}
    case
        when areas.variance > 0
            then {{ rounded('least(greatest(areas.auc ' ~ sign ~ ' 1.959964 * sqrt(areas.variance), 0), 1)') }}
    end as auc_{{ end }},
    {%- endfor %}
    case when rows.rule = 'level_warning' then best.rule end as best_single,
    case when rows.rule = 'level_warning' then {{ rounded('differences.difference') }} end as auc_difference,
    {%- for end, sign in [('low', '-'), ('high', '+')] %}
    case
        when rows.rule = 'level_warning' and differences.variance > 0
            then {{ rounded('differences.difference ' ~ sign ~ ' 1.959964 * sqrt(differences.variance)') }}
    end as auc_difference_{{ end }},
    {%- endfor %}
    case
        when rows.rule <> 'level_warning' then null
        when coalesce(differences.smaller, 0) < {{ backtest_minimum() }} then 'too few'
        when auc_difference_low > 0 then 'better'
        when auc_difference_high < 0 then 'worse'
        else 'not distinguishable'
    end as verdict
from rows
left join areas
    on areas.school_id = rows.school_id
    and areas.semester_id = rows.semester_id
    and areas.week = rows.week
    and areas.outcome = rows.outcome
    and areas.rule = if(rows.rule_type = 'level', 'level', rows.rule)
left join best
    on best.school_id = rows.school_id
    and best.semester_id = rows.semester_id
    and best.week = rows.week
    and best.outcome = rows.outcome
left join differences
    on differences.school_id = rows.school_id
    and differences.semester_id = rows.semester_id
    and differences.week = rows.week
    and differences.outcome = rows.outcome
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = rows.school_id
    and semesters.semester_id = rows.semester_id
