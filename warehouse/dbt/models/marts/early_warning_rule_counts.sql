-- Grain: school, semester, indicator, limit. Limits are those in force, and others in steps (seeds.early_warning_rules)
--   around the warning limit, to show whom a limit would flag before it is set.
-- Rules: students are those who have not left and whose indicator is based on enough data
--     (marts.early_warning_indicator: is_told).
--   beyond: students beyond the limit. among_worst: of these, the students whom the limit flags: those within the rule's
--     cohort_percent, or all at the limit at_risk.
--   level: the level that the limit raises; null: not in force. in_force: the limit raises a level now.
--   deciding: for a limit in force, students with level at_risk or warning (marts.early_warning) who would have neither
--     without this indicator. Null if an input of the levels was never loaded.
--   Counts are null if it is not known of a student whether the student has left.
-- Source: marts.early_warning_indicator, staging.stg_early_warning_rules.
with indicators as (
    select * from {{ ref('early_warning_indicator') }} where is_told and has_left is not true
),

rules as (
    select * from {{ ref('stg_early_warning_rules') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

limits as (
    select
        school_id,
        indicator,
        limit_value,
        -- If limits are equal, the most severe level is in force.
        arg_min(level, place) as level
    from (
        select
            school_id,
            indicator,
            unnest([at_risk, warning, watch]) as limit_value,
            unnest(['at_risk', 'warning', 'watch']) as level,
            unnest([1, 2, 3]) as place
        from rules
        union all
        select
            rules.school_id,
            rules.indicator,
            cast(rules.warning + steps.number * rules.step as decimal(18, 6)),
            null,
            4
        from rules
        cross join range(-5, 6) as steps (number)
        where
            rules.warning + steps.number * rules.step > 0
            and rules.warning + steps.number * rules.step <= 100
    )
    where limit_value is not null
    group by school_id, indicator, limit_value
),

-- Counts that show a student's level without the indicator.
without as (
    select
        school_id,
        semester_id,
        student_id,
        indicator,
        level,
        count_if(level = 'at_risk' or (level = 'warning' and suffices)) over of_student as enough,
        len(list_distinct(list(area) filter (where level in ('at_risk', 'warning')) over of_student)) as areas,
        count_if(level in ('at_risk', 'warning')) over (
            partition by school_id, semester_id, student_id, area
        ) as in_area,
        level = 'at_risk' or (level = 'warning' and suffices) as is_enough
    from indicators
    window of_student as (partition by school_id, semester_id, student_id)
),

deciding as (
    select
        school_id,
        semester_id,
        indicator,
        level,
        count(*) filter (
            where (enough > 0 or areas >= 2)
            and enough = cast(is_enough as integer)
            and areas - if(in_area = 1, 1, 0) < 2
        ) as deciding
    from without
    where level in ('at_risk', 'warning')
    group by school_id, semester_id, indicator, level
),

counted as (
    select
        indicators.school_id,
        indicators.semester_id,
        indicators.indicator,
        any_value(indicators.place) as place,
        limits.limit_value,
        any_value(limits.level) as level,
        bool_and(indicators.has_left is not null) as is_known,
        count(*) as students,
        count(*) filter (where {{ is_beyond('indicators.value', 'limits.limit_value') }}) as beyond,
        count(*) filter (
            where {{ is_beyond('indicators.value', 'limits.limit_value') }}
            and (indicators.is_among_worst or limits.level is not distinct from 'at_risk')
        ) as among_worst
    from indicators
    inner join limits
        on limits.school_id = indicators.school_id
        and limits.indicator = indicators.indicator
    inner join rules
        on rules.school_id = indicators.school_id
        and rules.indicator = indicators.indicator
    group by indicators.school_id, indicators.semester_id, indicators.indicator, limits.limit_value
)

select
    counted.school_id,
    counted.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    counted.indicator,
    counted.place,
    rules.area,
    rules.worse,
    counted.limit_value,
    rules.cohort_percent,
    counted.level,
    {{ in_words('level', 'counted.level') }},
    counted.level is not null as in_force,
    case when counted.is_known then counted.students end as students,
    case when counted.is_known then counted.beyond end as beyond,
    case when counted.is_known then {{ rate('counted.beyond', 'counted.students') }} end as beyond_percent,
    case when counted.is_known then counted.among_worst end as among_worst,
    case when counted.is_known then {{ rate('counted.among_worst', 'counted.students') }} end as among_worst_percent,
    case
        when counted.level in ('at_risk', 'warning')
            then {{ if_loaded(warning_inputs(), 'coalesce(deciding.deciding, 0)') }}
    end as deciding
from counted
inner join rules
    on rules.school_id = counted.school_id
    and rules.indicator = counted.indicator
left join deciding
    on deciding.school_id = counted.school_id
    and deciding.semester_id = counted.semester_id
    and deciding.indicator = counted.indicator
    and deciding.level = counted.level
left join semesters
    on semesters.school_id = counted.school_id
    and semesters.semester_id = counted.semester_id
