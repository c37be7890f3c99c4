"""The workbook of grades: distribution, comparison of classes, students, and assessment items."""

from __future__ import annotations

from dataclasses import replace

import duckdb

from exports import measures
from exports.figures import grade_figures
from exports.spreadsheet.sheets import Column, Highlight, Language, Sheet, Words, Workbook
from exports.workbooks import class_pages
from exports.workbooks.definitions import grade_definitions
from exports.workbooks.grade_matrices import bands, distribution
from exports.workbooks.labels import band_labels, graded_groups, has_grades_of_last_year
from exports.workbooks.queries import (
    CLASS_MEAN,
    COHORT_MEAN,
    DIFFERENCE,
    DIFFICULTY,
    GPA,
    ITEM_MEAN,
    MEAN,
    NEWEST_FIRST,
    SHOWN,
    UNFINISHED,
    rate,
    ratio,
)
from exports.workbooks.terms import (
    AMBER,
    DISCRIMINATION,
    EARLIER_SEMESTERS,
    GREEN,
    HIGH,
    LOW,
    NOT_OVER,
    RED,
    STATES,
    VERDICTS,
    grouped,
    more_is_better,
    redder_down_to,
    redder_up_to,
)

RANK = Words("Rank", "名次")
NO_RANK = Words("Why no rank", "无名次原因")
#: Why a class or a student has no rank.
NO_RANKS = {
    "only class": Words("Only class", "只有一个班"),
    "few grades": Words("Too few grades", "成绩数过少"),
    "chance": Words("Not distinguishable", "无明显差异"),
    "left": Words("Has left", "已离校"),
    "no mean": Words("No grades", "无成绩"),
    "few courses": Words("Too few courses", "课程数过少"),
    "no class": Words("No class", "无班级"),
    "no cohort": Words("No cohort", "无届别"),
    "unknown": Words("Not known", "未知"),
}
#: Whether the cohorts, or the administrative classes, of the semester were never loaded.
NO_COHORTS = "list_contains(never_loaded, 'students')"
NO_CLASSES = "list_has_any(never_loaded, ['admin_classes', 'class_members', 'classes'])"
#: The rank of a class among the cohort's classes, or the reason for no rank
#: (marts.grade_class_against_cohort).
RANK_OF_CLASS = f"""CASE
    WHEN cohort_id IS NULL AND {NO_COHORTS} THEN 'unknown'
    WHEN cohort_id IS NULL THEN 'no cohort'
    WHEN rank IS NOT NULL THEN rank || ' / ' || cohort_classes
    WHEN cohort_classes = 1 THEN 'only class'
    WHEN is_distinguishable IS NULL THEN 'few grades'
    ELSE 'chance'
END"""
#: By the rules of marts.grade_student_semester.
NO_RANK_OF_STUDENT = f"""CASE
    WHEN rank_in_class IS NOT NULL AND rank_in_cohort IS NOT NULL THEN NULL
    WHEN has_left THEN 'left'
    WHEN weighted_mean IS NULL THEN 'no mean'
    WHEN has_left IS NULL OR usual_courses IS NULL THEN 'unknown'
    WHEN rank_in_cohort IS NOT NULL AND {NO_CLASSES} THEN 'unknown'
    WHEN rank_in_cohort IS NOT NULL THEN 'no class'
    WHEN cohort_id IS NULL THEN 'no cohort'
    ELSE 'few courses'
END"""
SD = Words("SD", "标准差")
OF = Words("of", "参评人数")

