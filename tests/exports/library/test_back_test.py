"""Whether the warnings came true, in answers to a head."""

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest

from exports.library.back_test import came_true, reasons_proven
from exports.library.words import labels
from warehouse.publish.models.dbt_project import compiled

RIGHT = "If you talk to 20 students of this list, how many will it have been right to talk to?"
MISSED = "How many others does the list miss?"
FAIR = "Does the list treat groups of students alike?"
NOT_KNOWN = "What cannot be known"
NOT_COMPARED = (
    "Not known: groups are compared in week 8 of a finished semester, with thirty students to whom it "
    "happened, thirty to whom it did not, and ten in each group."
)
OWN_EYE = (
    "Whether the list is fairer than your own eye is not known: nobody wrote down whom teachers would have "
    "chosen."
)
LIST_NOT_JUDGED = "The list as a whole cannot be judged yet: the answers are of its reasons."
CHANCE = {
    "better": "Such flags find them better than chance.",
    "worse": "Such flags find them worse than chance.",
    "not distinguishable": "The data do not show that such flags are better than chance.",
}
HAPPENED = labels("happened")

#: Semester 19 came before semester 20; both are over.
SEMESTERS = [
    (1, 19, "S19", "2024-02-26", False),
    (1, 20, "S20", "2024-09-02", False),
    (1, 21, "S21", "2025-02-17", True),
]
TABLES = """
    CREATE SCHEMA core; CREATE SCHEMA marts; CREATE SCHEMA staging; CREATE SCHEMA views;
    CREATE TABLE core.dim_semester (
        school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, first_day DATE, is_current BOOLEAN,
        last_day DATE, last_year_semester_id BIGINT
    );
    CREATE TABLE core.dim_school (school_id BIGINT);
    INSERT INTO core.dim_school VALUES (1);
    CREATE TABLE staging.stg_semester_calendars (
        school_id BIGINT, semester_id BIGINT, v1_semester_id BIGINT
    );
    CREATE TABLE staging.stg_early_warning_rules (school_id BIGINT, indicator VARCHAR, area VARCHAR);
    INSERT INTO staging.stg_early_warning_rules VALUES
        (1, 'attendance_rate', 'attendance'), (1, 'attendance_drop', 'attendance'), (1, 'lateness_rate',
        'behaviour'),
        (1, 'score_rate', 'grades'), (1, 'score_drop', 'grades'), (1, 'failed_courses', 'grades'),
        (1, 'missing_rate', 'behaviour');
    CREATE TABLE marts.early_warning (school_id BIGINT, semester_id BIGINT, has_left BOOLEAN);
    INSERT INTO marts.early_warning (school_id, semester_id) VALUES (1, 19), (1, 20), (1, 21);
    CREATE TABLE marts.early_warning_indicator (
        school_id BIGINT, semester_id BIGINT, indicator VARCHAR, area VARCHAR, level VARCHAR,
        has_left BOOLEAN
    );
    CREATE TABLE core.early_warning_week (
        school_id BIGINT, week INTEGER, attendance_rate_level VARCHAR, attendance_drop_level VARCHAR,
        lateness_rate_level VARCHAR, score_rate_level VARCHAR, score_drop_level VARCHAR,
        failed_courses_level VARCHAR, missing_rate_level VARCHAR
    );
    CREATE TABLE marts.early_warning_backtest (
        school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, week INTEGER, rule_type VARCHAR,
        rule VARCHAR,
        outcome VARCHAR, is_contained BOOLEAN, students BIGINT, judged BIGINT, with_outcome BIGINT,
        base_rate DECIMAL(9, 2), flagged BIGINT, hits BIGINT, missed BIGINT, false_alarms BIGINT,
        "precision" DECIMAL(9, 2), precision_low DECIMAL(9, 2), precision_high DECIMAL(9, 2),
        recall DECIMAL(9, 2),
        recall_low DECIMAL(9, 2), recall_high DECIMAL(9, 2), best_single VARCHAR, single_hits DECIMAL(9, 2),
        chance_verdict VARCHAR, verdict VARCHAR, known_when VARCHAR
    );
    CREATE TABLE marts.early_warning_backtest_group (
        school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, week INTEGER, rule VARCHAR,
        outcome VARCHAR, group_type VARCHAR,
        group_code VARCHAR, group_en VARCHAR, group_zh VARCHAR, is_distinguishable BOOLEAN,
        is_suppressed BOOLEAN,
        recall DECIMAL(9, 2), recall_difference DECIMAL(9, 2), recall_difference_low DECIMAL(9, 2),
        recall_difference_high DECIMAL(9, 2), recall_p_value DOUBLE, false_alarm_rate DECIMAL(9, 2),
        false_alarm_rate_difference DECIMAL(9, 2), false_alarm_rate_difference_low DECIMAL(9, 2),
        false_alarm_rate_difference_high DECIMAL(9, 2), false_alarm_rate_p_value DOUBLE
    );
    CREATE TABLE marts.early_warning_backtest_status (
        school_id BIGINT, semester_id BIGINT, outcome VARCHAR, status VARCHAR, status_en VARCHAR,
        status_zh VARCHAR,
        weeks_missing INTEGER
    );
"""

