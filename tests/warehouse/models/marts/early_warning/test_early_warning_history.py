"""The history of levels, against a replay of every publication in Python."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.lake.logs.tables import PUBLISHED_LEVELS
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.published_levels import UNLOGGED

WEEK_1, WEEKS = date(2026, 3, 2), 16
RANKS = {"none": 0, "watch": 1, "warning": 2, "at_risk": 3}
FLAGGED = ("warning", "at_risk")
STATE = pa.schema(
    [
        *((name, pa.int64()) for name in ("school_id", "semester_id", "student_id")),
        ("as_of", pa.date32()),
        *((name, pa.string()) for name in ("level", "indicators", "missing_inputs", "thresholds")),
    ]
)
COLUMNS = (
    "student_id, week, since, level, previous_level, change, indicators, thresholds_changed, is_latest, "
    "is_new_this_week"
)


@dataclass(frozen=True)
class Publication:
    """What one publication said: the level of each student by id."""

    as_of: date
    levels: Mapping[int, str]
    missing_inputs: str | None = None
    thresholds: str = "t1"


class History:
    """A file with the tables that the mart reads, published again and again."""

    def __init__(self) -> None:
        self.con = duckdb.connect()
        self.con.execute("ATTACH ':memory:' AS campus; USE campus")
        for schema in ("quality", "core", "marts"):
            self.con.execute(f"CREATE SCHEMA {schema}")
        self.con.register("no_rows", PUBLISHED_LEVELS.row_schema.empty_table())
        self.con.register("no_states", STATE.empty_table())
        self.con.execute(f"""
            CREATE TABLE quality.published_levels AS FROM no_rows;
            CREATE TABLE core.early_warning_state AS FROM no_states;
            CREATE TABLE core.dim_semester AS
                SELECT
                    1::BIGINT AS school_id, 'S' AS school_name,
                    20::BIGINT AS semester_id, 'T' AS semester_name,
                    true AS is_current, DATE '{WEEK_1}' AS week_1_on, {WEEKS} AS week_count;
            CREATE TABLE core.dim_student (
                school_id BIGINT, student_id BIGINT, student_number VARCHAR, student_name VARCHAR
            );
            CREATE TABLE marts.early_warning (
                school_id BIGINT, semester_id BIGINT, student_id BIGINT, admin_class_id BIGINT,
                admin_class_name VARCHAR, cohort_id BIGINT, cohort_name VARCHAR
            );
        """)
        self.sql = compiled()["nodes"]["model.campus.early_warning_history"]["compiled_code"]
        self.number = 0

    def clear(self) -> None:
        self.con.execute("DELETE FROM quality.published_levels; DELETE FROM core.early_warning_state")

    def build(self, publication: Publication) -> None:
        """Make a file, whose levels are not logged yet."""
        said = publication
        rows = [
            (1, 20, student, said.as_of, level, f"of {level}", said.missing_inputs, said.thresholds)
            for student, level in said.levels.items()
        ]
        self.con.register(
            "rows",
            pa.Table.from_pylist([dict(zip(STATE.names, row, strict=True)) for row in rows], schema=STATE),
        )
        self.con.execute(
            "DELETE FROM core.early_warning_state; INSERT INTO core.early_warning_state FROM rows"
        )

    def log(self) -> int:
        """Log the levels of the file; returns the number of rows."""
        self.number += 1
        at = datetime(2026, 1, 1) + timedelta(minutes=self.number)
        before = self.logged()
        self.con.execute(
            "INSERT INTO quality.published_levels BY NAME "
            f"SELECT *, TIMESTAMP '{at}' AS published_at FROM ({UNLOGGED})"
        )
        return self.logged() - before

    def logged(self) -> int:
        [(rows,)] = self.con.execute("SELECT count(*) FROM quality.published_levels").fetchall()
        return int(rows)

    def mart(self) -> list[tuple[Any, ...]]:
        return self.con.execute(f"SELECT {COLUMNS} FROM ({self.sql}) ORDER BY student_id, since").fetchall()


@pytest.fixture(scope="module")
def module_history() -> Iterator[History]:
    history = History()
    with closing(history.con):
        yield history


@pytest.fixture
def history(module_history: History) -> History:
    module_history.clear()
    return module_history


def day(week: int, weekday: int = 7) -> date:
    """A day of a teaching week; 7 is its Sunday."""
    return WEEK_1 + timedelta(days=7 * (week - 1) + weekday - 1)


def replayed(publications: Sequence[Publication]) -> list[tuple[Any, ...]]:
    """The mart by another way: every publication in full, student by student, week by week."""
    rows = []
    for student in sorted({student for publication in publications for student in publication.levels}):
        rows += _of_student(publications, student)
    return rows


def _week(as_of: date) -> int | None:
    number = (as_of - WEEK_1).days // 7 + 1
    return number if 1 <= number <= WEEKS else None


def _period(as_of: date) -> date:
    week = _week(as_of)
    return as_of if week is None else day(week, 1)


def _of_student(publications: Sequence[Publication], student: int) -> list[tuple[Any, ...]]:
    latest = date.min
    said: list[dict[str, Any]] = []
    last_level, since, words = None, None, None
    for publication in publications:
        if student not in publication.levels:
            continue
        latest = max(latest, publication.as_of)
        level = publication.levels[student]
        if level != "unknown" and level != last_level:
            last_level, since, words = level, latest, f"of {level}"
        said.append(
            {"period": _period(latest), "week": _week(latest), "level": last_level}
            | {"since": since, "words": words}
            | {"inputs": publication.missing_inputs, "thresholds": publication.thresholds}
        )
    ends = list({row["period"]: row for row in said}.values())
    this_period = max(_last_periods(publications))
    rows: list[tuple[Any, ...]] = []
    for number, row in enumerate(ends):
        before = ends[number - 1] if number else None
        previous = before["level"] if before else None
        level = row["level"]
        if level is None or level == previous or (previous is None and level == "left"):
            continue
        was_flagged = any(earlier["level"] in FLAGGED for earlier in ends[:number])
        has_earlier = any(
            period < row["period"] for period, inputs in _periods(publications) if inputs == row["inputs"]
        )
        if level == "left":
            change = "left"
        elif level in FLAGGED and previous not in FLAGGED:
            is_new = previous is not None or has_earlier
            change = "came back" if was_flagged else "new" if is_new else "first"
        elif previous in (None, "left"):
            change = "first"
        else:
            change = "worse" if RANKS[level] > RANKS[str(previous)] else "better"
        moved = before is not None and before["thresholds"] != row["thresholds"]
        rows.append(
            (
                *(student, row["week"], row["since"], None if level == "left" else level),
                *(None if previous == "left" else previous, change, row["words"], moved),
                *(False, row["period"] == this_period and change in ("new", "came back") and not moved),
            )
        )
    if rows:
        last = list(rows[-1])
        last[8] = True
        rows[-1] = tuple(last)
    return rows


def _last_periods(publications: Sequence[Publication]) -> list[date]:
    return [period for period, _ in _periods(publications)]


def _periods(publications: Sequence[Publication]) -> list[tuple[date, str | None]]:
    """The period of each student's week-end, with the inputs of its last publication."""
    ends: dict[tuple[int, date], tuple[date, str | None]] = {}
    latest: dict[int, date] = {}
    for publication in publications:
        for student in publication.levels:
            latest[student] = max(latest.get(student, date.min), publication.as_of)
            period = _period(latest[student])
            ends[student, period] = (period, publication.missing_inputs)
    return list(ends.values())


