"""Whether the warnings came true: the back-test as a sheet, and as the answers of the board to a head.

A rule is held against outcomes alone that it does not contain. A share needs ten students, a verdict thirty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

import duckdb

from exports.figures import EMPTY
from exports.source import joined, records
from exports.spreadsheet.sheets import Column, Definition, Sheet, Words
from exports.workbooks.queries import SHOWN
from exports.workbooks.terms import INDICATORS, STUDENTS, grouped
from warehouse.identifiers import listed
from warehouse.rounding import half_up, percent

#: The week of the sentences. Where a semester was shorter or judged otherwise then, the nearest other week.
WEEK = 8
#: The fewest students of a share that is shown, in percent.
FEWEST_OF_SHARE = 10
#: The length of the list in the question of a head.
TALKS = 20
TITLE = Words("Did the warnings come true?", "预警准不准？")
#: Rules, in the order of the sheet, and by whom the students of a list were flagged.
RULES = {
    "attendance_reasons": Words("A reason of attendance", "出勤原因"),
    "grades_reasons": Words("A reason of grades", "成绩原因"),
    "level_warning": Words("Level: warning or at risk", "等级：预警或高风险"),
    "level_at_risk": Words("Level: at risk", "等级：高风险"),
    "failed_last_semester": Words("For comparison: failed a course last semester", "对照：上学期有不及格"),
    "worst_tenth_attendance": Words(
        "For comparison: worst tenth by attendance of the last four weeks", "对照：近四周出勤最差的一成学生"
    ),
    **{name: Words(f"Alone: {words.en}", f"仅看：{words.zh}") for name, words in INDICATORS.items()},
}
FLAGGED_FOR = {
    "attendance_reasons": Words("for attendance", "因出勤"),
    "grades_reasons": Words("for grades", "因成绩"),
    "level_warning": Words("with a warning or at risk", "因等级为预警或高风险"),
}
OUTCOMES = {
    "failed_courses": Words("Failed two courses or more after the week", "该周之后两门及以上不及格"),
    "chronic_absence": Words("Chronically absent after the week", "该周之后长期缺勤"),
    "failed_next": Words("Failed a course in the next semester", "下学期有不及格"),
    "has_left": Words("Left by the end of the next semester", "到下学期末已离校"),
}
#: What the students of an outcome did, in a sentence.
HAPPENED = {
    "failed_courses": Words("failed two courses or more afterwards", "之后两门及以上不及格"),
    "chronic_absence": Words("were chronically absent afterwards", "之后长期缺勤"),
    "failed_next": Words("failed a course in the next semester", "下学期有不及格"),
    "has_left": Words("left by the end of the next semester", "到下学期末离校"),
}
#: The rules of the answers, each with outcomes that it does not contain.
JUDGED_BY = (
    ("attendance_reasons", "failed_courses"),
    ("grades_reasons", "chronic_absence"),
    ("level_warning", "failed_next"),
    ("level_warning", "has_left"),
)
RIGHT = Words(
    f"If you talk to {TALKS} students of this list, how many will it have been right to talk to?",
    f"如果与名单上的{TALKS}名学生谈话，有多少名确实需要？",
)
MISSED = Words("How many others does the list miss?", "名单漏掉了多少学生？")
FAIR = Words("Does the list treat groups of students alike?", "名单对各类学生公平吗？")
NOT_KNOWN = Words("What cannot be known", "目前无法知道的")
COUNTED = Words(
    "{semester_name}, week {week}: of {flagged} students flagged {rule.en}, {hits} {outcome.en}, and "
    "{false_alarms} did not.",
    "{semester_name}第{week}周：{rule.zh}被预警的{flagged}名学生中，{hits}名{outcome.zh}，{false_alarms}名没有。",
)
BY_LOT = Words(
    "Of all {students} students {base_rate}% did, so that as many drawn by lot would have been {lot}.",
    "全部{students}名学生中这样的占{base_rate}%，随机抽取同样多的学生会有{lot}名。",
)
BY_SINGLE = Words(
    "The {single.en} alone, with as many flags: {single_hits}.",
    "仅看{single.zh}、预警同样多的学生：{single_hits}名。",
)
NOBODY_FLAGGED = Words(
    "{semester_name}, week {week}: nobody was flagged {rule.en}.",
    "{semester_name}第{week}周：没有学生{rule.zh}被预警。",
)
KNOWN_WHEN = {
    "recorded": Words("stored here then", "当时已存入"),
    "dated": Words("by the platform's times", "依据平台时间"),
    "assumed": Words("partly assumed", "部分推定"),
}
#: How it is known what was known in the week.
CERTAINTY = {
    "assumed": Words(
        "Part of what was known in that week is assumed, since the platform does not tell when it was "
        "entered.",
        "该周已知的数据有一部分是推定的，因为平台没有给出录入时间。",
    ),
    "dated": Words(
        "What was known in that week is by the platform's own times.", "该周已知的数据依据平台自己的时间。"
    ),
}
OF_TWENTY = Words(
    f"So {{precision}}% of such talks were right (95% range {{low}} to {{high}}%): {{talks}} of {TALKS}.",
    f"因此这样的谈话有{{precision}}%谈对了人（95%区间{{low}}%至{{high}}%），即{TALKS}次中有{{talks}}次。",
)
OF_NEEDED = Words(
    "{semester_name}, week {week}: of {with_outcome} students who {outcome.en}, {hits} had been flagged "
    "{rule.en} and {missed} had not{share.en}.",
    "{semester_name}第{week}周：{outcome.zh}的{with_outcome}名学生中，{hits}名此前已{rule.zh}被预警，{missed}名没有{share.zh}。",
)
FOUND_SHARE = Words(
    " ({recall}% found, 95% range {low} to {high}%)", "（查出率{recall}%，95%区间{low}%至{high}%）"
)
#: Whether the flags tell more than a lot, and than the best single number.
CHANCE = {
    "better": Words("Such flags find them better than chance.", "这样的预警比随机更准。"),
    "worse": Words("Such flags find them worse than chance.", "这样的预警还不如随机。"),
    "not distinguishable": Words(
        "The data do not show that such flags are better than chance.",
        "现有数据不能说明这样的预警比随机更准。",
    ),
    "too few": Words(
        "Too few students for a verdict: that needs thirty to whom it happened and thirty to whom it did "
        "not, and ten who were flagged.",
        "人数太少，不能下结论：发生与未发生的学生各需三十名，被预警的需十名。",
    ),
}
SINGLE = {
    "better": Words("They tell more than the {single.en} alone.", "比仅看{single.zh}更准。"),
    "worse": Words("They tell less than the {single.en} alone.", "不如仅看{single.zh}准。"),
    "not distinguishable": Words(
        "The data do not show whether they tell more than the {single.en} alone.",
        "现有数据不能说明是否比仅看{single.zh}更准。",
    ),
}
#: By the share of which groups differ.
DIFFERS = {
    "false_alarm_rate": Words(
        "Of those who did not, {of_group}% of this group had been flagged {rule.en} and {elsewhere}% of the "
        "others",
        "没有发生的学生中，{group.zh}有{of_group}%此前{rule.zh}被预警，其他学生为{elsewhere}%",
    ),
    "recall": Words(
        "Of those who did, {of_group}% of this group had been flagged {rule.en} and {elsewhere}% of the "
        "others",
        "确实发生的学生中，{group.zh}有{of_group}%此前{rule.zh}被预警，其他学生为{elsewhere}%",
    ),
}
DIFFERENCE = Words(
    "{group.en} ({semester_name}, week {week}, {outcome.en}): {differs.en}: {difference} points (95% range "
    "{low} to {high}), {chance.en}.",
    "{group.zh}（{semester_name}第{week}周，{outcome.zh}）：{differs.zh}，相差{difference}个百分点（95%区间{low}至{high}），{chance.zh}。",
)
BEYOND_CHANCE = Words("more than chance makes", "超出偶然")
WITHIN_CHANCE = Words("no more than chance makes", "没有超出偶然")
NOT_COMPARED = Words(
    f"Not known: groups are compared in week {WEEK} of a finished semester, with thirty students to whom it "
    "happened, thirty to whom it did not, and ten in each group.",
    f"无法判断：各类学生只在已结束学期的第{WEEK}周比较，需要发生与未发生的学生各三十名，每类各十名。",
)
OWN_EYE = Words(
    "Whether the list is fairer than your own eye is not known: nobody wrote down whom teachers would have "
    "chosen.",
    "名单是否比教师自己的观察更公平，无从得知：没有人记录教师原本会选谁。",
)
NOT_JUDGED = Words(
    "{indicators.en}: not judged before week {first} in any finished semester.",
    "{indicators.zh}：在已结束的学期中，第{first}周之前都未判断过。",
)
NEVER_JUDGED = Words(
    "{indicators.en}: not judged in any finished semester.", "{indicators.zh}：在已结束的学期中从未判断过。"
)
#: A rule and an outcome by which it cannot be judged, and why: several that have the reason in common.
CASE = Words("{rule.en} {outcome.en}", "{rule.zh}被预警的学生是否{outcome.zh}")
STATUS_OF = Words("Whether students flagged {cases.en}: {status.en}.", "{cases.zh}：{status.zh}。")
WEEKS_TO_WAIT = Words(", weeks to wait: {weeks}", "，还需{weeks}周")
NO_SEMESTER = Words("Not known yet: no semester has been loaded.", "尚无法判断：还没有已加载的学期。")
OTHERS_JUDGED = Words(
    "in no finished semester were the same indicators judged as today",
    "已结束的学期没有用与现在相同的指标判断过",
)
LIST_NOT_JUDGED = Words(
    "The list as a whole cannot be judged yet: the answers are of its reasons.",
    "名单整体还无法检验：以上答案只针对其中的原因。",
)
REASONS_PROVEN = Words("How each reason did in finished semesters", "各项原因在已结束学期的表现")
#: How a reason of today's list did.
REASON = Words(
    "{indicator.en}: {flagged} students had this reason in week {week} of {semester_name}, {hits} of them "
    "{outcome.en}{share.en}.",
    "{indicator.zh}：{semester_name}第{week}周有{flagged}名学生因此被预警，其中{hits}名{outcome.zh}{share.zh}。",
)
REASON_SHARE = Words(
    " ({precision}%; of all students {base_rate}%)", "（{precision}%；全部学生为{base_rate}%）"
)
REASON_OF_NOBODY = Words(
    "{indicator.en}: nobody had this reason in week {week} of {semester_name}.",
    "{indicator.zh}：{semester_name}第{week}周没有学生因此被预警。",
)
REASON_NOT_JUDGED = Words(
    "{indicator.en}: not judged in the weeks of finished semesters of which the outcome is known.",
    "{indicator.zh}：在已结束学期中结果已知的各周未判断过。",
)
MEANING = Definition(
    TITLE,
    Words(
        "The rules in force, applied to each week of finished semesters with what was known then, beside "
        "what happened afterwards. Each rule is held against outcomes alone that it does not contain: "
        "reasons of attendance against failed courses, reasons of grades against chronic absence (by "
        "lessons after the week), levels against the next semester. A level is shown of weeks alone in "
        "which the same indicators were judged as today. The range holds the true share in 95 of 100 cases. "
        "Better than chance: of the flagged students it happened to a larger share than of the others, and "
        "the 95% range of the difference leaves out zero.",
        "用现行规则，按当时已知的数据，对已结束学期的每一周重新判断，再与之后实际发生的情况相比。每条规则只与它本身不包含的结果相比："
        "出勤原因与不及格相比，成绩原因与（该周之后按课时计的）长期缺勤相比，等级与下一学期相比。"
        "等级只取与现在判断指标相同的各周。区间：真实比例有95%的可能在此范围内。比随机更准：被预警的学生中发生的比例高于未被预警的学生，且95%区间不含零。",
    ),
)
#: The indicators that are judged today of at least half of the students, and of which rule each is. A missing
#: score is one of grades where it counts as zero points.
TODAY = f"""
    {SHOWN},
    today AS (
        SELECT indicator, max(area) AS today_area, bool_or(level IN ('warning', 'at_risk')) AS is_reason
        FROM marts.early_warning_indicator JOIN shown USING (school_id, semester_id)
        WHERE level IS NOT NULL AND has_left IS NOT TRUE
        GROUP BY ALL
        HAVING 2 * count(*) >= (
            SELECT count(*) FROM marts.early_warning JOIN shown USING (school_id, semester_id)
            WHERE has_left IS NOT TRUE
        )
    ),
    areas AS (
        SELECT indicator, coalesce(today_area, rules.area) || '_reasons' AS rule
        FROM staging.stg_early_warning_rules AS rules LEFT JOIN today USING (indicator)
        WHERE school_id = $school_id
    )
