-- Grain: school, student, day, kind. Live rows only.
select
    _school_id as school_id,
    student_id,
    date,
    kind,
    done_by,
    result,
    note,
    again_on
from {{ source('raw', 'interventions') }}
where _deleted_at is null
