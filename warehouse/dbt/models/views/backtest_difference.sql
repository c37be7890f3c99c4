-- Grain: school, rule, outcome of backtest_answer, group of students beside all others of its kind of groups.
-- Rules: a group is compared by recall or false alarms, by the surer of the two. Of each kind of groups those are told that
--   differ by more than chance, or else the group that differs most; of two groups that of which there is more. is_suppressed
--   is that of the mart: a page without names of persons leaves such groups out. Shares are in whole percents.
with groups as (
    select
        answers.place,
        groups.*,
        case
            when groups.false_alarm_rate_p_value <= coalesce(groups.recall_p_value, 2) then 'false_alarm_rate'
            when groups.recall_p_value is not null then 'recall'
        end as share,
        count(*) over (
            partition by groups.school_id, groups.rule, groups.outcome, groups.group_type
        ) as groups_of_type
    from {{ ref('early_warning_backtest_group') }} as groups
    inner join {{ ref('backtest_answer') }} as answers using (school_id, semester_id, week, rule, outcome)
    where answers.chance_verdict <> 'too few' and groups.is_distinguishable is not null
),

compared as (
    select
        *,
        case when share = 'recall' then recall else false_alarm_rate end as of_group,
        case when share = 'recall' then recall_difference else false_alarm_rate_difference end as difference,
        case when share = 'recall' then recall_difference_low else false_alarm_rate_difference_low end as low,
        case when share = 'recall' then recall_difference_high else false_alarm_rate_difference_high end as high
    from groups
    where share is not null and group_code <> 'unknown'
),

ranked as (
    select
        *,
        row_number() over (
            partition by school_id, rule, outcome, group_type
            order by
                is_distinguishable desc,
                case when groups_of_type = 2 then difference else abs(difference) end desc,
                group_code desc
        ) as place_in_type
    from compared
)

select
    school_id,
    place,
    semester_id,
    semester_name,
    week,
    rule,
    outcome,
    group_type,
    group_code,
    group_en,
    group_zh,
    is_suppressed,
    share,
    {{ ratio('of_group', '1', places=0) }} as of_group,
    {{ ratio('(of_group - difference)', '1', places=0) }} as elsewhere,
    {{ ratio('difference', '1', places=0) }} as difference,
    {{ ratio('low', '1', places=0) }} as low,
    {{ ratio('high', '1', places=0) }} as high,
    is_distinguishable,
    case when is_distinguishable then 'beyond' else 'within' end as chance
from ranked
where place_in_type = 1 or (is_distinguishable and groups_of_type <> 2)