"""
#: Of a rule and outcome the last finished semester, at the week nearest to WEEK, in which the same indicators
#: of the rule were judged as today.
LAST_JUDGED = f"""
    WITH {TODAY},
    judged_then AS (
        SELECT semester_id, week, outcome, rule AS indicator
        FROM marts.early_warning_backtest
        WHERE school_id = $school_id AND rule_type = 'indicator' AND 2 * judged >= students
    ),
    back_test AS (
        FROM marts.early_warning_backtest
        WHERE school_id = $school_id AND rule = $rule AND outcome = $outcome
    )
    SELECT back_test.*
    FROM back_test
    JOIN core.dim_semester USING (school_id, semester_id)
    WHERE judged > 0 AND with_outcome > 0 AND NOT is_contained AND NOT EXISTS (
        FROM areas
        WHERE (areas.rule = $rule OR $rule LIKE 'level%')
            AND (indicator IN (SELECT indicator FROM today)) <> (indicator IN (
                SELECT indicator FROM judged_then AS past
                WHERE past.semester_id = back_test.semester_id AND past.week = back_test.week
                    AND past.outcome = back_test.outcome
            ))
    )
    ORDER BY first_day DESC, abs(week - {WEEK}), week
    LIMIT 1
"""
#: Without names of students, groups of few are left out, too. A kind of two groups has one comparison.
GROUPS = """
    SELECT *, count(*) OVER (PARTITION BY group_type) AS groups
    FROM marts.early_warning_backtest_group
    WHERE school_id = $school_id AND semester_id = $semester_id AND week = $week AND rule = $rule
        AND outcome = $outcome AND is_distinguishable IS NOT NULL AND ($names OR NOT is_suppressed)
    ORDER BY group_type, group_code
