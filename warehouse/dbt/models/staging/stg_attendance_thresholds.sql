-- Grain: school, threshold. The thresholds in force: a school's own row of the seed, else the default row.
with schools as (
    select * from {{ ref('stg_schools') }}
)

{{ in_force(ref('attendance_thresholds'), key='threshold') }}
