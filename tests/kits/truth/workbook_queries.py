"""What each sheet of the ready-made workbooks should say, asked of a published file in another way."""

BY_WEEK = "Attendance rate by teaching week"
OF_SCORED = "Share of the scored grades"
OF_TIER = "Share of the tier's students by score rate"


def _rounded(number: str) -> str:
    """SQL for a number with two places, half up: most halves are no doubles, but decimals."""
    return f"round(({number})::DECIMAL(38, 12), 2)"


#: Before each query: the school's semesters, and the current one.
TABLES = """
    WITH semesters AS (FROM core.dim_semester WHERE school_id = $school),
    current AS (SELECT school_id, semester_id, semester_name FROM semesters WHERE is_current),
    ends AS (
        SELECT semester_id, week, max(date) >= any_value(loaded_on) AS is_running
        FROM core.dim_date JOIN core.last_load USING (school_id)
        WHERE school_id = $school GROUP BY ROLLUP (semester_id, week)
    ),
    weeks AS (
        SELECT
            semester_id, week, if(is_running, '✓', NULL) AS not_over,
            week || if(is_running, ' (so far)', '') AS label
        FROM ends WHERE week IS NOT NULL
    ),
    running AS (
        SELECT semester_id, if(is_running, '✓', NULL) AS not_over FROM ends WHERE week IS NULL
    ),
    facts AS (
        SELECT fct_attendance.*, counts_in_denominator AS is_counted, cohort_name
        FROM core.fct_attendance JOIN core.dim_student USING (school_id, student_id)
        WHERE school_id = $school
    ),
    bands AS (
        SELECT *, CASE
            WHEN upper_percent IS NULL THEN '≥ ' || lower_percent::INTEGER
            WHEN lower_percent IS NULL THEN '< ' || upper_percent::INTEGER
            ELSE lower_percent::INTEGER || '–' || upper_percent::INTEGER END AS label
        FROM staging.stg_grade_bands WHERE school_id = $school
    )
"""

