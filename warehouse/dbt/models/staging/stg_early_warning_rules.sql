-- Grain: school, indicator. The rules of early warning in force: a school's own row of the seed, else the default row.
--   The limits of attendance_rate come from the tiers (seeds.attendance_tiers), so tier and level always agree.
with schools as (
    select * from {{ ref('stg_schools') }}
),

rules as (
    {{ in_force(ref('early_warning_rules'), key='indicator') }}
),

tiers as (
    select
        school_id,
        max(upper_percent) filter (where level in ('at_risk', 'warning', 'watch')) as watch,
        max(upper_percent) filter (where level in ('at_risk', 'warning')) as warning,
        max(upper_percent) filter (where level = 'at_risk') as at_risk
    from {{ ref('stg_attendance_tiers') }}
    group by school_id
)

select
    rules.* replace (
        case when rules.indicator = 'attendance_rate' then tiers.warning else rules.warning end as warning,
        case when rules.indicator = 'attendance_rate' then tiers.at_risk else rules.at_risk end as at_risk
    ),
    case when rules.indicator = 'attendance_rate' then tiers.watch end as watch
from rules
left join tiers
    on tiers.school_id = rules.school_id
