-- Grain: school, semester, resource that models read and that was never loaded for the semester.
-- Rules: a resource was loaded for a semester if a slice of it was read to its end, even if empty, or gave any rows. A
--   slice of the whole school counts for every semester. A number made from a resource listed here is not known, and is
--   null in the marts (macros/never_loaded.sql). Semesters that no interface lists are not here.
-- Source: quality.load_log, quality.slices, quality.semester_calendars.
with loaded as (
    select
        _school_id as school_id,
        resource,
        try_cast(nullif(split_part(slice, ':', 2), '') as bigint) as sliced_by
    from {{ source('quality', 'load_log') }}
    where
        complete
        or received > 0

    union

    select
        _school_id as school_id,
        resource,
        try_cast(nullif(split_part(slice, ':', 2), '') as bigint) as sliced_by
    from {{ source('quality', 'slices') }}
),

semesters as (
    select * from {{ ref('stg_semester_calendars') }}
),

expected as (
    select
        school_id,
        semester_id,
        unnest(
            [
                {%- for sliced, resources in model_resources().items() %}
                {%- set outer = loop %}
                {%- for resource in resources %}
                {
                    'resource': '{{ resource }}',
                    'sliced_by': {{
                        {'school': 'cast(null as bigint)', 'semester': 'semester_id', 'v1_semester': 'v1_semester_id'}[sliced]
                    }},
                    'is_sliced': {{ 'false' if sliced == 'school' else 'true' }}
                }{{ ',' if not (outer.last and loop.last) }}
                {%- endfor %}
                {%- endfor %}
            ],
            recursive := true
        )
    from semesters
)

select
    expected.school_id,
    expected.semester_id,
    expected.resource
from expected
left join loaded
    on loaded.school_id = expected.school_id
    and loaded.resource = expected.resource
    and (not expected.is_sliced or loaded.sliced_by = expected.sliced_by)
where loaded.school_id is null
