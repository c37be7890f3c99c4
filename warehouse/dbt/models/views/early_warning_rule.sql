-- Grain: school, semester, indicator, limit: as early_warning_rule_counts.
-- Rules: limit_order sorts the limits of an indicator, the worst first.
select
    counts.school_id,
    counts.semester_id,
    counts.semester_name,
    semesters.is_shown,
    counts.indicator,
    counts.place,
    counts.limit_value,
    case when counts.worse = 'at_least' then -counts.limit_value else counts.limit_value end as limit_order,
    counts.level,
    counts.students,
    counts.beyond,
    counts.beyond_percent,
    counts.among_worst,
    counts.among_worst_percent,
    counts.deciding
from {{ ref('early_warning_rule_counts') }} as counts
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
