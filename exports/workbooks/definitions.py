"""The terms of the ready-made workbooks, with the thresholds in force for the school."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb

from exports.sheets import Definition, Words
from exports.workbooks.queries import plain, rows
from exports.workbooks.terms import DISCRIMINATION, LEVELS, TIERS, in_words

#: Of the limits of early warning.
UNITS = {
    "percent": Words("%", "%"),
    "percentage points": Words(" percentage points", " 个百分点"),
    "sd": Words(" times the usual spread", " 倍通常差距"),
    "courses": Words("", " 门"),
}

#: From how much on a rule is judged, by what its minimum counts. A minimum of 1 says nothing.
MINIMUMS = {
    "attendance_rate": Words("only with at least {} recorded days", "有考勤的天数至少 {} 天才判断"),
    "attendance_drop": Words(
        "only with at least {} recorded lessons in the last weeks, and as many before them",
        "近期和此前各至少有 {} 节已点名的课才判断",
    ),
    "lateness_rate": Words("only with at least {} lessons attended", "出勤课次至少 {} 节才判断"),
    "score_rate": Words("only with at least {} scored courses", "有分的课程至少 {} 门才判断"),
    "score_drop": Words("only with at least {} scored courses", "有分的课程至少 {} 门才判断"),
    "failed_courses": Words("only with at least {} counted courses", "计入统计的课程至少 {} 门才判断"),
    "missing_rate": Words("only with at least {} expected scores", "应评至少 {} 次才判断"),
}
#: How much of the grades must have begun.
BEGUN = Words(
    "only once {}% of the points of the student's courses have begun",
    "学生课程的分值至少有 {}% 已开始评分才判断",
)

#: The levels that have a limit, the gravest first.
LIMITS = ("at_risk", "warning", "watch")

PRESENT = Definition(
    Words("Attendance rate", "出勤率"),
    Words(
        "Lessons attended / lessons recorded; late and left early count as attended, leave as absent unless "
        "the school decided otherwise. Lessons without a roll count on neither side.",
        "出勤课次 ÷ 已点名课次；迟到、早退计为出勤，请假默认计为缺勤（学校可另行规定）。未点名的课次不计入。",
    ),
)
LATE = Definition(
    Words("Lateness rate", "迟到率"),
    Words("Lessons late / lessons attended.", "迟到课次 ÷ 出勤课次。"),
)
SCORE_RATE = Definition(
    Words("Score rate", "得分率"),
    Words("Points / full score, over the scored courses.", "得分合计 ÷ 满分合计，只计有分的课程。"),
)
SPREAD = Definition(
    Words("Usual spread", "通常差距"),
    Words(
        "How far the means of the cohort's students usually are from the mean of the cohort (their standard "
        "deviation): about two students in three are nearer than one spread.",
        "本届学生的平均分与全届平均分通常相差多少（标准差）：约三分之二的学生相差不到 1 倍。",
    ),
)
MEAN = Definition(
    Words("Mean, median, sd", "平均分、中位数、标准差"),
    Words(
        "Of the grades' percentages of their full scores, so that courses of different full scores compare.",
        "按成绩占满分的百分比计算，满分不同的课程可以比较。",
    ),
)
WEIGHTED = Definition(
    Words("Weighted mean, rank", "加权平均分、名次"),
    Words(
        "A student's mean weighted by credit; equal means share a rank, and who has left has none. "
        "Unpublished grades count, unless the school decided otherwise.",
        "学生各课程成绩按学分加权平均；平均分相同者名次相同，已离校者不排名次。未发布的成绩默认计入（学校可另行规定）。",
    ),
)
CREDITS = Definition(
    Words("Credits taken, earned", "修读学分、已获学分"),
    Words(
        "Taken: of all courses of the semester. Earned: of those passed whose grade is published. While "
        "grades are not published, nothing is earned yet: a semester that is not over shows 0 or little.",
        "修读：本学期全部课程的学分。已获：其中成绩已发布且及格的课程的学分。成绩未发布时尚未获得学分，"
        "因此未结束的学期显示为 0 或很少。",
    ),
)
EFFECT = Definition(
    Words("Effect size", "效应量"),
    Words(
        "(class mean - mean of the cohort's other classes) / standard deviation within the classes. From "
        "about 0.5 on it is worth a look, from 0.8 on it is large. A class has a rank only where chance "
        "explains its difference in less than 5 of 100 cases (Welch's t test).",
        "（班级平均分 − 同届其他班平均分）÷ 班内标准差。约 0.5 以上值得关注，0.8 以上为较大差异。"
        "只有差异在统计上显著（韦尔奇 t 检验，5%）的班级才列名次。",
    ),
)
DIFFICULTY = Definition(
    Words("Difficulty", "难度"),
    Words("Mean / full score of the item: higher is easier.", "该题平均分 ÷ 满分：数值越大越容易。"),
)
CORRELATION = Definition(
    Words("Item-rest correlation", "题总相关"),
    Words(
        "Correlation of the item with the sum of all others: near 0 or below, it measures something else.",
        "该题得分与其余各题总分的相关系数：接近 0 或为负，说明该题与其他题测的不是同一内容。",
    ),
)
ALPHA = Definition(
    Words("Cronbach's alpha", "克隆巴赫系数"),
    Words("How well the items of an assessment go together, at most 1.", "评价各题的内部一致性，最大为 1。"),
)
LEVEL_MEANINGS = (
    Definition(
        LEVELS["at_risk"],
        Words("At least one indicator is beyond its limit of this level.", "至少一项指标超过高风险界限。"),
    ),
    Definition(
        LEVELS["warning"],
        Words(
            "Warnings in at least two of attendance, behaviour (lateness, missing scores) and grades; or one "
            "that is enough by itself, as chronic absence is. Missing scores are of grades where they count "
            "as zero points, since they lower the score rate as well.",
            "考勤、行为（迟到、缺评）、成绩三方面中至少两方面有预警，或有一项单独即构成预警（如长期缺勤）。"
            "缺评按 0 分计时会拉低得分率，归入成绩方面。",
        ),
    ),
    Definition(
        LEVELS["watch"],
        Words(
            "Something is beyond a limit, and no more than that: nobody has to be talked to yet.",
            "仅有个别指标超过界限，暂不需要谈话。",
        ),
    ),
)
PROVISIONAL = Definition(
    Words("Provisional", "暂定"),
    Words(
        "A reason rests on grades that are not published yet, and may still change with them.",
        "该原因依据尚未发布的成绩，可能随成绩变化。",
    ),
)
MISSING = Definition(
    Words("Expected, missing", "应评、缺评"),
    Words(
        "Expected: members of the class on the item's day. Missing: of these, who has no score; zero points "
        "are a score.",
        "应评：该评价项当日的班级成员。缺评：其中没有得分的人；0 分算有得分。",
    ),
)


def attendance_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """Of the workbook of attendance."""
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
            f"当日已点名课次中缺勤达 {limits['absent_day_percent']}% 及以上。",
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
    passed = Definition(
        Words("Pass rate", "及格率"),
        Words(
            "Grades passed / grades passed or failed: as the platform says, else from "
            f"{limits['pass_percent']}% of the full score on.",
            "及格数 ÷（及格数 + 不及格数）；以平台结论为准，平台无结论时"
            f"以满分的 {limits['pass_percent']}% 为及格线。",
        ),
    )
    excellent = Definition(
        Words("Excellent rate", "优秀率"),
        Words(
            f"Scored grades of at least {limits['excellent_percent']}% of the full score.",
            f"有分成绩中达到满分 {limits['excellent_percent']}% 及以上的比例。",
        ),
    )
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
            "By its item-rest correlation; of examinations alone (by their names). Cannot be told: fewer "
            f"than {limits['label_minimum_students']} students have a score of every item, or the "
            "correlation may as well be that of another verdict (95% confidence interval).",
            "按题总相关评定，只评定考试（按名称识别）。无法判断：全部评价项均有得分的学生少于 "
            f"{limits['label_minimum_students']} 人，或题总相关的 95% 置信区间跨越多个等级。",
        ),
    )
    labels = tuple(_discrimination(con, school_id))
    items = (DIFFICULTY, discrimination, CORRELATION, judged, *labels, ALPHA)
    return (MEAN, passed, excellent, EFFECT, WEIGHTED, CREDITS, *items, MISSING)


def warning_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """Of the workbook of early warning: what a level is, and what raises it."""
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
        SELECT tier, {plain("lower_percent")}, {plain("upper_percent")}
        FROM staging.stg_attendance_tiers WHERE school_id = $school_id ORDER BY upper_percent
    """
    return tuple(_tier(*row) for row in rows(con, school_id, query))