"""
#: The first week in which each indicator of today was judged in any finished semester.
FIRST_JUDGED = f"""
    WITH {TODAY}, past AS (
        UNPIVOT (
            SELECT week, {", ".join(f"{name}_level AS {name}" for name in INDICATORS)}
            FROM core.early_warning_week WHERE school_id = $school_id
        ) ON {listed(tuple(INDICATORS))} INTO NAME indicator VALUE level
    )
    SELECT indicator, min(week) AS first
    FROM today LEFT JOIN past USING (indicator)
    GROUP BY indicator
    HAVING coalesce(first > {WEEK}, true)
    ORDER BY first NULLS LAST, list_position({list(INDICATORS)}, indicator)
"""
#: Of each reason of today's list the last finished semester in which it was judged, and what happened.
REASONS = f"""
    WITH {TODAY}
    SELECT indicator, back_test.* EXCLUDE (school_id)
    FROM today
    LEFT JOIN (
        SELECT back_test.*, first_day FROM marts.early_warning_backtest AS back_test
        JOIN core.dim_semester USING (school_id, semester_id)
        WHERE back_test.school_id = $school_id AND judged > 0 AND NOT is_contained
            AND list_contains({list(OUTCOMES)}, outcome)
    ) AS back_test ON rule = indicator
    WHERE is_reason
    QUALIFY row_number() OVER (
        PARTITION BY indicator
        ORDER BY first_day DESC, list_position({list(OUTCOMES)}, outcome), abs(week - {WEEK}), week
    ) = 1
    ORDER BY list_position({list(INDICATORS)}, indicator)