ATTENDANCE = """
    SELECT
        semester_name, not_over, students, days, partial_days, round(days_attended / days, 1),
        round(100 * present / recorded, 2), round(100 * late / present, 2), recorded, absent, leave, late,
        chronic, round(100 * chronic / known, 2), round(100 * taken / due, 2)
    FROM semesters JOIN running USING (semester_id)
    JOIN (
        SELECT semester_id, count(*) AS students, count_if(is_chronic) AS chronic, count(is_chronic) AS known
        FROM marts.attendance_student_semester WHERE school_id = $school GROUP BY ALL
    ) USING (semester_id)
    JOIN (
        SELECT
            semester_id, count_if(is_counted AND is_present) AS present, count_if(is_counted) AS recorded,
            count_if(is_counted AND is_late) AS late, count_if(is_counted AND is_absent) AS absent,
            count_if(is_leave) AS leave
        FROM facts GROUP BY ALL
    ) USING (semester_id)
    JOIN (
        SELECT
            semester_id, count_if(is_whole) AS days, count_if(NOT is_whole) AS partial_days,
            sum(attended) FILTER (WHERE is_whole) AS days_attended
        FROM (
            SELECT
                semester_id, date, count_if(NOT is_absent_day) AS attended,
                2 * count(*) >= median(count(*)) OVER (PARTITION BY semester_id) AS is_whole
            FROM marts.attendance_student_day WHERE school_id = $school AND recorded > 0
            GROUP BY semester_id, date
        )
        GROUP BY ALL
    ) USING (semester_id)
    JOIN (
        SELECT
            semester_id, count_if(state = 'recorded') AS taken,
            count_if(state IN ('recorded', 'unrecorded')) AS due
        FROM marts.attendance_class_session WHERE school_id = $school GROUP BY ALL
    ) USING (semester_id)
"""
WEEKS = """
    SELECT
        semester_name, week, first_day, not_over, days, partial_days, average_daily_attendance,
        count_if(is_counted), count_if(is_counted AND is_absent),
        count_if(is_leave), count_if(is_counted AND is_late),
        round(100 * count_if(is_counted AND is_late) / count_if(is_counted AND is_present), 2)
    FROM facts JOIN current USING (semester_id) JOIN weeks USING (semester_id, week)
    JOIN (
        SELECT semester_id, week, days_in_session AS days, partial_days, average_daily_attendance
        FROM marts.attendance_group_week WHERE school_id = $school AND group_type = 'school'
    ) USING (semester_id, week)
    LEFT JOIN (
        SELECT semester_id, week, min(date) AS first_day FROM core.dim_date
        WHERE school_id = $school GROUP BY ALL
    ) USING (semester_id, week)
    GROUP BY ALL
"""
RATES_BY_WEEK = """
    SELECT
        week, coalesce(cohort_name, 'School'),
        round(100 * count_if(is_counted AND is_present) / count_if(is_counted), 2)
    FROM facts JOIN current USING (semester_id)
    GROUP BY GROUPING SETS ((week), (week, cohort_name))
"""
_TIERS = """
    , cells AS (
        SELECT coalesce(cohort_name, school_name) AS cohort, tier, count(*) AS students
        FROM marts.attendance_student_semester
        JOIN current USING (school_id, semester_id)
        GROUP BY GROUPING SETS ((school_name, tier), (cohort_name, tier))
    )
"""
TIERS = _TIERS + "SELECT cohort, tier, students FROM cells"
TIER_SHARES = (
    _TIERS
    + """
    SELECT cohort, tier, round(100 * students / sum(students) OVER (PARTITION BY cohort), 2) FROM cells
"""
)
CLASS_WEEKS = """
    SELECT
        cohort_name, admin_class_name, coalesce(label, 'Semester'),
        round(100 * sum(present) / sum(recorded), 2)
    FROM marts.attendance_group_week AS groups
    JOIN current USING (school_id, semester_id)
    JOIN core.dim_admin_class AS classes
        ON classes.school_id = groups.school_id AND classes.admin_class_id = groups.group_id
    JOIN weeks USING (semester_id, week)
    WHERE group_type = 'admin_class'
    GROUP BY GROUPING SETS ((cohort_name, admin_class_name, label), (cohort_name, admin_class_name))
"""
COURSE_CLASS_WEEKS = """
    SELECT
        course_name, class_name, teacher_names, coalesce(label, 'Semester'),
        round(100 * sum(present) / nullif(sum(recorded), 0), 2)
    FROM marts.attendance_class_session
    JOIN current USING (school_id, semester_id) JOIN weeks USING (semester_id, week)
    GROUP BY GROUPING SETS ((1, 2, 3, label), (1, 2, 3))
"""
#: Grade, class and class teacher of the rows of a mart, by the class itself.
_HEAD = """
    coalesce(
        (
            SELECT coalesce(
                (
                    SELECT 'Grade ' || levels.grade_level FROM core.cohort_grade_level AS levels
                    WHERE levels.school_id = {mart}.school_id AND levels.semester_id = {mart}.semester_id
                        AND levels.cohort_id = classes.cohort_id
                ),
                classes.cohort_name
            )
            FROM core.dim_admin_class AS classes
            WHERE classes.school_id = {mart}.school_id AND classes.admin_class_id = {mart}.admin_class_id
        ),
        'Grade ' || {mart}.grade_level, {mart}.cohort_name, 'Not known'
    ),
    coalesce({mart}.admin_class_name, 'Not known'),
    coalesce(
        (
            SELECT string_agg(teacher_name, ', ' ORDER BY teacher_id)
            FROM core.bridge_admin_class_teacher AS teachers
            WHERE (role = 'head' OR role IS NULL)
                AND teachers.school_id = {mart}.school_id AND teachers.admin_class_id = {mart}.admin_class_id
        ),
        'Not known'
    )
"""
LOW_ATTENDANCE = f"""
    SELECT
        marts.semester_name, {_HEAD.format(mart="marts")}, marts.student_number, marts.student_name,
        tier, CASE WHEN is_chronic THEN '✓' END,
        attendance_rate, recent_attendance_rate, attendance_rate_change,
        lateness_rate, recorded, absent, on_leave, late,
        days_recorded, days_absent, longest_absence_streak, current_absence_streak
    FROM marts.attendance_student_semester AS marts
    JOIN current USING (school_id, semester_id)
    JOIN core.dim_student AS students USING (school_id, student_id)
    WHERE tier IN ('severe', 'chronic', 'watch') AND NOT students.is_deleted
"""
HEAT_MAP = """
    SELECT lesson, lesson_name, weekday_en, {rate} FROM (
        SELECT
            lesson, lesson_name, coalesce(dayname(DATE '2024-01-01' + (weekday - 1)), 'Week') AS weekday_en,
            round(100 * sum(present) / nullif(sum(recorded), 0), 2) AS attendance_rate,
            CASE WHEN weekday IS NOT NULL THEN round(100 * sum(late) / nullif(sum(present), 0), 2) END
                AS lateness_rate
        FROM marts.attendance_class_session
        JOIN current USING (school_id, semester_id)
        GROUP BY GROUPING SETS ((lesson, lesson_name, weekday), (lesson, lesson_name))
    )
"""
UNRECORDED = """
    , sessions AS (
        SELECT *, unnest(if(len(teacher_ids) > 0, teacher_ids, [NULL])) AS teacher_id
        FROM marts.attendance_class_session
        JOIN current USING (school_id, semester_id)
        WHERE state IN ('recorded', 'unrecorded')
    )
    SELECT
        sessions.semester_name, staff_number, teacher_name, count(*), count_if(state = 'recorded'),
        count_if(state = 'unrecorded') AS missed, round(100 * missed / count(*), 2),
        min(date) FILTER (WHERE state = 'unrecorded'), max(date) FILTER (WHERE state = 'unrecorded'),
        array_to_string(list_sort(list_distinct(list(concat_ws(' ', course_name, class_name))
            FILTER (WHERE state = 'unrecorded'))), ', ')
    FROM sessions LEFT JOIN core.dim_teacher USING (school_id, teacher_id)
    GROUP BY ALL HAVING missed > 0
"""

