"""A lake without a student: tables, logs, history and older versions, on a disk and in a store of objects."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from campus.account import BadRow
from loading.tables import TABLES
from tests.kits.lake.small_lake import at, home_of, names_in, sync
from tests.kits.leaks import leaks
from warehouse.forgetting.forgotten import Matcher, change, matcher_of, with_person
from warehouse.forgetting.identity import People
from warehouse.forgetting.retention import expire_history, expire_tombstones, without_expired
from warehouse.forgetting.scrub import rewriter
from warehouse.forgetting.surgery import forget_in_logs, forget_in_tables, forget_school, purge
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES, LOGS, PAST_ROWS, PUBLISHED_LEVELS, STANDINGS
from warehouse.lake.tables import Slice, Table

SCHOOL, ID, OTHER = 101, 101000019, 101000020
NAME, NUMBER = "王小明", "S-20231"
STUDENTS, SCORES = TABLES["students"], TABLES["scores"]
OF_SCHOOL, OF_SEMESTER = Slice.of(_school_id=SCHOOL), Slice.of(_school_id=SCHOOL, _semester_id=20)


def student(id: int, name: str | None, **fields: Any) -> dict[str, Any]:
    """A row of the students list."""
    return {"id": id, "name": name, "usin": fields.pop("usin", f"S-{id}"), "_trashed": False, **fields}


def level(student_id: int, number: int) -> dict[str, Any]:
    """A published level, another in each publication."""
    said = {"level": "warning", "thresholds": f"t{number}", "published_at": at(number), "as_of": at(0).date()}
    return {"_school_id": SCHOOL, "semester_id": 20, "student_id": student_id, **said}


def score(id: int, owner: int, review: str, **fields: Any) -> dict[str, Any]:
    """A row of an item's scores."""
    return {"id": id, "owner_id": owner, "review": review, "_trashed": False, **fields}


@pytest.fixture
def full(lake: Lake) -> Lake:
    """A lake that has a student in tables, history, change log, quarantine and replaced files."""
    lake.ensure(TABLES.values())
    bad = BadRow(None, "id: no integer", f'{{"id":"?","name":"{NAME}"}}')
    people = [student(ID, NAME, usin=NUMBER), student(OTHER, "李四")]
    sync(lake, 1, people, table=STUDENTS, slice=OF_SCHOOL, bad=[bad])
    for number, words in enumerate((f"{NAME} is late", "better"), 1):
        rows = [score(1, ID, words), score(2, OTHER, f"sits by {NAME}" if number == 1 else "fine")]
        sync(lake, number, rows, table=SCORES, slice=OF_SEMESTER)
        levels = [level(ID, number), level(OTHER, 1)] if number == 1 else [level(ID, number)]
        published = pa.Table.from_pylist(levels, schema=PUBLISHED_LEVELS.lake_schema)
        write_deltalake(lake.open(PUBLISHED_LEVELS), published, mode="append")
    return lake


def put_on_list(lake: Lake) -> Matcher:
    """Find the student in the lake, and put the student on the list."""
    [person] = People(lake, SCHOOL, TABLES).find("student", ID)
    change(lake, lambda before: with_person(before, SCHOOL, "student", person.marks, since="", choices={})[0])
    matcher = matcher_of(lake, SCHOOL)
    assert matcher is not None
    return matcher


def forget(lake: Lake, matcher: Matcher) -> int:
    """Take the forgotten out of the lake; how many rows changed."""
    tables = forget_in_tables(lake, TABLES.values(), SCHOOL, matcher, home_of(lake) / "work", apply=True)
    changed = [*tables, *forget_in_logs(lake, TABLES, SCHOOL, matcher, apply=True)]
    for table in (*TABLES.values(), *LOGS, STANDINGS):
        purge(lake, table)
    return sum(removal.rows for removal in changed)


def leaks_in(lake: Lake, folder: Path) -> list[str]:
    """Where a lake, wherever it is, names the student."""
    for name in names_in(lake):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(bytes(obstore.get(lake.objects, name).bytes()))
    return leaks(folder, {NAME, NUMBER}, {ID})


def test_lake_has_nothing_of_the_student_and_all_of_the_others(full: Lake, tmp_path: Path) -> None:
    assert len(leaks_in(full, tmp_path / "before")) > 10
    assert forget(full, put_on_list(full)) > 4
    assert leaks_in(full, tmp_path / "after") == []
    people = full.read(STUDENTS, OF_SCHOOL, ["id", "name"]).to_pylist()
    assert [row for row in people if row["id"] == OTHER] == [{"id": OTHER, "name": "李四"}]
    [gone] = [row["id"] for row in people if row["name"] is None]
    owners = full.read(SCORES, OF_SEMESTER, ["id", "owner_id"]).sort_by("id")["owner_id"].to_pylist()
    assert owners == [gone, OTHER] and gone < 0
    published = full.read(PUBLISHED_LEVELS)["student_id"].to_pylist()
    assert Counter(published) == {gone: 2, OTHER: 1}


def test_second_attempt_changes_nothing(full: Lake) -> None:
    matcher = put_on_list(full)
    forget(full, matcher)
    assert forget(full, matcher) == 0


def test_what_comes_again_is_what_is_held(full: Lake, tmp_path: Path) -> None:
    """The platform still sends the student: nothing is new, changed or gone."""
    matcher = put_on_list(full)
    forget(full, matcher)
    rows = [score(1, ID, "better"), score(2, OTHER, "fine")]
    people = [student(ID, NAME, usin=NUMBER), student(OTHER, "李四")]
    for number, table, slice, sent in ((3, SCORES, OF_SEMESTER, rows), (4, STUDENTS, OF_SCHOOL, people)):
        counts = _sync_filtered(full, number, table, slice, sent, matcher)
        assert (counts.unchanged, counts.modified, counts.duplicates) == (2, 0, 0)
    assert leaks_in(full, tmp_path / "after") == []


