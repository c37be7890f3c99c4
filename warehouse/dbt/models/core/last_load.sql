-- Grain: school with attendance.
-- Rules: loaded_on is the day of the last load of attendance, by the platform's own date (quality.load_log:
--   platform_day). A school whose loads have no such date has the date of our clock. Everything due before that day is
--   known. A week, month or semester that ends on that day or later is not over.
-- Source: quality.load_log, raw.attendance_sessions, raw.attendance_records.
with synced as (
    select school_id, max(synced_at) as synced_at
    from {{ ref('stg_attendance_sessions') }}
    group by school_id

    union all

    select school_id, max(synced_at) as synced_at
    from {{ ref('stg_attendance_records') }}
    group by school_id
),

told as (
    select
        _school_id as school_id,
        arg_max(platform_day, started_at) as platform_day
    from {{ source('quality', 'load_log') }}
    where
        resource in ('attendance_sessions', 'attendance_records')
        and platform_day is not null
    group by _school_id
)

select
    school_id,
    coalesce(any_value(told.platform_day), cast(max(synced.synced_at) as date)) as loaded_on
from synced
left join told using (school_id)
group by school_id
