-- Grain: school, closed semester, teaching week, rule, outcome.
-- Rules: whom each rule in force flags by the end of the week (core.early_warning_week), held against what happened
--   after it (core.early_warning_outcome), of the students there at the end of the week whose outcome is known. The
--   formulas are in the descriptions of the columns. Of auc only students count whom the rule judges.
-- Source: core.early_warning_week, core.early_warning_outcome.
{%- set indicators = warning_indicators().keys() | list %}
{%- set risks = backtest_composites() + indicators %}
{%- set case_key = 'school_id, semester_id, week, outcome' %}
with {{ backtest_cases() }},

counted as (
    select
        {{ case_key }},
        any_value(week_count) - week as weeks_left,
        week = {{ backtest_verdict_week('any_value(week_count)') }} as is_verdict_week,
        max(case known_when when 'recorded' then 0 when 'dated' then 1 when 'assumed' then 2 end) as doubt,
        {{ backtest_counts() }}
    from cases
    group by {{ case_key }}
),

{{ backtest_rows() }},

happened as (
    select risks.*, {% for outcome in backtest_outcomes() %}outcomes.{{ outcome }} as {{ outcome }}_happened{{ ', ' if not loop.last }}{% endfor %}
    from risks
    inner join {{ ref('early_warning_outcome') }} as outcomes
        on outcomes.school_id = risks.school_id
        and outcomes.semester_id = risks.semester_id
        and outcomes.week = risks.week
        and outcomes.student_id = risks.student_id
),