def _sync_filtered(
    lake: Lake, number: int, table: Table, slice: Slice, rows: list[dict[str, Any]], matcher: Matcher
) -> Any:
    batch = pa.RecordBatch.from_pylist(rows, schema=table.staging_schema)
    sent = rewriter(table, matcher)(batch).to_pylist()
    return sync(lake, number, sent, table=table, slice=slice).counts


def test_changes_are_logged_once_and_history_goes_on(full: Lake) -> None:
    """The surgery is no change of the platform's: the log has none of it, and later ones follow."""
    before = full.read(CHANGES).num_rows
    matcher = put_on_list(full)
    forget(full, matcher)
    assert full.read(CHANGES).num_rows == before
    counts = _sync_filtered(
        full, 5, SCORES, OF_SEMESTER, [score(1, ID, "good", rank=1), score(2, OTHER, "fine")], matcher
    )
    assert counts.changed == 1
    news = full.read(CHANGES).slice(0).to_pylist()
    assert [(row["field"], row["after"]) for row in news if row["seen_at"] == at(5)] == [("rank", "1")]


def test_name_of_another_is_no_mark(full: Lake) -> None:
    """A namesake, a name inside a longer one, and one letter are removed by the id alone."""
    sync(
        full,
        6,
        [student(ID, "王伟"), student(OTHER, "王伟明"), student(OTHER + 1, "王"), student(OTHER + 2, "王")],
        table=STUDENTS,
        slice=OF_SCHOOL,
    )
    people = People(full, SCHOOL, TABLES)
    for id in (ID, OTHER + 1):
        [person] = people.find("student", id)
        assert person.names == frozenset() and person.shared
    [whole] = people.find("student", OTHER)
    assert whole.names == {"王伟明"}


def test_unknown_id_is_nobody(full: Lake) -> None:
    people = People(full, SCHOOL, TABLES)
    assert people.find("student", 5) == people.find("teacher", ID) == []
    assert len(people.find("student", ID)) == 1


def test_school_leaves_and_others_stay(full: Lake, tmp_path: Path) -> None:
    sync(full, 7, [student(7, "张三")], table=STUDENTS, slice=Slice.of(_school_id=102))
    removed = list(forget_school(full, (*TABLES.values(), *LOGS, STANDINGS), SCHOOL, apply=True))
    for table in (*TABLES.values(), *LOGS, STANDINGS):
        purge(full, table)
    assert {removal.table for removal in removed if removal.removed} >= {
        "students",
        "scores",
        "changes",
        "load_log",
    }
    assert leaks_in(full, tmp_path / "after") == []
    assert full.read(STUDENTS)["name"].to_pylist() == ["张三"]
    again = sync(full, 8, [student(ID, NAME)], table=STUDENTS, slice=OF_SCHOOL)
    assert again.counts.new == 1


def test_tombstones_lose_personal_columns_after_a_term(full: Lake) -> None:
    sync(full, 3, [student(OTHER, "李四")], table=STUDENTS, slice=OF_SCHOOL)
    work, term = home_of(full) / "work", timedelta(days=10)
    assert expire_tombstones(full, [STUDENTS, SCORES], term, at(12), work) == 0
    assert expire_tombstones(full, [STUDENTS, SCORES], term, at(14), work) == 1
    rows = {row["id"]: row for row in full.read(STUDENTS, alive=False).to_pylist()}
    assert (rows[ID]["name"], rows[ID]["usin"], rows[OTHER]["name"]) == (None, None, "李四")
    assert rows[ID]["_deleted_at"] == at(3)
    assert expire_tombstones(full, [STUDENTS, SCORES], term, at(14), work) == 0


def test_deleted_rows_that_are_sent_again_stay_without_them(full: Lake) -> None:
    rewrite = without_expired(STUDENTS, timedelta(days=10), at(14))
    assert rewrite is not None
    rows = [
        student(1, "old", _trashed=True, _trashed_at=at(3)),
        student(2, "new", _trashed=True, _trashed_at=at(10)),
        student(3, "undated", _trashed=True),
        student(4, "alive"),
    ]
    batch = rewrite(pa.RecordBatch.from_pylist(rows, schema=STUDENTS.staging_schema))
    assert batch["name"].to_pylist() == [None, "new", None, "alive"]


def test_history_ends_at_its_term_and_says_since_when_it_is_known(full: Lake) -> None:
    assert full.read(PAST_ROWS).num_rows == 2
    assert expire_history(full, timedelta(days=10), at(11)) == 0
    assert expire_history(full, timedelta(days=10), at(13)) > 2
    [mark] = full.read(PAST_ROWS).to_pylist()
    assert (mark["row"], mark["known_from"]) == (None, at(3))
    assert full.read(CHANGES)["op"].to_pylist() == ["loaded"]
    levels = full.read(PUBLISHED_LEVELS).sort_by("student_id").to_pylist()
    assert [(row["student_id"], row["thresholds"]) for row in levels] == [(ID, "t2"), (OTHER, "t1")]
    assert expire_history(full, timedelta(days=10), at(13)) == 0


def test_tables_of_datasets_are_scrubbed_by_what_they_hold(full: Lake) -> None:
    """A column that the lake has and no definition names, too."""
    table = replace(STUDENTS, columns=STUDENTS.columns[:1])
    matcher = put_on_list(full)
    list(forget_in_tables(full, [table], SCHOOL, matcher, home_of(full) / "work", apply=True))
    assert full.read(STUDENTS, OF_SCHOOL, ["id"], alive=False)["id"].to_pylist().count(ID) == 0