def publish_all(history: History, publications: Sequence[Publication]) -> list[tuple[Any, ...]]:
    """The mart after all publications; the last file has the same before its levels are logged and after."""
    for publication in publications[:-1]:
        history.build(publication)
        history.log()
    history.build(publications[-1])
    rows = history.mart()
    history.log()
    assert history.mart() == rows
    assert history.log() == 0
    return rows


def test_change_rule_in_words(history: History) -> None:
    """One student, five weeks: none, warning, at risk, none, warning again."""
    levels = ["none", "warning", "at_risk", "none", "warning"]
    rows = publish_all(history, [Publication(day(week), {1: level}) for week, level in enumerate(levels, 1)])
    assert [(row[1], row[3], row[4], row[5], row[9]) for row in rows] == [
        (1, "none", None, "first", False),
        (2, "warning", "none", "new", False),
        (3, "at_risk", "warning", "worse", False),
        (4, "none", "at_risk", "better", False),
        (5, "warning", "none", "came back", True),
    ]
    assert [row[2] for row in rows] == [day(week) for week in range(1, 6)]


def test_first_publication_calls_nobody_new(history: History) -> None:
    """A home of before the log: what its first file says may have been so for weeks."""
    [row] = publish_all(history, [Publication(day(8), {1: "warning"})])
    assert (row[5], row[9]) == ("first", False)
    rows = publish_all(history, [Publication(day(9), {1: "warning", 2: "warning"})])
    assert [(row[0], row[1], row[5], row[9]) for row in rows] == [(1, 8, "first", False), (2, 9, "new", True)]


def test_last_publication_of_a_week_counts(history: History) -> None:
    """What comes and goes within a week is no change; what comes again is one since its last day."""
    before, monday, wednesday = (
        Publication(as_of, {1: level})
        for as_of, level in ((day(3), "none"), (day(4, 1), "warning"), (day(4, 3), "none"))
    )
    assert [row[5] for row in publish_all(history, [before, monday, wednesday])] == ["first"]
    rows = publish_all(history, [Publication(day(4, 6), {1: "warning"}), Publication(day(5), {1: "warning"})])
    assert [row[1:6] for row in rows[1:]] == [(4, day(4, 6), "warning", "none", "new")]