"""
#: Why an outcome cannot be judged: it can, of some semester; or the reason that will pass first.
STATUS = """
    SELECT status, status_en, status_zh, weeks_missing
    FROM marts.early_warning_backtest_status
    JOIN core.dim_semester USING (school_id, semester_id)
    WHERE school_id = $school_id AND outcome = $outcome
    ORDER BY status <> 'ready', weeks_missing NULLS LAST, first_day DESC
    LIMIT 1
"""


def _share(share: str) -> dict[str, Column]:
    """The columns of a share and its range."""
    labels = {
        "": Words("Share", "比例"),
        "_low": Words("at least", "下限"),
        "_high": Words("at most", "上限"),
    }
    return {f"{share}{end}": Column(label, kind="percent") for end, label in labels.items()}


#: The number of students that a share is of.
WHOLES = {"precision": "flagged", "recall": "with_outcome"}
#: Shares of few students are left empty.
SHARES = ", ".join(
    f'if({whole} >= {FEWEST_OF_SHARE}, "{share}{end}", NULL) AS "{share}{end}"'
    for share, whole in WHOLES.items()
    for end in ("", "_low", "_high")
)
SHEET = Sheet(
    name=Words("Came true", "预警准不准"),
    summary=True,
    about=Words(
        "How often the warnings of earlier semesters came true, by week, each rule beside outcomes that it "
        "does not contain. Right: of the flagged students, the share to whom it happened, beside the share "
        "of all students. Found: of those to whom it happened, the share that had been flagged. Best "
        "single number: of as many students as were flagged, chosen by this number alone, to how many it "
        f"happened. Shares of fewer than {FEWEST_OF_SHARE} students are left empty.",
        "以往学期的预警事后是否应验，按周列出；每条规则只与它本身不包含的结果相比。命中率：被预警的学生中之后发生的比例，旁列全部学生的比例。"
        "查出率：之后发生的学生中此前已被预警的比例。最好的单项：只按这一项挑选同样多的学生，其中之后发生的人数。"
        f"不足{FEWEST_OF_SHARE}名学生的比例不显示。",
    ),
    query=f"""
        SELECT
            back_test.semester_name, week, rule, outcome, students, with_outcome, base_rate, flagged, hits,
            best_single, single_hits, missed, false_alarms, known_when, {SHARES}
        FROM marts.early_warning_backtest AS back_test
        JOIN core.dim_semester USING (school_id, semester_id)
        WHERE back_test.school_id = $school_id AND NOT is_contained AND judged > 0 AND week % 4 = 0
            AND list_contains({list(OUTCOMES)}, outcome)
        ORDER BY
            first_day DESC, week, list_position({list(RULES)}, rule), list_position({list(OUTCOMES)}, outcome)
    """,
    sources=("marts.early_warning_backtest",),
    columns={
        "rule": Column(Words("Flagged by", "预警依据"), words=RULES),
        "outcome": Column(Words("What happened", "之后的结果"), words=OUTCOMES),
        "students": Column(STUDENTS),
        "with_outcome": Column(Words("It happened to", "之后发生"), unit="students"),
        "base_rate": Column(Words("Of all, %", "占全部（%）"), kind="percent"),
        "flagged": Column(Words("Flagged", "被预警"), unit="students"),
        "hits": Column(Words("of them it happened to", "其中应验"), unit="students"),
        "best_single": Column(Words("Best single number", "最好的单项"), words=INDICATORS),
        "single_hits": Column(Words("found by it alone", "仅看它可查出"), unit="students", places=1),
        "missed": Column(Words("Missed", "漏报"), unit="students"),
        "false_alarms": Column(Words("False alarms", "误报"), unit="students"),
        "known_when": Column(Words("What was known", "当时已知的数据"), words=KNOWN_WHEN),
        **grouped(Words("Right, %", "命中率（%）"), **_share("precision")),
        **grouped(Words("Found, %", "查出率（%）"), **_share("recall")),
    },
)


@dataclass(frozen=True)
class Answer:
    """What the data say to a question of a head."""

    question: Words
    sentences: tuple[Words, ...]


def came_true(con: duckdb.DuckDBPyConnection, school_id: int, *, names: bool) -> tuple[Answer, ...]:
    """The answers of the back-test of a school: how many talks were right, whom the list missed, whether
    groups are treated alike, and what cannot be known. `names`: the page names students."""
    judged = [_judged(con, school_id, rule, outcome) for rule, outcome in JUDGED_BY]
    rows = [row for row in judged if row]
    is_list_judged = not rows or any(row["of_rule"] == "level_warning" for row in rows)
    not_known = (*_not_judged(con, school_id), *_not_yet(con, school_id, judged))
    answers = (
        Answer(RIGHT, tuple(sentence for row in rows for sentence in _right(row))),
        Answer(MISSED, tuple(_missed(row) for row in rows)),
        Answer(FAIR, (*(tuple(_fair(con, rows, names=names)) or (NOT_COMPARED,)), OWN_EYE)),
        Answer(NOT_KNOWN, not_known if is_list_judged else (LIST_NOT_JUDGED, *not_known)),
    )
    return tuple(answer for answer in answers if answer.sentences)


def reasons_proven(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Words, ...]:
    """How each reason of today's list did in finished semesters, a sentence a reason."""
    return tuple(_reason(row) for row in records(con, REASONS, {"school_id": school_id}))


