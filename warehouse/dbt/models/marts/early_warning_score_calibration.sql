-- Grain: school, outcome, teaching week of closed semesters, tenth of the students by their chance.
-- Rules: as the yml says.
-- Source: core.early_warning_score_unseen.
with placed as (
    select
        *,
        ntile(10) over (
            partition by school_id, outcome, week order by chance, semester_id, student_id
        ) as tenth
    from {{ ref('early_warning_score_unseen') }}
),

counted as (
    select
        school_id,
        outcome,
        week,
        tenth,
        count(*) as students,
        count(*) filter (where has_happened) as with_outcome,
        cast(100 * avg(chance) as double) as mean_chance
    from placed
    group by school_id, outcome, week, tenth
)

select
    counted.school_id,
    schools.school_name,
    counted.outcome,
    counted.week,
    cast(counted.tenth as integer) as tenth,
    counted.students,
    counted.with_outcome,
    {{ rounded('counted.mean_chance', places=2) }} as mean_chance,
    {{ rate('counted.with_outcome', 'counted.students') }} as outcome_rate,
    {{ wilson_limit('counted.with_outcome', 'counted.students', 'low') }} as outcome_rate_low,
    {{ wilson_limit('counted.with_outcome', 'counted.students', 'high') }} as outcome_rate_high
from counted
left join {{ ref('dim_school') }} as schools
    on schools.school_id = counted.school_id