OVERVIEW = Sheet(
    name=Words("Overview", "概况"),
    summary=True,
    about=Words(
        "One row a semester. Mean, median and standard deviation are percentages of the full score. A tick: "
        "the semester is not over.",
        "每学期一行。平均分、中位数、标准差均按占满分的百分比计算。打勾表示学期尚未结束。",
    ),
    query=f"""
        WITH gpa AS (
            SELECT
                school_id, semester_id,
                {ratio("sum(grade_points_sum)", "sum(gpa_credits)", 2)} AS gpa,
                sum(pending_courses)::BIGINT AS pending_courses
            FROM marts.grade_student_semester
            GROUP BY ALL
        ),
        scores AS (
            SELECT
                school_id, semester_id,
                {rate("sum(expected - missing)", "sum(expected)")} AS completeness_rate
            FROM marts.score_completeness
            WHERE state <> 'not_started'
            GROUP BY ALL
        )
        SELECT
            dim_semester.semester_name, {UNFINISHED}, students, grades, scored, {MEAN}, median, sd,
            pass_rate, excellent_rate, failed, gpa, pending_courses, completeness_rate
        FROM marts.grade_distribution
        JOIN core.dim_semester USING (school_id, semester_id)
        LEFT JOIN gpa USING (school_id, semester_id)
        LEFT JOIN scores USING (school_id, semester_id)
        WHERE school_id = $school_id AND group_type = 'school'
        ORDER BY {NEWEST_FIRST}
    """,
    sources=("marts.grade_distribution", "marts.grade_student_semester", "marts.score_completeness"),
    columns={
        "is_complete": NOT_OVER,
        "sd": Column(unit=""),
        "pending_courses": Column(Words("Unpublished grades", "未发布成绩数"), unit="grades"),
    },
)
CLASSES = Sheet(
    name=Words("Classes", "班级对比"),
    about=Words(
        "Each course class compared with the other classes of its cohort in the same course, the best class "
        "first. Low and high are the ends of the 95% interval of the difference. Shrunken: what is left of "
        "the difference without the part that is probably chance. Only classes above or below the others "
        "have a rank, such as 1 / 3 of three classes, and a colour. Otherwise the last column says why.",
        "各课程班与同届同一课程的其他班对比，按课程排列，平均分高的排在前面。下限、上限为平均分差的95%置信区间；"
        "收缩后差值指扣除可能出于偶然的部分后的差距。只有高于或低于其他班的班级才列名次并着色；"
        "例如三个班中第一名写作 1 / 3；没有名次的写明原因。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, cohort_name, course_name, class_name, teacher_names,
            class_scored, {CLASS_MEAN}, class_sd, class_pass_rate,
            cohort_scored, {COHORT_MEAN}, cohort_sd, cohort_pass_rate,
            {DIFFERENCE}, difference_low, difference_high, shrunken_difference, effect_size, verdict,
            {RANK_OF_CLASS} AS rank
        FROM marts.grade_class_against_cohort
        JOIN shown USING (school_id, semester_id)
        JOIN core.dim_semester USING (school_id, semester_id)
        ORDER BY shown.semester_name, cohort_name, course_name,
            grade_class_against_cohort.class_mean DESC NULLS LAST, course_class_id
    """,
    sources=("marts.grade_class_against_cohort",),
    columns={
        **grouped(
            Words("Class", "班级"),
            class_scored=Column(Words("Grades", "成绩数")),
            class_mean=Column(Words("Mean", "平均分")),
            class_sd=Column(SD, unit=""),
            class_pass_rate=Column(measures.label("pass_rate")),
        ),
        **grouped(
            Words("Cohort in the course", "同届该课程"),
            cohort_scored=Column(Words("Grades", "成绩数")),
            cohort_mean=Column(Words("Mean", "平均分")),
            cohort_sd=Column(SD, unit=""),
            cohort_pass_rate=Column(measures.label("pass_rate")),
        ),
        **grouped(
            Words("Class against the others", "与其他班对比"),
            difference=Column(Words("Difference", "平均分差"), unit="", signed=True),
            difference_low=Column(LOW, unit="", signed=True),
            difference_high=Column(HIGH, unit="", signed=True),
            shrunken_difference=Column(Words("Shrunken", "收缩后"), unit="", signed=True),
            effect_size=Column(Words("Effect size", "效应量"), unit="", signed=True),
            verdict=Column(Words("Verdict", "结论"), words=VERDICTS),
            rank=Column(RANK, words=NO_RANKS),
        ),
    },
    highlights=(Highlight(("verdict",), RED, equal="below"), Highlight(("verdict",), GREEN, equal="above")),
)
STUDENTS = Sheet(
    name=Words("Students", "学生"),
    about=Words(
        "One row a student, class by class, the best first. Ties share a rank. Only students who stayed to "
        "the end of the semester, or until now, have ranks. A tick: the student left before. Provisional: "
        "courses failed by an unpublished grade. While there are unpublished grades, mean, GPA and ranks are "
        "provisional, too. Credits are earned once the grade is published.",
        "每名学生一行，按班级排列，成绩高的排在前面；成绩相同则名次相同。名次只在学期结束时（或目前）仍在校的学生中排列；"
        "打勾表示此前已离校。“其中暂定”指不及格课程中成绩尚未发布的门数；有成绩未发布时，平均分、绩点和名次也是暂定的。"
        "成绩发布后才计入已获学分。",
    ),
    query=f"""
        WITH {SHOWN}, {class_pages.CLASS_HEADS}
        SELECT
            shown.semester_name, {class_pages.HEAD}, {class_pages.PAGE}, student_number, student_name,
            CASE WHEN has_left THEN '✓' END AS has_left,
            {ratio("weighted_percent_sum", "weight_sum", 2)} AS weighted_mean, {GPA},
            counted_courses, passed_courses, failed_courses, pending_failed_courses, undecided_courses,
            pending_courses, credits, gained_credits, rank_in_class, class_size, rank_in_cohort, cohort_size,
            {NO_RANK_OF_STUDENT} AS no_rank
        FROM marts.grade_student_semester
        JOIN shown USING (school_id, semester_id)
        JOIN core.dim_semester USING (school_id, semester_id)
        LEFT JOIN class_heads USING (school_id, semester_id, admin_class_id)
        ORDER BY
            {class_pages.ORDER},
            rank_in_class NULLS LAST, grade_student_semester.weighted_mean DESC NULLS LAST, student_id
    """,
    sources=("marts.grade_student_semester", *class_pages.SOURCES),
    columns={
        **class_pages.COLUMNS,
        **grouped(
            Words("Courses", "课程数"),
            counted_courses=Column(Words("Counted", "计入统计")),
            passed_courses=Column(Words("Passed", "及格")),
            failed_courses=Column(Words("Failed", "不及格")),
            pending_failed_courses=Column(Words("Provisional", "其中暂定")),
            undecided_courses=Column(Words("Undecided", "未定")),
            pending_courses=Column(Words("Unpublished", "未发布")),
        ),
        **grouped(
            Words("Credits", "学分"),
            credits=Column(Words("Taken", "修读"), unit=""),
            gained_credits=Column(Words("Earned", "已获"), unit=""),
        ),
        **grouped(
            Words("In the class", "班级内"),
            rank_in_class=Column(RANK),
            class_size=Column(OF),
        ),
        **grouped(
            Words("In the cohort", "届内"),
            rank_in_cohort=Column(RANK),
            cohort_size=Column(OF),
        ),
        "no_rank": Column(NO_RANK, words=NO_RANKS),
    },
    scales=(more_is_better(["weighted_mean"]), redder_up_to(3, ["failed_courses"])),
    breaks=class_pages.PAGE,
    notice=class_pages.FOR_CLASS_TEACHER,
)
ITEMS = Sheet(
    name=Words("Items", "试题分析"),
    about=Words(
        "The quality of each assessment item, by course and class. Statistics are empty where too few "
        "students have a score. A tick: few students have every score, so that the statistics are uncertain. "
        "Low and high are the ends of the 95% interval of alpha. Only examinations have a verdict.",
        "各评价项（试题）的质量，按课程和班级排列。有效人数过少时不计算，单元格留空；打勾表示各项得分齐全的学生较少，"
        "统计结果不够可靠。下限、上限为信度系数的95%置信区间。只对考试给出评价。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, course_name, class_name, teacher_names, item_name, full_score,
            students, complete_students, CASE WHEN is_small_sample THEN '✓' END AS is_small_sample,
            {ITEM_MEAN}, {DIFFICULTY}, discrimination, item_rest_correlation, discrimination_label,
            alpha, alpha_low, alpha_high
        FROM marts.score_item_analysis
        JOIN shown USING (school_id, semester_id)
        ORDER BY shown.semester_name, course_name, class_name, course_class_id, assessment_item_id
    """,
    sources=("marts.score_item_analysis",),
    columns={
        "full_score": Column(unit=""),
        "mean": Column(unit=""),
        "discrimination_label": Column(words=DISCRIMINATION),
        "is_small_sample": Column(Words("Few students", "人数较少")),
        **grouped(
            Words("Alpha", "信度系数"),
            alpha=Column(Words("Alpha", "信度系数")),
            alpha_low=Column(LOW),
            alpha_high=Column(HIGH),
        ),
    },
    highlights=(
        Highlight(("discrimination_label",), RED, equal="poor"),
        Highlight(("discrimination_label",), AMBER, equal="revise"),
        Highlight(("discrimination_label",), GREEN, equal="very good"),
    ),
)
COMPLETENESS = Sheet(
    name=Words("Missing scores", "评分完成情况"),
    about=Words(
        "The completeness of scores by assessment item, the most missing scores first. Items without any "
        "score are at the end.",
        "各评价项的评分完成情况，缺评人数多的排在前面；尚未开始评分的排在最后。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, course_name, class_name, teacher_names, item_name, state,
            expected, scored, zeros, invalid, missing, completeness_rate, last_scored_at, published_at
        FROM marts.score_completeness
        JOIN shown USING (school_id, semester_id)
        ORDER BY
            shown.semester_name, state IN ('not_started', 'no_students'), missing DESC, completeness_rate,
            course_name, class_name, assessment_item_id
    """,
    sources=("marts.score_completeness",),
    columns={
        "state": Column(words=STATES),
        "last_scored_at": Column(Words("Last scored on", "最近评分日期"), kind="date"),
        "published_at": Column(Words("Published on", "发布日期"), kind="date"),
    },
    scales=(redder_down_to(80, ["completeness_rate"]),),
)


def grades(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of grades of a school."""
    by_band = bands(graded_groups(con, school_id))
    overview = replace(
        OVERVIEW,
        figures=grade_figures(con, school_id),
        charts=tuple(replace(chart, of=by_band.name) for chart in by_band.charts),
    )
    return (
        Workbook(
            name="grades",
            title=Words("Grades", "成绩"),
            about=Words(
                "The distribution of grades, comparison of classes, ranks of students, and quality of "
                "assessment items.",
                "课程成绩的分布、班级对比、学生名次，以及评价项的质量与完成情况。",
            ),
            filters=EARLIER_SEMESTERS,
            sheets=(
                overview,
                by_band,
                distribution(band_labels(con, school_id), last_year=has_grades_of_last_year(con, school_id)),
                CLASSES,
                STUDENTS,
                ITEMS,
                COMPLETENESS,
            ),
            definitions=grade_definitions(con, school_id),
            for_paper=True,
        ),
    )
