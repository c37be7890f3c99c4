-- Grain: school, semester, student of marts.early_warning.
-- Rules: what this file says of the student, as quality.published_levels keeps it after the publication: a row is
--   added there where level, missing_inputs or thresholds differ from the student's last row.
--   level: left where the student has left the school, else that of marts.early_warning. as_of: the day before the last load
--   of attendance (core.last_load), since nothing later is known whole; without attendance, the day before the last
--   load. thresholds: a version of the limits in force for the school, without texts, so that a change of a limit shows.
-- Source: marts.early_warning, marts.early_warning_indicator, thresholds in force, quality.load_log.
with warnings as (
    select * from {{ ref('early_warning') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

schools as (
    select * from {{ ref('stg_schools') }}
),

indicators as (
    select
        school_id,
        semester_id,
        student_id,
        string_agg(indicator, ', ' order by place) as indicators
    from {{ ref('early_warning_indicator') }}
    where level <> 'none'
    group by school_id, semester_id, student_id
),

loads as (
    select _school_id as school_id, cast(max(started_at) as date) as loaded_on
    from {{ source('quality', 'load_log') }}
    group by _school_id
),

status_rules as (
    {{ in_force(ref('attendance_status_rules'), key='status') }}
),

limits as (
    {%- for rules, texts in {
        ref('stg_early_warning_rules'): ['reason_en', 'reason_zh', 'step'],
        ref('stg_attendance_profiles'): ['followed_by'],
        ref('stg_attendance_thresholds'): [],
        ref('stg_attendance_tiers'): [],
        ref('stg_grade_thresholds'): [],
        'status_rules': []
    }.items() %}
    select school_id, cast(rules as varchar) as limits
    from (select *{% if texts %} exclude ({{ texts | join(', ') }}){% endif %} from {{ rules }}) as rules
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

thresholds as (
    select school_id, left(md5(string_agg(limits, ';' order by limits)), 8) as thresholds
    from limits
    group by school_id
)

select
    warnings.school_id,
    warnings.semester_id,
    warnings.student_id,
    coalesce(semesters.loaded_on, loads.loaded_on) - 1 as as_of,
    case when warnings.has_left then 'left' else warnings.level end as level,
    case when warnings.has_left is not true then indicators.indicators end as indicators,
    nullif(
        array_to_string(list_sort(list_intersect(semesters.never_loaded, {{ warning_inputs() }})), ', '), ''
    ) as missing_inputs,
    thresholds.thresholds
from warnings
left join indicators
    on indicators.school_id = warnings.school_id
    and indicators.semester_id = warnings.semester_id
    and indicators.student_id = warnings.student_id
left join semesters
    on semesters.school_id = warnings.school_id
    and semesters.semester_id = warnings.semester_id
left join loads
    on loads.school_id = warnings.school_id
left join thresholds
    on thresholds.school_id = warnings.school_id