VIEWS = (
    "shown_semester",
    "semester",
    "indicator_today",
    "backtest_week",
    "backtest_question",
    "backtest_answer",
    "backtest_difference",
    "backtest_late_indicator",
    "backtest_reason",
    "backtest_waiting",
)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        connection.executemany("INSERT INTO core.dim_semester VALUES (?, ?, ?, ?, ?, NULL, NULL)", SEMESTERS)
        for name in VIEWS:
            query = compiled()["nodes"][f"model.campus.{name}"]["compiled_code"].replace('"campus".', "")
            connection.execute(f"CREATE VIEW views.{name} AS {query}")
        yield connection


def insert(con: duckdb.DuckDBPyConnection, table: str, row: Mapping[str, Any]) -> None:
    columns = ", ".join(f'"{name}"' for name in row)
    query = f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})"
    con.execute(query, list(row.values()))


def week(con: duckdb.DuckDBPyConnection, semester: int, number: int, **values: Any) -> None:
    """A row of a rule: 20 of 240 students flagged, 13 of them among the 40 to whom it happened."""
    insert(
        con,
        "marts.early_warning_backtest",
        {
            "school_id": 1,
            "semester_id": semester,
            "semester_name": f"S{semester}",
            "week": number,
            "rule_type": "area",
            "rule": "attendance_reasons",
            "outcome": "failed_courses",
            "is_contained": False,
            "students": 240,
            "judged": 240,
            "with_outcome": 40,
            "base_rate": 16.67,
            "flagged": 20,
            "hits": 13,
            "missed": 27,
            "false_alarms": 7,
            "precision": 65,
            "precision_low": 43.29,
            "precision_high": 81.88,
            "recall": 32.5,
            "recall_low": 20.08,
            "recall_high": 47.98,
            "best_single": "lateness_rate",
            "single_hits": 5.5,
            "chance_verdict": "better",
            "known_when": "recorded",
            "verdict": "not distinguishable",
        }
        | values,
    )


def indicator_judged(
    con: duckdb.DuckDBPyConnection, name: str, semester: int, number: int, **values: Any
) -> None:
    for outcome in HAPPENED:
        counts = {"rule_type": "indicator", "rule": name, "outcome": outcome, "verdict": None}
        week(con, semester, number, **counts | values)
    insert(con, "core.early_warning_week", {"school_id": 1, "week": number, f"{name}_level": "none"})


def today(
    con: duckdb.DuckDBPyConnection, *indicators: str, level: str = "warning", semester: int = 21
) -> None:
    for name in indicators:
        row = {"school_id": 1, "semester_id": semester, "indicator": name, "level": level, "has_left": False}
        insert(con, "marts.early_warning_indicator", row)


