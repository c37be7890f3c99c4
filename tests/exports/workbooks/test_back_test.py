"""Whether the warnings came true, in sentences for a head."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from exports.workbooks.back_test import came_true

#: Semester 19 came before semester 20.
SEMESTERS = [(1, 19, "2024-02-26"), (1, 20, "2024-09-02")]


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA core; CREATE SCHEMA marts")
        connection.execute(
            "CREATE TABLE core.dim_semester (school_id BIGINT, semester_id BIGINT, first_day DATE)"
        )
        connection.executemany("INSERT INTO core.dim_semester VALUES (?, ?, ?)", SEMESTERS)
        connection.execute(
            "CREATE TABLE marts.early_warning_backtest (school_id BIGINT, semester_id BIGINT, "
            "semester_name VARCHAR, week INTEGER, rule VARCHAR, outcome VARCHAR, flagged BIGINT, "
            'hits BIGINT, with_outcome BIGINT, missed BIGINT, "precision" DECIMAL(9, 2), '
            "precision_low DECIMAL(9, 2), precision_high DECIMAL(9, 2), recall DECIMAL(9, 2), "
            "recall_low DECIMAL(9, 2), recall_high DECIMAL(9, 2), best_single VARCHAR, verdict VARCHAR)"
        )
        connection.execute(
            "CREATE TABLE marts.early_warning_backtest_status (school_id BIGINT, semester_id BIGINT, "
            "outcome VARCHAR, status VARCHAR, status_en VARCHAR, status_zh VARCHAR, weeks_missing INTEGER)"
        )
        yield connection


def week(con: duckdb.DuckDBPyConnection, semester: int, number: int, **values: Any) -> None:
    row = {
        "school_id": 1,
        "semester_id": semester,
        "semester_name": f"S{semester}",
        "week": number,
        "rule": "level_warning",
        "outcome": "failed_or_chronic",
        "flagged": 20,
        "hits": 13,
        "with_outcome": 18,
        "missed": 5,
        **dict.fromkeys(("precision", "recall"), 65),
        **dict.fromkeys(("precision_low", "recall_low"), 43),
        **dict.fromkeys(("precision_high", "recall_high"), 82),
        "best_single": "attendance_rate",
        "verdict": "not distinguishable",
    } | values
    columns = ", ".join(f'"{name}"' for name in row)
    con.execute(
        f"INSERT INTO marts.early_warning_backtest ({columns}) VALUES ({', '.join('?' * len(row))})",
        list(row.values()),
    )


def test_sentences_count_in_both_directions(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8)
    [counts, shares, single] = came_true(con, 1)
    assert counts.en == (
        "S20, week 8: of 20 students flagged, 13 later failed two courses or were chronically absent. "
        "Of 18 such students, 13 had been flagged and 5 had not."
    )
    assert "被预警的20名学生中，之后有13名" in counts.zh and "5名未被预警" in counts.zh
    assert "65% of the flags were right (95% range 43-82%)" in shares.en
    assert single.en == "The data do not show whether the level is better than the attendance rate alone."
    assert single.zh == "现有数据还不能说明等级是否比单看出勤率更准。"


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
    week(con, 20, 8, outcome="has_left")
    week(con, 20, 8, flagged=0, hits=0)
    assert came_true(con, 1)[0].en.startswith(expected)


def test_a_level_that_is_worse_than_one_number_is_said_to_be(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8, verdict="worse", best_single="score_rate")
    assert came_true(con, 1)[2].en == "The level tells them worse than the score rate alone."


def test_too_few_students_make_no_comparison(con: duckdb.DuckDBPyConnection) -> None:
    week(con, 20, 8, verdict="too few", best_single=None)
    assert len(came_true(con, 1)) == 2


def test_a_young_school_reads_how_long_to_wait(con: duckdb.DuckDBPyConnection) -> None:
    assert came_true(con, 1)[0].zh == "尚无法判断：还没有已加载的学期。"
    con.execute(
        "INSERT INTO marts.early_warning_backtest_status VALUES "
        "(1, 20, 'failed_or_chronic', 'semester not over', 'The semester is not over', '学期未结束', 9), "
        "(1, 19, 'failed_or_chronic', 'too few', 'Too few students', '人数太少', NULL)"
    )
    [sentence] = came_true(con, 1)
    assert sentence.en == "Not known yet. The semester is not over. Weeks to wait: 9."
    assert sentence.zh == "尚无法判断：学期未结束，还需9周。"
