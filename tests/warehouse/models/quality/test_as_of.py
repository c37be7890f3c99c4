"""What was known at a moment: what had been loaded by then, in whatever later file it is asked for."""

import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loading.tables import TABLES
from tests.kits.lake.readings import reading_of
from tests.kits.models.builds import Build
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import PAST_ROWS
from warehouse.lake.tables import Slice, Table
from warehouse.load import commit as committing
from warehouse.load.commit import Guard, commit
from warehouse.load.history import past_rows
from warehouse.load.logs.writer import batched
from warehouse.load.stage import StageWriter
from warehouse.publish.fill import build_raw
from warehouse.publish.models.compiled_models import Model, read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import _make

TRACKED = [table for table in TABLES.values() if table.keeps_past]
#: Without the change log, which has a test of its own.
SCORES = replace(TABLES["scores"], tracks_changes=False)
FIRST, SECOND = (Slice.of(_school_id=101, _semester_id=number) for number in (20, 21))
START = datetime(2026, 3, 2, 2)
FAR = datetime(2030, 1, 1)

KNOWN = (
    "SELECT score_id, score, status, is_valid, known_from FROM core.scores_as_of(TIMESTAMP '{}') ORDER BY ALL"
)

Rows = list[tuple[Any, ...]]
File = Callable[[Lake], Path]


def at(sync: int) -> datetime:
    """When the sync of that number began: two a day."""
    return START + timedelta(hours=12 * sync)


def sync(
    lake: Lake,
    number: int,
    rows: Iterable[dict[str, Any]],
    table: Table = SCORES,
    slice: Slice = FIRST,
    **said: Any,
) -> None:
    """Commit one reading of all of a slice."""
    work = Path(lake.root).parent / "work"
    shown = [{"_trashed": False, **row} for row in rows]
    began = said.get("started_at", at(number))
    with StageWriter(table, work, synced_at=began) as spool:
        spool.write(pa.RecordBatch.from_pylist(shown, schema=table.staging_schema))
        reading = reading_of(spool.finish(), began, f"sync {number}", **said)
        commit(lake, table, slice, reading, Guard(allowed=True), work)


def new_lake(folder: str | Path) -> Lake:
    lake = Lake(f"{folder}/lake")
    past_rows.begin(lake, TRACKED, Path(folder) / "work")
    lake.ensure(TRACKED)
    return lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return new_lake(tmp_path)


@pytest.fixture(scope="session")
def known_since() -> Model:
    """The model that brings the macros."""
    return next(model for model in read_project(compiled()).models if model.name == "core.known_since")


@pytest.fixture(scope="session")
def published(known_since: Model) -> File:
    """Makes a file of a lake as a night does, as far as the past goes. Under another name, as a copy has."""

    def make(lake: Lake) -> Path:
        file = Path(lake.root).parent / "build" / "campus.duckdb"
        build_raw(lake, TRACKED, file)
        with closing(duckdb.connect(str(file))) as con:
            _make(con, known_since, None, exists=False)
        return file.rename(file.with_name("copy.duckdb"))

    return make


def ask(file: Path, query: str) -> Rows:
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        return con.execute(query).fetchall()


def scores(file: Path, moment: datetime) -> Rows:
    """What was known of scores."""
    return ask(file, KNOWN.format(moment))


rows = st.dictionaries(
    st.integers(1, 4),
    st.tuples(
        st.sampled_from([None, Decimal(0), Decimal("85.5"), Decimal("33.333333")]),
        st.sampled_from(["pending", "published"]),
        st.booleans(),
        st.sampled_from([None, datetime(2026, 3, 1, 9, 30, 0, 1)]),
    ),
    max_size=4,
)
readings = st.lists(st.tuples(st.sampled_from([FIRST, SECOND]), rows), min_size=1, max_size=6)


@settings(max_examples=10, deadline=None)
@given(readings)
def test_whatever_happened_each_moment_is_known_as_it_was(
    published: File, sequence: list[tuple[Slice, dict[int, Any]]]
) -> None:
    """Rows come, change, go, come back and move to another semester, of which one is read at a time."""
    with tempfile.TemporaryDirectory() as folder:
        lake = new_lake(folder)
        # By slice and id: content (None: gone) and when it became so.
        stored: dict[Slice, dict[int, tuple[Any, datetime]]] = {FIRST: {}, SECOND: {}}
        history: list[Rows] = []
        with batched(lake):
            for number, (slice, content) in enumerate(sequence):
                sync(lake, number, map(_row, content.items()), slice=slice)
                _follow(stored[slice], content, at(number))
                history.append(_alive(stored))
        before = timedelta(microseconds=1)
        expected: dict[datetime, Any] = {START - before: []}
        for number, alive_rows in enumerate(history):
            expected |= {at(number): alive_rows, at(number + 1) - before: alive_rows}
        with closing(duckdb.connect(str(published(lake)), read_only=True)) as con:
            actual = {moment: con.execute(KNOWN.format(moment)).fetchall() for moment in expected}
        assert actual == expected


