"""The workbook of early warning: students who need attention, the reasons, and their classes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import duckdb

from exports import measures
from exports.figures import figures
from exports.spreadsheet.sheets import Chart, Column, Definition, Highlight, Language, Sheet, Words, Workbook
from exports.workbooks import back_test, class_pages, labels
from exports.workbooks.definitions import warning_definitions
from exports.workbooks.labels import Labels
from exports.workbooks.queries import (
    BAND,
    CLASS_COHORT,
    LAST_CHANGE,
    LAST_INTERVENTION,
    NEW_FIRST,
    NEWEST_FIRST,
    NOT_DELETED,
    REASON_TEXTS,
    SCORE,
    SHOWN,
    UNFINISHED,
    number_text,
    pivot,
    pivot_names,
    rate,
    rows,
    since_text,
)
from exports.workbooks.terms import (
    AMBER,
    ATTENTION,
    BEST_TO_WORST,
    EARLIER_SEMESTERS,
    GREEN,
    GREY,
    INDICATORS,
    KINDS,
    LAST_TALK,
    LEVELS,
    NEW_THIS_WEEK,
    NOT_OVER,
    PERCENT,
    RATE,
    RED,
    SHARE,
    STRONG_AMBER,
    STRONG_GREY,
    STRONG_RED,
    STUDENTS,
    TIERS,
    UNSCORED,
    grouped,
    less_is_better,
    pivot_columns,
)
from warehouse.identifiers import listed

LEFT_OUT = Words(
    f"{EARLIER_SEMESTERS.en}; students who have left",
    f"{EARLIER_SEMESTERS.zh}；已离校学生",
)
#: Null where an input of the levels was never loaded, since the counts would be too small.
LEVEL_COUNTS = ", ".join(
    f"if(bool_and(inputs_loaded), {count}, NULL) AS {name}"
    for name, count in {
        "students": "count(*)",
        **{level: f"count_if(level = '{level}')" for level in LEVELS},
    }.items()
)
#: The students whose level is known, of whom shares are computed.
JUDGED = "(students - unknown)"
LEVEL_COLUMNS = {
    "students": Column(STUDENTS, unit="students"),
    **grouped(STUDENTS, **{code: Column(words, unit="students") for code, words in LEVELS.items()}),
    **grouped(
        SHARE,
        at_risk_rate=Column(LEVELS["at_risk"], kind="percent"),
        warning_rate=Column(LEVELS["warning"], kind="percent"),
    ),
}

OVERVIEW = Sheet(
    name=Words("Overview", "概况"),
    summary=True,
    about=Words(
        "The number of students at risk and with a warning, by semester, without students who left before "
        "its end. Shares are of the students whose level is known.",
        "各学期高风险与预警学生人数，不含学期结束前离校的学生。占比以能够判断等级的学生为分母。",
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
        "The number of students at risk and with a warning, by administrative class. Shares are of the "
        "students whose level is known.",
        "各行政班高风险与预警学生人数。占比以能够判断等级的学生为分母。",
    ),
    query=f"""
        WITH {SHOWN},
        levels AS (
            SELECT
                school_id, semester_id, class_cohort AS cohort_name, admin_class_id, admin_class_name,
                {LEVEL_COUNTS}
            FROM marts.early_warning
            {CLASS_COHORT}
            {NOT_DELETED}
            GROUP BY ALL
        )
        SELECT
            shown.semester_name, cohort_name, admin_class_name, students, {listed(tuple(LEVELS))},
            {rate("at_risk", JUDGED)} AS at_risk_rate, {rate("warning", JUDGED)} AS warning_rate
        FROM levels
        JOIN shown USING (school_id, semester_id)
        ORDER BY shown.semester_name, cohort_name, admin_class_name, admin_class_id
    """,
    sources=("marts.early_warning", "core.dim_admin_class"),
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
        "The number of students that each limit flags, and that other limits would flag: read it before you "
        "change a limit. A limit with a level is in force. Flagged: beyond the limit and, where the rule "
        "has a share of the cohort, within that worst share. Decisive: students who are at risk or have a "
        "warning only because of this indicator.",
        "各项界限涉及的学生人数，以及界限调整后的人数，供学校调整前参考。标有等级的是现行界限。指标预警：超过界限，"
        "并且（如果规则限定了本届末位比例）处于末位。起决定作用：去掉该指标就不再列为高风险或预警的学生。",
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
        **grouped(
            Words("Beyond the limit", "超过界限"),
            beyond=Column(STUDENTS),
            beyond_percent=Column(SHARE),
        ),
        **grouped(
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

BEFORE, AFTER = Words("Before", "之前"), Words("After", "之后")
#: The name of the sheet with all students.
VALUES = Words("Values", "各项指标")
LEVEL_COLORS = (
    Highlight(("level",), RED, equal="at_risk"),
    Highlight(("level",), AMBER, equal="warning"),
    Highlight(("level",), GREEN, equal="none"),
    Highlight(("level",), GREY, equal="unknown"),
)
# A drop is a negative change, so that a sign has the same direction on all sheets.
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
        "One row a student, class by class: the level, and the seven values behind it. Only falls are shown "
        "as changes. The change in the cohort counts usual spreads. Provisional: a reason depends on "
        "unpublished grades. Chances: by what happened in finished semesters of this school, or of all "
        "schools of the file where that foretells better; of courses without a published grade. They order "
        "students within a level and decide nothing. Empty where they have not done better than the best "
        "single number for students whom they had not seen: of another semester, or with a single one, of "
        "the same.",
        "每名学生一行，按班级排列：预警等级，以及判断所依据的七项指标。变化只列下降；届内变化以通常差距的倍数表示。"
        "暂定：部分原因所依据的成绩尚未发布。可能性：由本校（或在更准时由文件中所有学校）已结束的学期推算，"
        "只计成绩尚未发布的课程；只用于同一等级内排序，不作任何决定。对未参与推算的学生（其他学期的；只有一个学期时为同学期的）"
        "没有证明比最好的单项更准时留空。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, cohort_name, admin_class_name, student_number, student_name,
            level, CASE WHEN is_provisional THEN '✓' END AS is_provisional, {", ".join(INDICATOR_VALUES)},
            100 * failed_chance AS failed_chance, 100 * chronic_chance AS chronic_chance
        FROM marts.early_warning
        JOIN shown USING (school_id, semester_id)
        {SCORE}
        {CLASS_COHORT}
        {NOT_DELETED}
        ORDER BY
            shown.semester_name, class_cohort, admin_class_name, admin_class_id, cohort_name, {ATTENTION}
    """,
    sources=("marts.early_warning", "marts.early_warning_score", "core.dim_admin_class"),
    columns={
        "level": Column(words=LEVELS),
        "is_provisional": Column(Words("Provisional", "暂定")),
        "attendance_change": Column(
            Words("Attendance change (pp)", "出勤率变化（百分点）"), unit="", signed=True
        ),
        "score_change": Column(
            Words("Change in cohort (spreads)", "届内变化（差距倍数）"), unit="", signed=True
        ),
        **grouped(
            Words("Chance by the end of the semester, %", "到学期末的可能性（%）"),
            failed_chance=Column(
                Words("to fail two courses", "两门及以上不及格"), kind="percent", unit="", places=0
            ),
            chronic_chance=Column(Words("of chronic absence", "长期缺勤"), kind="percent", unit="", places=0),
        ),
    },
    highlights=LEVEL_COLORS,
)


