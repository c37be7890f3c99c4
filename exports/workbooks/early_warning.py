"""The workbook of early warning: who needs attention, why, and in which classes they are."""

from __future__ import annotations

from dataclasses import replace

import duckdb

from exports.figures import figures
from exports.sheets import Chart, Column, Highlight, Language, Sheet, Words, Workbook
from exports.workbooks import labels
from exports.workbooks.definitions import warning_definitions
from exports.workbooks.labels import Labels
from exports.workbooks.queries import (
    BAND,
    NEWEST_FIRST,
    SHOWN,
    STILL_THERE,
    UNFINISHED,
    rate,
    spread,
    spread_names,
)
from exports.workbooks.terms import (
    AMBER,
    BEST_TO_WORST,
    EARLIER_SEMESTERS,
    GREEN,
    GREY,
    INDICATORS,
    LEVELS,
    NOT_OVER,
    PERCENT,
    RED,
    SHARE,
    STRONG_AMBER,
    STRONG_GREY,
    STRONG_RED,
    STUDENTS,
    TIERS,
    UNSCORED,
    less_is_better,
    spread_columns,
    under,
)
from warehouse.identifiers import listed

LEFT_OUT = Words(
    f"{EARLIER_SEMESTERS.en}; students who have left",
    f"{EARLIER_SEMESTERS.zh}；已离校学生",
)
#: Null where an input of the levels was never loaded: who is known to be at risk is not who is.
LEVEL_COUNTS = ", ".join(
    f"if(bool_and(inputs_loaded), {count}, NULL) AS {name}"
    for name, count in {
        "students": "count(*)",
        **{level: f"count_if(level = '{level}')" for level in LEVELS},
    }.items()
)
#: The students whose level is known: a share of the others would say too little.
JUDGED = "(students - unknown)"
LEVEL_COLUMNS = {
    "students": Column(STUDENTS, unit="students"),
    **under(STUDENTS, **{code: Column(words, unit="students") for code, words in LEVELS.items()}),
    **under(
        SHARE,
        at_risk_rate=Column(LEVELS["at_risk"], kind="percent"),
        warning_rate=Column(LEVELS["warning"], kind="percent"),
    ),
}

OVERVIEW = Sheet(
    name=Words("Overview", "概况"),
    summary=True,
    about=Words(
        "How many students are at risk or have a warning, semester by semester, those aside who left before "
        "its end. Shares are of the students whose level is known.",
        "各学期高风险与预警学生人数，不含学期结束前离校的学生。占比只按等级已知的学生计算。",
    ),
    query=f"""
        WITH levels AS (
            SELECT school_id, semester_id, is_complete, {LEVEL_COUNTS}
            FROM marts.early_warning
            WHERE school_id = $school_id AND has_left IS NOT TRUE
            GROUP BY ALL
        )
        SELECT
            semester_name, {UNFINISHED}, students, {listed(tuple(LEVELS))},
            {rate("at_risk", JUDGED)} AS at_risk_rate, {rate("warning", JUDGED)} AS warning_rate
        FROM levels
        JOIN core.dim_semester USING (school_id, semester_id)
        ORDER BY {NEWEST_FIRST}
    """,
    sources=("marts.early_warning",),
    columns={"is_complete": NOT_OVER, **LEVEL_COLUMNS},
)
CLASSES = Sheet(
    name=Words("Classes", "班级"),
    about=Words(
        "How many students of each administrative class are at risk or have a warning. Shares are of the "
        "students whose level is known.",
        "各行政班高风险与预警学生人数。占比只按等级已知的学生计算。",
    ),
    query=f"""
        WITH {SHOWN},
        levels AS (
            SELECT
                school_id, semester_id, cohort_name, admin_class_id, admin_class_name,
                {LEVEL_COUNTS}
            FROM marts.early_warning
            {STILL_THERE}
            GROUP BY ALL
        )
        SELECT
            shown.semester_name, cohort_name, admin_class_name, students, {listed(tuple(LEVELS))},
            {rate("at_risk", JUDGED)} AS at_risk_rate, {rate("warning", JUDGED)} AS warning_rate
        FROM levels
        JOIN shown USING (school_id, semester_id)
        ORDER BY shown.semester_name, cohort_name, admin_class_name, admin_class_id
    """,
    sources=("marts.early_warning",),
    columns=LEVEL_COLUMNS,
    scales=(less_is_better(["at_risk_rate"]), less_is_better(["warning_rate"])),
    charts=(
        Chart(
            "column",
            Words("Students at risk or with a warning", "高风险与预警学生人数"),
            "admin_class_name",
            ("at_risk", "warning"),
            stacked=True,
            y=STUDENTS,
            colors=(STRONG_RED, STRONG_AMBER),
        ),
    ),
)


