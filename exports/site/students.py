"""The page of a student."""

from __future__ import annotations

from exports import measures
from exports.site.sections import FEWEST, Kind, Line, Links, Section
from exports.spreadsheet.sheets import Column, Sheet, Words
from exports.workbooks.queries import GPA, NEWEST_FIRST, SCORE_RATE, SHOWN, SINCE, rate, ratio
from exports.workbooks.terms import INDICATORS, KINDS, LEVELS, RATE, TIERS, grouped

CLASS, COHORT, STUDENT = Words("Class", "行政班"), Words("Cohort", "届别"), Words("Student", "学生")
COURSE = Words("Course", "课程")
PUPILS = Words("Students", "学生")
LINKS_OF_COURSE: Links = {"course_name": ("course", "_course")}
#: The class's and the cohort's rate beside a student's own, semester by semester.
BESIDE = """
    WINDOW
        of_class AS (PARTITION BY semester_id, admin_class_id),
        of_cohort AS (PARTITION BY semester_id, cohort_id)
"""
STATUSES = {
    "absent": Words("Absent", "缺勤"),
    "leave": Words("On leave", "请假"),
    "late": Words("Late", "迟到"),
    "early_left": Words("Left early", "早退"),
}
MARK = """CASE
    WHEN is_leave THEN 'leave' WHEN is_absent THEN 'absent' WHEN is_late THEN 'late'
    WHEN is_early_left THEN 'early_left' ELSE 'present'
END"""
#: Whether a grade is passed. A grade whose status counts in no statistic shows its status instead.
VERDICT = """CASE
    WHEN NOT counts_in_statistics THEN status WHEN is_passed THEN '✓' WHEN NOT is_passed THEN '✗'
END AS is_passed"""
#: By status, of a grade that does not count. A home's own grade_status_rules may say so of each status.
NOT_COUNTED = Column(
    words={
        "delayed": Words("Delayed, does not count", "缓考，不计入"),
        "pending": Words("Unpublished, does not count", "未发布，不计入"),
        "published": Words("Published, does not count", "已发布，不计入"),
        "passed": Words("Passed, does not count", "已通过，不计入"),
    }
)


def _beside(part: str, whole: str, group: str) -> str:
    """SQL for the rate of a window, where enough students are in it."""
    of_group = rate(f"sum({part}) OVER {group}", f"sum({whole}) OVER {group}")
    return f"CASE WHEN count(*) OVER {group} >= {FEWEST} THEN {of_group} END"


#: SQL for the mean of a course class, and of an item, beside each grade and score.
COUNTED = "(score_percent) FILTER (counts_in_statistics) OVER of_class"
MEAN_OF_CLASS = ratio(f"sum{COUNTED}", f"count{COUNTED}", 2)
MEAN_OF_ITEM = ratio("sum(score) OVER of_item", "count(score) OVER of_item", 2)

