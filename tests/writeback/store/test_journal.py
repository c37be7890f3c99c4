"""The record of writes: on disk before a write is sent, in the lake once its outcome is known."""

import asyncio
import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from campus.contracts.v1_people import UserField
from campus.http.errors import PlatformUnavailable, Refused, Transient, Unconfirmed
from warehouse.files import locked
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import WRITES
from writeback.operations import CHANGE_USER, CREATE_USER, Write
from writeback.send.writer import Written
from writeback.session import recorded
from writeback.store.journal import Provenance
from writeback.store.location import LOCK, is_writing, store_path
from writeback.store.store import Store, file_leftover, open_journal

PROVENANCE = Provenance("campus roster apply of alice on host", "roster.csv")


class Answering:
    """Stands in for the writer: answers, or raises."""

    def __init__(self, outcome: Written | BaseException) -> None:
        self.outcome = outcome

    async def write(self, write: Write, look: Any = None) -> Written:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


def carried_out(home: Path, lake: Lake, write: Write, outcome: Written | BaseException) -> dict[str, Any]:
    """What the lake has of a write with this outcome."""
    with open_journal(home, lake) as journal:
        writing = recorded(Answering(outcome), journal, PROVENANCE, write, "line 7")
        if isinstance(outcome, BaseException):
            with pytest.raises(type(outcome)):
                asyncio.run(writing)
        else:
            asyncio.run(writing)
    [row] = lake.read(WRITES).to_pylist()
    return row


def creation(**fields: Any) -> Write:
    return Write(CREATE_USER, 101, content={"outer_id": "a-1", "name": "甲", **fields})


def test_a_write_is_recorded_with_who_asked_and_what_was_answered(tmp_path: Path) -> None:
    row = carried_out(tmp_path, Lake(f"{tmp_path}/lake"), creation(), Written(201, {"id": 9, "name": "甲"}))
    asked_at, answered_at = row.pop("asked_at"), row.pop("answered_at")
    assert asked_at <= answered_at
    assert len(row.pop("write_id")) == 32
    assert row == {
        "_school_id": 101,
        "operation": "create_user",
        "target": "",
        "source": "roster.csv",
        "row": "line 7",
        "sent": '{"outer_id":"a-1","name":"甲"}',
        "asked_by": "campus roster apply of alice on host",
        "outcome": "done",
        "status": 201,
        "answer": '{"id":9,"name":"甲"}',
        "_month": f"{asked_at:%Y-%m}",
    }


@pytest.mark.parametrize(
    ("looked_up", "answer"),
    [
        ({"entered_at": date(2025, 9, 1)}, '{"entered_at":"2025-09-01"}'),
        (UserField(name="bus", role=1, label="校车", type=1, options=None), '"name":"bus"'),
    ],
)
def test_what_a_look_found_is_recorded_with_its_dates_and_fields(
    tmp_path: Path, looked_up: Any, answer: str
) -> None:
    row = carried_out(tmp_path, Lake(f"{tmp_path}/lake"), creation(), Written(0, looked_up))
    assert row["outcome"] == "found" and answer in row["answer"]


def test_neither_passwords_nor_id_numbers_are_kept_anywhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    secret = {"password": "pa55-wörd", "idcard": "11010519491231002X"}
    row = carried_out(home, Lake(f"{home}/lake"), creation(**secret), Written(201, {"id": 9, **secret}))
    withheld = '"password":"(withheld)","idcard":"(withheld)"'
    assert row["sent"] == f'{{"outer_id":"a-1","name":"甲",{withheld}}}', "named, and not told"
    assert row["answer"] == f'{{"id":9,{withheld}}}'
    for file in home.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert b"pa55" not in content
        assert b"11010519491231002X" not in content


CHANGE = Write(CHANGE_USER, 101, 7, content={"name": "乙"})


