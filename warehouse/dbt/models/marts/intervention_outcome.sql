-- Grain: school, student, day, kind: a talk or a measure in a semester, and what was so before it and after it.
-- Rules: an association, not an effect. A student is spoken to when things are bad, and what is bad by chance gets better
--   by itself (regression to the mean); the matched students are alike in the level alone.
--   Attendance: of the intervention_weeks (seeds.attendance_thresholds) before the day and after it, within the
--   semester, the day itself left out. is_complete: the weeks after were over at the last load; null: no such load.
--   week_before is the last teaching week that was over on the day, week_after is intervention_weeks after the week of
--   the day, or the last week. Level and score rate are those of core.early_warning_week at the end of these. In a
--   semester that is not over, the level is the one published then (marts.early_warning_history) and the score rate null.
--   Matched students: of the same cohort and level at the end of week_before, and without a row of the semester in
--   core.fct_intervention. Changes of theirs are between the same days and weeks. matched_<measure>: of whom the change
--   is known; below intervention_matches there is no comparison.
--   <measure>_difference = own change - mean change of the matched students, in percentage points. Its 95% interval is
--   that of one more such student (Student's t), so a difference whose interval has 0 in it is not distinguishable.
--   comparison: compared; too few (matched students of whom attendance is known); level not known.
-- Source: core.fct_intervention, core.early_warning_week, marts.early_warning_history, marts.attendance_student_day.
{%- set measures = ['attendance', 'score'] %}
with thresholds as (
    select
        school_id,
        cast(max(value) filter (where threshold = 'intervention_weeks') as integer) as weeks,
        greatest(max(value) filter (where threshold = 'intervention_matches'), 5) as matches
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

days as (
    select * from {{ ref('attendance_student_day') }} where recorded > 0
),

interventions as (
    select
        interventions.*,
        nullif(interventions.week - 1, 0) as week_before,
        nullif(least(interventions.week + thresholds.weeks, semesters.week_count), interventions.week) as week_after,
        thresholds.weeks,
        thresholds.matches
    from {{ ref('fct_intervention') }} as interventions
    inner join semesters
        on semesters.school_id = interventions.school_id
        and semesters.semester_id = interventions.semester_id
    left join thresholds
        on thresholds.school_id = interventions.school_id
),

running_weeks as (
    select
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        cast({{ last_day_of('weeks.week', 'semesters') }} as date) as ends_on
    from (
        select distinct school_id, semester_id, unnest([week_before, week_after]) as week
        from interventions
    ) as weeks
    inner join semesters
        on semesters.school_id = weeks.school_id
        and semesters.semester_id = weeks.semester_id
    where
        not semesters.is_over
        and weeks.week is not null
),

-- The end of a week is known of once a later day was published.
published as (
    select school_id, semester_id, max(as_of) as as_of
    from {{ ref('early_warning_state') }}
    group by school_id, semester_id
),

week_levels as (
    select school_id, semester_id, week, student_id, cohort_id, level, score_rate
    from {{ ref('early_warning_week') }}

    union all

    select
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        history.student_id,
        any_value(students.cohort_id),
        arg_max_null(history.level, history.since),
        null
    from running_weeks as weeks
    inner join published
        on published.school_id = weeks.school_id
        and published.semester_id = weeks.semester_id
        and published.as_of >= weeks.ends_on
    inner join {{ ref('early_warning_history') }} as history
        on history.school_id = weeks.school_id
        and history.semester_id = weeks.semester_id
        and history.since <= weeks.ends_on
    left join students
        on students.school_id = history.school_id
        and students.student_id = history.student_id
    group by weeks.school_id, weeks.semester_id, weeks.week, history.student_id
),

own_levels as (
    select
        interventions.*,
        before.cohort_id,
        before.level as level_before,
        before.score_rate as score_rate_before,
        later.level as level_after,
        later.score_rate as score_rate_after
    from interventions
    left join week_levels as before
        on before.school_id = interventions.school_id
        and before.semester_id = interventions.semester_id
        and before.week = interventions.week_before
        and before.student_id = interventions.student_id
    left join week_levels as later
        on later.school_id = interventions.school_id
        and later.semester_id = interventions.semester_id
        and later.week = interventions.week_after
        and later.student_id = interventions.student_id
),

-- Interventions of the same day, cohort and level have the same matched students.
cells as (
    select distinct school_id, semester_id, date, weeks, week_before, week_after, cohort_id, level_before
    from own_levels
    where level_before <> 'unknown'
),

matched as (
    select
        cells.*,
        before.student_id,
        later.score_rate - before.score_rate as score_change
    from cells
    inner join week_levels as before
        on before.school_id = cells.school_id
        and before.semester_id = cells.semester_id
        and before.week = cells.week_before
        and before.cohort_id = cells.cohort_id
        and before.level = cells.level_before
    anti join interventions
        on interventions.school_id = before.school_id
        and interventions.semester_id = before.semester_id
        and interventions.student_id = before.student_id
    left join week_levels as later
        on later.school_id = cells.school_id
        and later.semester_id = cells.semester_id
        and later.week = cells.week_after
        and later.student_id = before.student_id
),

observed as (
    select school_id, semester_id, date, weeks, student_id from interventions
    union
    select school_id, semester_id, date, weeks, student_id from matched
),

attendance as (
    select
        observed.school_id,
        observed.semester_id,
        observed.date,
        observed.student_id,
        {%- for measure in ('recorded', 'present') %}
        {%- for part, sign in [('before', '<'), ('after', '>')] %}
        cast(coalesce(sum(days.{{ measure }}) filter (where days.date {{ sign }} observed.date), 0) as bigint)
            as {{ measure }}_{{ part }},
        {%- endfor %}
        {%- endfor %}
        {{ rate('present_before', 'recorded_before') }} as attendance_rate_before,
        {{ rate('present_after', 'recorded_after') }} as attendance_rate_after,
        attendance_rate_after - attendance_rate_before as attendance_change
    from observed
    left join days
        on days.school_id = observed.school_id
        and days.semester_id = observed.semester_id
        and days.student_id = observed.student_id
        and abs(days.date - observed.date) <= 7 * observed.weeks
    group by observed.school_id, observed.semester_id, observed.date, observed.student_id
),

compared as (
    select
        matched.school_id,
        matched.semester_id,
        matched.date,
        matched.cohort_id,
        matched.level_before,
        count(*) as matched,
        {%- for measure in measures %}
        count({{ measure }}_change) as matched_{{ measure }},
        sum({{ measure }}_change) as {{ measure }}_sum,
        {{ squares(measure ~ '_change') }} as {{ measure }}_squares{{ ',' if not loop.last }}
        {%- endfor %}
    from matched
    left join attendance
        on attendance.school_id = matched.school_id
        and attendance.semester_id = matched.semester_id
        and attendance.date = matched.date
        and attendance.student_id = matched.student_id
    group by matched.school_id, matched.semester_id, matched.date, matched.cohort_id, matched.level_before
),

outcomes as (
    select
        own_levels.*,
        attendance.* exclude (school_id, semester_id, date, student_id),
        own_levels.score_rate_after - own_levels.score_rate_before as score_change,
        compared.* exclude (school_id, semester_id, date, cohort_id, level_before),
        case
            when own_levels.cohort_id is not null and own_levels.level_before <> 'unknown'
                then coalesce(compared.matched, 0)
        end as matched_students
    from own_levels
    left join attendance
        on attendance.school_id = own_levels.school_id
        and attendance.semester_id = own_levels.semester_id
        and attendance.date = own_levels.date
        and attendance.student_id = own_levels.student_id
    left join compared
        on compared.school_id = own_levels.school_id
        and compared.semester_id = own_levels.semester_id
        and compared.date = own_levels.date
        and compared.cohort_id = own_levels.cohort_id
        and compared.level_before = own_levels.level_before
)

select
    outcomes.school_id,
    outcomes.semester_id,
    {{ semester_names() }},
    outcomes.week,
    outcomes.student_id,
    students.student_number,
    students.student_name,
    students.cohort_id,
    students.cohort_name,
    outcomes.date,
    outcomes.kind,
    {{ in_words('intervention', 'outcomes.kind', 'kind') }},
    case
        when semesters.loaded_on is not null
            then semesters.is_over or {{ is_complete('outcomes.date + 7 * outcomes.weeks', 'semesters') }}
    end as is_complete,
    outcomes.week_before,
    outcomes.week_after,
    outcomes.level_before,
    outcomes.level_after,
    {%- for measure in ('recorded', 'present') %}
    {%- for part in ('before', 'after') %}
    {{ if_loaded(['attendance_records'], 'outcomes.' ~ measure ~ '_' ~ part) }} as {{ measure }}_{{ part }},
    {%- endfor %}
    {%- endfor %}
    outcomes.attendance_rate_before,
    outcomes.attendance_rate_after,
    outcomes.attendance_change,
    outcomes.score_rate_before,
    outcomes.score_rate_after,
    outcomes.score_change,
    outcomes.matched_students,
    {%- for measure in measures %}
    {%- set size = 'outcomes.matched_' ~ measure %}
    {%- set sum = 'outcomes.' ~ measure ~ '_sum' %}
    case when outcomes.matched_students is not null then coalesce({{ size }}, 0) end as matched_{{ measure }},
    case when {{ size }} >= outcomes.matches then {{ ratio(sum, size, places=2) }} end as matched_{{ measure }}_change,
    case
        when {{ size }} >= outcomes.matches
            then {{ ratio('(outcomes.' ~ measure ~ '_change * ' ~ size ~ ' - ' ~ sum ~ ')', size, places=2) }}
    end as {{ measure }}_difference,
    {%- for end, sign in [('low', '-'), ('high', '+')] %}
    case
        when {{ size }} >= outcomes.matches
            then {{ difference_limit('outcomes.' ~ measure ~ '_change', size, sum, 'outcomes.' ~ measure ~ '_squares', sign) }}
    end as {{ measure }}_difference_{{ end }},
    {%- endfor %}
    {%- endfor %}
    case
        when outcomes.matched_students is null then 'level not known'
        when coalesce(outcomes.matched_attendance, 0) < outcomes.matches then 'too few'
        else 'compared'
    end as comparison
from outcomes
inner join semesters
    on semesters.school_id = outcomes.school_id
    and semesters.semester_id = outcomes.semester_id
left join students
    on students.school_id = outcomes.school_id
    and students.student_id = outcomes.student_id
