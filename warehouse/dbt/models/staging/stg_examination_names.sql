-- Grain: school, part of a name that marks an examination. A school's own parts replace the default parts as a whole.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('examination_names')) }}
