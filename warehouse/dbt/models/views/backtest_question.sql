-- Grain: school, rule of the answers to a head, outcome by which it is judged.
-- Rules: each rule is judged by outcomes that it does not contain. status is that of the semester that will be ready first,
--   and null where no semester was loaded.
with questions as (
    select
        unnest(['attendance_reasons', 'grades_reasons', 'level_warning', 'level_warning']) as rule,
        unnest(['failed_courses', 'chronic_absence', 'failed_next', 'has_left']) as outcome,
        unnest([1, 2, 3, 4]) as place
),

statuses as (
    select
        status.*
    from {{ ref('early_warning_backtest_status') }} as status
    inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
    qualify
        row_number() over (
            partition by status.school_id, status.outcome
            order by status.status <> 'ready', status.weeks_missing nulls last, semesters.first_day desc
        ) = 1
)

select
    schools.school_id,
    questions.rule,
    questions.outcome,
    questions.place,
    questions.rule || ' ' || questions.outcome as question,
    statuses.status,
    statuses.status_en,
    statuses.status_zh,
    statuses.weeks_missing
from {{ ref('dim_school') }} as schools
cross join questions
left join statuses
    on statuses.school_id = schools.school_id
    and statuses.outcome = questions.outcome