HEADING = Section(
    Sheet(
        name=STUDENT,
        about=Words("", ""),
        query=f"""
            WITH {SHOWN}, placed AS (
                SELECT student_id, any_value(admin_class_id) AS class_id,
                    any_value(admin_class_name) AS class_name, bool_or(has_left) AS has_left
                FROM marts.early_warning JOIN shown USING (school_id, semester_id)
                GROUP BY student_id
            )
            SELECT
                student_id::VARCHAR AS page,
                coalesce(student_name, student_number, student_id::VARCHAR) AS _name, student_number,
                class_name AS admin_class_name, class_id::VARCHAR AS _class,
                cohort_name, cohort_id::VARCHAR AS _cohort,
                CASE WHEN has_left THEN '✓' END AS has_left
            FROM core.dim_student LEFT JOIN placed USING (student_id)
            WHERE school_id = $school_id AND list_contains($pages, student_id::VARCHAR)
        """,
        sources=("core.dim_student", "marts.early_warning"),
        columns={"admin_class_name": Column(CLASS), "cohort_name": Column(COHORT)},
    ),
    links={"admin_class_name": ("class", "_class"), "cohort_name": ("cohort", "_cohort")},
)
WARNINGS = Section(
    Sheet(
        name=Words("Early warning", "学生预警"),
        about=Words(
            "The level of each semester with its reasons. A level is a reason to look, not a verdict.",
            "各学期的预警等级及原因。等级仅作提示，不是结论。",
        ),
        query=f"""
            SELECT
                student_id::VARCHAR AS page, early_warning.semester_name, level,
                CASE WHEN is_provisional THEN '✓' END AS is_provisional, reasons_en, reasons_zh
            FROM marts.early_warning
            JOIN core.dim_semester USING (school_id, semester_id)
            WHERE school_id = $school_id AND list_contains($pages, student_id::VARCHAR)
            ORDER BY {NEWEST_FIRST}
        """,
        sources=("marts.early_warning",),
        columns={
            "level": Column(words=LEVELS),
            "is_provisional": Column(Words("Provisional", "暂定")),
            "reasons_en": Column(Words("Reasons", "预警原因")),
        },
    ),
    terms=("At risk", "Warning", "Watch", "Provisional"),
)
CHANGES = Section(
    Sheet(
        name=Words("Changes of level", "等级变化"),
        about=Words(
            "Each change of the level, as it was published, the latest first.",
            "历次发布的等级变化，最近的排在前面。",
        ),
        query=f"""
            SELECT
                student_id::VARCHAR AS page, history.semester_name, week, {SINCE} AS since, previous_level,
                level, change_en, change_zh,
                CASE WHEN thresholds_changed THEN '✓' END AS thresholds_changed
            FROM marts.early_warning_history AS history
            JOIN core.dim_semester USING (school_id, semester_id)
            WHERE school_id = $school_id AND list_contains($pages, student_id::VARCHAR)
            ORDER BY history.since DESC, history.semester_name DESC
        """,
        sources=("marts.early_warning_history",),
        columns={
            "previous_level": Column(Words("Before", "此前等级"), words=LEVELS),
            "level": Column(words=LEVELS),
            "change_en": Column(Words("Change", "变化")),
            "thresholds_changed": Column(Words("Limits changed", "界限调整")),
        },
    ),
)
DONE = Section(
    Sheet(
        name=Words("Talks and measures", "谈话与帮扶"),
        about=Words(
            "What the school wrote down, with the level and the attendance before and after. This does not "
            "show cause and effect.",
            "学校记录的谈话与帮扶，以及前后的等级和出勤率。只说明先后，不说明因果。",
        ),
        query="""
            SELECT
                student_id::VARCHAR AS page, date, kind, level_before, level_after, attendance_rate_before,
                attendance_rate_after
            FROM marts.intervention_outcome
            WHERE school_id = $school_id AND list_contains($pages, student_id::VARCHAR)
            ORDER BY date DESC, kind
        """,
        sources=("marts.intervention_outcome",),
        columns={
            "kind": Column(words=KINDS),
            "level_before": Column(words=LEVELS),
            "level_after": Column(words=LEVELS),
        },
    ),
)
PATTERNS = Section(
    Sheet(
        name=Words("Patterns of absence", "缺勤规律"),
        about=Words(
            "Weekdays, lessons and courses that the student misses more than the class does, where chance "
            "hardly explains it.",
            "该生缺勤明显多于同班同学的星期、节次和课程；仅列出难以用偶然性解释的规律。",
        ),
        query=f"""
            WITH {SHOWN}
            SELECT
                student_id::VARCHAR AS page, pattern_en, pattern_zh, absent, recorded, absence_rate,
                others_absence_rate
            FROM marts.attendance_student_pattern JOIN shown USING (school_id, semester_id)
            WHERE is_pattern AND list_contains($pages, student_id::VARCHAR)
            ORDER BY p_value, pattern_en
        """,
        sources=("marts.attendance_student_pattern",),
        columns={"pattern_en": Column(Words("When", "时段或课程"))},
    ),
)
GROWTH = Section(
    Sheet(
        name=Words("Growth", "成绩增值"),
        about=Words(
            "The student's percentile among students of the cohort whose score rates were similar before.",
            "在本届此前得分率相近的学生中，由低到高所处的百分位。",
        ),
        query=f"""
            SELECT
                student_id::VARCHAR AS page, growth.semester_name, {SCORE_RATE}, growth_percentile,
                growth_percentile_low, growth_percentile_high
            FROM marts.grade_student_growth AS growth
            JOIN core.dim_semester USING (school_id, semester_id)
            JOIN marts.grade_student_semester USING (school_id, semester_id, student_id)
            WHERE school_id = $school_id AND list_contains($pages, student_id::VARCHAR)
            ORDER BY {NEWEST_FIRST}
        """,
        sources=("marts.grade_student_growth",),
    ),
)
VALUES = Section(
    Sheet(
        name=Words("What the level is based on", "等级依据"),
        about=Words(
            "Each indicator with the limit that it exceeds, and its rank in the cohort, counted from the "
            "worst.",
            "各项指标、所超出的界限，以及在本届中的位次（从最差算起）。",
        ),
        query=f"""
            WITH {SHOWN}
            SELECT
                student_id::VARCHAR AS page, indicator, value, level, limit_value, rank_from_worst,
                cohort_students
            FROM marts.early_warning_indicator JOIN shown USING (school_id, semester_id)
            WHERE list_contains($pages, student_id::VARCHAR)
            ORDER BY place
        """,
        sources=("marts.early_warning_indicator",),
        columns={
            "indicator": Column(Words("Indicator", "指标"), words=INDICATORS),
            "value": Column(places=2),
            "limit_value": Column(places=2),
            "level": Column(Words("Level", "等级"), words=LEVELS),
        },
    ),
    terms=("Usual spread",),
)
WEEKS = Section(
    Sheet(
        name=Words("Attendance by week", "每周出勤率"),
        about=Words("The student compared with the class and the cohort.", "该生与本班、本届的比较。"),
        query=f"""
            WITH {SHOWN}, own AS (
                SELECT
                    student_id, week, sum(recorded) AS recorded, sum(present) AS present,
                    {rate("sum(present)", "sum(recorded)")} AS attendance_rate
                FROM marts.attendance_student_day JOIN shown USING (school_id, semester_id)
                WHERE week IS NOT NULL AND recorded > 0 AND list_contains($pages, student_id::VARCHAR)
                GROUP BY student_id, week
            ),
            placed AS (
                SELECT
                    student_id, admin_class_id, cohort_id,
                    count(*) OVER (PARTITION BY admin_class_id) >= {FEWEST} AS has_classmates,
                    count(*) OVER (PARTITION BY cohort_id) >= {FEWEST} AS has_cohort
                FROM marts.early_warning JOIN shown USING (school_id, semester_id)
            ),
            groups AS (
                SELECT group_type, group_id, week, {rate("sum(present)", "sum(recorded)")} AS attendance_rate
                FROM marts.attendance_group_week JOIN shown USING (school_id, semester_id)
                GROUP BY ALL
            )
            SELECT
                own.student_id::VARCHAR AS page, own.week, own.recorded, own.present, own.attendance_rate,
                of_class.attendance_rate AS class_rate, of_cohort.attendance_rate AS cohort_rate
            FROM own
            LEFT JOIN placed USING (student_id)
            LEFT JOIN groups AS of_class
                ON of_class.group_type = 'admin_class' AND of_class.group_id = placed.admin_class_id
                AND of_class.week = own.week AND has_classmates
            LEFT JOIN groups AS of_cohort
                ON of_cohort.group_type = 'cohort' AND of_cohort.group_id = placed.cohort_id
                AND of_cohort.week = own.week AND has_cohort
            ORDER BY own.week
        """,
        sources=("marts.attendance_student_day",),
        columns={
            "attendance_rate": Column(STUDENT, kind="percent"),
            "class_rate": Column(CLASS, kind="percent"),
            "cohort_rate": Column(COHORT, kind="percent"),
        },
    ),
    line=Line("week", ("attendance_rate", "class_rate", "cohort_rate")),
    terms=("Attendance rate",),
)
CALENDAR = Section(
    Sheet(
        name=Words("Attendance by day and lesson", "每日各节考勤"),
        about=Words(
            "One row per week, with a sign for each lesson whose roll was taken, in the order of lessons.",
            "每周一行，每个已点名的课节一个符号，按节次排列。",
        ),
        query=f"""
            WITH {SHOWN}
            SELECT
                student_id::VARCHAR AS page, week, weekday, date,
                list({MARK} ORDER BY lesson, course_class_id) AS _marks
            FROM core.fct_attendance JOIN shown USING (school_id, semester_id)
            WHERE counts_in_denominator AND list_contains($pages, student_id::VARCHAR)
            GROUP BY student_id, week, weekday, date
            ORDER BY date
        """,
        sources=("core.fct_attendance",),
    ),
    is_calendar=True,
)
ABSENCES = Section(
    Sheet(
        name=Words("Lessons missed or late", "缺勤与迟到"),
        about=Words("The latest first.", "最近的排在前面。"),
        query=f"""
            WITH {SHOWN}
            SELECT
                student_id::VARCHAR AS page, date, lesson, course_name,
                course_class_id::VARCHAR AS _course, {MARK} AS mark, absence_label
            FROM core.fct_attendance
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN core.dim_course_class USING (school_id, course_class_id)
            WHERE counts_in_denominator AND list_contains($pages, student_id::VARCHAR) AND mark <> 'present'
            ORDER BY date DESC, lesson DESC, course_class_id
        """,
        sources=("core.fct_attendance", "core.dim_course_class"),
        columns={"mark": Column(Words("Roll", "考勤"), words=STATUSES)},
    ),
    links=LINKS_OF_COURSE,
)
ATTENDANCE = Section(
    Sheet(
        name=Words("Attendance by semester", "各学期考勤"),
        about=Words("The student compared with the class and the cohort.", "该生与本班、本届的比较。"),
        query=f"""
            WITH beside AS (
                SELECT
                    *, {_beside("present", "recorded", "of_class")} AS class_rate,
                    {_beside("present", "recorded", "of_cohort")} AS cohort_rate
                FROM marts.attendance_student_semester WHERE school_id = $school_id
                {BESIDE}
            )
            SELECT
                student_id::VARCHAR AS page, beside.semester_name, recorded, attendance_rate, class_rate,
                cohort_rate, absences_left, lateness_rate, unexcused, on_leave, days_absent,
                longest_absence_streak, tier
            FROM beside JOIN core.dim_semester USING (school_id, semester_id)
            WHERE list_contains($pages, student_id::VARCHAR)
            ORDER BY {NEWEST_FIRST}
        """,
        sources=("marts.attendance_student_semester",),
        columns={
            **grouped(
                RATE,
                attendance_rate=Column(STUDENT, kind="percent"),
                class_rate=Column(CLASS, kind="percent"),
                cohort_rate=Column(COHORT, kind="percent"),
            ),
            "tier": Column(words=TIERS),
        },
    ),
    terms=("Attendance rate", "Lateness rate", "Absent day"),
)
SEMESTERS = Section(
    Sheet(
        name=Words("Grades by semester", "各学期成绩"),
        about=Words(
            "The score rate compared with the class and the cohort, credits, GPA and the rank.",
            "得分率与本班、本届的比较，以及学分、GPA 和名次。",
        ),
        query=f"""
            WITH beside AS (
                SELECT
                    *, {_beside("score_sum", "full_score_sum", "of_class")} AS class_rate,
                    {_beside("score_sum", "full_score_sum", "of_cohort")} AS cohort_rate
                FROM marts.grade_student_semester WHERE school_id = $school_id
                {BESIDE}
            )
            SELECT
                student_id::VARCHAR AS page, beside.semester_name, {SCORE_RATE}, class_rate, cohort_rate,
                scored_courses, failed_courses, credits, gained_credits, {GPA}, rank_in_cohort, cohort_size
            FROM beside JOIN core.dim_semester USING (school_id, semester_id)
            WHERE list_contains($pages, student_id::VARCHAR)
            ORDER BY dim_semester.first_day, semester_id
        """,
        sources=("marts.grade_student_semester",),
        columns=grouped(
            measures.label("score_rate"),
            score_rate=Column(STUDENT, kind="percent"),
            class_rate=Column(CLASS, kind="percent"),
            cohort_rate=Column(COHORT, kind="percent"),
        ),
    ),
    line=Line("semester_name", ("score_rate", "class_rate", "cohort_rate")),
    terms=("Score rate", "Credits taken, earned", "Weighted mean, rank"),
)
COURSES = Section(
    Sheet(
        name=Words("Courses", "各课程成绩"),
        about=Words(
            "Each course's grade in percent of the full score, compared with the mean of the course class. "
            "Only grades with ✓, ✗ or — count in the figures above.",
            "各课程成绩占满分的百分比，以及与本课程班平均的比较。只有标为✓、✗或—的成绩计入以上指标。",
        ),
        query=f"""
            WITH beside AS (
                SELECT
                    *, CASE WHEN count{COUNTED} >= {FEWEST}
                        THEN {MEAN_OF_CLASS} END AS class_mean
                FROM core.fct_grade WHERE school_id = $school_id AND source = 'class'
                WINDOW of_class AS (PARTITION BY course_class_id)
            )
            SELECT
                student_id::VARCHAR AS page, semester_name, course_name, course_class_id::VARCHAR AS _course,
                real_score, score_text, full_score,
                {rate("real_score", "full_score")} AS score_percent, class_mean, level, {VERDICT}, credit,
                grade_points, published_at::DATE AS published_at
            FROM beside LEFT JOIN core.dim_semester USING (school_id, semester_id)
            WHERE list_contains($pages, student_id::VARCHAR)
            ORDER BY {NEWEST_FIRST}, course_name, course_class_id
        """,
        sources=("core.fct_grade", "core.dim_semester"),
        columns={
            "course_name": Column(COURSE),
            "real_score": Column(Words("Score", "得分")),
            "is_passed": NOT_COUNTED,
            "score_percent": Column(kind="percent"),
            "class_mean": Column(Words("Mean of the class", "课程班平均"), kind="percent"),
            "published_at": Column(Words("Published", "发布日期")),
        },
    ),
    links=LINKS_OF_COURSE,
    terms=("Mean, median, sd", "Pass rate"),
    optional=("score_text",),
)
ITEMS = Section(
    Sheet(
        name=Words("Scores by item", "各评价项得分"),
        about=Words(
            "Each scored item of the current semester, compared with the mean of the course class.",
            "本学期各评价项的得分，以及与本课程班平均的比较。",
        ),
        query=f"""
            WITH {SHOWN}, beside AS (
                SELECT
                    fct_item_score.*, semester_id, course_class_id, assessment_name,
                    CASE WHEN count(score) OVER of_item >= {FEWEST} THEN {MEAN_OF_ITEM} END AS mean
                FROM core.fct_item_score
                JOIN core.dim_assessment USING (school_id, assessment_id)
                JOIN shown USING (school_id, semester_id)
                WHERE is_valid
                WINDOW of_item AS (PARTITION BY assessment_item_id)
            )
            SELECT
                student_id::VARCHAR AS page, course_name, course_class_id::VARCHAR AS _course,
                assessment_name, item_name, score, score_text, beside.mean AS class_mean, full_score,
                {rate("score", "full_score")} AS score_percent, last_scored_at::DATE AS last_scored_at
            FROM beside
            LEFT JOIN core.dim_assessment_item USING (school_id, assessment_id, assessment_item_id)
            LEFT JOIN core.dim_course_class USING (school_id, course_class_id)
            WHERE list_contains($pages, student_id::VARCHAR)
            ORDER BY course_name, course_class_id, assessment_name, sort, assessment_item_id
        """,
        sources=(
            *("core.fct_item_score", "core.dim_assessment_item"),
            *("core.dim_assessment", "core.dim_course_class"),
        ),
        columns={
            "class_mean": Column(Words("Mean of the class", "课程班平均")),
            "score": Column(places=2),
            "score_text": Column(Words("Score text", "得分文字")),
            "full_score": Column(places=2),
            "score_percent": Column(Words("Score rate", "得分率"), kind="percent"),
            "last_scored_at": Column(Words("Scored", "评分日期")),
        },
    ),
    links=LINKS_OF_COURSE,
    optional=("score_text",),
)
PROGRESS = Section(
    Sheet(
        name=Words("Credits earned", "已获学分"),
        about=Words(
            "Over all semesters. Due: credits that should have been earned by now. How many credits a "
            "graduation needs is not known.",
            "各学期累计。应获学分指到目前为止应获得的学分；毕业所需学分总数未知。",
        ),
        query="""
            SELECT
                student_id::VARCHAR AS page, courses, credits_attempted, credits_due, credits_earned,
                credits_missing, progress_rate
            FROM marts.graduation_progress
            WHERE school_id = $school_id AND list_contains($pages, student_id::VARCHAR)
        """,
        sources=("marts.graduation_progress",),
        columns={"progress_rate": Column(Words("Earned of those due", "已获占应获"))},
    ),
)
GUARDIANS = Section(
    Sheet(
        name=Words("Guardians", "家长"),
        about=Words("The guardian accounts linked to the student.", "与该生关联的家长账号。"),
        query="""
            SELECT
                person_id::VARCHAR AS page, guardians.name AS guardian_name,
                guardian_role::VARCHAR AS guardian_role, nullif(trim(guardians.phone), '') AS phone
            FROM raw.v1_users AS guardians
            JOIN core.bridge_v1_person AS wards
                ON wards.school_id = guardians._school_id AND wards.v1_person_id = guardians.student_id
            WHERE guardians._school_id = $school_id AND list_contains($pages, person_id::VARCHAR)
                AND guardians.role = 8 AND guardians._deleted_at IS NULL
            ORDER BY guardians.id
        """,
        sources=("raw.v1_users",),
        columns={
            "guardian_name": Column(Words("Name", "姓名")),
            "guardian_role": Column(
                Words("Relation", "关系"),
                words={
                    "1": Words("Father", "父亲"),
                    "2": Words("Mother", "母亲"),
                    "0": Words("Other", "其他"),
                },
            ),
        },
    ),
    is_about_guardians=True,
)
STUDENTS_PAGE = Kind(
    name=STUDENT,
    keys="""
        SELECT student_id::VARCHAR AS page FROM core.dim_student
        SEMI JOIN marts.early_warning USING (school_id, student_id)
        WHERE school_id = $school_id AND NOT is_deleted ORDER BY student_id
    """,
    heading=HEADING,
    sections=(
        *(WARNINGS, VALUES, CHANGES, DONE, GUARDIANS),
        *(WEEKS, CALENDAR, ABSENCES, PATTERNS, ATTENDANCE),
        *(SEMESTERS, GROWTH, COURSES, ITEMS, PROGRESS),
    ),
)