GRADES = """
    , grades AS (
        FROM core.fct_grade
        WHERE school_id = $school AND source = 'class' AND counts_in_statistics AND semester_id IS NOT NULL
    )
    SELECT
        semester_name, not_over, count(DISTINCT student_id), count(*), count(score_percent),
        round(avg(score_percent), 2), round(median(score_percent), 4), round(stddev_samp(score_percent), 4),
        round(100 * count_if(is_passed) / count(is_passed), 2),
        round(100 * count_if(is_excellent) / count(score_percent), 2), count_if(NOT is_passed),
        round(sum(grade_points * credit) / sum(credit) FILTER (WHERE grade_points IS NOT NULL), 2),
        coalesce(pending, 0), rate
    FROM grades JOIN semesters USING (school_id, semester_id) JOIN running USING (semester_id)
    LEFT JOIN (
        SELECT semester_id, count(*) AS pending FROM core.fct_grade
        WHERE school_id = $school AND source = 'class' AND status = 'pending' GROUP BY ALL
    ) USING (semester_id)
    LEFT JOIN (
        SELECT semester_id, round(100 * (1 - sum(missing) / sum(expected)), 2) AS rate
        FROM marts.score_completeness WHERE school_id = $school AND state <> 'not_started' GROUP BY ALL
    ) USING (semester_id)
    GROUP BY ALL
"""
_BAND_ROWS = """
    , cells AS (
        SELECT marts.*, label FROM marts.grade_distribution_band AS marts
        JOIN current USING (school_id, semester_id) JOIN bands USING (school_id, band)
    )
"""
BANDS = (
    _BAND_ROWS
    + """
    SELECT label, CASE group_type WHEN 'school' THEN 'Whole school' ELSE group_name END, {value}
    FROM cells WHERE group_type IN ('school', 'cohort')
"""
)
GROUP_BANDS = (
    _BAND_ROWS
    + """
    SELECT group_type, coalesce(group_name, 'Not known'), label, percent FROM cells
    WHERE group_type <> 'course_class'
"""
)
DISTRIBUTION = f"""
    SELECT
        current.semester_name, group_type, coalesce(group_name, 'Not known'), students, scored,
        {_rounded("percent_sum / scored")}, mean_low, mean_high, median, sd, least, greatest, pass_rate,
        excellent_rate
    FROM marts.grade_distribution JOIN current USING (school_id, semester_id)
    WHERE group_type <> 'course_class'
"""
_OTHERS_MEAN = "(cohort_percent_sum - class_percent_sum) / nullif(others_scored, 0)"
CLASSES = f"""
    SELECT
        current.semester_name, cohort_name, course_name, class_name, teacher_names,
        class_scored, {_rounded("class_percent_sum / class_scored")}, class_sd, class_pass_rate,
        cohort_scored, if(cohort_id IS NULL, NULL, {_rounded("cohort_percent_sum / cohort_scored")}),
        cohort_sd, cohort_pass_rate,
        {_rounded(f"class_percent_sum / class_scored - {_OTHERS_MEAN}")}, difference_low, difference_high,
        shrunken_difference, effect_size, verdict,
        CASE
            WHEN cohort_id IS NULL THEN 'no cohort'
            WHEN is_distinguishable THEN concat(rank, ' / ', cohort_classes)
            WHEN class_scored = cohort_scored THEN 'only class'
            WHEN is_distinguishable IS NULL THEN 'few grades' ELSE 'chance' END
    FROM marts.grade_class_against_cohort JOIN current USING (school_id, semester_id)
"""
STUDENTS = f"""
    SELECT
        current.semester_name, {_HEAD.format(mart="grade_student_semester")}, student_number, student_name,
        if(has_left, '✓', NULL), {_rounded("weighted_percent_sum / weight_sum")},
        {_rounded("grade_points_sum / gpa_credits")}, counted_courses, passed_courses, failed_courses,
        pending_failed_courses, undecided_courses, pending_courses, credits, gained_credits, rank_in_class,
        class_size, rank_in_cohort, cohort_size,
        CASE
            WHEN has_left THEN 'left' WHEN weighted_mean IS NULL THEN 'no mean'
            WHEN admin_class_id IS NULL AND rank_in_cohort > 0 THEN 'no class'
            WHEN rank_in_cohort IS NULL THEN 'few courses' END
    FROM marts.grade_student_semester JOIN current USING (school_id, semester_id)
"""
ITEMS = f"""
    SELECT
        current.semester_name, course_name, class_name, teacher_names, item_name, full_score, students,
        complete_students, if(complete_students < 30, '✓', NULL), {_rounded("score_sum / students")},
        {_rounded("score_sum / students / full_score + 0 * difficulty")}, discrimination,
        item_rest_correlation, discrimination_label, alpha, alpha_low, alpha_high
    FROM marts.score_item_analysis JOIN current USING (school_id, semester_id)
"""
COMPLETENESS = """
    SELECT
        current.semester_name, course_name, class_name, teacher_names, item_name, state, expected, scored,
        zeros, invalid, missing, completeness_rate, last_scored_at::DATE, published_at::DATE
    FROM marts.score_completeness JOIN current USING (school_id, semester_id)
"""

