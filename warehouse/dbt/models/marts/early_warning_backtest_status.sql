-- Grain: school, semester that has begun, outcome of marts.early_warning_backtest.
-- Rules: whether the rules can be judged by the outcome, and if not, why and for how long: see the columns.
-- Source: marts.early_warning_backtest, core.dim_semester.
with semesters as (
    select * from {{ ref('dim_semester') }} where not is_deleted
),

next_semesters as (
    select
        own.school_id,
        own.semester_id,
        min(later.first_day) as first_day,
        arg_min(later.last_day, later.first_day) as last_day,
        arg_min(later.is_over, later.first_day) as is_over
    from semesters as own
    inner join semesters as later
        on later.school_id = own.school_id
        and later.first_day > own.last_day
    group by own.school_id, own.semester_id
),

cases as (
    select
        semesters.*,
        unnest(
            [
                {%- for outcome in backtest_outcomes() %}
                {
                    'outcome': '{{ outcome }}',
                    'known_on': {{ {
                        'has_left': 'next_semesters.first_day', 'failed_next': 'next_semesters.last_day + 1'
                    }.get(outcome, 'semesters.last_day + 1') }},
                    'waits_for': case
                        when not semesters.is_over then 'semester not over'
                        {%- if outcome == 'has_left' %}
                        when not coalesce(next_semesters.first_day <= semesters.loaded_on, false)
                            then 'next semester not begun'
                        {%- elif outcome == 'failed_next' %}
                        when not coalesce(next_semesters.is_over, false) then 'next semester not over'
                        {%- endif %}
                    end,
                    'needs': {{ ['class_members', 'students'] + {
                        'chronic_absence': ['attendance_records'],
                        'failed_courses': ['grades'],
                        'mean_drop': ['grades']
                    }.get(outcome, []) }}
                }{{ ',' if not loop.last }}
                {%- endfor %}
            ],
            recursive := true
        )
    from semesters
    left join next_semesters
        on next_semesters.school_id = semesters.school_id
        and next_semesters.semester_id = semesters.semester_id
    where
        semesters.is_over
        or semesters.is_current
        or semesters.first_day <= semesters.loaded_on
),

weeks as (
    select
        school_id,
        semester_id,
        outcome,
        week,
        with_outcome,
        students - with_outcome as without_outcome,
        least(with_outcome, without_outcome, judged) >= {{ backtest_minimum() }} as is_ready
    from {{ ref('early_warning_backtest') }}
    where rule = 'level_warning'
),

counted as (
    select
        school_id,
        semester_id,
        outcome,
        max(with_outcome) as with_outcome,
        max(without_outcome) as without_outcome,
        count(*) filter (where is_ready) as weeks_ready,
        min(week) filter (where is_ready) as first_week
    from weeks
    group by school_id, semester_id, outcome
)

select
    cases.school_id,
    cases.semester_id,
    {{ semester_names('cases') }},
    cases.outcome,
    case
        when cases.waits_for is not null then cases.waits_for
        when list_has_any(cases.never_loaded, cases.needs) then 'not loaded'
        when counted.outcome is null then 'outcome not known'
        when counted.weeks_ready = 0 then 'too few'
        else 'ready'
    end as status,
    {{ in_words('backtest_status', 'status', name='status') }},
    case
        when cases.waits_for is not null and cases.known_on > cases.loaded_on
            then cast((cases.known_on - cases.loaded_on + 6) // 7 as integer)
    end as weeks_missing,
    counted.with_outcome,
    counted.without_outcome,
    coalesce(counted.weeks_ready, 0) as weeks_ready,
    counted.first_week
from cases
left join counted
    on counted.school_id = cases.school_id
    and counted.semester_id = cases.semester_id
    and counted.outcome = cases.outcome
