-- Grain: school, resource, slice, version of the slice, row, field (null: the row as a whole). The change log of
--   scores and grades; record_id is the row's id, null where op is loaded: the slice was read for the first time.
select
    _school_id as school_id,
    resource,
    slice,
    cast(split_part(slice, ':', 2) as bigint) as semester_id,
    slice_version,
    cast(key as bigint) as record_id,
    op,
    field,
    before,
    after,
    seen_at
from {{ source('quality', 'changes') }}
where resource in ('grades', 'scores')
