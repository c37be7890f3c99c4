"""Definitions of the ready-made workbooks, with the school's valid thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb

from exports.measures import definition
from exports.spreadsheet.sheets import Definition, Words
from exports.workbooks.queries import number_text, rows
from exports.workbooks.terms import DISCRIMINATION, LEVELS, TIERS, label_of

#: The units of the limits of early warning.
UNITS = {
    "percent": Words("%", "%"),
    "percentage points": Words(" percentage points", " 个百分点"),
    "sd": Words(" times the usual spread", " 倍通常差距"),
    "courses": Words("", " 门"),
}

#: The minimum from which on a rule applies. A minimum of 1 is not mentioned.
MINIMUMS = {
    "attendance_rate": Words("only with at least {} recorded days", "有考勤的天数至少 {} 天才判断"),
    "attendance_drop": Words(
        "only with at least {} recorded lessons in the last weeks, and as many before them",
        "近期和此前各至少有 {} 节课已点名才判断",
    ),
    "lateness_rate": Words("only with at least {} lessons attended", "出勤至少 {} 节才判断"),
    "score_rate": Words("only with at least {} scored courses", "有成绩的课程至少 {} 门才判断"),
    "score_drop": Words("only with at least {} scored courses", "有成绩的课程至少 {} 门才判断"),
    "failed_courses": Words("only with at least {} counted courses", "计入统计的课程至少 {} 门才判断"),
    "missing_rate": Words("only with at least {} expected scores", "应评至少 {} 次才判断"),
}
#: The minimum share of begun grading.
BEGUN = Words(
    "only once {}% of the points of the student's courses have begun",
    "所修课程至少 {}% 的分值已开始评分才判断",
)

#: The levels with a limit, the most severe first.
LIMITS = ("at_risk", "warning", "watch")

PRESENT = definition("attendance_rate")
LATE = definition("lateness_rate")
SCORE_RATE = definition("score_rate")
SPREAD = Definition(
    Words("Usual spread", "通常差距"),
    Words(
        "The usual distance of a student's mean from the mean of the cohort (standard deviation): about two "
        "students in three are within one spread.",
        "本届学生的平均分与全届平均分通常相差多少（标准差）：约三分之二的学生相差不到 1 倍。",
    ),
)
MEAN = Definition(
    Words("Mean, median, sd", "平均分、中位数、标准差"),
    Words(
        "Statistics of grades as percentages of the full score, so that courses with different full scores "
        "compare.",
        "按成绩占满分的百分比计算，满分不同的课程可以比较。",
    ),
)
WEIGHTED = Definition(
    Words("Weighted mean, rank", "加权平均分、名次"),
    Words(
        "A student's mean weighted by credit. Equal means share a rank. Students who have left have no rank. "
        "Unpublished grades count unless the school decides otherwise.",
        "学生各课程成绩按学分加权平均；平均分相同者名次相同，已离校者不排名次。未发布的成绩默认计入（学校可另行规定）。",
    ),
)
CREDITS = Definition(
    Words("Credits taken, earned", "修读学分、已获学分"),
    Words(
        "Taken: credits of all courses of the semester. Earned: credits of passed courses with a published "
        "grade. Before grades are published, an unfinished semester shows 0 or little.",
        "修读：本学期全部课程的学分。已获：其中成绩已发布且及格的课程的学分。成绩发布前不计入已获学分，"
        "因此未结束的学期显示为 0 或很少。",
    ),
)
EFFECT = Definition(
    Words("Effect size", "效应量"),
    Words(
        "(class mean - mean of the cohort's other classes) / standard deviation within the classes. 0.5 is "
        "worth a look, 0.8 is large.",
        "（班级平均分 − 同届其他班平均分）÷ 班内标准差。约 0.5 以上值得关注，0.8 以上差异较大。",
    ),
)
AGAINST = Definition(
    Words("Shrunken difference, verdict on a class", "收缩后差值、班级对比结论"),
    Words(
        "Classes differ by chance, too. The shrunken difference leaves out the part that is probably chance. "
        "Above or below: its 95% interval leaves out zero. Not distinguishable: the data do not show a "
        "difference. Of courses whose classes do not differ, about one in twenty has a class above or below.",
        "各班之间也会有偶然的差异。收缩后差值扣除了可能出于偶然的部分；其 95% 置信区间不含零时，"
        "才判为高于或低于其他班。无明显差异：数据不足以说明有差别。若各班实际并无差别，约二十门课程中会有一门出现被判为高于或低于的班级。",
    ),
)
DIFFICULTY = Definition(
    Words("Difficulty", "难度"),
    Words("Mean / full score of the item. Higher is easier.", "该题平均分 ÷ 满分：数值越大越容易。"),
)
CORRELATION = Definition(
    Words("Item-rest correlation", "题总相关"),
    Words(
        "Correlation of the item with the sum of the other items. Near 0 or below, it measures something "
        "else.",
        "该题得分与其余各题总分的相关系数：接近 0 或为负，说明该题测查的内容与其他题不一致。",
    ),
)
ALPHA = Definition(
    Words("Cronbach's alpha", "克隆巴赫系数"),
    Words(
        "Internal consistency of an assessment's items, at most 1.", "同一评价各题的内部一致性，最大为 1。"
    ),
)
LEVEL_MEANINGS = (
    Definition(
        LEVELS["at_risk"],
        Words("At least one indicator is beyond its limit for this level.", "至少一项指标超过高风险界限。"),
    ),
    Definition(
        LEVELS["warning"],
        Words(
            "Warnings in at least two of attendance, behaviour (lateness, missing scores) and grades; or "
            "one warning that is enough by itself, such as chronic absence. Missing scores belong to grades "
            "where they count as zero points, since they lower the score rate, too.",
            "考勤、行为（迟到、缺评）、成绩三方面中至少两方面有预警，或有一项单独即构成预警（如长期缺勤）。"
            "缺评按 0 分计时会拉低得分率，归入成绩方面。",
        ),
    ),
    Definition(
        LEVELS["watch"],
        Words(
            "Some indicator is beyond a limit. Nobody has to talk to the student yet.",
            "个别指标超过界限，暂不需要谈话。",
        ),
    ),
)
PROVISIONAL = Definition(
    Words("Provisional", "暂定"),
    Words(
        "A reason depends on grades that are not published yet, and may still change.",
        "该原因所依据的成绩尚未发布，可能还会变化。",
    ),
)
MISSING = Definition(
    Words("Expected, missing", "应评、缺评"),
    Words(
        "Expected: members of the class on the item's day. Missing: expected students without a score. Zero "
        "points are a score.",
        "应评：该评价项评分当日的班级成员。缺评：其中没有得分的学生；0 分视为有得分。",
    ),
)


def all_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[str, Definition]:
    """The definitions of all workbooks, by their English terms."""
    return {
        entry.term.en: entry
        for definitions in (attendance_definitions, grade_definitions, warning_definitions)
        for entry in definitions(con, school_id)
    }


def attendance_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """The definitions of the workbook of attendance."""
    limits = _limits(con, school_id, "stg_attendance_thresholds")
    headcount = Definition(
        Words("Average daily attendance", "日均出勤人数"),
        Words(
            "Students attending, on average of the days in session: those on which at least "
            f"{limits['session_day_percent']}% of the usual number of students were recorded. The others are "
            "partial days.",
            f"上课日平均每天出勤的学生人数。有考勤的人数达到通常人数 {limits['session_day_percent']}% "
            "及以上的日子为上课日，其余为部分点名的日子。",
        ),
    )
    absent_day = Definition(
        Words("Absent day", "缺勤日"),
        Words(
            f"A day with at least {limits['absent_day_percent']}% of its recorded lessons missed.",
            f"当日已点名课节中缺勤达 {limits['absent_day_percent']}% 及以上。",
        ),
    )
    recent = Definition(
        Words("Recent", "近期"),
        Words(
            f"The last {limits['trend_weeks']} teaching weeks, beside the weeks before.",
            f"最近 {limits['trend_weeks']} 个教学周，与此前各周相比。",
        ),
    )
    chronic = tuple(_chronic(con, school_id))
    return (PRESENT, LATE, headcount, absent_day, recent, *tier_definitions(con, school_id), *chronic)


def grade_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """Of the workbook of grades."""
    limits = _limits(con, school_id, "stg_grade_thresholds")
    top = limits["discrimination_group_percent"]
    discrimination = Definition(
        Words("Discrimination", "区分度"),
        Words(
            f"Share of the full score that the best {top}% of the class reach, less that of the last {top}%. "
            f"For classes of at least {limits['item_minimum_students']} students.",
            f"总分前 {top}% 学生的得分率减去后 {top}% 学生的得分率；"
            f"人数不少于 {limits['item_minimum_students']} 时才计算。",
        ),
    )
    judged = Definition(
        Words("Verdict on an item", "区分度评价"),
        Words(
            "By the item-rest correlation; for examinations alone (by their names). Cannot be told: fewer "
            f"than {limits['label_minimum_students']} students have a score of every item, or the 95% "
            "confidence interval of the correlation covers several verdicts.",
            "按题总相关评定，只评定考试（按名称识别）。无法判断：全部评价项均有得分的学生少于 "
            f"{limits['label_minimum_students']} 人，或题总相关的 95% 置信区间跨越多个等级。",
        ),
    )
    labels = tuple(_discrimination(con, school_id))
    items = (DIFFICULTY, discrimination, CORRELATION, judged, *labels, ALPHA)
    rates = (definition(name, limits) for name in ("pass_rate", "excellent_rate"))
    return (MEAN, *rates, EFFECT, AGAINST, WEIGHTED, CREDITS, *items, MISSING)


def warning_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """The definitions of the workbook of early warning: levels and limits."""
    tiers = tier_definitions(con, school_id)
    return (
        *LEVEL_MEANINGS,
        PROVISIONAL,
        *_warnings(con, school_id),
        SPREAD,
        PRESENT,
        LATE,
        SCORE_RATE,
        *tiers,
    )


def tier_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """The tiers of attendance, the lowest first."""
    query = f"""
        SELECT tier, {number_text("lower_percent")}, {number_text("upper_percent")}
        FROM staging.stg_attendance_tiers WHERE school_id = $school_id ORDER BY upper_percent
    """
    return tuple(_tier(*row) for row in rows(con, school_id, query))


def _tier(code: str, lower: str | None, upper: str) -> Definition:
    name = label_of(code, TIERS)
    above = Words(f"above {lower}%, ", f"高于 {lower}%，") if lower is not None else Words("", "")
    return Definition(
        Words(f"Tier: {name.en}", f"出勤等级“{name.zh}”"),
        Words(
            f"Attendance rate {above.en}up to {upper}%.",
            f"出勤率{above.zh}不超过 {upper}%。",
        ),
    )


def _chronic(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterator[Definition]:
    query = f"""
        SELECT {number_text("absence_percent")}, minimum_days::VARCHAR
        FROM staging.stg_attendance_profiles WHERE school_id = $school_id AND is_default
    """
    for percent, days in rows(con, school_id, query):
        yield Definition(
            Words("Chronically absent", "长期缺勤"),
            Words(
                f"Absent in at least {percent}% of the recorded lessons, leave included, on at least {days} "
                "recorded days.",
                f"已点名课节中缺勤（含请假）达 {percent}% 及以上，且有考勤的天数不少于 {days} 天。",
            ),
        )


def _discrimination(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterator[Definition]:
    query = f"""
        SELECT label, {number_text("lower_correlation")}, {number_text("upper_correlation")}
        FROM staging.stg_discrimination_labels
        WHERE school_id = $school_id ORDER BY lower_correlation DESC NULLS LAST
    """
    for code, lower, upper in rows(con, school_id, query):
        name = label_of(code, DISCRIMINATION)
        bounds = [
            *([Words(f"at or above {lower}", f"不低于 {lower}")] if lower is not None else []),
            *([Words(f"below {upper}", f"低于 {upper}")] if upper is not None else []),
        ]
        yield Definition(
            Words(f"Verdict: {name.en}", f"区分度评价“{name.zh}”"),
            Words(
                "The whole 95% confidence interval of the item-rest correlation, to two decimals, lies "
                f"{' and '.join(bound.en for bound in bounds)}.",
                f"题总相关的整个 95% 置信区间（保留两位小数）{' 且'.join(bound.zh for bound in bounds)}。",
            ),
        )


def _warnings(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterator[Definition]:
    query = f"""
        SELECT
            indicator, label_en, label_zh, unit, worse, {number_text("cohort_percent")}, suffices,
            {number_text("if(minimum > 1, minimum, NULL)")}, {number_text("nullif(minimum_begun, 0)")},
            {", ".join(number_text(level) for level in LIMITS)}
        FROM staging.stg_early_warning_rules
        JOIN quality.dictionary
            ON schema_name = 'marts' AND table_name = 'early_warning' AND column_name = indicator
        WHERE school_id = $school_id
        ORDER BY position
    """
    for indicator, en, zh, unit, worse, percent, suffices, minimum, begun, *values in rows(
        con, school_id, query
    ):
        limits = dict(zip(LIMITS, values, strict=True))
        parts = [_limit(level, worse, limit, unit) for level, limit in limits.items() if limit is not None]
        if percent is not None and limits["warning"] is not None:
            parts.append(
                Words(
                    f"{LEVELS['warning'].en} only for the worst {percent}% of the cohort",
                    f"{LEVELS['warning'].zh}仅限本届后 {percent}%",
                )
            )
        if suffices and limits["warning"] is not None:
            parts.append(Words("enough by itself", "单独即构成预警"))
        if parts:
            parts += [
                Words(words.en.format(least), words.zh.format(least))
                for words, least in ((MINIMUMS[indicator], minimum), (BEGUN, begun))
                if least is not None
            ]
            yield Definition(
                Words(f"Limits: {en}", f"界限：{zh}"),
                Words(
                    "; ".join(words.en for words in parts) + ".",
                    "；".join(words.zh for words in parts) + "。",
                ),
            )


def _limit(level: str, worse: str, limit: str, unit: str) -> Words:
    """The limit of an indicator for a level."""
    sign = UNITS.get(unit, Words("", ""))
    en, zh = limit + sign.en, limit + sign.zh
    name = LEVELS[level]
    if worse == "below":
        return Words(f"{name.en}: below {en}", f"{name.zh}：低于 {zh}")
    if worse == "at_most":
        return Words(f"{name.en}: {en} or less", f"{name.zh}：{zh}及以下")
    return Words(f"{name.en}: {en} or more", f"{name.zh}：{zh}及以上")


def _limits(con: duckdb.DuckDBPyConnection, school_id: int, table: str) -> dict[str, Any]:
    """The valid thresholds by name."""
    return dict(
        rows(
            con,
            school_id,
            f"SELECT threshold, {number_text('value')} FROM staging.{table} WHERE school_id = $school_id",
        )
    )