def _judged(con: duckdb.DuckDBPyConnection, school_id: int, rule: str, outcome: str) -> dict[str, Any] | None:
    """The row of the back-test by which a rule is judged, with its texts; None: it cannot be judged."""
    parameters = {"school_id": school_id, "rule": rule, "outcome": outcome}
    row = next(iter(records(con, LAST_JUDGED, parameters)), None)
    return row and {
        **row,
        "key": outcome,
        "rule": FLAGGED_FOR[rule],
        "of_rule": rule,
        "outcome": HAPPENED[outcome],
    }


def _right(row: Mapping[str, Any]) -> Iterable[Words]:
    if not row["flagged"]:
        yield _filled(NOBODY_FLAGGED, row)
        return
    lot = row["flagged"] * row["with_outcome"] / row["students"]
    yield _filled(COUNTED, row)
    if row["known_when"] in CERTAINTY:
        yield CERTAINTY[row["known_when"]]
    yield _filled(BY_LOT, row, lot=half_up(lot, 1))
    single = row["best_single"] and _in_sentence(_indicator(row["best_single"]))
    if single:
        yield _filled(BY_SINGLE, row, single=single, single_hits=half_up(row["single_hits"], 1))
    if row["flagged"] >= FEWEST_OF_SHARE:
        talks = half_up(TALKS * row["hits"] / row["flagged"], 0)
        yield _filled(OF_TWENTY, _percents(row, "precision"), talks=talks)
    yield CHANCE[row["chance_verdict"]]
    if row["verdict"] in SINGLE and single:
        yield _filled(SINGLE[row["verdict"]], {}, single=single)