def answers(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    return {
        answer.question.en: [text.en for text in answer.sentences]
        for answer in came_true(con, 1, names=False)
    }


def test_answers_count_in_both_directions(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8)
    said = answers(con)
    assert said[RIGHT] == [
        "S20, week 8: of 20 students flagged for attendance, 13 failed two courses or more afterwards, and "
        "7 did not.",
        "Of all 240 students 16.67% did, so that as many drawn by lot would have been 3.3.",
        "The lateness rate alone, with as many flags: 5.5.",
        "So 65% of such talks were right (95% range 43 to 82%): 13 of 20.",
        "Such flags find them better than chance.",
        "The data do not show whether they tell more than the lateness rate alone.",
    ]
    assert said[MISSED] == [
        "S20, week 8: of 40 students who failed two courses or more afterwards, 13 had been flagged for "
        "attendance and 27 had not (33% found, 95% range 20 to 48%)."
    ]
    assert said[FAIR] == [NOT_COMPARED, OWN_EYE]
    zh = [text.zh for answer in came_true(con, 1, names=False) for text in answer.sentences]
    assert "S20第8周：因出勤被预警的20名学生中，13名之后两门及以上不及格，7名没有。" in zh
    assert "因此这样的谈话有65%谈对了人（95%区间43%至82%），即20次中有13次。" in zh


@pytest.mark.parametrize("verdict", CHANCE)
def test_the_verdict_of_the_mart_is_said(con: duckdb.DuckDBPyConnection, verdict: str) -> None:
    week(con, 20, 8, chance_verdict=verdict)
    assert CHANCE[verdict] in answers(con)[RIGHT]


def test_what_is_assumed_is_said(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8, known_when="assumed")
    assert any(sentence.startswith("Part of what was known") for sentence in answers(con)[RIGHT])


def test_a_week_in_which_nobody_was_flagged_stays_the_week(con: duckdb.DuckDBPyConnection) -> None:
    """The week is chosen beforehand, and not by what it shows."""
    week(con, 20, 8, flagged=0, hits=0)
    week(con, 20, 9)
    assert answers(con)[RIGHT] == ["S20, week 8: nobody was flagged for attendance."]


def test_a_share_needs_ten_students(con: duckdb.DuckDBPyConnection) -> None:
    week(
        con,
        20,
        8,
        flagged=1,
        hits=1,
        false_alarms=0,
        with_outcome=9,
        missed=8,
        chance_verdict="too few",
        verdict="too few",
    )
    said = answers(con)
    assert not any("talks" in sentence for sentence in said[RIGHT])
    assert said[FAIR] == [NOT_COMPARED, OWN_EYE]
    assert "%" not in said[MISSED][0]
    assert said[RIGHT][-1].startswith("Too few students for a verdict")


def test_what_a_rule_contains_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8, outcome="failed_or_chronic")
    week(con, 20, 8, is_contained=True)
    assert RIGHT not in answers(con)


@pytest.mark.parametrize(
    ("weeks", "expected"),
    [
        ([(19, 8), (20, 4), (20, 12)], "S20, week 4"),
        ([(19, 8), (20, 7), (20, 12)], "S20, week 7"),
        ([(19, 8)], "S19, week 8"),
    ],
)
def test_last_semester_counts_at_the_week_nearest_to_the_eighth(
    con: duckdb.DuckDBPyConnection, weeks: list[tuple[int, int]], expected: str
) -> None:
    for semester, number in weeks:
        week(con, semester, number)
    week(con, 20, 8, rule="level_at_risk")
    assert answers(con)[RIGHT][0].startswith(expected)


