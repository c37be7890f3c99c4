-- Grain: school, closed semester, teaching week, student who was there at the end of the week.
-- Rules: the indicators and the level of marts.early_warning, as the rules in force make them of what was known at the end
--   of the week (ends_on). A student was there with a membership of a course class on that day (one that ended later
--   counts); before the first membership of the semester, or without any, from the first mark of attendance on. Nothing
--   later is used:
--     attendance   a mark counts from the later of its lesson and the day on which it was made (marked_at). A mark that
--                  changed or went after it was stored counts with its earlier value until the sync that saw the change
--                  (core.attendance_past). The trend ends with the last week of which a mark had been made
--     grades       as this warehouse knew them on that day (marts.grade_history). Of a grade that was there at the first
--                  load: the value of then, from the day on which the platform last changed the grade. A grade that is
--                  deleted since has the full score and weight of its assessment's grades
--     scores       as this warehouse knew them on that day (quality.changes): a score is missing unless it was given, or
--                  taken out of statistics. Of a score that was there at the first load: given from its creation on, taken
--                  out of statistics from its last change on
--     expected     a score is expected of those who were members of the class on a day on which a score of the item was
--                  given, up to the day of its publication, or on the day of its publication; from the first such day on,
--                  up to the deletion of the item. Of a member who has left the class only if it was settled by then
--   Of a student who has left by now the platform hides the scores, so missing_rate is null before the first load.
--   score_drop compares with the last semester's final grades. Those, credits, full scores of grades, cohorts and the
--   rules by which grades are sums of scores are those of now.
--   known_when, the first of these that applies:
--     assumed    a mark without a time of marking, and not stored by then, counts from its lesson on. A mark that
--                replaced one in its session counts from the first mark on. A score that was there at the first load may
--                have been given, or taken out of statistics, from its creation (without one: from the first week) to its
--                last change (if the change log has a later one: to the first load); and so may the scores by which an
--                item begins. A published grade changed after the day; a grade of the first load changed or went after it,
--                or has no time; a deleted grade has no other of its assessment. Grades rest on an item of their
--                assessment that was stored as it is after the day, and had not begun by then or was in a semester whose
--                scores were loaded by then: it may be new, or have another full score. An item with scores and without
--                a part that had begun or was stored by then may have had no parts. A class grade of an earlier semester
--                of the cohort changed after the day. A membership has no day of joining, and was not stored by then.
--                Before the first load: the student has left by now. And what rests on others is assumed if theirs is: a
--                score_drop, a warning that only the worst of a cohort get, and an is_worst_tenth that others could move
--     dated      something of it was not stored here by then, and the platform's own times say so; so before the first
--                load of memberships, attendance or the semester's scores (core.known_since, quality.changes)
--     recorded   all of it was stored here
--   What the platform had deleted, or changed without a trace, before the first load is not known: no row shows it.
--   After the retention of earlier versions a mark that changed counts with its last value (core.attendance_past).
--   <indicator>_level: null where too little is known to judge. level: unknown where no indicator is judged.
--   missing_lowers_grades: a missing score counts as zero points, so that a warning of missing_rate is of the grades.
--   failed_last_semester: at least one failed course in the semester before; null: no semester before.
--   is_worst_tenth: attendance of the last four weeks among the worst tenth of the school's students; null: no records.
-- Source: core.early_warning_student, core.fct_attendance, core.attendance_past, marts.grade_history, quality.changes, core
--   facts.
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
        max(value) filter (where threshold = 'weight_without_credit') as weight_without_credit,
        max(value) filter (where threshold = 'rank_minimum_course_percent') as rank_minimum
    from {{ ref('stg_grade_thresholds') }}
    group by school_id
),

known_since as (
    select school_id, cast(max(known_since) as date) as known_since
    from {{ ref('known_since') }}
    -- Grades and scores may begin late in the first semester. Their own first loads tell since when they are known.
    where resource in ('attendance_records', 'class_members')
    group by school_id
),

{{ attendance_up_to_week() }},

first_marks as (
    select school_id, semester_id, student_id, min(from_on) as first_on
    from mark_days
    group by school_id, semester_id, student_id
),

stays as (
    select school_id, semester_id, student_id, joined_on, left_on, cast(undated_since as date) as undated_since
    from members
    where semester_id is not null

    union all

    select marks.school_id, marks.semester_id, marks.student_id, marks.first_on, min(joined.joined_on), null
    from first_marks as marks
    left join members as joined
        on joined.school_id = marks.school_id
        and joined.semester_id = marks.semester_id
        and joined.student_id = marks.student_id
    group by marks.school_id, marks.semester_id, marks.student_id, marks.first_on
    having count(joined.student_id) = 0 or marks.first_on < min(coalesce(joined.joined_on, date '-infinity'))
),