RULES = Sheet(
    name=Words("Rules", "预警线"),
    about=Words(
        "How many students each limit flags, and how many another would: read it before you move a limit. A "
        "limit with a level is in force. Flagged: beyond the limit and, where the rule has a share of the "
        "cohort, among the worst of it. Decisive: at risk or with a warning, and without this indicator not.",
        "各界限涉及的学生人数，以及改为其他界限时的人数，供调整界限前参考。写有等级的界限为现行界限。预警人数：超过界限，"
        "且（规则限定本届末位比例时）居于末位者。起决定作用：没有该指标就不会列为高风险或预警的学生。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, indicator, limit_value, level, students, beyond, beyond_percent,
            among_worst, among_worst_percent, deciding
        FROM marts.early_warning_rule_counts
        JOIN shown USING (school_id, semester_id)
        ORDER BY shown.semester_name, place, if(worse = 'at_least', -limit_value, limit_value)
    """,
    sources=("marts.early_warning_rule_counts",),
    columns={
        "indicator": Column(words=INDICATORS),
        "limit_value": Column(places=2),
        "level": Column(Words("Level", "等级"), words=LEVELS),
        "students": Column(Words("Students judged", "可判断人数")),
        **under(
            Words("Beyond the limit", "超过界限"),
            beyond=Column(STUDENTS),
            beyond_percent=Column(SHARE),
        ),
        **under(
            Words("Flagged", "指标预警"),
            among_worst=Column(STUDENTS),
            among_worst_percent=Column(SHARE),
        ),
        "deciding": Column(Words("Decisive", "起决定作用")),
    },
    highlights=(
        Highlight(("level",), RED, equal="at_risk"),
        Highlight(("level",), AMBER, equal="warning"),
    ),
)

#: What the sheet is called on which everybody is.
VALUES = Words("Values", "各项指标")
BY_CLASS = f"""
    ORDER BY
        shown.semester_name, cohort_name, admin_class_name, admin_class_id,
        list_position({list(LEVELS)}, level), reason_count DESC, attendance_rate, score_rate, student_id
"""
LEVEL_COLORS = (
    Highlight(("level",), RED, equal="at_risk"),
    Highlight(("level",), AMBER, equal="warning"),
    Highlight(("level",), GREEN, equal="none"),
    Highlight(("level",), GREY, equal="unknown"),
)
# A drop is a change downwards: on all sheets one sign has one direction.
INDICATOR_VALUES = (
    "attendance_rate",
    "-nullif(attendance_drop, 0) AS attendance_change",
    "lateness_rate",
    "score_rate",
    "-nullif(score_drop, 0) AS score_change",
    "failed_courses",
    "missing_rate",
)
EVERYBODY = Sheet(
    name=VALUES,
    about=Words(
        "One row a student, class by class: the level, and the seven values that it is made of. Of changes, "
        "only falls are shown; that in the cohort counts usual spreads. Provisional: a reason rests on "
        "grades that are not published yet.",
        "每名学生一行，按班级排列：等级及据以判断的七项指标。变化只列下降；届内变化以通常差距的倍数计。"
        "暂定：有原因依据尚未发布的成绩。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, cohort_name, admin_class_name, student_number, student_name,
            level, CASE WHEN is_provisional THEN '✓' END AS is_provisional, {", ".join(INDICATOR_VALUES)}
        FROM marts.early_warning
        JOIN shown USING (school_id, semester_id)
        {STILL_THERE}
        {BY_CLASS}
    """,
    sources=("marts.early_warning",),
    columns={
        "level": Column(words=LEVELS),
        "is_provisional": Column(Words("Provisional", "暂定")),
        "attendance_change": Column(
            Words("Attendance change (pp)", "出勤率变化（百分点）"), unit="", signed=True
        ),
        "score_change": Column(
            Words("Change in cohort (spreads)", "届内变化（差距倍数）"), unit="", signed=True
        ),
    },
    highlights=LEVEL_COLORS,
)


def early_warning(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of early warning of a school."""
    overview = replace(
        OVERVIEW,
        figures=figures(con, school_id),
        charts=tuple(replace(chart, of=CLASSES.name) for chart in CLASSES.charts),
    )
    return (
        Workbook(
            name="early_warning",
            title=Words("Early warning", "学生预警"),
            about=Words(
                "Who needs attention, and why: attendance, lateness, grades, failed courses and missing "
                "scores beside the school's limits. A level is a reason to look, not a verdict.",
                "需要关注的学生及原因：将出勤、迟到、成绩、不及格课程和缺评与学校界限比较。等级只提示关注，不是结论。",
            ),
            filters=LEFT_OUT,
            sheets=(
                overview,
                students(language),
                EVERYBODY,
                CLASSES,
                RULES,
                attendance_and_grades(labels.band_labels(con, school_id)),
            ),
            definitions=warning_definitions(con, school_id),
            for_paper=True,
        ),
    )


def students(language: Language) -> Sheet:
    """The students to look at, with the reasons in the language: a page a class."""
    reasons = f"reasons_{language}"
    return Sheet(
        name=Words("Students", "学生"),
        about=Words(
            "The students to look at, a page a class: those at risk first, then those with a warning, the "
            "most reasons first. Talk to these; who is to be watched can wait. A reason names the value and "
            "its limit; provisional: some grades are not published yet. Who is not here is well; the sheet "
            f"{VALUES.en} has everybody.",
            "需要关注的学生，每班一页：高风险在前，其次预警，原因多者在前。这两级需要谈话，“关注”尚不需要。"
            "原因中写明数值及界限；“暂定”表示部分成绩尚未发布。未列出的学生情况正常；"
            f"全部学生见“{VALUES.zh}”。",
        ),
        query=f"""
            WITH {SHOWN}
            SELECT
                shown.semester_name, cohort_name, admin_class_name, student_number, student_name,
                level, {reasons}
            FROM marts.early_warning
            JOIN shown USING (school_id, semester_id)
            {STILL_THERE}
            WHERE level <> 'none'
            {BY_CLASS}
        """,
        sources=("marts.early_warning",),
        columns={
            "level": Column(words=LEVELS),
            reasons: Column(Words("Reasons", "预警原因")),
        },
        breaks="admin_class_name",
        fills=reasons,
        highlights=LEVEL_COLORS,
    )


def attendance_and_grades(bands: Labels) -> Sheet:
    """How the grades of students go with their attendance."""
    labels = {**bands, "unscored": UNSCORED}
    by_band = spread(
        f"""
        SELECT
            school_id, semester_id, tier, students_of_tier, percent_of_tier,
            CASE WHEN band IN ('unscored', 'unknown') THEN band ELSE {BAND} END AS band,
            {rate("sum(present) OVER of_tier", "sum(recorded) OVER of_tier")} AS attendance_rate,
            {rate("sum(score_sum) OVER of_tier", "sum(full_score_sum) OVER of_tier")} AS score_rate
        FROM marts.attendance_and_grades
        LEFT JOIN staging.stg_grade_bands USING (school_id, band)
        WHERE school_id = $school_id
        WINDOW of_tier AS (PARTITION BY semester_id, tier)
        """,
        rows=("school_id", "semester_id", "tier", "students_of_tier", "attendance_rate", "score_rate"),
        key="band",
        keys=labels,
        values=("percent_of_tier",),
        # No band of a student is known where no grades were ever loaded.
        empty="if(bool_or(band = 'unknown' OR tier = 'unknown'), NULL, 0)",
    )
    shares = spread_names("percent_of_tier", labels)
    return Sheet(
        name=Words("Attendance and grades", "考勤与成绩"),
        about=Words(
            "Each tier of attendance, the lowest first, and how the students in it are spread over bands of "
            "the score rate.",
            "各出勤等级（低者在前）学生的得分率分布。",
        ),
        query=f"""
            WITH {SHOWN}, by_band AS ({by_band})
            SELECT
                shown.semester_name, tier, students_of_tier, by_band.attendance_rate, by_band.score_rate,
                {listed(shares)}
            FROM by_band
            JOIN shown USING (school_id, semester_id)
            LEFT JOIN staging.stg_attendance_tiers AS tiers USING (school_id, tier)
            ORDER BY shown.semester_name, tiers.upper_percent NULLS LAST, tier
        """,
        sources=("marts.attendance_and_grades",),
        columns={
            "tier": Column(words=TIERS),
            "students_of_tier": Column(STUDENTS),
            **under(
                Words("Share of the tier's students by score rate", "该等级学生的得分率分布"),
                **spread_columns("percent_of_tier", labels, PERCENT),
            ),
        },
        charts=(
            Chart(
                "column",
                Words("Score rate by tier of attendance", "各出勤等级的得分率分布"),
                "tier",
                shares,
                stacked=True,
                greatest=100,
                colors=(*BEST_TO_WORST[: len(bands)], STRONG_GREY),
            ),
        ),
    )
