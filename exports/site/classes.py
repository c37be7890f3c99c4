"""The pages of the school: its index, cohorts, administrative classes and course classes."""

from __future__ import annotations

from exports import measures
from exports.site.sections import Kind, Line, Links, Section
from exports.site.students import (
    CLASS,
    COHORT,
    COURSE,
    LINKS_OF_COURSE,
    NOT_COUNTED,
    PUPILS,
    STUDENT,
    VERDICT,
)
from exports.spreadsheet.sheets import Column, Sheet, Words
from exports.workbooks.queries import (
    CLASS_COHORT,
    CLASS_MEAN,
    DIFFERENCE,
    DIFFICULTY,
    ITEM_MEAN,
    LAST_YEAR,
    NOT_DELETED,
    OTHERS_MEAN,
    REASON_TEXTS,
    SCORE,
    SHOWN,
    rate,
    ratio,
)
from exports.workbooks.terms import ATTENTION, INDICATORS, LAST_YEARS_GRADE, LEVELS, RATE, STUDENTS, VERDICTS

SCHOOL = Words("School", "全校")
COURSE_CLASS = Words("Course class", "课程班")
#: The students of the semester, with the level, attendance and score rate of each.
STANDING = f"""
    WITH {SHOWN}, standing AS (
        SELECT * REPLACE ({REASON_TEXTS["en"]} AS reasons_en, {REASON_TEXTS["zh"]} AS reasons_zh)
        FROM marts.early_warning JOIN shown USING (school_id, semester_id, semester_name)
        {SCORE}
        {CLASS_COHORT}
        {NOT_DELETED}
    )
"""
STUDENT_COLUMNS = {
    "student_name": Column(STUDENT),
    "admin_class_name": Column(CLASS),
    "level": Column(words=LEVELS),
    "attendance_rate": Column(RATE, kind="percent"),
    "score_rate": Column(measures.label("score_rate"), kind="percent"),
}
LINKS_OF_STUDENT: Links = {"student_name": ("student", "_student"), "admin_class_name": ("class", "_class")}
LINKS_OF_CLASS: Links = {"admin_class_name": ("class", "_class")}
LINKS_OF_COHORT: Links = {"cohort_name": ("cohort", "_cohort")}
#: Numbers of a group: students by level, and rates from sums.
GROUP_NUMBERS = f"""
    count(*) AS students,
    if(bool_and(inputs_loaded), count_if(level = 'at_risk'), NULL) AS at_risk,
    if(bool_and(inputs_loaded), count_if(level = 'warning'), NULL) AS warning,
    {rate("sum(present)", "sum(recorded)")} AS attendance_rate,
    {rate("sum(score_sum)", "sum(full_score_sum)")} AS score_rate
"""
OF_GROUP = """
    FROM standing
    LEFT JOIN (FROM marts.attendance_student_semester
        SELECT school_id, semester_id, student_id, present, recorded)
        USING (school_id, semester_id, student_id)
    LEFT JOIN (FROM marts.grade_student_semester
        SELECT school_id, semester_id, student_id, score_sum, full_score_sum)
        USING (school_id, semester_id, student_id)
"""
GROUP_COLUMNS = {
    "students": Column(STUDENTS, unit="students"),
    "at_risk": Column(LEVELS["at_risk"], unit="students"),
    "warning": Column(LEVELS["warning"], unit="students"),
    "attendance_rate": Column(RATE, kind="percent"),
    "score_rate": Column(measures.label("score_rate"), kind="percent"),
}
FLAGS = ("At risk", "Warning", "Watch", "Attendance rate", "Score rate")


