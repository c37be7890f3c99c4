-- Grain: school, indicator of early warning with a limit.
-- Rules: limits are texts. cohort_percent and suffices are about the limit of a warning. A minimum of 1 is none.
select
    school_id,
    indicator,
    list_position(
        ['attendance_rate', 'attendance_drop', 'lateness_rate', 'score_rate', 'score_drop', 'failed_courses', 'missing_rate'],
        indicator
    ) as place,
    worse,
    case indicator
        when 'attendance_drop' then 'percentage points'
        when 'score_drop' then 'sd'
        when 'failed_courses' then 'courses'
        else 'percent'
    end as unit,
    {{ number_text('at_risk') }} as at_risk,
    {{ number_text('warning') }} as warning,
    {{ number_text('watch') }} as watch,
    case when warning is not null then {{ number_text('cohort_percent') }} end as cohort_percent,
    suffices and warning is not null as suffices,
    {{ number_text('case when minimum > 1 then minimum end') }} as minimum,
    {{ number_text('nullif(minimum_begun, 0)') }} as minimum_begun
from {{ ref('stg_early_warning_rules') }}
where coalesce(at_risk, warning, watch) is not null