def _missed(row: Mapping[str, Any]) -> Words:
    if row["with_outcome"] < FEWEST_OF_SHARE:
        return _filled(OF_NEEDED, row, share=EMPTY)
    return _filled(OF_NEEDED, row, share=_filled(FOUND_SHARE, _percents(row, "recall")))


def _percents(row: Mapping[str, Any], share: str) -> dict[str, Decimal]:
    """A share and the ends of its range, in whole percents."""
    ends = {end: half_up(row[f"{share}_{end}"], 0) for end in ("low", "high")}
    return {share: percent(row["hits"], row[WHOLES[share]], 0), **ends}


def _fair(
    con: duckdb.DuckDBPyConnection, rows: Iterable[Mapping[str, Any]], *, names: bool
) -> Iterable[Words]:
    """Of each kind of groups those that differ, or else the group that differs most."""
    for row in rows:
        if row["chance_verdict"] == "too few":
            continue
        parameters = {name: row[name] for name in ("school_id", "semester_id", "week")}
        parameters |= {"rule": row["of_rule"], "outcome": row["key"], "names": names}
        for _, kind in groupby(records(con, GROUPS, parameters), key=lambda group: group["group_type"]):
            groups = [group for group in kind if _compared_share(group) and group["group_code"] != "unknown"]
            differing = [group for group in groups if group["is_distinguishable"]]
            if not differing or groups[0]["groups"] == 2:
                # Of two groups, that of which there is more of what differs.
                differing = sorted(differing or groups, key=_difference_of)[-1:]
            yield from (_difference(row, group) for group in differing)


