"""Whether the warnings came true: the back-test as a sheet, and as sentences of the board."""

from __future__ import annotations

from typing import Any

import duckdb

from exports.source import records
from exports.spreadsheet.columns import english
from exports.spreadsheet.sheets import Column, Definition, Sheet, Words
from exports.workbooks.terms import INDICATORS, STUDENTS, grouped

#: The week of the sentence. Where a semester was shorter or cannot be judged then, the nearest week that can.
WEEK = 8
OUTCOME = "failed_or_chronic"
TITLE = Words("Did the warnings come true?", "预警准不准？")
RULES = {
    "level_warning": Words("Level: warning or at risk", "等级：预警或高风险"),
    "level_at_risk": Words("Level: at risk", "等级：高风险"),
    "failed_last_semester": Words("For comparison: failed a course last semester", "对照：上学期有不及格"),
    "worst_tenth_attendance": Words(
        "For comparison: worst tenth by attendance of the last four weeks", "对照：近四周出勤最差的一成学生"
    ),
    **{name: Words(f"Alone: {words.en}", f"仅看：{words.zh}") for name, words in INDICATORS.items()},
}
#: The level beside its best single indicator.
VERDICTS = {
    "better": Words("The level tells them better than the {} alone.", "等级比单看{}更准。"),
    "worse": Words("The level tells them worse than the {} alone.", "等级不如单看{}准。"),
    "not distinguishable": Words(
        "The data do not show whether the level is better than the {} alone.",
        "现有数据还不能说明等级是否比单看{}更准。",
    ),
}
MEANING = Definition(
    TITLE,
    Words(
        "The rules in force, applied to each week of finished semesters with what was known then, beside "
        "what happened afterwards: two or more failed courses, or chronic absence. Flagged: students with a "
        "warning or at risk. The range holds the true share in 95 of 100 cases.",
        "用现行规则，按当时已知的数据，对已结束学期的每一周重新判断，再与之后实际发生的情况（两门及以上不及格，或长期缺勤）"
        "相比。预警学生：等级为预警或高风险的学生。区间：真实比例有95%的可能在此范围内。",
    ),
)
#: The last finished semester in which the level can be judged, at the week nearest to WEEK.
LAST_JUDGED = f"""
    SELECT back_test.*
    FROM marts.early_warning_backtest AS back_test
    JOIN core.dim_semester USING (school_id, semester_id)
    WHERE back_test.school_id = $school_id AND rule = 'level_warning' AND outcome = '{OUTCOME}'
        AND flagged > 0 AND with_outcome > 0
    ORDER BY first_day DESC, abs(week - {WEEK}), week
    LIMIT 1
"""
#: Why no semester can be judged: the reason that will pass first.
STATUS = f"""
    SELECT status, status_en, status_zh, weeks_missing
    FROM marts.early_warning_backtest_status
    WHERE school_id = $school_id AND outcome = '{OUTCOME}'
    ORDER BY weeks_missing NULLS LAST, semester_id DESC
    LIMIT 1
"""
SHEET = Sheet(
    name=Words("Came true", "预警准不准"),
    summary=True,
    about=Words(
        "How often the warnings of earlier semesters came true, by week. Found: of the students with two or "
        "more failed courses or chronic absence afterwards, the share that had been flagged. Right: of the "
        "flagged students, the share to whom it happened.",
        "以往学期的预警事后是否应验，按周列出。查出率：之后两门及以上不及格或长期缺勤的学生中，此前已被预警的比例。"
        "命中率：被预警的学生中，之后确实发生的比例。",
    ),
    query=f"""
        SELECT
            back_test.semester_name, week, rule, students, with_outcome, flagged, hits, missed, false_alarms,
            "precision", precision_low, precision_high, recall, recall_low, recall_high
        FROM marts.early_warning_backtest AS back_test
        JOIN core.dim_semester USING (school_id, semester_id)
        WHERE back_test.school_id = $school_id AND outcome = '{OUTCOME}' AND judged > 0 AND week % 4 = 0
        ORDER BY first_day DESC, week, list_position({list(RULES)}, rule)
    """,
    sources=("marts.early_warning_backtest",),
    columns={
        "rule": Column(Words("Flagged by", "预警依据"), words=RULES),
        "students": Column(STUDENTS),
        "with_outcome": Column(Words("It happened to", "之后发生"), unit="students"),
        "flagged": Column(Words("Flagged", "被预警"), unit="students"),
        "hits": Column(Words("of them it happened to", "其中应验"), unit="students"),
        "missed": Column(Words("Missed", "漏报"), unit="students"),
        "false_alarms": Column(Words("False alarms", "误报"), unit="students"),
        **grouped(
            Words("Right, %", "命中率（%）"),
            precision=Column(Words("Share", "比例"), kind="percent"),
            precision_low=Column(Words("at least", "下限"), kind="percent"),
            precision_high=Column(Words("at most", "上限"), kind="percent"),
        ),
        **grouped(
            Words("Found, %", "查出率（%）"),
            recall=Column(Words("Share", "比例"), kind="percent"),
            recall_low=Column(Words("at least", "下限"), kind="percent"),
            recall_high=Column(Words("at most", "上限"), kind="percent"),
        ),
    },
)


def came_true(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Words, ...]:
    """Sentences for a head: how many of the flagged students it happened to, how many were missed, and
    whether the level is worth more than its best single number. Where no semester can be judged: why."""
    parameters = {"school_id": school_id}
    rows = records(con, LAST_JUDGED, parameters)
    if not rows:
        return (_not_yet(records(con, STATUS, parameters)),)
    [row] = rows
    sentences = [
        Words(
            "{semester_name}, week {week}: of {flagged} students flagged, {hits} later failed two courses or "
            "were chronically absent. Of {with_outcome} such students, {hits} had been flagged and {missed} "
            "had not.",
            "{semester_name}第{week}周：被预警的{flagged}名学生中，之后有{hits}名两门及以上不及格或长期缺勤；"
            "这样的学生共{with_outcome}名，其中{hits}名此前已被预警，{missed}名未被预警。",
        ),
        Words(
            "So {precision:.0f}% of the flags were right (95% range "
            "{precision_low:.0f}-{precision_high:.0f}%), and {recall:.0f}% of these students were found "
            "({recall_low:.0f}-{recall_high:.0f}%). A flag is a reason to talk, not a verdict.",
            "即命中率{precision:.0f}%（95%区间{precision_low:.0f}%–{precision_high:.0f}%），"
            "查出率{recall:.0f}%（{recall_low:.0f}%–{recall_high:.0f}%）。预警只是谈话的理由，不是结论。",
        ),
    ]
    if row["verdict"] in VERDICTS and row["best_single"]:
        verdict, single = VERDICTS[row["verdict"]], row["best_single"]
        en, zh = english(single).lower(), INDICATORS[single].zh.partition("（")[0]
        sentences.append(Words(verdict.en.format(en), verdict.zh.format(zh)))
    return tuple(Words(words.en.format(**row), words.zh.format(**row)) for words in sentences)


def _not_yet(rows: list[dict[str, Any]]) -> Words:
    """Why nothing can be said yet, and for how many weeks."""
    if not rows:
        return Words("Not known yet: no semester has been loaded.", "尚无法判断：还没有已加载的学期。")
    [row] = rows
    if row["weeks_missing"] is None:
        return Words(f"Not known yet. {row['status_en']}.", f"尚无法判断：{row['status_zh']}。")
    return Words(
        f"Not known yet. {row['status_en']}. Weeks to wait: {row['weeks_missing']}.",
        f"尚无法判断：{row['status_zh']}，还需{row['weeks_missing']}周。",
    )