there as (
    select
        weeks.school_id,
        weeks.semester_id,
        weeks.week,
        weeks.ends_on,
        stays.student_id,
        coalesce(bool_and(known_since.known_since <= weeks.ends_on), false) as is_loaded,
        not is_loaded and coalesce(bool_or(students.is_deleted), false) as is_hidden,
        -- Who is there by an undated membership that was not stored yet, and what the platform hides of those who have left.
        case
            when is_hidden or coalesce(bool_or(stays.undated_since > weeks.ends_on), false) then 2
            when is_loaded then 0
            else 1
        end as doubt
    from weeks
    inner join stays
        on stays.school_id = weeks.school_id
        and stays.semester_id = weeks.semester_id
        and {{ is_member('stays', 'weeks.ends_on') }}
    left join known_since
        on known_since.school_id = weeks.school_id
    left join students
        on students.school_id = stays.school_id
        and students.semester_id = stays.semester_id
        and students.student_id = stays.student_id
    group by weeks.school_id, weeks.semester_id, weeks.week, weeks.ends_on, stays.student_id
),

{{ scores_up_to_week() }},

{{ grades_up_to_week() }},

indicators as (
    select
        there.school_id,
        there.semester_id,
        there.week,
        there.student_id,
        students.cohort_id,
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
        -- greatest() ignores null.
        case
            when coalesce(
                attendance.days_recorded, grades.counted_courses, scores.expected, doubts.week,
                students.earlier_failed_courses, if(students.earlier_changed_on > there.ends_on, 2, null)
            ) is not null
                then greatest(
                    there.doubt,
                    attendance.doubt,
                    grades.doubt,
                    scores.doubt,
                    if(score_loads.loaded_at > there.ends_on, 1, 0),
                    if(
                        doubts.week is not null
                            or students.earlier_changed_on > there.ends_on
                            or (cohort_doubts.week is not null and students.earlier_z_score is not null),
                        2,
                        0
                    )
                )
        end as doubt,
        attendance.doubt = 2 as is_attendance_assumed,
        attendance.month_attendance_rate,
        students.earlier_failed_courses
    from there
    left join attendance using (school_id, semester_id, week, student_id)
    left join grades using (school_id, semester_id, week, student_id)
    left join scores using (school_id, semester_id, week, student_id)
    left join grade_doubts as doubts using (school_id, semester_id, week, student_id)
    left join score_loads using (school_id, semester_id)
    left join students
        on students.school_id = there.school_id
        and students.semester_id = there.semester_id
        and students.student_id = there.student_id
    left join cohort_doubts
        on cohort_doubts.school_id = there.school_id
        and cohort_doubts.semester_id = there.semester_id
        and cohort_doubts.week = there.week
        and cohort_doubts.cohort_id = students.cohort_id
),

{{ warning_values('indicators', ['week', 'cohort_id']) }},

ruled as (
    select
        valued.*,
        false as has_left,
        {{ ruled_columns() }}
    from valued
    left join rules
        on rules.school_id = valued.school_id
        and rules.indicator = valued.indicator
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
        -- Whether the cohort decides what is beyond the limit of a warning.
        bool_or(
            rules.cohort_percent is not null
            and level <> 'at_risk'
            and {{ is_beyond('rules.value', 'rules.warning') }}
        ) as rests_on_cohort,
        {%- for indicator in indicators %}
        max(level) filter (where indicator = '{{ indicator }}') as {{ indicator }}_level{{ ',' if not loop.last }}
        {%- endfor %}
    from judged as rules
    group by school_id, semester_id, week, student_id
),

-- Weak students of attendance: fewer than a tenth of the others were as seldom there, or less. It is assumed where others
-- of whom it is not known could move it.
months as (
    select
        *,
        count(month_attendance_rate) over worst_first - 1 as as_seldom_there,
        count(month_attendance_rate) over in_school - 1 as compared,
        count_if(is_attendance_assumed) over in_school as doubtful,
        case when month_attendance_rate is not null then 10 * as_seldom_there < compared end as is_worst_tenth,
        is_worst_tenth is not null
        and (10 * (as_seldom_there - doubtful) < compared + doubtful)
        <> (10 * (as_seldom_there + doubtful) < compared - doubtful) as is_tenth_assumed,
        bool_or(doubt = 2) over (partition by school_id, semester_id, week, cohort_id) as is_cohort_assumed
    from indicators
    window
        in_school as (partition by school_id, semester_id, week),
        worst_first as (partition by school_id, semester_id, week order by month_attendance_rate nulls last)
)

select
    months.school_id,
    months.semester_id,
    {{ semester_names() }},
    months.week,
    weeks.ends_on,
    months.student_id,
    months.cohort_id,
    coalesce(levels.indicators_known, 0) as indicators_known,
    {{ warning_inputs_loaded() }} as inputs_loaded,
    {{ warning_level() }} as level,
    case
        when months.doubt is null then null
        when
            months.doubt = 2
            or months.is_tenth_assumed
            or (levels.rests_on_cohort and months.is_cohort_assumed)
            then 'assumed'
        when months.doubt = 1 then 'dated'
        else 'recorded'
    end as known_when,
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
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = months.school_id
    and semesters.semester_id = months.semester_id