def _weeks(group_type: str, above: str, own: Words, beside: Words) -> Section:
    """Attendance of a group by week, beside that of the group above, and of a cohort also beside that of the
    same grade a year before, if known. `above`: SQL for the id and type of the group above."""
    last_year = ("last_year_rate",) if group_type == "cohort" else ()
    return Section(
        Sheet(
            name=Words("Attendance by week", "每周出勤率"),
            about=Words(
                "Lessons attended, in percent of the lessons recorded.", "出勤课节占已点名课节的比例。"
            ),
            query=f"""
                WITH {SHOWN}, {LAST_YEAR}, earlier AS (
                    SELECT
                        group_type, group_id, week,
                        {rate("sum(present)", "sum(recorded)")} AS last_year_rate
                    FROM last_year GROUP BY ALL
                ),
                weeks AS (
                    SELECT
                        group_type, group_id, week, sum(recorded) AS recorded, sum(present) AS present,
                        {rate("sum(present)", "sum(recorded)")} AS attendance_rate
                    FROM marts.attendance_group_week JOIN shown USING (school_id, semester_id)
                    WHERE week IS NOT NULL AND recorded > 0
                    GROUP BY ALL
                ),
                parents AS ({above})
                SELECT
                    own.group_id::VARCHAR AS page, own.week, own.recorded, own.present, own.attendance_rate,
                    {", ".join(("beside.attendance_rate AS beside_rate", *last_year))}
                FROM weeks AS own
                LEFT JOIN earlier USING (group_type, group_id, week)
                LEFT JOIN parents ON parents.id = own.group_id
                LEFT JOIN weeks AS beside
                    ON beside.group_type = parents.parent_type AND beside.week = own.week
                    AND (parents.parent_type = 'school' OR beside.group_id = parents.parent_id)
                WHERE own.group_type = '{group_type}' AND list_contains($pages, own.group_id::VARCHAR)
                ORDER BY own.week
            """,
            sources=("marts.attendance_group_week",),
            columns={
                "attendance_rate": Column(own, kind="percent"),
                "beside_rate": Column(beside, kind="percent"),
                "last_year_rate": Column(LAST_YEARS_GRADE, kind="percent"),
            },
        ),
        line=Line("week", ("attendance_rate", "beside_rate", *last_year)),
        terms=("Attendance rate",),
        optional=last_year,
    )


def _students(of: str, class_columns: str = "") -> Section:
    """The students of a group: a row each, who needs attention first. `class_columns`: SQL for the columns
    of their class, where the group has several."""
    return Section(
        Sheet(
            name=PUPILS,
            about=Words("Students who need attention come first.", "需要关注的学生排在前面。"),
            query=f"""
                {STANDING}
                SELECT
                    {of}::VARCHAR AS page, student_number,
                    coalesce(student_name, student_number, student_id::VARCHAR) AS student_name,
                    student_id::VARCHAR AS _student, {class_columns}
                    level, attendance_rate, lateness_rate, score_rate, failed_courses, missing_rate,
                    reasons_en, reasons_zh
                FROM standing
                WHERE list_contains($pages, {of}::VARCHAR)
                ORDER BY {ATTENTION}
            """,
            sources=("marts.early_warning",),
            columns={
                **STUDENT_COLUMNS,
                **{name: Column(INDICATORS[name]) for name in ("failed_courses",)},
                "reasons_en": Column(Words("Reasons", "预警原因")),
            },
        ),
        links=LINKS_OF_STUDENT if class_columns else {"student_name": ("student", "_student")},
        terms=FLAGS,
        is_searched=True,
    )