def test_thresholds_change_is_not_the_students(history: History) -> None:
    """Stricter limits flag students 1 and 2. Student 3, of the same level, becomes worse a week later."""
    rows = publish_all(
        history,
        [
            Publication(day(4), {1: "none", 2: "watch", 3: "none"}),
            Publication(day(5), {1: "warning", 2: "at_risk", 3: "none"}, thresholds="t2"),
            Publication(day(6), {1: "warning", 2: "at_risk", 3: "warning"}, thresholds="t2"),
        ],
    )
    assert [(row[0], row[5], row[7], row[9]) for row in rows if row[5] != "first"] == [
        (1, "new", True, False),
        (2, "new", True, False),
        (3, "new", False, True),
    ]


def test_unloaded_inputs_invent_nothing(history: History) -> None:
    """Grades are loaded in week 5 first. Nobody is new by them, and unknown is no recovery."""
    rows = publish_all(
        history,
        [
            Publication(day(4), {1: "unknown", 2: "at_risk"}, missing_inputs="grades"),
            Publication(day(5), {1: "warning", 2: "at_risk"}),
            Publication(day(6), {1: "unknown", 2: "unknown"}),
            Publication(day(7), {1: "warning", 2: "at_risk"}),
        ],
    )
    assert [(row[0], row[1], row[5]) for row in rows] == [(1, 5, "first"), (2, 4, "first")]


def test_leavers_leave_and_may_return(history: History) -> None:
    levels = ["warning", "left", "warning", "left"]
    rows = publish_all(
        history, [Publication(day(week), {1: level, 2: "left"}) for week, level in enumerate(levels, 2)]
    )
    assert [(row[0], row[3], row[4], row[5]) for row in rows] == [
        (1, "warning", None, "first"),
        (1, None, "warning", "left"),
        (1, "warning", None, "came back"),
        (1, None, "warning", "left"),
    ]


def test_older_data_stay_in_the_week_that_was_published(history: History) -> None:
    rows = publish_all(
        history,
        [
            Publication(day(7), {1: "none"}),
            Publication(day(8), {1: "warning"}),
            Publication(day(6), {1: "none"}),
            Publication(day(9), {1: "warning"}),
        ],
    )
    assert [(row[1], row[5]) for row in rows] == [(7, "first"), (9, "new")]


def test_duplicate_rows_are_no_change(history: History) -> None:
    """Two machines that logged the same publication."""
    publications = [Publication(day(3), {1: "none"}), Publication(day(4), {1: "warning"})]
    rows = publish_all(history, publications)
    history.con.execute(
        "INSERT INTO quality.published_levels BY NAME "
        "SELECT * REPLACE (published_at + INTERVAL 1 SECOND AS published_at) FROM quality.published_levels"
    )
    assert history.mart() == rows


def test_crash_before_the_log_loses_nothing_that_lasts(history: History) -> None:
    first = Publication(day(3), {1: "none", 2: "none"})
    publish_all(history, [first])
    again = Publication(day(4), {1: "warning", 2: "none"})
    history.build(again)
    published = history.mart()
    # Killed here: published, and not logged. The next build is of the same data, then of later data.
    history.build(again)
    assert (history.mart(), history.log()) == (published, 1)
    rows = publish_all(history, [replace(again, as_of=day(5))])
    assert [row[:9] for row in rows] == [row[:9] for row in published]


LEVELS = st.sampled_from(["none", "watch", "warning", "at_risk", "unknown", "left"])
PUBLICATIONS = st.lists(
    st.builds(
        Publication,
        as_of=st.integers(-10, 7 * WEEKS + 10).map(lambda days: WEEK_1 + timedelta(days=days)),
        levels=st.dictionaries(st.integers(1, 3), LEVELS, min_size=1),
        thresholds=st.sampled_from(["t1", "t1", "t2"]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(PUBLICATIONS, st.integers(0, 12))
def test_any_publications_are_as_replayed(publications: list[Publication], loaded_at: int) -> None:
    """On days that go on; inputs are missing up to some publication."""
    days = sorted(publication.as_of for publication in publications)
    publications = [
        replace(publication, as_of=as_of, missing_inputs="grades" if number < loaded_at else None)
        for number, (publication, as_of) in enumerate(zip(publications, days, strict=True))
    ]
    HISTORY.clear()
    assert publish_all(HISTORY, publications) == replayed(publications)


HISTORY = History()


def test_year_of_weekly_publications_is_as_replayed(history: History) -> None:
    """Forty weeks of 120 students: teaching weeks, and a holiday after them."""
    random = Random(7)
    levels = dict.fromkeys(range(1, 121), "unknown")
    publications = []
    for week in range(1, 41):
        for student in levels:
            if random.random() < 0.12 and levels[student] != "left":
                levels[student] = random.choices(
                    ["none", "watch", "warning", "at_risk", "left"], [58, 20, 12, 7, 3]
                )[0]
        thresholds = "t1" if week < 9 else "t2"
        publications.append(Publication(day(week), dict(levels), thresholds=thresholds))
    rows = publish_all(history, publications)
    assert rows == replayed(publications)
    assert {row[5] for row in rows} == {"first", "new", "came back", "worse", "better", "left"}
    assert any(row[7] for row in rows) and any(row[9] for row in rows)
    assert history.logged() < 120 * 40 * 0.2