#: Of talks and measures, with what was before and after each.
TALKS = Sheet(
    name=Words("Talks and measures", "谈话与帮扶"),
    about=Words(
        "What the school wrote down, and what was before and after it. This is an association, not an "
        "effect: students are spoken to when things are bad, and part of that gets better by itself "
        "(regression to the mean). Difference: the change minus the mean change of students of the same "
        "cohort and level without a talk or measure. Where the interval includes 0, it tells nothing.",
        "学校自行记录的谈话与帮扶，以及前后情况。两者只是相关，不能说明效果：学生往往在情况较差时被谈话，"
        "此后有一部分会自然回升（均值回归）。差值：该生的变化减去同届、同等级且本学期没有谈话或帮扶记录的学生的平均变化；"
        "区间包含0时，不能认为有差别。",
    ),
    query=f"""
        WITH {SHOWN}
        SELECT
            shown.semester_name, date, cohort_name, student_number, student_name, kind,
            level_before, level_after, attendance_rate_before, attendance_rate_after, score_rate_before,
            score_rate_after, matched_attendance, attendance_difference, attendance_difference_low,
            attendance_difference_high,
            CASE WHEN is_complete IS FALSE THEN '✓' END AS is_complete
        FROM marts.intervention_outcome
        JOIN shown USING (school_id, semester_id)
        ORDER BY date DESC, cohort_name, student_number, student_id, kind
    """,
    sources=("marts.intervention_outcome",),
    columns={
        "kind": Column(words=KINDS),
        **grouped(
            Words("Level", "等级"),
            level_before=Column(BEFORE, words=LEVELS),
            level_after=Column(AFTER, words=LEVELS),
        ),
        **grouped(
            measures.label("attendance_rate"),
            attendance_rate_before=Column(BEFORE),
            attendance_rate_after=Column(AFTER),
        ),
        **grouped(
            measures.label("score_rate"),
            score_rate_before=Column(BEFORE),
            score_rate_after=Column(AFTER),
        ),
        **grouped(
            Words("Attendance compared (pp)", "出勤率对比（百分点）"),
            matched_attendance=Column(STUDENTS),
            attendance_difference=Column(Words("Difference", "差值"), unit="", signed=True),
            attendance_difference_low=Column(Words("From", "下限"), unit="", signed=True),
            attendance_difference_high=Column(Words("To", "上限"), unit="", signed=True),
        ),
        "is_complete": NOT_OVER,
    },
    highlights=(
        Highlight(("level_before", "level_after"), RED, equal="at_risk"),
        Highlight(("level_before", "level_after"), AMBER, equal="warning"),
    ),
)
HAS_TALKS = "SELECT count(*) > 0 FROM marts.intervention_outcome WHERE school_id = $school_id"


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
                "Students who need attention, and why: attendance, lateness, grades, failed courses and "
                "missing scores, compared with the school's limits. A level is a reason to look, not a "
                "verdict.",
                "需要关注的学生及原因：将出勤、迟到、成绩、不及格课程和缺评情况与学校的界限比较。等级仅作提示，不是结论。",
            ),
            filters=LEFT_OUT,
            sheets=(
                overview,
                students(language),
                EVERYBODY,
                CLASSES,
                RULES,
                back_test.SHEET,
                attendance_and_grades(labels.band_labels(con, school_id)),
                *([TALKS] if rows(con, school_id, HAS_TALKS) == [(True,)] else []),
            ),
            definitions=(
                *warning_definitions(con, school_id),
                back_test.MEANING,
                *(
                    Definition(back_test.REASONS_PROVEN, sentence)
                    for sentence in back_test.reasons_proven(con, school_id)
                ),
            ),
            for_paper=True,
        ),
    )