_LEVELS = """
    SELECT
        {semesters}.semester_name, {groups} count(*) AS students,
        count_if(level = 'at_risk') AS at_risk, count_if(level = 'warning') AS warning,
        count_if(level = 'watch'), count_if(level = 'none'), count_if(level = 'unknown'),
        round(100 * at_risk / nullif(count_if(level <> 'unknown'), 0), 2),
        round(100 * warning / nullif(count_if(level <> 'unknown'), 0), 2)
    FROM marts.early_warning
    JOIN {semesters} USING (school_id, semester_id) JOIN running USING (semester_id)
    WHERE {who}
    GROUP BY ALL
"""
_STILL_THERE = """
    student_id NOT IN (SELECT student_id FROM core.dim_student WHERE is_deleted AND school_id = $school)
"""
LEVELS = _LEVELS.format(semesters="semesters", groups="not_over,", who="NOT has_left")
_CLASS_COHORT = """(
    SELECT classes.cohort_name FROM core.dim_admin_class AS classes
    WHERE classes.school_id = early_warning.school_id
        AND classes.admin_class_id = early_warning.admin_class_id
)"""
LEVELS_OF_CLASSES = _LEVELS.format(
    semesters="current", groups=f"{_CLASS_COHORT}, admin_class_name,", who=_STILL_THERE
)
_STUDENTS = """
    SELECT
        current.semester_name, {head}, student_number, student_name, level, {columns}
    FROM marts.early_warning JOIN current USING (school_id, semester_id)
    WHERE
"""
_LAST_TALK = """(
    SELECT max(date) FROM core.fct_intervention AS talks
    WHERE talks.school_id = early_warning.school_id AND talks.semester_id = early_warning.semester_id
    AND talks.student_id = early_warning.student_id
)"""
_LAST_CHANGE = """
    (
        SELECT {value} FROM marts.early_warning_history AS history
        WHERE
            is_latest AND history.semester_id = early_warning.semester_id
            AND history.student_id = early_warning.student_id AND history.level = early_warning.level
    )
"""
_NEW = "if(is_new_this_week, if(change = 'new', 'New this week', 'Back this week'), NULL)"
_SINCE = """
    CASE WHEN week IS NULL THEN CAST(since AS VARCHAR) ELSE concat('week ', week) END
        || CASE change WHEN 'first' THEN ' or earlier' ELSE '' END
        || CASE WHEN thresholds_changed THEN ' (limits changed)' ELSE '' END
"""
_SINCE_NEW_AND_TALK = f"{_LAST_CHANGE.format(value=_NEW)}, {_LAST_CHANGE.format(value=_SINCE)}, {_LAST_TALK},"
#: Patterns in a student's absences follow the reasons.
WARNINGS = (
    _STUDENTS.format(
        head=_HEAD.format(mart="early_warning"),
        columns=_SINCE_NEW_AND_TALK
        + """
            array_to_string(list_filter([reasons_en, (
                SELECT string_agg(
                    'absent '
                    || if(pattern_type = 'weekday', 'on ', if(pattern_type = 'lesson', 'in ', 'from '))
                    || pattern_en || ': ' || absent || ' of ' || recorded || ', class '
                    || rtrim(rtrim(others_absence_rate::VARCHAR, '0'), '.') || '%',
                    '; ' ORDER BY p_value, pattern_en)
                FROM marts.attendance_student_pattern AS patterns
                WHERE patterns.school_id = early_warning.school_id AND is_pattern
                    AND patterns.semester_id = early_warning.semester_id
                    AND patterns.student_id = early_warning.student_id
            )], lambda text: text IS NOT NULL), '; '),
            (
                SELECT absences_left FROM marts.attendance_student_semester AS attendance
                WHERE attendance.school_id = early_warning.school_id
                    AND attendance.semester_id = early_warning.semester_id
                    AND attendance.student_id = early_warning.student_id
            ),
            NULL, NULL
        """,
    )
    + _STILL_THERE
    + "AND level <> 'none'"
)
TALKS = """
    SELECT
        current.semester_name, date, cohort_name, student_number, student_name, kind, level_before,
        level_after, attendance_rate_before, attendance_rate_after, score_rate_before, score_rate_after,
        matched_attendance, attendance_difference, attendance_difference_low, attendance_difference_high,
        if(is_complete, NULL, '✓')
    FROM marts.intervention_outcome JOIN current USING (school_id, semester_id)
"""
_CHANCE = """(
    SELECT 100 * {}_chance FROM marts.early_warning_score AS score
    WHERE score.school_id = early_warning.school_id AND score.student_id = early_warning.student_id
)"""
VALUES = (
    _STUDENTS.format(
        head="cohort_name, admin_class_name",
        columns="""
            if(is_provisional, '✓', NULL), attendance_rate, -nullif(attendance_drop, 0), lateness_rate,
            score_rate, -nullif(score_drop, 0), failed_courses, missing_rate, {chance}, {chronic}
        """.format(chance=_CHANCE.format("failed"), chronic=_CHANCE.format("chronic")),
    )
    + _STILL_THERE
)

