-- Grain: school, term (a word of the school's vocabularies: cohorts, academic years, subjects ...). Tombstones kept.
select
    _school_id as school_id,
    id as term_id,
    -- 0 is the top.
    nullif(parent_id, 0) as parent_term_id,
    -- Some platforms spell a vocabulary without its prefix.
    case
        when type in ('graduates_in', 'academic_year', 'semester_category') then 'system.' || type
        when type in ('subject', 'domain') then 'course.' || type
        else type
    end as term_type,
    name as term_name,
    label as term_label,
    description,
    weight,
    archived_at,
    _deleted_at is not null as is_deleted,
    _deleted_at as deleted_at
from {{ source('raw', 'terms') }}
