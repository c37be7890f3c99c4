-- Grain: school, period of views.last_school_day, group of students (the school, a cohort, an administrative class).
-- Rules: the rolls of the seven days up to the day, and those that were not taken.
with rolls as (
    select
        school_id,
        period,
        'school' as group_type,
        '' as group_key,
        state
    from {{ ref('due_roll') }}
    union all
    select
        school_id,
        period,
        group_type,
        group_key,
        state
    from {{ ref('due_roll_group') }}
)

select
    school_id,
    period,
    group_type,
    group_key,
    count(*) filter (where state = 'unrecorded') as not_taken,
    count(*) as due
from rolls
group by all