def _tier(code: str, lower: str | None, upper: str) -> Definition:
    name = in_words(code, TIERS)
    above = Words(f"above {lower}%, ", f"高于 {lower}%，") if lower is not None else Words("", "")
    return Definition(
        Words(f"Tier: {name.en}", f"出勤等级：{name.zh}"),
        Words(
            f"Attendance rate {above.en}up to and with {upper}%.",
            f"出勤率{above.zh}不超过 {upper}%。",
        ),
    )


def _chronic(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterator[Definition]:
    query = f"""
        SELECT {plain("absence_percent")}, minimum_days::VARCHAR
        FROM staging.stg_attendance_profiles WHERE school_id = $school_id AND is_default
    """
    for percent, days in rows(con, school_id, query):
        yield Definition(
            Words("Chronically absent", "长期缺勤"),
            Words(
                f"Absent in at least {percent}% of the recorded lessons, leave included, on at least {days} "
                "recorded days.",
                f"已点名课次中缺勤（含请假）达 {percent}% 及以上，且有考勤天数不少于 {days} 天。",
            ),
        )


def _discrimination(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterator[Definition]:
    query = f"""
        SELECT label, {plain("lower_correlation")}, {plain("upper_correlation")}
        FROM staging.stg_discrimination_labels
        WHERE school_id = $school_id ORDER BY lower_correlation DESC NULLS LAST
    """
    for code, lower, upper in rows(con, school_id, query):
        name = in_words(code, DISCRIMINATION)
        meaning = Words(f"Item-rest correlation from {lower} on.", f"题总相关 {lower} 及以上。")
        yield Definition(
            Words(f"Verdict: {name.en}", f"区分度评价：{name.zh}"),
            meaning
            if lower is not None
            else Words(f"Item-rest correlation below {upper}.", f"题总相关低于 {upper}。"),
        )


def _warnings(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterator[Definition]:
    query = f"""
        SELECT
            indicator, label_zh, unit, worse, {plain("cohort_percent")}, suffices,
            {plain("if(minimum > 1, minimum, NULL)")}, {plain("nullif(minimum_begun, 0)")},
            {", ".join(plain(level) for level in LIMITS)}
        FROM staging.stg_early_warning_rules
        JOIN quality.dictionary
            ON schema_name = 'marts' AND table_name = 'early_warning' AND column_name = indicator
        WHERE school_id = $school_id
        ORDER BY position
    """
    for indicator, label_zh, unit, worse, percent, suffices, minimum, begun, *values in rows(
        con, school_id, query
    ):
        limits = dict(zip(LIMITS, values, strict=True))
        told = [_limit(level, worse, limit, unit) for level, limit in limits.items() if limit is not None]
        if percent is not None and limits["warning"] is not None:
            told.append(
                Words(
                    f"{LEVELS['warning'].en} only for the worst {percent}% of the cohort",
                    f"{LEVELS['warning'].zh}只限本届后 {percent}%",
                )
            )
        if suffices and limits["warning"] is not None:
            told.append(Words("enough by itself", "单独即构成预警"))
        if told:
            told += [
                Words(words.en.format(least), words.zh.format(least))
                for words, least in ((MINIMUMS[indicator], minimum), (BEGUN, begun))
                if least is not None
            ]
            yield Definition(
                Words(f"Limits: {indicator.replace('_', ' ')}", f"界限：{label_zh}"),
                Words(
                    "; ".join(words.en for words in told) + ".", "；".join(words.zh for words in told) + "。"
                ),
            )


def _limit(level: str, worse: str, limit: str, unit: str) -> Words:
    """From which value on an indicator raises a level."""
    sign = UNITS.get(unit, Words("", ""))
    en, zh = limit + sign.en, limit + sign.zh
    name = LEVELS[level]
    if worse == "below":
        return Words(f"{name.en}: below {en}", f"{name.zh}：低于 {zh}")
    if worse == "at_most":
        return Words(f"{name.en}: {en} or less", f"{name.zh}：{zh}及以下")
    return Words(f"{name.en}: from {en} on", f"{name.zh}：{zh}及以上")


def _limits(con: duckdb.DuckDBPyConnection, school_id: int, table: str) -> dict[str, Any]:
    """Thresholds in force, by name, as they are written."""
    return dict(
        rows(
            con,
            school_id,
            f"SELECT threshold, {plain('value')} FROM staging.{table} WHERE school_id = $school_id",
        )
    )
