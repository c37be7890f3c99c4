-- Grain: school, closed semester, teaching week, student who was there at the end of the week.
-- Rules: the indicators and the level of marts.early_warning, as the rules in force make them of what had happened by
--   the end of the week (ends_on). A student was there with a membership of a course class on that day; one without
--   memberships in the semester, from the first mark of attendance on. A semester of which students or memberships were
--   never loaded has no rows. Nothing later is used:
--     attendance   marks dated up to ends_on; the trend ends with the last recorded week so far
--     grades       as this warehouse knew them on that day (marts.grade_history); of a grade that was loaded later: the
--                  value of now, from the day on which the platform last changed the grade
--     scores       from the sync that first saw the score given; of one that was loaded as given: from its creation
--   Of a student who has left by now the platform hides the scores, so missing_rate is null before core.known_since.
--   score_drop compares with the last semester's final grades. Credits, full scores, cohorts and the students of an item
--   are those of now.
--   known_when: how that is known of the grades and scores used. recorded: the warehouse held them; dated: the
--   platform's own times; assumed: the platform gives no time of some of them, so the last day of the semester is taken.
--   <indicator>_level: null where too little is known to judge. level: unknown where no indicator is judged.
--   missing_lowers_grades: a missing score counts as zero points, so that a warning of missing_rate is of the grades.
--   failed_last_semester: at least one failed course in the semester before; null: no semester before.
--   is_worst_tenth: attendance of the last four weeks among the worst tenth of the school's students; null: no records.
-- Source: core.early_warning_student, marts.attendance_student_day, marts.grade_history, core facts.
{%- set indicators = warning_indicators().keys() | list %}
with semesters as (
    select *
    from {{ ref('dim_semester') }}
    where
        is_over
        and week_count is not null
        and week_1_on is not null
        and not coalesce(list_has_any(never_loaded, ['class_members', 'students']), false)
),

weeks as (
    select
        school_id,
        semester_id,
        cast(unnest(range(1, week_count + 1)) as integer) as week,
        cast({{ last_day_of('week', 'semesters') }} as date) as ends_on
    from semesters
),

members as (
    select * from {{ ref('bridge_class_student') }}
),

students as (
    select * from {{ ref('early_warning_student') }}
),

rules as (
    select * from {{ ref('stg_early_warning_rules') }}
),

attendance_thresholds as (
    select school_id, max(value) filter (where threshold = 'trend_weeks') as trend_weeks
    from {{ ref('stg_attendance_thresholds') }}
    group by school_id
),

grade_thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'pass_percent') as pass_percent,
        max(value) filter (where threshold = 'rank_minimum_course_percent') as rank_minimum
    from {{ ref('stg_grade_thresholds') }}
    group by school_id
),

days as (
    select * from {{ ref('attendance_student_day') }} where recorded > 0
),

first_marks as (
    select school_id, semester_id, student_id, min(date) as first_on
    from days
    group by school_id, semester_id, student_id
),

stays as (
    select school_id, semester_id, student_id, joined_on, left_on
    from members
    where semester_id is not null

    union all

    select school_id, semester_id, student_id, first_on, null
    from first_marks
    anti join members using (school_id, semester_id, student_id)
),

there as (
    select distinct
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        weeks.ends_on,
        stays.student_id
    from weeks
    inner join stays
        on stays.school_id = weeks.school_id
        and stays.semester_id = weeks.semester_id
        and {{ is_member('stays', 'weeks.ends_on') }}
),

{{ attendance_up_to_week() }},

{{ scores_up_to_week() }},

{{ grades_up_to_week() }},

indicators as (
    select
        there.school_id,
        there.semester_id,
        there.week,
        there.student_id,
        attendance.attendance_rate,
        {{ decline('-attendance.attendance_rate_change') }} as attendance_drop,
        attendance.lateness_rate,
        grades.score_rate,
        {{ decline('(students.earlier_z_score - grades.z_score_in_cohort)') }} as score_drop,
        grades.failed_courses,
        scores.missing_rate,
        {%- for indicator, base in warning_indicators().items() %}
        {{ base }} as {{ indicator }}_rests_on,
        {%- endfor %}
        grades.begun_percent,
        coalesce(grades.pending_courses > 0, false) as has_pending,
        coalesce(grades.pending_failed_courses > 0, false) as has_pending_failed,
        coalesce(scores.lowers_score_rate, false) as lowers_score_rate,
        greatest(grades.doubt, scores.doubt) as doubt,
        attendance.month_attendance_rate,
        students.earlier_failed_courses
    from there
    left join attendance using (school_id, semester_id, week, student_id)
    left join grades using (school_id, semester_id, week, student_id)
    left join scores using (school_id, semester_id, week, student_id)
    left join students
        on students.school_id = there.school_id
        and students.semester_id = there.semester_id
        and students.student_id = there.student_id
),

{{ warning_values('indicators', ['week']) }},

ruled as (
    select
        valued.*,
        students.cohort_id,
        false as has_left,
        {{ ruled_columns() }}
    from valued
    left join rules
        on rules.school_id = valued.school_id
        and rules.indicator = valued.indicator
    left join students
        on students.school_id = valued.school_id
        and students.semester_id = valued.semester_id
        and students.student_id = valued.student_id
    left join semesters
        on semesters.school_id = valued.school_id
        and semesters.semester_id = valued.semester_id
    where valued.value is not null
),

{{ warning_judgement(['week']) }},

levels as (
    select
        school_id,
        semester_id,
        week,
        student_id,
        {{ warning_level_sums() }},
        {%- for indicator in indicators %}
        max(level) filter (where indicator = '{{ indicator }}') as {{ indicator }}_level{{ ',' if not loop.last }}
        {%- endfor %}
    from judged
    group by school_id, semester_id, week, student_id
),

-- Weak students of attendance: fewer than a tenth of the others were as seldom there, or less.
months as (
    select
        *,
        case
            when month_attendance_rate is not null
                then 10 * (
                    count(month_attendance_rate) over (
                        partition by school_id, semester_id, week order by month_attendance_rate nulls last
                    ) - 1
                ) < count(month_attendance_rate) over (partition by school_id, semester_id, week) - 1
        end as is_worst_tenth
    from indicators
)

select
    months.school_id,
    months.semester_id,
    {{ semester_names() }},
    months.week,
    weeks.ends_on,
    months.student_id,
    students.cohort_id,
    coalesce(levels.indicators_known, 0) as indicators_known,
    {{ warning_inputs_loaded() }} as inputs_loaded,
    {{ warning_level() }} as level,
    case months.doubt when 0 then 'recorded' when 1 then 'dated' when 2 then 'assumed' end as known_when,
    {%- for indicator in indicators %}
    cast(months.{{ indicator }} as {{ 'bigint' if indicator == 'failed_courses' else 'decimal(9, 2)' }}) as {{ indicator }},
    levels.{{ indicator }}_level,
    {%- endfor %}
    case when months.missing_rate is not null then months.lowers_score_rate end as missing_lowers_grades,
    months.earlier_failed_courses > 0 as failed_last_semester,
    months.is_worst_tenth
from months
inner join weeks
    on weeks.school_id = months.school_id
    and weeks.semester_id = months.semester_id
    and weeks.week = months.week
left join levels
    on levels.school_id = months.school_id
    and levels.semester_id = months.semester_id
    and levels.week = months.week
    and levels.student_id = months.student_id
left join students
    on students.school_id = months.school_id
    and students.semester_id = months.semester_id
    and students.student_id = months.student_id
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = months.school_id
    and semesters.semester_id = months.semester_id
