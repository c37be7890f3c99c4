"""Whether the warnings came true, in answers to a head."""

from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest

from exports.workbooks.back_test import (
    CHANCE,
    FAIR,
    HAPPENED,
    MISSED,
    NOT_COMPARED,
    NOT_KNOWN,
    OWN_EYE,
    RIGHT,
    came_true,
    reasons_proven,
)

#: Semester 19 came before semester 20; both are over.
SEMESTERS = [
    (1, 19, "S19", "2024-02-26", False),
    (1, 20, "S20", "2024-09-02", False),
    (1, 21, "S21", "2025-02-17", True),
]
TABLES = """
    CREATE SCHEMA core; CREATE SCHEMA marts; CREATE SCHEMA staging;
    CREATE TABLE core.dim_semester (
        school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, first_day DATE, is_current BOOLEAN
    );
    CREATE TABLE staging.stg_early_warning_rules (school_id BIGINT, indicator VARCHAR, area VARCHAR);
    INSERT INTO staging.stg_early_warning_rules VALUES
        (1, 'attendance_rate', 'attendance'), (1, 'attendance_drop', 'attendance'), (1, 'lateness_rate',
        'behaviour'),
        (1, 'score_rate', 'grades'), (1, 'failed_courses', 'grades'), (1, 'missing_rate', 'behaviour');
    CREATE TABLE marts.early_warning (school_id BIGINT, semester_id BIGINT);
    INSERT INTO marts.early_warning VALUES (1, 19), (1, 20), (1, 21);
    CREATE TABLE marts.early_warning_indicator (
        school_id BIGINT, semester_id BIGINT, indicator VARCHAR, level VARCHAR, has_left BOOLEAN
    );
    CREATE TABLE marts.early_warning_backtest (
        school_id BIGINT, semester_id BIGINT, semester_name VARCHAR, week INTEGER, rule_type VARCHAR,
        rule VARCHAR,
        outcome VARCHAR, is_contained BOOLEAN, students BIGINT, judged BIGINT, with_outcome BIGINT,
        base_rate DECIMAL(9, 2), flagged BIGINT, hits BIGINT, missed BIGINT, false_alarms BIGINT,
        "precision" DECIMAL(9, 2), precision_low DECIMAL(9, 2), precision_high DECIMAL(9, 2),
        recall DECIMAL(9, 2),
        recall_low DECIMAL(9, 2), recall_high DECIMAL(9, 2), best_single VARCHAR, single_hits DECIMAL(9, 2),
        auc_low DECIMAL(9, 4), auc_high DECIMAL(9, 4), verdict VARCHAR
    );
    CREATE TABLE marts.early_warning_backtest_group (
        school_id BIGINT, semester_id BIGINT, week INTEGER, rule VARCHAR, outcome VARCHAR,
        group_type VARCHAR,
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


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        connection.executemany("INSERT INTO core.dim_semester VALUES (?, ?, ?, ?, ?)", SEMESTERS)
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
            "auc_low": 0.6,
            "auc_high": 0.8,
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


def today(
    con: duckdb.DuckDBPyConnection, *indicators: str, level: str = "warning", semester: int = 21
) -> None:
    for name in indicators:
        row = {"school_id": 1, "semester_id": semester, "indicator": name, "level": level, "has_left": False}
        insert(con, "marts.early_warning_indicator", row)


def answers(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    return {answer.question.en: [text.en for text in answer.sentences] for answer in came_true(con, 1)}


def test_answers_count_in_both_directions(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8)
    said = answers(con)
    assert said[RIGHT.en] == [
        "S20, week 8: of 20 students flagged for attendance, 13 failed two courses or more afterwards, and "
        "7 did not.",
        "Of all 240 students 16.7% did, so that as many drawn by lot would have been 3.3.",
        "The lateness rate alone, with as many flags: 5.5.",
        "So of 20 talks about 13 will have been right (95% range 9 to 16).",
        "Such flags find them better than chance.",
        "The data do not show whether they tell more than the lateness rate alone.",
    ]
    assert said[MISSED.en] == [
        "S20, week 8: of 40 students who failed two courses or more afterwards, 13 had been flagged for "
        "attendance and 27 had not (32% found, 95% range 20 to 48%)."
    ]
    assert said[FAIR.en] == [NOT_COMPARED.en, OWN_EYE.en]
    zh = [text.zh for answer in came_true(con, 1) for text in answer.sentences]
    assert "S20第8周：因出勤被预警的20名学生中，13名之后两门及以上不及格，7名没有。" in zh
    assert "因此20次谈话中约有13次谈对了人（95%区间9至16）。" in zh


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (0.51, 0.7, 30, "better"),
        (0.5, 0.7, 30, "not distinguishable"),
        (0.3, 0.49, 30, "worse"),
        (0.6, 0.9, 29, "too few"),
        (None, None, 40, "too few"),
    ],
)
def test_a_verdict_needs_thirty_to_whom_it_happened(
    con: duckdb.DuckDBPyConnection, low: float | None, high: float | None, count: int, expected: str
) -> None:
    week(con, 20, 8, auc_low=low, auc_high=high, with_outcome=count)
    assert CHANCE[expected].en in answers(con)[RIGHT.en]


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
        verdict="too few",
    )
    said = answers(con)
    assert not any("talks" in sentence for sentence in said[RIGHT.en])
    assert said[FAIR.en] == [NOT_COMPARED.en, OWN_EYE.en]
    assert "%" not in said[MISSED.en][0]
    assert said[RIGHT.en][-1].startswith("Too few students for a verdict")


def test_what_a_rule_contains_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8, outcome="failed_or_chronic")
    week(con, 20, 8, is_contained=True)
    assert RIGHT.en not in answers(con)


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
    week(con, 20, 8, flagged=0, hits=0)
    assert answers(con)[RIGHT.en][0].startswith(expected)


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
    assert [sentence.partition(":")[0] for sentence in said[RIGHT.en] if sentence.startswith("S20")] == [
        "S20, week 8",
        "S20, week 16",
    ]
    assert "score rate: not judged before week 16 in any finished semester." in said[NOT_KNOWN.en]


def test_indicators_that_were_never_judged_are_listed(con: duckdb.DuckDBPyConnection) -> None:
    today(con, "attendance_rate", "score_rate", "failed_courses")
    indicator_judged(con, "attendance_rate", 20, 8)
    week(con, 20, 8, rule_type="level", rule="level_warning", outcome="has_left")
    for outcome in HAPPENED:
        row = {"school_id": 1, "semester_id": 20, "outcome": outcome, "status": "ready", "status_en": "Ready"}
        insert(con, "marts.early_warning_backtest_status", row)
    said = answers(con)
    assert said[NOT_KNOWN.en][0] == "score rate, failed courses: not judged in any finished semester."
    assert any("the same indicators" in sentence and "left" in sentence for sentence in said[NOT_KNOWN.en])


def test_groups_that_differ_are_named(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8)
    group = {
        "school_id": 1,
        "semester_id": 20,
        "week": 8,
        "rule": "attendance_reasons",
        "outcome": "failed_courses",
        "is_suppressed": False,
        "recall": 60,
        "recall_difference": 3,
        "recall_p_value": 0.8,
    }
    shares = {
        "false_alarm_rate_difference": 24,
        "false_alarm_rate_difference_low": 15.2,
        "false_alarm_rate_difference_high": 32,
    }
    boys = {
        "group_type": "gender",
        "group_code": "m",
        "group_en": "Boys",
        "group_zh": "男生",
        "is_distinguishable": True,
    }
    girls = {
        "group_code": "f",
        "group_en": "Girls",
        "group_zh": "女生",
        "false_alarm_rate": 8,
        "false_alarm_rate_difference": -24,
    }
    insert(
        con,
        "marts.early_warning_backtest_group",
        group | boys | shares | {"false_alarm_rate": 32, "false_alarm_rate_p_value": 0.001},
    )
    insert(
        con, "marts.early_warning_backtest_group", group | boys | girls | {"false_alarm_rate_p_value": 0.001}
    )
    cohort = {"group_type": "cohort", "group_code": "1", "is_distinguishable": False}
    insert(con, "marts.early_warning_backtest_group", group | cohort)
    assert answers(con)[FAIR.en] == [
        "Boys (S20, week 8, failed two courses or more afterwards): Of those who did not, 32% of this group "
        "had been flagged for attendance and 8% of the others: +24 points (95% range +15 to +32), more than "
        "chance makes.",
        "Flagged for attendance: between cohorts the data show no difference of false alarms or missed "
        "students that is more than chance.",
        OWN_EYE.en,
    ]


def test_each_reason_of_today_says_how_it_did(con: duckdb.DuckDBPyConnection) -> None:
    today(con, "attendance_rate", "score_rate")
    indicator_judged(con, "attendance_rate", 20, 8)
    today(con, "lateness_rate", level="none")
    assert [sentence.en for sentence in reasons_proven(con, 1)] == [
        "Attendance rate: 20 students had this reason in week 8 of S20, 13 of them failed two courses or "
        "more afterwards (65%; of all students 17%).",
        "Score rate: nobody had this reason in the weeks of finished semesters that can be judged.",
    ]


def test_a_young_school_reads_how_long_to_wait(con: duckdb.DuckDBPyConnection) -> None:
    assert answers(con)[NOT_KNOWN.en] == ["Not known yet: no semester has been loaded."]
    for outcome in HAPPENED:
        row = {"school_id": 1, "semester_id": 20, "outcome": outcome, "status": "semester not over"}
        words = {"status_en": "The semester is not over", "status_zh": "学期未结束", "weeks_missing": 9}
        insert(con, "marts.early_warning_backtest_status", row | words)
    [_, unknown] = list(came_true(con, 1))
    assert unknown.sentences[0].en == (
        "Whether they failed two courses or more afterwards: The semester is not over, weeks to wait: 9."
    )
    assert unknown.sentences[0].zh == "之后两门及以上不及格：学期未结束，还需9周。"
