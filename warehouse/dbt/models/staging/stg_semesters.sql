-- Grain: school, semester. Tombstones kept (is_deleted).
select
    _school_id as school_id,
    id as semester_id,
    name as semester_name,
    academic_year_id,
    category_id,
    start_at,
    end_at,
    is_current,
    outer_id,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'semesters') }}