@pytest.mark.parametrize(
    ("write", "outcome", "recorded_as"),
    [
        (creation(), Written(0, {"id": 9}), "found"),
        (creation(), Refused("it says no", status=422, quote="usin is taken"), "refused"),
        (creation(), Unconfirmed("lost"), "unconfirmed"),
        # Of what may not be repeated these come only where it has certainly not happened.
        (creation(), Transient("away"), "unsent"),
        (creation(), PlatformUnavailable("away", outage=True), "unsent"),
        (CHANGE, Transient("away"), "unconfirmed"),
        (CHANGE, PlatformUnavailable("away", outage=True), "unconfirmed"),
    ],
)
def test_every_outcome_is_recorded(
    tmp_path: Path, write: Write, outcome: Written | BaseException, recorded_as: str
) -> None:
    assert carried_out(tmp_path, Lake(f"{tmp_path}/lake"), write, outcome)["outcome"] == recorded_as


def test_a_refusal_keeps_the_platforms_words(tmp_path: Path) -> None:
    refused = Refused("POST: status 422, ...", status=422, quote="usin is taken")
    row = carried_out(tmp_path, Lake(f"{tmp_path}/lake"), creation(), refused)
    assert (row["status"], row["answer"]) == (422, "usin is taken")


def test_what_a_killed_process_had_sent_is_recorded_as_interrupted(tmp_path: Path) -> None:
    lake = Lake(f"{tmp_path}/lake")
    with Store(tmp_path) as killed:
        killed.journal.begin(creation(), PROVENANCE, "line 7")
        killed.journal.end(killed.journal.begin(CHANGE, PROVENANCE, "line 8"), "done", 200, None)
    with open_journal(tmp_path, lake):
        pass
    assert [(row["row"], row["outcome"]) for row in lake.read(WRITES).to_pylist()] == [
        ("line 7", "interrupted"),
        ("line 8", "done"),
    ]


def test_an_interrupted_write_is_recorded_at_the_end_of_its_own_process(tmp_path: Path) -> None:
    lake = Lake(f"{tmp_path}/lake")
    outcome = carried_out(tmp_path, lake, creation(), asyncio.CancelledError())["outcome"]
    assert outcome == "interrupted"


def test_what_a_killed_process_left_is_filed_without_another_write(tmp_path: Path) -> None:
    lake = Lake(f"{tmp_path}/lake")
    file_leftover(tmp_path, lake)
    assert not store_path(tmp_path).exists()
    with Store(tmp_path) as killed:
        killed.journal.begin(creation(), PROVENANCE, "line 7")
    with locked(tmp_path / LOCK):
        # Whoever writes now files it; nobody waits.
        file_leftover(tmp_path, lake)
        assert is_writing(tmp_path) and not lake.holds(WRITES)
    file_leftover(tmp_path, lake)
    assert not is_writing(tmp_path)
    [row] = lake.read(WRITES).to_pylist()
    assert (row["row"], row["outcome"]) == ("line 7", "interrupted")


def test_a_death_between_the_lake_and_the_journal_files_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(f"{tmp_path}/lake")
    with Store(tmp_path) as before:
        before.journal.end(before.journal.begin(creation(), PROVENANCE, "line 7"), "done", 201, None)
    copy = store_path(tmp_path).with_suffix(".copy")
    with sqlite3.connect(store_path(tmp_path)) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    with open_journal(tmp_path, lake):
        pass
    copy.replace(store_path(tmp_path))
    with open_journal(tmp_path, lake):
        pass
    assert len(lake.read(WRITES).to_pylist()) == 1


def test_the_end_of_a_plan_outlives_the_process_that_noted_it(tmp_path: Path) -> None:
    lake = Lake(f"{tmp_path}/lake")
    with open_journal(tmp_path, lake) as journal:
        assert journal.end_of_plan("roster-101") == ""
        journal.note_end_of_plan("roster-101")
        ended_at = journal.end_of_plan("roster-101")
    with open_journal(tmp_path, lake) as journal:
        journal.note_end_of_plan("roster-101")
        assert journal.end_of_plan("roster-101") == ended_at != ""
        assert journal.end_of_plan("roster-102") == ""


def test_the_journal_is_for_its_owner_alone_and_synchronized_in_full(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert store_path(tmp_path).stat().st_mode & 0o077 == 0
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