def test_a_rule_is_compared_only_where_the_same_indicators_were_judged(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Grades are judged today, and were from week 14 on."""
    today(con, "attendance_rate", "score_rate")
    for number in (8, 16):
        indicator_judged(con, "attendance_rate", 20, number)
        week(con, 20, number)
        week(con, 20, number, rule_type="level", rule="level_warning", outcome="has_left")
    indicator_judged(con, "score_rate", 20, 16)
    said = answers(con)
    assert [sentence.partition(":")[0] for sentence in said[RIGHT] if sentence.startswith("S20")] == [
        "S20, week 8",
        "S20, week 16",
    ]
    assert "score rate: not judged before week 16 in any finished semester." in said[NOT_KNOWN]
    assert LIST_NOT_JUDGED not in said[NOT_KNOWN]


def test_indicators_that_were_never_judged_are_listed(con: duckdb.DuckDBPyConnection) -> None:
    today(con, "attendance_rate", "score_rate", "failed_courses")
    indicator_judged(con, "attendance_rate", 20, 8)
    week(con, 20, 8, rule_type="level", rule="level_warning", outcome="has_left")
    for outcome in HAPPENED:
        row = {"school_id": 1, "semester_id": 20, "outcome": outcome, "status": "ready", "status_en": "Ready"}
        insert(con, "marts.early_warning_backtest_status", row)
    said = answers(con)
    assert said[NOT_KNOWN][0] == "score rate, failed courses: not judged in any finished semester."
    assert any("the same indicators" in sentence and "left" in sentence for sentence in said[NOT_KNOWN])


def group(con: duckdb.DuckDBPyConnection, group_type: str, code: str, difference: int, **values: Any) -> None:
    """A group whose false alarms differ by so many points from 10% of the others."""
    row = {
        "school_id": 1,
        "semester_id": 20,
        "semester_name": "S20",
        "week": 8,
        "rule": "attendance_reasons",
        "outcome": "failed_courses",
    }
    share = "false_alarm_rate"
    limits = {f"{share}_difference_low": difference - 8, f"{share}_difference_high": difference + 8}
    row |= {
        "group_type": group_type,
        "group_code": code,
        "group_en": f"Group {code}",
        "group_zh": f"组{code}",
    }
    row |= {share: 10 + difference, f"{share}_difference": difference, f"{share}_p_value": 0.5, "recall": 60}
    flags = {"is_suppressed": False, "is_distinguishable": False}
    insert(con, "marts.early_warning_backtest_group", row | limits | flags | values)


def fair(con: duckdb.DuckDBPyConnection) -> list[str]:
    week(con, 20, 8)
    return [sentence.partition(" (")[0] for sentence in answers(con)[FAIR]]


def test_the_difference_of_two_groups_is_said_once_with_its_interval(con: duckdb.DuckDBPyConnection) -> None:
    group(con, "gender", "f", -24, is_distinguishable=True, false_alarm_rate_p_value=0.001)
    group(con, "gender", "m", 24, is_distinguishable=True, false_alarm_rate_p_value=0.001)
    group(con, "boarding", "boarding", 2)
    group(con, "boarding", "day", -2)
    week(con, 20, 8)
    assert answers(con)[FAIR] == [
        "Group boarding (S20, week 8, failed two courses or more afterwards): Of those who did not, 12% of "
        "this group had been flagged for attendance and 10% of the others: +2 points (95% range -6 to +10), "
        "no more than chance makes.",
        "Group m (S20, week 8, failed two courses or more afterwards): Of those who did not, 34% of this "
        "group had been flagged for attendance and 10% of the others: +24 points (95% range +16 to +32), "
        "more than chance makes.",
        OWN_EYE,
    ]


def test_each_of_many_groups_that_differ_is_said(con: duckdb.DuckDBPyConnection) -> None:
    for code, difference in (("1", -30), ("2", 25), ("3", 1)):
        group(con, "cohort", code, difference, is_distinguishable=abs(difference) > 1)
    assert fair(con)[:2] == ["Group 1", "Group 2"]


def test_groups_of_few_and_of_other_weeks_are_not_compared(con: duckdb.DuckDBPyConnection) -> None:
    group(con, "gender", "m", 24, is_suppressed=True)
    group(con, "boarding", "day", 24, week=9)
    group(con, "cohort", "1", 24, false_alarm_rate_p_value=None)
    week(con, 20, 8)
    assert answers(con)[FAIR] == [NOT_COMPARED, OWN_EYE]


def test_each_reason_of_today_says_how_it_did(con: duckdb.DuckDBPyConnection) -> None:
    today(con, "attendance_rate", "score_rate")
    indicator_judged(con, "attendance_rate", 20, 8)
    today(con, "lateness_rate", level="none")
    assert [sentence.en for sentence in reasons_proven(con, 1)] == [
        "Attendance rate: 20 students had this reason in week 8 of S20, 13 of them failed two courses or "
        "more afterwards (65%; of all students 17%).",
        "Score rate: not judged in the weeks of finished semesters of which the outcome is known.",
    ]


def test_a_young_school_reads_how_long_to_wait(con: duckdb.DuckDBPyConnection) -> None:
    assert answers(con)[NOT_KNOWN] == ["Not known yet: no semester has been loaded."]
    for outcome in HAPPENED:
        row = {"school_id": 1, "semester_id": 20, "outcome": outcome, "status": "semester not over"}
        words = {"status_en": "The semester is not over", "status_zh": "学期未结束", "weeks_missing": 9}
        insert(con, "marts.early_warning_backtest_status", row | words)
    [_, unknown] = list(came_true(con, 1, names=False))
    assert [sentence.en for sentence in unknown.sentences] == [
        "Whether students flagged for attendance failed two courses or more afterwards, for grades were "
        "chronically absent afterwards, with a warning or at risk failed a course in the next semester, with "
        "a warning or at risk left by the end of the next semester: The semester is not over, "
        "weeks to wait: 9."
    ]
    assert unknown.sentences[0].zh.endswith("是否到下学期末离校：学期未结束，还需9周。")


def test_a_page_with_names_compares_groups_of_few(con: duckdb.DuckDBPyConnection) -> None:
    group(con, "gender", "m", 24, is_suppressed=True)
    week(con, 20, 8)
    [_, _, fair_answer, *_] = came_true(con, 1, names=True)
    assert fair_answer.sentences[0].en.startswith("Group m (S20, week 8")