INDEX = Kind(
    name=SCHOOL,
    keys="SELECT '' AS page",
    heading=Section(
        Sheet(
            name=SCHOOL,
            about=Words("", ""),
            query=f"""
                WITH {SHOWN}
                SELECT
                    '' AS page, coalesce(school_name, school_id::VARCHAR) AS _name,
                    (SELECT string_agg(DISTINCT semester_name, ' · ') FROM shown) AS semester_name
                FROM core.dim_school WHERE school_id = $school_id
            """,
            sources=("core.dim_semester",),
        )
    ),
    sections=(
        Section(
            Sheet(
                name=PUPILS,
                about=Words("Find a student by name, number or class.", "按姓名、学号或班级查找学生。"),
                query=f"""
                    {STANDING}
                    SELECT
                        '' AS page,
                        coalesce(student_name, student_number, student_id::VARCHAR) AS student_name,
                        student_id::VARCHAR AS _student, student_number, admin_class_name,
                        admin_class_id::VARCHAR AS _class, cohort_name, cohort_id::VARCHAR AS _cohort, level
                    FROM standing
                    ORDER BY cohort_name, admin_class_name, admin_class_id, student_number, student_id
                """,
                sources=("marts.early_warning",),
                columns={**STUDENT_COLUMNS, "cohort_name": Column(COHORT)},
            ),
            links={**LINKS_OF_STUDENT, "cohort_name": ("cohort", "_cohort")},
            terms=("At risk", "Warning", "Watch"),
            is_searched=True,
            lists="student",
        ),
        Section(
            Sheet(
                name=Words("Cohorts", "各届"),
                about=Words("", ""),
                query=f"""
                    {STANDING}
                    SELECT '' AS page, coalesce(cohort_name, cohort_id::VARCHAR) AS cohort_name,
                        cohort_id::VARCHAR AS _cohort, {GROUP_NUMBERS}
                    {OF_GROUP}
                    WHERE cohort_id IS NOT NULL
                    GROUP BY cohort_id, cohort_name ORDER BY cohort_name, cohort_id
                """,
                sources=("marts.early_warning",),
                columns={"cohort_name": Column(COHORT), **GROUP_COLUMNS},
            ),
            links=LINKS_OF_COHORT,
            terms=FLAGS,
            lists="cohort",
        ),
        Section(
            Sheet(
                name=Words("Administrative classes", "行政班"),
                about=Words("", ""),
                query=f"""
                    {STANDING}
                    SELECT '' AS page,
                        coalesce(any_value(admin_class_name), admin_class_id::VARCHAR) AS admin_class_name,
                        admin_class_id::VARCHAR AS _class, any_value(class_cohort) AS cohort_name,
                        {GROUP_NUMBERS}
                    {OF_GROUP}
                    WHERE admin_class_id IS NOT NULL
                    GROUP BY admin_class_id ORDER BY cohort_name, admin_class_name, admin_class_id
                """,
                sources=("marts.early_warning", "core.dim_admin_class"),
                columns={"admin_class_name": Column(CLASS), "cohort_name": Column(COHORT), **GROUP_COLUMNS},
            ),
            links=LINKS_OF_CLASS,
            terms=FLAGS,
            lists="class",
        ),
        Section(
            Sheet(
                name=Words("Course classes", "课程班"),
                about=Words("The current semester.", "本学期。"),
                query=f"""
                    WITH {SHOWN}
                    SELECT '' AS page, course_name, course_class_id::VARCHAR AS _course, class_name,
                        subject_name, teacher_names
                    FROM core.dim_course_class JOIN shown USING (school_id, semester_id)
                    WHERE NOT is_deleted
                    ORDER BY course_name, class_name, course_class_id
                """,
                sources=("core.dim_course_class",),
                columns={"course_name": Column(COURSE)},
            ),
            links=LINKS_OF_COURSE,
            is_searched=True,
            lists="course",
        ),
    ),
)
COHORTS = Kind(
    name=COHORT,
    keys=f"""
        {STANDING}
        SELECT DISTINCT cohort_id::VARCHAR AS page FROM standing WHERE cohort_id IS NOT NULL ORDER BY page
    """,
    heading=Section(
        Sheet(
            name=COHORT,
            about=Words("", ""),
            query=f"""
                {STANDING}
                SELECT cohort_id::VARCHAR AS page, coalesce(cohort_name, cohort_id::VARCHAR) AS _name,
                    {GROUP_NUMBERS}
                {OF_GROUP}
                WHERE list_contains($pages, cohort_id::VARCHAR)
                GROUP BY cohort_id, cohort_name
            """,
            sources=("marts.early_warning",),
            columns=GROUP_COLUMNS,
        )
    ),
    sections=(
        Section(
            Sheet(
                name=Words("Classes", "班级"),
                about=Words("", ""),
                query=f"""
                    {STANDING}
                    SELECT
                        class_cohort_id::VARCHAR AS page,
                        coalesce(any_value(admin_class_name), admin_class_id::VARCHAR) AS admin_class_name,
                        admin_class_id::VARCHAR AS _class, {GROUP_NUMBERS}
                    {OF_GROUP}
                    WHERE admin_class_id IS NOT NULL AND list_contains($pages, class_cohort_id::VARCHAR)
                    GROUP BY class_cohort_id, admin_class_id ORDER BY admin_class_name, admin_class_id
                """,
                sources=("marts.early_warning", "core.dim_admin_class"),
                columns={"admin_class_name": Column(CLASS), **GROUP_COLUMNS},
            ),
            links=LINKS_OF_CLASS,
            terms=FLAGS,
        ),
        _weeks(
            "cohort",
            "SELECT DISTINCT cohort_id AS id, 'school' AS parent_type, NULL AS parent_id "
            "FROM marts.early_warning WHERE school_id = $school_id",
            COHORT,
            SCHOOL,
        ),
        Section(
            Sheet(
                name=Words("Courses", "课程"),
                about=Words(
                    "Each course class compared with the cohort's other classes.",
                    "各课程班与同届其他班的比较。",
                ),
                query=f"""
                    WITH {SHOWN}
                    SELECT
                        cohort_id::VARCHAR AS page, course_name, course_class_id::VARCHAR AS _course,
                        class_name, teacher_names, class_scored, {CLASS_MEAN}, {OTHERS_MEAN}, {DIFFERENCE},
                        difference_low, difference_high, effect_size, verdict
                    FROM marts.grade_class_against_cohort JOIN shown USING (school_id, semester_id)
                    WHERE population = 'all' AND list_contains($pages, cohort_id::VARCHAR)
                    ORDER BY course_name, class_name, course_class_id
                """,
                sources=("marts.grade_class_against_cohort",),
                columns={
                    "course_name": Column(COURSE),
                    "difference": Column(signed=True),
                    "verdict": Column(words=VERDICTS),
                },
            ),
            links=LINKS_OF_COURSE,
            terms=("Mean, median, sd", "Effect size", "Shrunken difference, verdict on a class"),
        ),
        _students("cohort_id", "admin_class_name, admin_class_id::VARCHAR AS _class,"),
    ),
)
CLASSES = Kind(
    name=CLASS,
    keys=f"""
        {STANDING}
        SELECT DISTINCT admin_class_id::VARCHAR AS page FROM standing
        WHERE admin_class_id IS NOT NULL ORDER BY page
    """,
    heading=Section(
        Sheet(
            name=CLASS,
            about=Words("", ""),
            query=f"""
                {STANDING}, numbers AS (
                    SELECT
                        school_id, admin_class_id, {GROUP_NUMBERS}
                    {OF_GROUP}
                    WHERE list_contains($pages, admin_class_id::VARCHAR)
                    GROUP BY school_id, admin_class_id
                )
                SELECT
                    admin_class_id::VARCHAR AS page,
                    coalesce(admin_class_name, admin_class_id::VARCHAR) AS _name,
                    cohort_name, cohort_id::VARCHAR AS _cohort, head_teacher_name, deputy_names,
                    students, at_risk, warning, attendance_rate, score_rate
                FROM numbers LEFT JOIN core.dim_admin_class USING (school_id, admin_class_id)
            """,
            sources=("core.dim_admin_class",),
            columns={"cohort_name": Column(COHORT), **GROUP_COLUMNS},
        ),
        links=LINKS_OF_COHORT,
    ),
    sections=(
        _students("admin_class_id"),
        _weeks(
            "admin_class",
            "SELECT admin_class_id AS id, 'cohort' AS parent_type, cohort_id AS parent_id "
            "FROM core.dim_admin_class WHERE school_id = $school_id",
            CLASS,
            COHORT,
        ),
        Section(
            Sheet(
                name=Words("Courses of the class", "本班所修课程"),
                about=Words(
                    "The attendance and the mean grade of the class's own students in each course class.",
                    "本班学生在各课程班的出勤率与平均成绩。",
                ),
                query=f"""
                    {STANDING}, own AS (
                        SELECT school_id, semester_id, student_id, admin_class_id FROM standing
                        WHERE list_contains($pages, admin_class_id::VARCHAR)
                    ),
                    attended AS (
                        SELECT
                            school_id, admin_class_id, course_class_id,
                            {rate("count_if(is_present)", "count(*)")} AS attendance_rate
                        FROM core.fct_attendance JOIN own USING (school_id, semester_id, student_id)
                        WHERE counts_in_denominator GROUP BY ALL
                    ),
                    graded AS (
                        SELECT
                            school_id, admin_class_id, course_class_id, count(score_percent) AS scored,
                            {ratio("sum(score_percent)", "count(score_percent)", 2)} AS mean
                        FROM core.fct_grade JOIN own USING (school_id, semester_id, student_id)
                        WHERE source = 'class' AND counts_in_statistics GROUP BY ALL
                    )
                    SELECT
                        admin_class_id::VARCHAR AS page, course_name, course_class_id::VARCHAR AS _course,
                        class_name, teacher_names, attendance_rate, scored, mean
                    FROM attended FULL JOIN graded USING (school_id, admin_class_id, course_class_id)
                    JOIN core.dim_course_class USING (school_id, course_class_id)
                    ORDER BY course_name, class_name, course_class_id
                """,
                sources=("core.dim_course_class",),
                columns={
                    "course_name": Column(COURSE),
                    "attendance_rate": Column(RATE, kind="percent"),
                    "scored": Column(Words("Students graded", "有成绩人数"), unit="students"),
                    "mean": Column(Words("Mean", "平均分"), kind="percent"),
                },
            ),
            links=LINKS_OF_COURSE,
            terms=("Attendance rate", "Mean, median, sd"),
        ),
    ),
)
COURSE_CLASSES = Kind(
    name=COURSE_CLASS,
    keys="""
        SELECT course_class_id::VARCHAR AS page FROM core.dim_course_class
        WHERE school_id = $school_id AND NOT is_deleted ORDER BY course_class_id
    """,
    heading=Section(
        Sheet(
            name=COURSE_CLASS,
            about=Words("", ""),
            query="""
                SELECT
                    course_class_id::VARCHAR AS page,
                    concat_ws(' ', course_name, class_name) AS _name, semester_name, subject_name,
                    class_code, teacher_names
                FROM core.dim_course_class LEFT JOIN core.dim_semester USING (school_id, semester_id)
                WHERE school_id = $school_id AND list_contains($pages, course_class_id::VARCHAR)
            """,
            sources=("core.dim_course_class", "core.dim_semester"),
        )
    ),
    sections=(
        Section(
            Sheet(
                name=PUPILS,
                about=Words(
                    "Attendance in this course class, and the grade in percent of the full score.",
                    "在本课程班的出勤率，以及成绩占满分的百分比。",
                ),
                query=f"""
                    WITH attended AS (
                        SELECT
                            school_id, course_class_id, student_id, count(*) AS recorded,
                            count_if(is_absent) AS absent, count_if(is_late) AS late,
                            {rate("count_if(is_present)", "count(*)")} AS attendance_rate
                        FROM core.fct_attendance
                        WHERE school_id = $school_id AND counts_in_denominator
                            AND list_contains($pages, course_class_id::VARCHAR)
                        GROUP BY ALL
                    ),
                    graded AS (
                        SELECT
                            school_id, course_class_id, student_id, score_text, level, {VERDICT},
                            {rate("real_score", "full_score")} AS score_percent
                        FROM core.fct_grade
                        WHERE school_id = $school_id AND source = 'class'
                            AND list_contains($pages, course_class_id::VARCHAR)
                    ),
                    members AS (
                        SELECT DISTINCT school_id, semester_id, course_class_id, student_id
                        FROM core.bridge_class_student
                        WHERE school_id = $school_id AND list_contains($pages, course_class_id::VARCHAR)
                            AND left_on IS NULL
                    )
                    SELECT
                        course_class_id::VARCHAR AS page, student_number,
                        coalesce(student_name, student_number, student_id::VARCHAR) AS student_name,
                        student_id::VARCHAR AS _student, admin_class_name, admin_class_id::VARCHAR AS _class,
                        recorded, attendance_rate, absent, late, score_text, score_percent,
                        level AS grade_level, is_passed
                    FROM members
                    ANTI JOIN (FROM core.dim_student WHERE is_deleted) USING (school_id, student_id)
                    LEFT JOIN core.dim_student USING (school_id, student_id)
                    LEFT JOIN attended USING (school_id, course_class_id, student_id)
                    LEFT JOIN graded USING (school_id, course_class_id, student_id)
                    LEFT JOIN core.bridge_student_admin_class USING (school_id, semester_id, student_id)
                    LEFT JOIN (FROM core.dim_admin_class SELECT school_id, admin_class_id, admin_class_name)
                        USING (school_id, admin_class_id)
                    ORDER BY admin_class_name, student_number, student_id
                """,
                sources=("core.dim_student", "core.fct_grade", "marts.attendance_student_semester"),
                columns={
                    **STUDENT_COLUMNS,
                    "score_percent": Column(Words("Grade", "成绩"), kind="percent"),
                    "grade_level": Column(Words("Grade level", "等第")),
                    "is_passed": NOT_COUNTED,
                },
            ),
            links=LINKS_OF_STUDENT,
            terms=("Attendance rate", "Pass rate"),
            optional=("score_text",),
        ),
        Section(
            Sheet(
                name=Words("Attendance by week", "每周出勤率"),
                about=Words(
                    "Lessons attended in percent of those recorded, and lessons with a roll in percent of "
                    "those due.",
                    "出勤课节占已点名课节的比例，以及已点名课节占应点名课节的比例。",
                ),
                query="""
                    SELECT
                        course_class_id::VARCHAR AS page, week, sessions, recorded_sessions,
                        unrecorded_sessions, attendance_rate, lateness_rate, recording_rate
                    FROM marts.attendance_class_week
                    WHERE school_id = $school_id AND population = 'all'
                        AND list_contains($pages, course_class_id::VARCHAR)
                    ORDER BY week
                """,
                sources=("marts.attendance_class_week",),
                columns={"attendance_rate": Column(RATE, kind="percent")},
            ),
            line=Line("week", ("attendance_rate",)),
            terms=("Attendance rate", "Lateness rate"),
        ),
        Section(
            Sheet(
                name=Words("Compared with the cohort", "与本届比较"),
                about=Words(
                    "The mean compared with that of the cohort's other classes.", "平均分与同届其他班的比较。"
                ),
                query=f"""
                    SELECT
                        course_class_id::VARCHAR AS page,
                        coalesce(cohort_name, cohort_id::VARCHAR) AS cohort_name,
                        cohort_id::VARCHAR AS _cohort, class_scored, {CLASS_MEAN}, class_sd,
                        class_pass_rate, {OTHERS_MEAN}, {DIFFERENCE}, difference_low, difference_high,
                        effect_size, verdict
                    FROM marts.grade_class_against_cohort
                    WHERE school_id = $school_id AND population = 'all'
                        AND list_contains($pages, course_class_id::VARCHAR)
                    ORDER BY cohort_name
                """,
                sources=("marts.grade_class_against_cohort",),
                columns={
                    "cohort_name": Column(COHORT),
                    "difference": Column(signed=True),
                    "verdict": Column(words=VERDICTS),
                },
            ),
            links=LINKS_OF_COHORT,
            terms=("Mean, median, sd", "Effect size", "Shrunken difference, verdict on a class", "Pass rate"),
        ),
        Section(
            Sheet(
                name=Words("Items", "评价项"),
                about=Words(
                    "How hard each item was, and how well it tells students apart.",
                    "各评价项的难度与区分度。",
                ),
                query=f"""
                    SELECT
                        course_class_id::VARCHAR AS page, item_name, students, {ITEM_MEAN}, full_score,
                        {DIFFICULTY}, discrimination, discrimination_label_en, discrimination_label_zh
                    FROM marts.score_item_analysis
                    WHERE school_id = $school_id AND population = 'all'
                        AND list_contains($pages, course_class_id::VARCHAR)
                    ORDER BY assessment_id, assessment_item_id
                """,
                sources=("marts.score_item_analysis",),
                columns={"discrimination_label_en": Column(Words("Verdict", "评价"))},
            ),
            terms=("Difficulty", "Discrimination"),
        ),
    ),
)