CLASS_RATE = number_text("others_absence_rate")
#: SQL for a pattern of absence in words.
PATTERN = {
    "en": "format('absent {} {}: {} of {}, class {}%', CASE pattern_type WHEN 'weekday' THEN 'on' "
    f"WHEN 'lesson' THEN 'in' ELSE 'from' END, pattern_en, absent, recorded, {CLASS_RATE})",
    "zh": f"format('{{}}缺勤：{{}}次中{{}}次，班级{{}}%', pattern_zh, recorded, absent, {CLASS_RATE})",
}
#: The limit that a reason names, in either language: left out where there is little room.
LIMIT_IN_REASON = " ?[(（][^)）]*[)）]"
#: What stands between two reasons.
BETWEEN = {"en": "; ", "zh": "；"}


REASONS, ABSENCES_LEFT = Words("Reasons", "预警原因"), Words("Absences left", "距长期缺勤（节）")
#: The tables of `judged`.
OF_JUDGED = ("marts.early_warning", "marts.early_warning_history", "marts.attendance_student_semester")


def judged(language: Language) -> str:
    """SQL before a query, for its table `judged`: the students of the semester that is shown, with the level,
    reasons and patterns of absence in the language, and the last talk."""
    return f"""
        WITH {SHOWN}, by_student AS (
            SELECT
                school_id, semester_id, student_id,
                string_agg(
                    {PATTERN[language]}, '{BETWEEN[language]}' ORDER BY p_value, pattern_en
                ) AS patterns
            FROM marts.attendance_student_pattern
            WHERE is_pattern
            GROUP BY ALL
        ),
        judged AS (
            SELECT
                school_id, semester_id, shown.semester_name, cohort_name, grade_level, admin_class_id,
                student_id, student_number, student_name, level, new_this_week,
                {since_text(language)} AS level_since, last_intervention_on, reason_count,
                {REASON_TEXTS[language]} AS reasons_{language}, patterns, absences_left, attendance_rate,
                score_rate, failed_chance, chronic_chance
            FROM marts.early_warning
            JOIN shown USING (school_id, semester_id)
            {LAST_CHANGE}
            {LAST_INTERVENTION}
            {SCORE}
            LEFT JOIN by_student USING (school_id, semester_id, student_id)
            LEFT JOIN (
                SELECT school_id, semester_id, student_id, absences_left
                FROM marts.attendance_student_semester
            ) USING (school_id, semester_id, student_id)
            {NOT_DELETED}
        )
    """


