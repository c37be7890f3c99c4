-- Grain: school, table of raw whose past is kept.
-- Rules: four table macros show the rows as they were known at a moment:
--     FROM core.grades_as_of(TIMESTAMP '2026-03-01 00:00:00')
--   and scores_as_of, attendance_records_as_of and class_members_as_of. They show only schools whose known_since is not
--   after the moment. known_since is the first load. If rows were stored before their past was kept, it is the last
--   change of any of these rows.
-- Source: quality.past_rows, raw.grades, raw.scores, raw.attendance_records, raw.class_members.
{{ config(post_hook=[grades_as_of(), scores_as_of(), attendance_records_as_of(), class_members_as_of()]) }}
{%- set tables = ['grades', 'scores', 'attendance_records', 'class_members'] %}
with stamps as (
    {%- for table in tables %}
    select '{{ table }}' as resource, _school_id, min(_synced_at) as first_known, cast(null as timestamp) as marked
    from {{ source('raw', table) }}
    group by _school_id

    union all
    {% endfor %}
    select
        resource,
        _school_id,
        min(known_from) filter (where row is not null) as first_known,
        max(known_from) filter (where row is null) as marked
    from {{ source('quality', 'past_rows') }}
    group by resource, _school_id
)

select
    _school_id as school_id,
    resource,
    coalesce(max(marked), min(first_known)) as known_since
from stamps
group by _school_id, resource