def _row(item: tuple[int, Any]) -> dict[str, Any]:
    id, (score, status, trashed, updated_at) = item
    return {"id": id, "score": score, "status": status, "updated_at": updated_at, "_trashed": trashed}


def _follow(stored: dict[int, tuple[Any, datetime]], content: dict[int, Any], now: datetime) -> None:
    """What a reading makes of a slice: a row that it lacks or shows as deleted is gone, whatever it held."""
    for id in stored.keys() | content.keys():
        before = stored.get(id, (None, now))
        after = content.get(id)
        gone = after is None or after[2]
        if id not in stored or (gone and before[0] is not None) or (not gone and before[0] != after):
            stored[id] = (None if gone else after, now)


def _alive(stored: dict[Slice, dict[int, tuple[Any, datetime]]]) -> Rows:
    """The live rows, one of each id: the latest of two that two semesters have."""
    latest: dict[int, tuple[Any, ...]] = {}
    for rows in stored.values():
        for id, (content, since) in rows.items():
            if content is not None and (id not in latest or latest[id][-1] < since):
                latest[id] = (id, content[0], content[1], True, since)
    return sorted(latest.values())


def test_the_answer_for_a_day_is_the_same_after_further_nights(lake: Lake, published: File) -> None:
    sync(lake, 0, [{"id": 1, "score": Decimal(80)}, {"id": 2, "score": Decimal(70)}, {"id": 3}])
    sync(lake, 1, [{"id": 1, "score": Decimal("80.5")}, {"id": 2, "score": Decimal(70)}, {"id": 3}])
    days = [at(number) for number in range(-1, 2)]
    before = [scores(published(lake), day) for day in days]
    assert [len(answer) for answer in before] == [0, 3, 3]
    # It moves to another semester, one is deleted, one comes; all of it is read again.
    sync(lake, 2, [{"id": 1, "score": Decimal(90)}, {"id": 4}])
    sync(lake, 3, [{"id": 2, "score": Decimal(60)}], slice=SECOND)
    sync(lake, 4, [{"id": 4, "updated_at": at(4)}, {"id": 1, "score": Decimal(90)}])
    file = published(lake)
    assert [scores(file, day) for day in days] == before
    assert [row[:2] for row in scores(file, FAR)] == [(1, 90), (2, 60), (4, None)]
    assert scores(file, FAR) == scores(file, at(4))


def test_what_costs_nothing_is_not_written(lake: Lake) -> None:
    sync(lake, 0, [{"id": 1}, {"id": 2}])
    version = lake.version(PAST_ROWS)
    sync(lake, 1, [{"id": 1}, {"id": 2}])
    sync(lake, 2, [{"id": 1}, {"id": 2}, {"id": 3}])
    assert lake.version(PAST_ROWS) == version, "neither for what stays nor for what comes"
    sync(lake, 3, [{"id": 1, "score": Decimal(1)}, {"id": 2}, {"id": 3}])
    [past_row] = lake.read(PAST_ROWS).to_pylist()
    assert (past_row["slice"], past_row["known_from"], past_row["known_to"]) == ("101:20", at(0), at(3))


