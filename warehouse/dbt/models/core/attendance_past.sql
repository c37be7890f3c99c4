-- Grain: school, attendance record, earlier version of it that a sync saw: until the record changed or was deleted.
-- Rules: the flags are those of the rules in force now (seeds.attendance_status_rules), as in core.fct_attendance.
--   Versions from before the past of attendance was kept (core.known_since), or older than the retention, are not here.
-- Source: quality.past_rows.
{%- set types = {
    'id': 'bigint', 'class_id': 'bigint', 'student_id': 'bigint', 'usin': 'varchar', 'checked_at': 'date',
    'lesson': 'bigint', 'status': 'varchar', 'absence_label': 'varchar', 'created_date': 'date',
    'created_time': 'varchar', '_deleted_at': 'timestamp'
} %}
with versions as (
    select
        _school_id as school_id,
        {{ attendance_record_columns() }},
        known_from,
        known_to
    from (
        select
            _school_id,
            known_from,
            known_to,
            {%- for name, type in types.items() %}
            cast(row ->> '{{ name }}' as {{ type }}) as {{ name }}{{ ',' if not loop.last }}
            {%- endfor %}
        from {{ source('quality', 'past_rows') }}
        where
            resource = 'attendance_records'
            and row is not null
    )
    where
        _deleted_at is null
        and class_id is not null
        and student_id is not null
        and checked_at is not null
        and lesson is not null
    -- A failed commit may store a row twice, and a record that moved to another semester is in both for a while.
    qualify row_number() over (partition by _school_id, id, known_from order by known_to desc) = 1
),

rules as (
    select * from {{ ref('attendance_status_rules') }}
),

statuses as (
    select distinct school_id, status, absence_label from versions
),

{{ decided_statuses() }}

select
    versions.school_id,
    versions.attendance_id,
    versions.known_from,
    versions.known_to,
    classes.semester_id,
    coalesce(people.person_id, versions.v1_student_id) as student_id,
    versions.date,
    {{ week_of('versions.date', 'semesters') }} as week,
    coalesce(decided.rule.is_present, false) as is_present,
    coalesce(decided.rule.is_late, false) as is_late,
    coalesce(decided.rule.counts_in_denominator, false) as counts_in_denominator,
    versions.marked_at
from versions
left join {{ ref('dim_teaching_class') }} as classes
    on classes.school_id = versions.school_id
    and classes.v1_class_id = versions.v1_class_id
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = classes.school_id
    and semesters.semester_id = classes.semester_id
left join {{ ref('bridge_v1_person') }} as people
    on people.school_id = versions.school_id
    and people.v1_person_id = versions.v1_student_id
left join decided
    on decided.school_id = versions.school_id
    and decided.status is not distinct from versions.status
    and decided.absence_label is not distinct from versions.absence_label