def _compared_share(group: Mapping[str, Any]) -> str | None:
    """The share by which a group differs most surely from the others; None: too few for any."""
    shares = [share for share in DIFFERS if group[f"{share}_p_value"] is not None]
    return min(shares, key=lambda share: group[f"{share}_p_value"], default=None)


def _difference_of(group: Mapping[str, Any]) -> Decimal:
    difference = group[f"{_compared_share(group)}_difference"]
    return Decimal(difference) if group["groups"] == 2 else abs(Decimal(difference))


def _difference(row: Mapping[str, Any], group: Mapping[str, Any]) -> Words:
    share = _compared_share(group)
    assert share is not None
    difference, of_group = group[f"{share}_difference"], group[share]
    name = Words(group["group_en"], group["group_zh"])
    shares = {"of_group": half_up(of_group, 0), "elsewhere": half_up(of_group - difference, 0)}
    limits = {end: f"{half_up(group[f'{share}_difference_{end}'], 0):+}" for end in ("low", "high")}
    return _filled(
        DIFFERENCE,
        row,
        group=name,
        differs=_filled(DIFFERS[share], row, group=name, **shares),
        difference=f"{half_up(difference, 0):+}",
        chance=BEYOND_CHANCE if group["is_distinguishable"] else WITHIN_CHANCE,
        **limits,
    )


def _not_judged(con: duckdb.DuckDBPyConnection, school_id: int) -> Iterable[Words]:
    """The indicators of today's list that finished semesters did not have, or only late."""
    rows = records(con, FIRST_JUDGED, {"school_id": school_id})
    for first, group in groupby(rows, key=lambda row: row["first"]):
        indicators = joined(_in_sentence(_indicator(row["indicator"])) for row in group)
        yield _filled(NOT_JUDGED if first else NEVER_JUDGED, {}, indicators=indicators, first=first)


def _not_yet(
    con: duckdb.DuckDBPyConnection, school_id: int, judged: Iterable[Mapping[str, Any] | None]
) -> Iterable[Words]:
    """Why rules cannot be judged by an outcome yet, and for how many weeks."""
    cases: dict[Words, list[Words]] = {}
    for (rule, outcome), row in zip(JUDGED_BY, judged, strict=True):
        if row:
            continue
        status = next(iter(records(con, STATUS, {"school_id": school_id, "outcome": outcome})), None)
        if status is None:
            return (NO_SEMESTER,)
        case = _filled(CASE, {}, rule=FLAGGED_FOR[rule], outcome=HAPPENED[outcome])
        cases.setdefault(_status(status), []).append(case)
    return [
        _filled(STATUS_OF, {}, cases=joined(of_status), status=status) for status, of_status in cases.items()
    ]


def _status(row: Mapping[str, Any]) -> Words:
    if row["status"] == "ready":
        return OTHERS_JUDGED
    weeks = _filled(WEEKS_TO_WAIT, {}, weeks=row["weeks_missing"]) if row["weeks_missing"] else EMPTY
    return Words(row["status_en"] + weeks.en, row["status_zh"] + weeks.zh)


def _reason(row: Mapping[str, Any]) -> Words:
    indicator = _indicator(row["indicator"])
    if not row["flagged"]:
        text = REASON_NOT_JUDGED if row["flagged"] is None else REASON_OF_NOBODY
        return _filled(text, row, indicator=indicator)
    share = EMPTY
    if row["flagged"] >= FEWEST_OF_SHARE:
        shares = {
            "precision": percent(row["hits"], row["flagged"], 0),
            "base_rate": percent(row["with_outcome"], row["students"], 0),
        }
        share = _filled(REASON_SHARE, shares)
    texts = {"indicator": indicator, "outcome": HAPPENED[row["outcome"]], "share": share}
    return _filled(REASON, row, **texts)


def _indicator(name: str) -> Words:
    """The name of an indicator without its unit."""
    label = INDICATORS[name]
    return Words(label.en.partition(",")[0], label.zh.partition("（")[0])


def _in_sentence(label: Words) -> Words:
    return Words(label.en.lower(), label.zh)


def _filled(template: Words, row: Mapping[str, Any], **values: Any) -> Words:
    names = {**row, **values}
    return Words(template.en.format(**names), template.zh.format(**names))
