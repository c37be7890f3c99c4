-- Grain: school.
-- Rules: live schools. The platform names a school's district without an id, so no org stands above the school.
-- Source: raw.schools.
with schools as (
    select * from {{ ref('dim_school') }} where not is_deleted
)

select
    school_id,
    {{ sourced_id('school') }} as "sourcedId",
    {{ bulk_columns() }},
    coalesce(nullif(trim(school_name), ''), cast(school_id as varchar)) as "name",
    'school' as "type",
    cast(school_id as varchar) as "identifier",
    {{ blank(['parentSourcedId']) }}
from schools
