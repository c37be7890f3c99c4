-- Grain: school, status, leave label, as they occur in attendance.
-- Rules: seeds.attendance_status_rules decides what a record counts as. The first rule that applies is used:
--     1. the school's rule before the default rule
--     2. the rule for the exact label (empty: no label) before the rule for any label (*)
--   A status without a rule counts as nothing (is_decided false).
-- Source: raw.attendance_records.
with records as (
    select * from {{ ref('stg_attendance_records') }}
),

rules as (
    select * from {{ ref('attendance_status_rules') }}
),

statuses as (
    select school_id, status, absence_label, count(*) as record_count
    from records
    group by school_id, status, absence_label
),

{{ decided_statuses() }}

select
    statuses.school_id,
    statuses.status,
    statuses.absence_label,
    {%- for flag in attendance_flags() %}
    coalesce(decided.rule.{{ flag }}, false) as {{ flag }},
    {%- endfor %}
    decided.rule is not null as is_decided,
    statuses.record_count
from statuses
left join decided
    on decided.school_id = statuses.school_id
    and decided.status is not distinct from statuses.status
    and decided.absence_label is not distinct from statuses.absence_label