#: Of the limits in force, those whom the indicators say to be beyond them.
CAME_TRUE = """
    SELECT
        semester_name, week,
        CASE rule
            WHEN 'attendance_reasons' THEN 'A reason of attendance'
            WHEN 'grades_reasons' THEN 'A reason of grades'
            WHEN 'level_warning' THEN 'Level: warning or at risk' WHEN 'level_at_risk' THEN 'Level: at risk'
            WHEN 'failed_last_semester' THEN 'For comparison: failed a course last semester'
            WHEN 'worst_tenth_attendance'
                THEN 'For comparison: worst tenth by attendance of the last four weeks'
            WHEN 'attendance_rate' THEN 'Alone: Attendance rate, %'
            WHEN 'attendance_drop' THEN 'Alone: Attendance drop, points'
            WHEN 'lateness_rate' THEN 'Alone: Lateness rate, %' WHEN 'score_rate' THEN 'Alone: Score rate, %'
            WHEN 'score_drop' THEN 'Alone: Fall against the cohort, usual spreads'
            WHEN 'failed_courses' THEN 'Alone: Failed courses'
            WHEN 'missing_rate' THEN 'Alone: Missing scores, %'
        END,
        CASE outcome
            WHEN 'failed_courses' THEN 'Failed two courses or more after the week'
            WHEN 'chronic_absence' THEN 'Chronically absent after the week'
            WHEN 'failed_next' THEN 'Failed a course in the next semester'
            WHEN 'has_left' THEN 'Left by the end of the next semester'
        END,
        students, with_outcome, base_rate, flagged, hits, best_single, single_hits, missed, false_alarms,
        CASE known_when
            WHEN 'recorded' THEN 'stored here then' WHEN 'dated' THEN 'by the platform''s times'
            WHEN 'assumed' THEN 'partly assumed'
        END,
        CASE WHEN flagged > 9 THEN "precision" END, CASE WHEN flagged > 9 THEN precision_low END,
        CASE WHEN flagged > 9 THEN precision_high END, CASE WHEN with_outcome > 9 THEN recall END,
        CASE WHEN with_outcome > 9 THEN recall_low END, CASE WHEN with_outcome > 9 THEN recall_high END
    FROM marts.early_warning_backtest
    WHERE school_id = $school AND judged > 0 AND week IN (4, 8, 12, 16, 20, 24) AND NOT is_contained
        AND outcome NOT IN ('failed_or_chronic', 'mean_drop')
"""
RULES = """
    , told AS (
        SELECT marts.indicator, marts.level, is_among_worst FROM marts.early_warning_indicator AS marts
        JOIN current USING (school_id, semester_id) WHERE is_told AND NOT has_left
    ),
    counted AS (
        SELECT
            indicator, count(*) AS judged, count_if(level = 'at_risk') AS at_risk,
            count_if(level IN ('at_risk', 'warning') AND is_among_worst) AS warning,
            count_if(level IN ('at_risk', 'warning', 'watch')) AS watch
        FROM told GROUP BY indicator
    )
    SELECT
        marts.semester_name, indicator, limit_value, level, judged, beyond, round(100 * beyond / judged, 2),
        CASE level
            WHEN 'at_risk' THEN at_risk WHEN 'warning' THEN warning WHEN 'watch' THEN watch ELSE among_worst
        END AS flagged,
        round(100 * flagged / judged, 2), deciding
    FROM marts.early_warning_rule_counts AS marts
    JOIN current USING (school_id, semester_id) JOIN counted USING (indicator)
"""
_TIER_ROWS = """
    , cells AS (
        SELECT marts.*, coalesce(label, 'No score') AS label
        FROM marts.attendance_and_grades AS marts
        JOIN current USING (school_id, semester_id) LEFT JOIN bands USING (school_id, band)
    )
"""
TIERS_AND_GRADES = (
    _TIER_ROWS
    + """
    SELECT
        semester_name, tier, sum(students), round(100 * sum(present) / nullif(sum(recorded), 0), 2),
        round(100 * sum(score_sum) / nullif(sum(full_score_sum), 0), 2)
    FROM cells GROUP BY ALL
"""
)
BANDS_OF_TIERS = (
    _TIER_ROWS
    + """
    SELECT tier, label, round(100 * students / sum(students) OVER (PARTITION BY tier), 2) FROM cells
"""
)