def at_a_glance(language: Language, day: date) -> Sheet:
    """All students of the administrative classes in $pages on one page. `day`: the date of the data."""
    reasons = f"reasons_{language}"
    return Sheet(
        name=Words("At a glance", "班级一览"),
        about=Words(
            f"Data as of {day}. The whole class on one page: who needs attention first. A level is a reason "
            "to look, not a verdict. Absences left: further missed lessons that make the student chronically "
            "absent.",
            f"数据截至{day}。全班一页，需要关注的学生排在前面。等级仅作提示，不是结论。"
            "距长期缺勤：再缺多少节课即达到长期缺勤标准。",
        ),
        query=f"""
            {judged(language)}
            SELECT
                student_number, student_name, level, attendance_rate, absences_left,
                regexp_replace({reasons}, '{LIMIT_IN_REASON}', '', 'g') AS {reasons}, last_intervention_on
            FROM judged
            WHERE list_contains($pages, admin_class_id::VARCHAR)
            ORDER BY {ATTENTION}
        """,
        sources=OF_JUDGED,
        columns={
            "level": Column(words=LEVELS),
            "attendance_rate": Column(RATE, kind="percent"),
            "absences_left": Column(ABSENCES_LEFT),
            reasons: Column(REASONS),
            "last_intervention_on": Column(LAST_TALK),
        },
        notice=class_pages.FOR_CLASS_TEACHER,
        fills=reasons,
        on_one_page=True,
        highlights=LEVEL_COLORS,
    )


def students(language: Language) -> Sheet:
    """The students to look at, with the reasons in the language: a page a class."""
    reasons = f"reasons_{language}"
    return Sheet(
        name=Words("Students", "学生"),
        about=Words(
            "The students who need attention, a page a class: new this week first, then at risk, then with "
            "a warning; within a level by the score where it has proven itself, then the most reasons "
            "first. Talk to these students; watching the others is enough. Since: the week at whose end "
            "the level was published first. A reason has the value and its limit. Provisional: some grades "
            "are not published yet. Absences left: further missed lessons that make the student "
            "chronically absent. Absences that have a pattern are hardly chance. Talk on and Note are for "
            "you to fill in: the file can be loaded into the log of talks. Students who are not listed are "
            f"well; the sheet {VALUES.en} has all students.",
            "需要关注的学生，每班一页：本周新增的排在最前，其次高风险、预警；同级中先按评分（仅在已证明有效时），再按原因多少排列。这两级需要谈话，“关注”暂不需要。"
            "“起始时间”是首次发布该等级的教学周。原因中写明数值和界限；“暂定”表示部分成绩尚未发布。"
            "距长期缺勤：再缺多少节课即达到长期缺勤标准。有规律的缺勤难以用偶然解释。“谈话日期”和“谈话备注”由教师填写，填写后的文件可重新加载。"
            f"未列出的学生情况正常；全部学生见“{VALUES.zh}”。",
        ),
        query=f"""
            {judged(language)}, {class_pages.CLASS_HEADS}
            SELECT
                semester_name, {class_pages.HEAD}, {class_pages.PAGE}, student_number, student_name, level,
                new_this_week, level_since, last_intervention_on,
                concat_ws('{BETWEEN[language]}', {reasons}, patterns) AS {reasons}, absences_left,
                NULL::DATE AS talk_on, NULL::VARCHAR AS note
            FROM judged
            LEFT JOIN class_heads USING (school_id, semester_id, admin_class_id)
            WHERE level <> 'none'
            ORDER BY {class_pages.ORDER}, {NEW_FIRST}, {ATTENTION}
        """,
        sources=(*OF_JUDGED, *class_pages.SOURCES),
        columns={
            **class_pages.COLUMNS,
            "level": Column(words=LEVELS),
            "new_this_week": Column(Words("New", "新增"), words=NEW_THIS_WEEK),
            "level_since": Column(Words("Since", "起始时间")),
            "last_intervention_on": Column(LAST_TALK),
            reasons: Column(REASONS),
            "absences_left": Column(ABSENCES_LEFT),
            # To be filled in and loaded again: campus/inputs/warning_list.py knows both headings.
            "talk_on": Column(Words("Talk on", "谈话日期"), width=12, stays=True),
            "note": Column(Words("Note", "谈话备注"), width=20, stays=True),
        },
        breaks=class_pages.PAGE,
        notice=class_pages.FOR_CLASS_TEACHER,
        fills=reasons,
        highlights=LEVEL_COLORS,
    )


def attendance_and_grades(bands: Labels) -> Sheet:
    """The grades of students by their attendance."""
    labels = {**bands, "unscored": UNSCORED}
    by_band = pivot(
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
        # Bands are unknown where no grades were ever loaded.
        empty="if(bool_or(band = 'unknown' OR tier = 'unknown'), NULL, 0)",
    )
    shares = pivot_names("percent_of_tier", labels)
    return Sheet(
        name=Words("Attendance and grades", "考勤与成绩"),
        about=Words(
            "The distribution of score rates in each tier of attendance, the lowest tier first.",
            "各出勤等级学生的得分率分布，出勤等级低的排在前面。",
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
            **grouped(
                Words("Share of the tier's students by score rate", "该等级学生的得分率分布"),
                **pivot_columns("percent_of_tier", labels, PERCENT),
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