-- How many with and without each outcome have each value of a risk, of those who are judged by it.
steps as (
    {%- for risk in risks %}
    select
        school_id,
        semester_id,
        week,
        '{{ risk }}' as risk_name,
        {{ risk }}_risk as risk,
        {%- for outcome in backtest_outcomes() %}
        count_if({{ outcome }}_happened) as {{ outcome }}_positives,
        count_if(not {{ outcome }}_happened) as {{ outcome }}_negatives{{ ',' if not loop.last }}
        {%- endfor %}
    from happened
    where {{ risk }}_risk is not null
    group by school_id, semester_id, week, risk
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

-- so_far: at no more risk.
so_far as (
    select
        school_id,
        semester_id,
        week,
        risk_name,
        unnest(
            [
                {%- for outcome in backtest_outcomes() %}
                {
                    'outcome': '{{ outcome }}',
                    'positives': {{ outcome }}_positives,
                    'negatives': {{ outcome }}_negatives,
                    'positives_so_far': sum({{ outcome }}_positives) over so_far,
                    'negatives_so_far': sum({{ outcome }}_negatives) over so_far
                }{{ ',' if not loop.last }}
                {%- endfor %}
            ],
            recursive := true
        )
    from steps
    window so_far as (partition by school_id, semester_id, week, risk_name order by risk)
),

totals as (
    select
        {{ case_key }},
        risk_name,
        cast(sum(positives) as bigint) as all_positives,
        cast(sum(negatives) as bigint) as all_negatives
    from so_far
    group by {{ case_key }}, risk_name
),

placed as (
    select
        so_far.*,
        totals.all_positives,
        totals.all_negatives,
        {%- set all = '(totals.all_positives + totals.all_negatives)' %}
        so_far.positives + so_far.negatives as size,
        so_far.positives + size / {{ all }} as with_it,
        so_far.negatives + size / {{ all }} as without_it,
        so_far.positives_so_far + so_far.negatives_so_far as size_so_far,
        -- The students with the outcome are at more risk, those without it at less; half of those at the same count.
        (so_far.negatives_so_far + size_so_far / {{ all }} - without_it / 2) / (totals.all_negatives + 1) as below,
        1 - (so_far.positives_so_far + size_so_far / {{ all }} - with_it / 2) / (totals.all_positives + 1) as above
    from so_far
    inner join totals using ({{ case_key }}, risk_name)
    where size > 0
),

areas as (
    select
        {{ case_key }},
        risk_name,
        any_value(all_positives) as positives,
        any_value(all_negatives) as negatives,
        sum(positives * (negatives_so_far - negatives / 2)) / nullif(sum(positives) * sum(negatives), 0) as auc,
        sum(with_it * below) / sum(with_it) as smooth_area,
        case
            when count(*) > 1 and least(sum(positives), sum(negatives)) >= {{ backtest_minimum('interval') }}
                then {{ area_variance('with_it', 'without_it', 'below', 'above') }}
        end as variance
    from placed
    group by {{ case_key }}, risk_name
),

best as (
    select
        rows.school_id,
        rows.semester_id,
        rows.week,
        rows.outcome,
        -- Of equals the first in the order of the indicators.
        arg_max(areas.risk_name, (areas.auc, -list_position(['{{ indicators | join("', '") }}'], areas.risk_name))) as best_single,
        count(*) as candidates
    from rows
    inner join areas
        on areas.school_id = rows.school_id
        and areas.semester_id = rows.semester_id
        and areas.week = rows.week
        and areas.outcome = rows.outcome
        and areas.risk_name = rows.rule
    where
        rows.rule_type = 'indicator'
        and not {{ backtest_is_contained('rows') }}
        and least(areas.positives, areas.negatives) >= {{ backtest_minimum() }}
    group by rows.school_id, rows.semester_id, rows.week, rows.outcome
),

-- Of as many students as a rule flags, taken by the best single indicator, those with the outcome.
taken as (
    select
        rows.school_id,
        rows.semester_id,
        rows.week,
        rows.outcome,
        rows.rule,
        sum(
            placed.positives
            * least(greatest(rows.flagged - (areas.positives + areas.negatives - placed.size_so_far), 0), placed.size)
            / placed.size
        )
        -- Who is not judged comes last.
        + any_value(
            coalesce(
                (rows.with_outcome - areas.positives) * greatest(rows.flagged - areas.positives - areas.negatives, 0)
                / nullif(rows.students - areas.positives - areas.negatives, 0),
                0
            )
        ) as single_hits
    from rows
    inner join best using ({{ case_key }})
    inner join areas
        on areas.school_id = rows.school_id
        and areas.semester_id = rows.semester_id
        and areas.week = rows.week
        and areas.outcome = rows.outcome
        and areas.risk_name = best.best_single
    inner join placed
        on placed.school_id = rows.school_id
        and placed.semester_id = rows.semester_id
        and placed.week = rows.week
        and placed.outcome = rows.outcome
        and placed.risk_name = best.best_single
    where rows.rule_type in ('level', 'area')
    group by rows.school_id, rows.semester_id, rows.week, rows.outcome, rows.rule
),

chosen as (
    select
        by_outcome.*,
        case best.best_single
            {%- for indicator in indicators %}
            when '{{ indicator }}' then by_outcome.{{ indicator }}_risk
            {%- endfor %}
        end as single_risk
    from (
        select
            school_id,
            semester_id,
            week,
            {%- for risk in risks %}
            {{ risk }}_risk,
            {%- endfor %}
            unnest(['{{ backtest_outcomes() | join("', '") }}']) as outcome,
            unnest([{{ backtest_outcomes() | join('_happened, ') }}_happened]) as has_happened
        from happened
    ) as by_outcome
    inner join best using ({{ case_key }})
    where
        has_happened is not null
        and single_risk is not null
),

-- The level and each area beside the best single indicator, of the students whom both judge.
cells as (
    {%- for risk in backtest_composites() %}
    select
        {{ case_key }},
        '{{ risk }}' as risk_name,
        {{ risk }}_risk as risk,
        single_risk,
        count_if(has_happened) as positives,
        count_if(not has_happened) as negatives
    from chosen
    where {{ risk }}_risk is not null
    group by {{ case_key }}, risk, single_risk
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),

ranks as (
    select
        {{ case_key }},
        risk_name,
        risk,
        sum(positives) as rank_positives,
        sum(negatives) as rank_negatives,
        sum(rank_positives) over by_risk - rank_positives / 2 as positives_below,
        sum(rank_negatives) over by_risk - rank_negatives / 2 as negatives_below,
        cast(sum(rank_positives) over whole as double) as all_positives,
        cast(sum(rank_negatives) over whole as double) as all_negatives
    from cells
    group by {{ case_key }}, risk_name, risk
    window
        whole as (partition by {{ case_key }}, risk_name),
        by_risk as (partition by {{ case_key }}, risk_name order by risk)
),

cumulated as (
    select
        *,
        {%- for count in ('positives', 'negatives') %}
        sum({{ count }}) over by_risk - sum({{ count }}) over alike / 2 as single_{{ count }}_below,
        {%- endfor %}
    from cells
    window
        by_risk as (partition by {{ case_key }}, risk_name order by single_risk),
        alike as (partition by {{ case_key }}, risk_name order by single_risk range between current row and current row)
),

placed_cells as (
    select
        cells.*,
        ranks.all_positives,
        ranks.all_negatives,
        {%- set all = '(ranks.all_positives + ranks.all_negatives)' %}
        cells.positives + (cells.positives + cells.negatives) / {{ all }} as with_it,
        cells.negatives + (cells.positives + cells.negatives) / {{ all }} as without_it,
        {%- for name, prefix in [('rule', 'ranks.'), ('single', 'cells.single_')] %}
        {%- set both = '(' ~ prefix ~ 'positives_below + ' ~ prefix ~ 'negatives_below) / ' ~ all %}
        ({{ prefix }}negatives_below + {{ both }}) / (ranks.all_negatives + 1) as {{ name }}_below,
        1 - ({{ prefix }}positives_below + {{ both }}) / (ranks.all_positives + 1) as {{ name }}_above{{ ',' if not loop.last }}
        {%- endfor %}
    from cumulated as cells
    inner join ranks using ({{ case_key }}, risk_name, risk)
),

both_areas as (
    select
        {{ case_key }},
        risk_name,
        any_value(all_positives) as positives,
        any_value(all_negatives) as negatives,
        sum(with_it * rule_below) / sum(with_it) as rule_area,
        sum(with_it * single_below) / sum(with_it) as single_area,
        {{ area_variance('with_it', 'without_it', 'rule_below', 'rule_above') }} as rule_variance,
        {{ area_variance('with_it', 'without_it', 'single_below', 'single_above') }} as single_variance,
        {{ area_variance('with_it', 'without_it', 'rule_below - single_below', 'rule_above - single_above') }} as variance
    from placed_cells
    group by {{ case_key }}, risk_name
),

quantiles as (
    select
        *,
        -- The best of several indicators was chosen: the lower end hardly ever errs, so that all 5% are for the upper one.
        [1.959964, 1.959964, 2.128045, 2.241403, 2.326348, 2.393980, 2.449771][candidates] as quantile,
        least(positives, negatives) as smaller,
        -- Without the student that each outcome has more.
        (rule_area - single_area) * (positives + 1) * (negatives + 1) * (positives + negatives)
            / nullif(positives * negatives * (positives + negatives + 2), 0) as difference,
        coalesce(
            (rule_variance + single_variance - variance) / (2 * nullif(sqrt(rule_variance * single_variance), 0)), 0
        ) as correlation
    from both_areas
    inner join best using ({{ case_key }})
),

differences as (
    select
        {{ case_key }},
        risk_name,
        smaller,
        difference,
        {%- for end, sign, other_sign, quantile, bound in [
            ('low', '-', '+', '1.959964', 'least'), ('high', '+', '-', 'quantile', 'greatest')
        ] %}
        {%- set rule_reach = 'abs(rule_area - ' ~ logit_limit('rule_area', 'rule_variance', sign, quantile) ~ ')' %}
        {%- set single_reach = 'abs(single_area - ' ~ logit_limit('single_area', 'single_variance', other_sign, quantile) ~ ')' %}
        {{ rule_reach }} as rule_reach_{{ end }},
        {{ single_reach }} as single_reach_{{ end }},
        case
            when smaller >= {{ backtest_minimum('interval') }}
                then {{ bound }}(
                    difference,
                    rule_area - single_area {{ sign }} sqrt(
                        greatest(
                            rule_reach_{{ end }} ** 2 + single_reach_{{ end }} ** 2
                                - 2 * correlation * rule_reach_{{ end }} * single_reach_{{ end }},
                            0
                        )
                    )
                )
        end as difference_{{ end }}{{ ',' if not loop.last }}
        {%- endfor %}
    from quantiles
)

select
    rows.school_id,
    rows.semester_id,
    {{ semester_names() }},
    rows.week,
    cast(rows.weeks_left as integer) as weeks_left,
    rows.is_verdict_week,
    rows.rule_type,
    rows.rule,
    rows.outcome,
    {{ backtest_is_contained('rows') }} as is_contained,
    case rows.doubt when 0 then 'recorded' when 1 then 'dated' when 2 then 'assumed' end as known_when,
    {{ backtest_shares('rows') }},
    {{ rounded('areas.auc') }} as auc,
    {%- for end, sign, bound in [('low', '-', 'least'), ('high', '+', 'greatest')] %}
    case
        when areas.variance is not null
            then {{ rounded(bound ~ '(areas.auc, ' ~ logit_limit('areas.smooth_area', 'areas.variance', sign) ~ ')') }}
    end as auc_{{ end }},
    {%- endfor %}
    case when rows.rule_type in ('level', 'area') then best.best_single end as best_single,
    {{ rounded('taken.single_hits', places=2) }} as single_hits,
    {{ rounded('differences.difference') }} as auc_difference,
    {{ rounded('differences.difference_low') }} as auc_difference_low,
    {{ rounded('differences.difference_high') }} as auc_difference_high,
    case
        when rows.rule_type not in ('level', 'area') then null
        when coalesce(differences.smaller, 0) < {{ backtest_minimum('verdict') }} then 'too few'
        when differences.difference_low > 0 then 'better'
        when differences.difference_high < 0 then 'worse'
        else 'not distinguishable'
    end as verdict,
    rows.judged_with_outcome,
    {%- set counts = ('rows.hits', 'rows.flagged', '(rows.judged_with_outcome - rows.hits)', '(rows.judged - rows.flagged)') %}
    case
        when {{ backtest_is_contained('rows') }} or rows.judged = 0 then null
        when
            least(rows.judged_with_outcome, rows.judged - rows.judged_with_outcome) < {{ backtest_minimum('verdict') }}
            or least(rows.flagged, rows.judged - rows.flagged) < {{ backtest_minimum() }}
            then 'too few'
        when {{ newcombe_end(*counts, end='low') }} > 0 then 'better'
        when {{ newcombe_end(*counts, end='high') }} < 0 then 'worse'
        else 'not distinguishable'
    end as chance_verdict
from rows
left join areas
    on areas.school_id = rows.school_id
    and areas.semester_id = rows.semester_id
    and areas.week = rows.week
    and areas.outcome = rows.outcome
    and areas.risk_name = if(rows.rule_type = 'level', 'level', rows.rule)
left join best
    on best.school_id = rows.school_id
    and best.semester_id = rows.semester_id
    and best.week = rows.week
    and best.outcome = rows.outcome
left join taken
    on taken.school_id = rows.school_id
    and taken.semester_id = rows.semester_id
    and taken.week = rows.week
    and taken.outcome = rows.outcome
    and taken.rule = rows.rule
left join differences
    on differences.school_id = rows.school_id
    and differences.semester_id = rows.semester_id
    and differences.week = rows.week
    and differences.outcome = rows.outcome
    and differences.risk_name = if(rows.rule_type = 'level', 'level', rows.rule)
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = rows.school_id
    and semesters.semester_id = rows.semester_id