def test_a_commit_that_fails_tells_nothing_twice(
    lake: Lake, published: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(lake, 0, [{"id": 1, "score": Decimal(80)}])

    def fails(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(committing, "adopt", fails)
        with pytest.raises(OSError, match="no space"):
            sync(lake, 1, [{"id": 1, "score": Decimal(90)}])
    assert [row[1] for row in scores(published(lake), at(1))] == [80], "nobody has seen the other"
    sync(lake, 2, [{"id": 1, "score": Decimal(90)}])
    file = published(lake)
    assert [[row[1] for row in scores(file, at(number))] for number in range(3)] == [[80], [80], [90]]


def test_a_load_that_began_earlier_and_ended_later_is_known_later(lake: Lake, published: File) -> None:
    sync(lake, 0, [{"id": 1, "score": Decimal(80)}])
    sync(lake, 3, [{"id": 1, "score": Decimal(90)}])
    sync(lake, 4, [{"id": 1, "score": Decimal(70)}], started_at=at(2))
    file = published(lake)
    assert [[row[1] for row in scores(file, at(number))] for number in range(5)] == [
        *([80], [80], [80]),
        *([70], [70]),
    ]


def test_where_rows_were_held_before_their_past_was_kept_nothing_is_said_of_before(
    tmp_path: Path, published: File
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.ensure(TRACKED)
    sync(lake, 0, [{"id": 1}, {"id": 2}])
    sync(lake, 1, [{"id": 1, "score": Decimal(1)}, {"id": 2}])
    # A lake of an earlier version: what was before sync 1 is nowhere.
    lake.open(PAST_ROWS).delete()
    for _ in range(2):
        past_rows.begin(lake, TRACKED, tmp_path / "work")
    assert lake.read(PAST_ROWS).num_rows == 1
    sync(lake, 2, [{"id": 1, "score": Decimal(2)}, {"id": 2}])
    file = published(lake)
    assert ask(file, "SELECT resource, known_since FROM core.known_since") == [("scores", at(1))]
    assert [scores(file, at(number)) for number in (0, 1)] == [
        [],
        [(1, Decimal(1), None, True, at(1)), (2, None, None, True, at(0))],
    ]
    assert [row[1] for row in scores(file, at(2))] == [2, None]


def test_a_new_home_knows_its_past_from_its_first_load_on(
    lake: Lake, tmp_path: Path, published: File
) -> None:
    sync(lake, 0, [{"id": 1}])
    sync(lake, 1, [{"id": 1, "score": Decimal(1)}])
    past_rows.begin(lake, TRACKED, tmp_path / "work")
    file = published(lake)
    assert ask(file, "SELECT resource, known_since FROM core.known_since") == [("scores", at(0))]
    assert len(scores(file, at(0))) == 1


def test_grades_marks_and_memberships_have_a_past_too(lake: Lake, published: File) -> None:
    grades, marks, members = (TABLES[name] for name in ("grades", "attendance_records", "class_members"))
    week = Slice.of(_school_id=101, _semester_id=20, _week=1)
    # A word in the place of points stands beside its column.
    sync(lake, 0, [{"id": 1, "source": "class", "_extra": '{"score": "缺考"}'}], grades)
    sync(lake, 1, [{"id": 1, "source": "class", "suggest_score": Decimal("88.25")}], grades)
    day = datetime(2026, 3, 2).date()
    mark = {
        "id": 7,
        "student_id": 1,
        "checked_at": day,
        "lesson": 3,
        "created_date": day,
        "created_time": "08:05",
    }
    sync(lake, 0, [mark | {"status": "absent", "absence_label": ""}], marks, week)
    sync(lake, 1, [mark | {"status": "absent", "absence_label": "病假"}], marks, week)
    member = {"class_id": 11, "type": "student", "reflection_id": 1, "membership": 1, "created_at": START}
    sync(lake, 0, [member], members)
    sync(lake, 1, [member | {"deleted_at": at(1), "_trashed": True, "_trashed_at": at(1)}], members)
    sync(lake, 2, [member], members)
    file = published(lake)

    def known(columns: str, macro: str) -> list[Rows]:
        days = (f"TIMESTAMP '{at(number)}'" for number in range(3))
        return [ask(file, f"SELECT {columns} FROM core.{macro}_as_of({day})") for day in days]

    assert known("score_text, real_score", "grades") == [
        [("缺考", None)],
        *([[(None, Decimal("88.25"))]] * 2),
    ]
    marked_at = datetime(2026, 3, 2, 8, 5)
    assert known("status, absence_label, lesson, date, marked_at", "attendance_records") == [
        [("absent", None, 3, day, marked_at)],
        *([[("absent", "病假", 3, day, marked_at)]] * 2),
    ]
    assert known("member_id, joined_at, left_at", "class_members") == [
        [(1, START, None)],
        [(1, START, at(1))],
        [(1, START, None)],
    ]
    # A day is its first moment, and text is read as either.
    assert ask(file, "SELECT count(*) FROM core.grades_as_of('2026-03-02')") == [(0,)]
    assert ask(file, "SELECT count(*) FROM core.grades_as_of(DATE '2026-03-03')") == [(1,)]


@pytest.mark.parametrize(
    ("macro", "fact", "columns"),
    [
        (
            "grades",
            "core.fct_grade",
            "school_id, grade_id, student_id, score, score_text, real_score, level, status",
        ),
        (
            "scores",
            "core.fct_score",
            "school_id, score_id, assessment_item_id, student_id, score, is_valid, status",
        ),
        (
            "attendance_records",
            "staging.stg_attendance_records",
            "school_id, attendance_id, v1_student_id, date, lesson, status, absence_label, marked_at",
        ),
        (
            "class_members",
            "staging.stg_class_members",
            "school_id, course_class_id, member_type, member_id, membership, joined_at, left_at",
        ),
    ],
)
def test_what_is_known_now_is_what_core_has(healthy: Build, macro: str, fact: str, columns: str) -> None:
    now, current = f"select {columns} from core.{macro}_as_of('{FAR}')", f"select {columns} from {fact}"
    assert healthy.rows(f"{now} order by all") == healthy.rows(f"{current} order by all") != []


def test_each_column_whose_past_is_kept_is_read_back_from_its_text() -> None:
    """Nested values would not be."""
    nested = [field for table in TRACKED for field in table.row_schema if pa.types.is_nested(field.type)]
    assert {table.name for table in TRACKED} == {"grades", "scores", "attendance_records", "class_members"}
    assert nested == []
