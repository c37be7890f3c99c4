{#-
    The CTE `attendance`: a row a student and week of the CTE `weeks`, with the marks up to the end of the week, of the CTEs
    `days` and `attendance_thresholds`.
-#}
{% macro attendance_up_to_week() -%}
    -- Attendance: sums of a week, then sums up to a week.
    week_sums as (
        select
            school_id,
            semester_id,
            student_id,
            week,
            cast(sum(recorded) as bigint) as recorded,
            cast(sum(present) as bigint) as present,
            cast(sum(late) as bigint) as late,
            count(*) as days_recorded
        from days
        group by school_id, semester_id, student_id, week
    ),

    marked_students as (
        select distinct school_id, semester_id, student_id from week_sums
    ),

    sums_so_far as (
        select
            weeks.school_id,
            weeks.semester_id,
            marked_students.student_id,
            weeks.week,
            {%- for sum in ('recorded', 'present', 'late', 'days_recorded') %}
            cast(coalesce(sum(week_sums.{{ sum }}) over so_far, 0) as bigint) as {{ sum }},
            {%- endfor %}
            -- The last week that the school has records of, so far.
            max(any_records.week) over so_far as last_week
        from weeks
        inner join marked_students
            on marked_students.school_id = weeks.school_id
            and marked_students.semester_id = weeks.semester_id
        left join week_sums
            on week_sums.school_id = weeks.school_id
            and week_sums.semester_id = weeks.semester_id
            and week_sums.student_id = marked_students.student_id
            and week_sums.week = weeks.week
        left join (select distinct school_id, semester_id, week from days) as any_records
            on any_records.school_id = weeks.school_id
            and any_records.semester_id = weeks.semester_id
            and any_records.week = weeks.week
        window so_far as (
            partition by weeks.school_id, weeks.semester_id, marked_students.student_id order by weeks.week
        )
    ),

    attendance as (
        select
            now.school_id,
            now.semester_id,
            now.student_id,
            now.week,
            now.days_recorded,
            now.present,
            now.recorded - coalesce(earlier.recorded, 0) as recent_recorded,
            now.present - coalesce(earlier.present, 0) as recent_present,
            coalesce(earlier.recorded, 0) as earlier_recorded,
            {{ rate('now.present', 'now.recorded') }} as attendance_rate,
            {{ rate('now.late', 'now.present') }} as lateness_rate,
            cast(
                {{ rate('recent_present', 'recent_recorded') }} - {{ rate('earlier.present', 'earlier.recorded') }}
                as decimal(9, 2)
            ) as attendance_rate_change,
            {{ rate('(now.present - coalesce(month_ago.present, 0))', '(now.recorded - coalesce(month_ago.recorded, 0))') }}
                as month_attendance_rate
        from sums_so_far as now
        left join attendance_thresholds as thresholds
            on thresholds.school_id = now.school_id
        left join sums_so_far as earlier
            on earlier.school_id = now.school_id
            and earlier.semester_id = now.semester_id
            and earlier.student_id = now.student_id
            and earlier.week = now.last_week - thresholds.trend_weeks
        left join sums_so_far as month_ago
            on month_ago.school_id = now.school_id
            and month_ago.semester_id = now.semester_id
            and month_ago.student_id = now.student_id
            and month_ago.week = now.week - 4
    )
{%- endmacro %}

{#-
    The CTE `scores`: a row a student and week of the CTE `there`, with the scores expected and given up to the end of the
    week; and `items` with the day on which each begins.
-#}
{% macro scores_up_to_week() -%}
    known_since as (
        select school_id, cast(max(known_since) as date) as known_since
        from {{ ref('known_since') }}
        group by school_id
    ),

    -- Scores: from which day each is given, and each item begun.
    first_seen as (
        select
            school_id,
            record_id as score_id,
            cast(
                coalesce(min(seen_at) filter (where op = 'updated'), min(seen_at) filter (where op = 'created')) as date
            ) as given_on
        from {{ ref('stg_changes') }}
        where
            resource = 'scores'
            and (op = 'created' or (field = 'score' and before is null and after is not null))
        group by school_id, record_id
    ),

    given as (
        select
            scores.school_id,
            scores.assessment_item_id,
            scores.student_id,
            min(coalesce(first_seen.given_on, cast(scores.created_at as date), semesters.last_day)) as given_on,
            bool_or(first_seen.given_on is null) as is_dated,
            bool_or(first_seen.given_on is null and scores.created_at is null) as is_assumed
        from {{ ref('fct_score') }} as scores
        inner join semesters
            on semesters.school_id = scores.school_id
            and semesters.semester_id = scores.semester_id
        left join first_seen
            on first_seen.school_id = scores.school_id
            and first_seen.score_id = scores.score_id
        where {{ is_given('scores') }}
        group by scores.school_id, scores.assessment_item_id, scores.student_id
    ),

    begun as (
        select school_id, assessment_item_id, min(given_on) as begun_on
        from given
        group by school_id, assessment_item_id
    ),

    items as (
        select
            items.school_id,
            items.semester_id,
            items.assessment_id,
            items.assessment_item_id,
            items.course_class_id,
            items.full_score,
            items.known_on,
            begun.begun_on,
            summed.assessment_id is not null as is_summed
        from {{ ref('fct_assessment_item') }} as items
        left join begun
            on begun.school_id = items.school_id
            and begun.assessment_item_id = items.assessment_item_id
        left join ({{ summed_assessments() }}) as summed
            on summed.school_id = items.school_id
            and summed.assessment_id = items.assessment_id
    ),

    -- Each student of whom a score is expected, with the days from which it is expected, given, or no longer expected.
    expected as (
        select
            items.school_id,
            items.semester_id,
            members.student_id,
            items.begun_on,
            items.is_summed,
            coalesce(scores.is_valid, true) as is_valid,
            given.given_on,
            coalesce(given.is_dated, false) as is_dated,
            coalesce(given.is_assumed, false) as is_assumed,
            case
                when members.left_on is not null and (given.given_on is null or given.given_on > members.left_on)
                    then greatest(members.left_on, items.begun_on)
            end as gone_on
        from items
        inner join members
            on members.school_id = items.school_id
            and members.course_class_id = items.course_class_id
            and {{ is_member('members', 'items.known_on') }}
        left join {{ ref('fct_item_score') }} as scores
            on scores.school_id = items.school_id
            and scores.assessment_item_id = items.assessment_item_id
            and scores.student_id = members.student_id
        left join given
            on given.school_id = items.school_id
            and given.assessment_item_id = items.assessment_item_id
            and given.student_id = members.student_id
        where items.begun_on is not null
    ),

    score_events as (
        select
            school_id, semester_id, student_id, begun_on as date, 1 as expected, if(is_valid, 0, 1) as settled,
            if(is_summed and is_valid, 1, 0) as missing_as_zero, false as is_dated, false as is_assumed
        from expected

        union all

        select
            school_id, semester_id, student_id, gone_on, -1, if(is_valid, 0, -1), if(is_summed and is_valid, -1, 0), false,
            false
        from expected
        where gone_on is not null

        union all

        select
            school_id, semester_id, student_id, given_on, 0, 1, if(is_summed, -1, 0), is_dated, is_assumed
        from expected
        where
            is_valid
            and given_on is not null
            and gone_on is null
    ),

    score_days as (
        select
            school_id,
            semester_id,
            student_id,
            date,
            {%- for sum in ('expected', 'settled', 'missing_as_zero') %}
            cast(sum(sum({{ sum }})) over so_far as bigint) as {{ sum }},
            {%- endfor %}
            max(max(case when is_assumed then 2 when is_dated then 1 else 0 end)) over so_far as doubt
        from score_events
        group by school_id, semester_id, student_id, date
        window so_far as (partition by school_id, semester_id, student_id order by date)
    ),

    scores as (
        select
            there.school_id,
            there.semester_id,
            there.week,
            there.student_id,
            score_days.expected,
            {{ rate('(score_days.expected - score_days.settled)', 'score_days.expected') }} as missing_rate,
            score_days.missing_as_zero > 0 as lowers_score_rate,
            score_days.doubt
        from there
        asof inner join score_days
            on score_days.school_id = there.school_id
            and score_days.semester_id = there.semester_id
            and score_days.student_id = there.student_id
            and score_days.date <= there.ends_on
        left join known_since
            on known_since.school_id = there.school_id
        left join students
            on students.school_id = there.school_id
            and students.semester_id = there.semester_id
            and students.student_id = there.student_id
        -- The platform hides the scores of those who have left, so that they look missing.
        where
            not coalesce(students.is_deleted, false)
            or known_since.known_since <= there.ends_on
    )
{%- endmacro %}

{#-
    The CTE `grades`: a row a student and week of the CTE `there`, with the grades as they were known at the end of the week.
-#}
{% macro grades_up_to_week() -%}
    {%- set score_percent = percent('versions.real_score', 'facts.full_score', places=6, digits=18) -%}
    -- Grades: the values of each, and from which day to which they were so.
    facts as (
        select
            grades.*,
            semesters.last_day
        from {{ ref('fct_grade') }} as grades
        inner join semesters
            on semesters.school_id = grades.school_id
            and semesters.semester_id = grades.semester_id
        where
            grades.source = 'class'
            and grades.student_id is not null
    ),

    history as (
        select
            *,
            min(known_from) over (partition by school_id, grade_id) as first_known_from
        from {{ ref('grade_history') }}
        where source = 'class'
    ),

    versions as (
        select
            history.school_id,
            history.semester_id,
            history.grade_id,
            cast(history.known_from as date) as from_on,
            cast(history.known_to as date) as to_on,
            history.real_score,
            history.status,
            history.pass_status,
            0 as doubt
        from history
        where history.known_from is not null

        union all

        -- Before the first load the platform's own time of the last change tells from when the grade is as it is.
        select
            facts.school_id,
            facts.semester_id,
            facts.grade_id,
            cast(coalesce(facts.updated_at, facts.published_at, facts.last_day) as date) as from_on,
            cast(first_known.first_known_from as date) as to_on,
            facts.real_score,
            facts.status,
            facts.pass_status,
            if(coalesce(facts.updated_at, facts.published_at) is null, 2, 1) as doubt
        from facts
        left join (select distinct school_id, grade_id, first_known_from from history) as first_known
            on first_known.school_id = facts.school_id
            and first_known.grade_id = facts.grade_id
        where
            first_known.first_known_from is null
            or coalesce(facts.updated_at, facts.published_at, facts.last_day) < first_known.first_known_from
    ),

    item_points as (
        select
            weeks.school_id,
            weeks.semester_id,
            weeks.week,
            items.assessment_id,
            sum(items.full_score) as item_points,
            coalesce(sum(items.full_score) filter (where items.begun_on <= weeks.ends_on), 0) as begun_points
        from weeks
        inner join items
            on items.school_id = weeks.school_id
            and items.semester_id = weeks.semester_id
        group by weeks.school_id, weeks.semester_id, weeks.week, items.assessment_id
    ),

    week_grades as (
        select
            weeks.school_id,
            weeks.semester_id,
            weeks.week,
            facts.student_id,
            facts.full_score,
            facts.weight,
            facts.assessment_id,
            versions.real_score,
            versions.doubt,
            versions.status,
            coalesce(status_rules.counts_in_statistics, true) as counts_in_statistics,
            {{ score_percent }} as score_percent,
            -- Not by its name, which is that of the final grade's in `facts`.
            {{ is_passed('versions.pass_status', score_percent, 'thresholds.pass_percent') }} as is_passed
        from weeks
        inner join versions
            on versions.school_id = weeks.school_id
            and versions.semester_id = weeks.semester_id
            and versions.from_on <= weeks.ends_on
            and (versions.to_on is null or versions.to_on > weeks.ends_on)
        inner join facts
            on facts.school_id = versions.school_id
            and facts.grade_id = versions.grade_id
        left join {{ ref('grade_status_rules') }} as status_rules
            on status_rules.status = versions.status
        left join grade_thresholds as thresholds
            on thresholds.school_id = weeks.school_id
    ),

    grade_sums as (
        select
            grades.school_id,
            grades.semester_id,
            grades.week,
            grades.student_id,
            {{ course_sums() }},
            max(doubt) as doubt
        from week_grades as grades
        left join item_points as points
            on points.school_id = grades.school_id
            and points.semester_id = grades.semester_id
            and points.week = grades.week
            and points.assessment_id = grades.assessment_id
        group by grades.school_id, grades.semester_id, grades.week, grades.student_id
    ),

    grade_means as (
        select
            grade_sums.*,
            students.cohort_id,
            quantile_disc(nullif(grade_sums.scored_courses, 0), 0.5) over in_cohort as usual_courses,
            case
                when 100 * grade_sums.scored_courses >= coalesce(thresholds.rank_minimum, 0) * usual_courses
                    then {{ ratio('grade_sums.weighted_percent_sum', 'grade_sums.weight_sum') }}
            end as ranked_mean
        from grade_sums
        semi join there using (school_id, semester_id, week, student_id)
        left join students
            on students.school_id = grade_sums.school_id
            and students.semester_id = grade_sums.semester_id
            and students.student_id = grade_sums.student_id
        left join grade_thresholds as thresholds
            on thresholds.school_id = grade_sums.school_id
        window in_cohort as (
            partition by grade_sums.school_id, grade_sums.semester_id, grade_sums.week, students.cohort_id
        )
    ),

    grades as (
        select
            school_id,
            semester_id,
            week,
            student_id,
            counted_courses,
            scored_courses,
            pending_courses,
            failed_courses,
            pending_failed_courses,
            doubt,
            {{ percent('score_sum', 'full_score_sum', places=2) }} as score_rate,
            {{ percent('begun_points', 'item_points', places=2) }} as begun_percent,
            case
                when cohort_id is not null
                    then {{ z_score('ranked_mean', 'count(ranked_mean) over in_cohort', 'sum(ranked_mean) over in_cohort', 'sum(ranked_mean * ranked_mean) over in_cohort') }}
            end as z_score_in_cohort
        from grade_means
        window in_cohort as (partition by school_id, semester_id, week, cohort_id)
    )
{%- endmacro %}
