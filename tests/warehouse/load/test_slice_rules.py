"""What a commit refuses, reports and writes down."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from campus.account import BadRow, Drift, Tally
from tests.kits.lake.small_lake import ANYTHING, MARKS, SLICE, at, held, home_of, parquet_of, row, sync
from tests.kits.truth.change_log_truth import known_on
from warehouse.lake.delta import Lake, SchemaConflict
from warehouse.lake.logs.tables import CHANGES, DIFFERENCES, LOAD_LOG, QUARANTINE, RECONCILIATION
from warehouse.lake.tables import Column, Slice
from warehouse.load.commit import Guard, Unbalanced, VanishedTooMany
from warehouse.load.logs.load_log import SliceStatus, committed, record_failure, slice_statuses
from warehouse.load.slice_reading import Cause, Measure, RequestedSince, RetainedRows
from warehouse.load.stage import StageWriter
from warehouse.load.whole_readings import slices_due_whole
from warehouse.maintenance.compaction import maintain


def bad(key: tuple[int, str] | None, raw: str = "{}") -> BadRow:
    return BadRow(key, "score: text in a number", raw)


def test_an_empty_slice_writes_nothing_but_counts_as_loaded(lake: Lake) -> None:
    before = lake.version(MARKS)
    outcome = sync(lake, 0, [])
    assert (outcome.status, outcome.version, lake.version(MARKS)) == ("ok", 0, before)
    assert set(committed(lake, "night-0")) == {("marks", "101:20")}


def test_nothing_changed_nothing_written(lake: Lake) -> None:
    sync(lake, 0, [row(1, Decimal("1.10")), row(2)])
    versions = lake.version(MARKS), lake.version(CHANGES)
    outcome = sync(lake, 1, [row(2), row(1, Decimal("1.1"))])
    assert outcome.counts.unchanged == 2
    assert (lake.version(MARKS), lake.version(CHANGES)) == versions


def test_a_first_value_of_a_later_column_is_no_change(lake: Lake) -> None:
    """Not every reading requests the score: its first value is stored, and counts as read."""
    table = replace(MARKS, filled_later=frozenset({"score"}))
    sync(lake, 0, [row(1), row(2, Decimal(5)), row(3), row(4)], table=table)
    read = [row(1, Decimal(7)), row(2, Decimal(6)), row(3, class_id=8), row(4)]
    counts = sync(lake, 1, read, table=table).counts
    assert (counts.filled, counts.changed, counts.unchanged, counts.loaded) == (1, 2, 1, 4)
    assert held(lake) == [(1, Decimal(7)), (2, Decimal(6)), (3, None), (4, None)]
    last = max(lake.read(LOAD_LOG).to_pylist(), key=lambda load: load["finished_at"])
    assert (last["loaded"], last["changed"], last["unchanged"]) == (4, 2, 2)
    # A value that is gone again is a change.
    assert sync(lake, 2, [row(1), *read[1:]], table=table).counts.changed == 1


def test_other_slices_are_left_alone(lake: Lake) -> None:
    other = Slice.of(_school_id=101, _semester_id=21)
    sync(lake, 0, [row(1)], slice=other)
    files = lake.files(MARKS, other)
    sync(lake, 0, [row(1), row(2)])
    sync(lake, 1, [row(2)])
    assert lake.files(MARKS, other) == files
    assert lake.read(MARKS).num_rows == 2


@pytest.mark.parametrize(
    ("were", "gone", "guard", "stops"),
    [
        (20, 5, Guard(), False),  # a quarter, but a handful
        (30, 6, Guard(), False),  # a fifth exactly
        (29, 6, Guard(), True),
        (29, 29, Guard(allowed=True), False),
        (29, 6, Guard(share=0.5), False),
        (4, 3, Guard(handful=2), True),
        (29, 29, Guard(leaving=29), False),  # another slice has them now
        (29, 16, Guard(leaving=10), True),
    ],
)
def test_too_many_vanished_stop_the_commit(
    lake: Lake, were: int, gone: int, guard: Guard, stops: bool
) -> None:
    sync(lake, 0, [row(id) for id in range(were)])
    version = lake.version(MARKS)
    remaining = [row(id) for id in range(gone, were)]
    of_them = f"{gone - guard.leaving} of {were - guard.leaving}"
    if stops:
        with pytest.raises(VanishedTooMany, match=f"school 101, marks, slice 101.20: {of_them} rows"):
            sync(lake, 1, remaining, guard=guard)
        assert lake.version(MARKS) == version
        assert set(committed(lake, "night-1")) == set()
    else:
        assert sync(lake, 1, remaining, guard=guard).counts.vanished == gone


def test_rows_shown_as_deleted_count_for_the_guard_too(lake: Lake) -> None:
    sync(lake, 0, [row(id) for id in range(10)])
    with pytest.raises(VanishedTooMany, match="0 no longer sent, 10 shown as deleted"):
        sync(lake, 1, [row(id, _trashed=True) for id in range(10)], guard=Guard())


@pytest.mark.parametrize("received", [1, 3])
def test_rows_unaccounted_for_stop_the_commit(lake: Lake, received: int) -> None:
    with pytest.raises(Unbalanced, match=f"{received} rows received, but 2 loaded"):
        sync(lake, 0, [row(1), row(2)], received=received)
    assert held(lake) == []


@pytest.mark.parametrize(
    ("said", "vanished"),
    [
        ({}, 3),
        ({"complete": False}, 0),
        ({"bad": (bad((2, "raw")),)}, 2),
        ({"bad": (bad(None),)}, 0),
        ({"retained": (RetainedRows("class_id", (9,)),)}, 2),
        ({"retained": (RetainedRows("class_id", (9,)), RetainedRows("id", (2, 4)))}, 0),
    ],
)
def test_only_what_is_proven_gone_vanishes(lake: Lake, said: dict[str, object], vanished: int) -> None:
    sync(lake, 0, [row(1), row(2), row(3, class_id=9), row(4, class_id=None)])
    outcome = sync(lake, 1, [row(1)], **said)
    assert (outcome.counts.vanished, outcome.counts.carried) == (vanished, 3 - vanished)
    assert len(held(lake)) == 4 - vanished


def test_what_was_not_asked_for_stays_without_a_word(lake: Lake) -> None:
    sync(lake, 0, [row(1, updated_at=at(3)), row(2, updated_at=at(4)), row(3, updated_at=at(5))])
    outcome = sync(
        lake, 1, [row(3, updated_at=at(5))], requested_since=RequestedSince("updated_at", at(4).date())
    )
    assert (outcome.counts.vanished, outcome.counts.carried, outcome.counts.untouched) == (1, 0, 1)
    assert (outcome.status, outcome.message) == ("ok", "")
    assert [mark["id"] for mark in lake.read(MARKS).to_pylist()] == [1, 3]


def test_a_row_without_its_key_never_reaches_the_spool(tmp_path: Path) -> None:
    nameless = pa.RecordBatch.from_pylist([row(1, kind=None)], schema=MARKS.staging_schema)
    with (
        StageWriter(MARKS, tmp_path, synced_at=at(0)) as spool,
        pytest.raises(ValueError, match="has no key kind"),
    ):
        spool.write(nameless)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ({}, "ok", ""),
        ({"complete": False}, "failed", "the list kept changing or cannot be proven whole"),
        ({"bad": (bad((1, "raw")),)}, "warning", "1 of 101 rows are in quality.quarantine"),
        (
            {"bad": (bad(None),)},
            "warning",
            "a quarantined row has no readable key, so no missing row was taken for deleted",
        ),
        (
            {"has_unclear_repeats": True},
            "warning",
            "more rows came than the platform counts, and some are identical: which of them it sent again is "
            "not known, so all are stored. Sync again with --full",
        ),
        ({"bad": (bad((1, "raw")), bad((2, "raw")))}, "failed", "2 of 102 rows"),
        ({"failures": ("class 9: 503",)}, "failed", "class 9: 503"),
        ({"measures": (Measure("rows", 101, 100),)}, "warning", "rows: the platform says 101, read 100"),
        ({"measures": (Measure("rows", 100, 100),)}, "ok", ""),
        ({"server_total": 101}, "warning", "own count: the platform says 101, read 100"),
        ({"server_total": 100}, "ok", ""),
    ],
)
def test_status_and_message(lake: Lake, said: dict[str, object], status: str, words: str) -> None:
    outcome = sync(lake, 0, [row(id) for id in range(100)], guard=Guard(), **said)
    assert outcome.status == status
    assert words in outcome.message if words else outcome.message == ""
    [logged] = lake.read(LOAD_LOG).to_pylist()
    assert (logged["status"], logged["message"]) == (status, outcome.message)
    assert logged["received"] == logged["loaded"] + logged["quarantined"] + logged["duplicates"]
    assert set(committed(lake, "night-0")) == ({("marks", "101:20")} if status == "ok" else set())


@pytest.mark.parametrize(
    ("rows", "said", "expected"),
    [
        # Of a list it counts what is sent: a deleted row, one sent twice, one that is set aside.
        ([row(1), row(1), row(2), row(3, _trashed=True)], {"server_total": 4}, 2),
        ([row(1), row(2)], {"server_total": 3, "bad": (bad((3, "raw")),)}, 2),
        ([row(1), row(2)], {"server_total": 3}, 3),
        # Of changes it counts what is alive, whatever came.
        ([row(2, Decimal(5))], {"incremental": True, "server_total": 2, "alive_total": 2}, 2),
        ([row(2, Decimal(5))], {"incremental": True, "server_total": 3, "alive_total": 3}, 3),
        ([row(1), row(2, _trashed=True)], {"server_total": 1, "alive_total": 1}, 1),
    ],
)
def test_the_platforms_count_is_compared_with_the_rows_alive(
    lake: Lake, rows: list[dict[str, object]], said: dict[str, object], expected: int
) -> None:
    sync(lake, 0, [row(1), row(2)])
    sync(lake, 1, rows, **said)
    [stated] = lake.read(RECONCILIATION).to_pylist()
    alive = lake.read(MARKS).num_rows
    assert (stated["expected"], stated["actual"], stated["agrees"]) == (expected, alive, expected == alive)


def test_a_slice_that_comes_back_after_it_was_retired_is_as_good_as_new(lake: Lake) -> None:
    rows, text = [row(1), row(2)], str(SLICE)

    def due() -> set[str]:
        return slices_due_whole(lake, {"marks"}, 7, at(3))

    sync(lake, 0, rows)
    assert (slice_statuses(lake, 101)["marks"][text].complete_at, due()) == (at(0), set())
    assert sync(lake, 1, [], retires=True).status == "retired"
    assert slice_statuses(lake, 101) == {"marks": {text: SliceStatus()}}
    assert (due(), committed(lake, "night-1")) == ({text}, {})
    # An attempt that misses something is no return.
    sync(lake, 2, [row(1)], complete=False)
    assert due() == {text}
    assert sync(lake, 3, rows).counts.returned == 1
    assert (slice_statuses(lake, 101)["marks"][text].complete_at, due()) == (at(3), set())


def test_the_load_log_says_what_the_reading_took(lake: Lake) -> None:
    sync(lake, 0, [row(1), row(1), row(2)], tally=Tally(requests=3, pages=2), server_total=2)
    cause = Cause("night-1", "r", at(1))
    record_failure(lake, MARKS, SLICE, cause, "school 101: 403, ask for class.read")
    first, second = lake.read(LOAD_LOG).sort_by("started_at").to_pylist()
    assert (first["requests"], first["pages"], first["retries"], first["server_total"]) == (3, 2, 0, 2)
    assert (first["new"], first["duplicates"], first["slice_version"]) == (2, 1, 1)
    assert (second["status"], second["started_at"], second["new"]) == ("failed", at(1), None)


def test_quarantine_holds_what_is_bad_now(lake: Lake) -> None:
    good = [row(id) for id in range(5)]
    sync(lake, 0, good, bad=[bad((8, "raw"), '{"id": 8}'), bad((9, "raw"))])
    sync(
        lake,
        1,
        good,
        bad=[
            bad((8, "raw"), '{"id": 8}'),
        ],
    )
    [left] = lake.read(QUARANTINE).to_pylist()
    assert (left["key"], left["raw"], left["slice"]) == ('[8, "raw"]', '{"id": 8}', "101:20")
    assert (left["first_seen"], left["last_seen"], left["sync_id"]) == (at(0), at(1), "night-1")
    # What this reading did not get to may be bad still.
    sync(lake, 2, good, retained=(RetainedRows("class_id", (9,)),))
    assert lake.read(QUARANTINE).num_rows == 1
    sync(lake, 3, good)
    assert lake.read(QUARANTINE).num_rows == 0


def test_drift_and_reconciliation_hold_the_present_state(lake: Lake) -> None:
    for number, rows in enumerate((3, 4)):
        sync(
            lake,
            number,
            [row(1)],
            drift={Drift("unknown_field", "mood", '"good"'): rows},
            measures=(Measure("server total", 2 - number, 1),),
        )
    [drift], [measure] = lake.read(DIFFERENCES).to_pylist(), lake.read(RECONCILIATION).to_pylist()
    assert (drift["rows"], drift["first_seen"], drift["last_seen"]) == (4, at(0), at(1))
    assert (measure["expected"], measure["actual"], measure["agrees"]) == (1, 1, True)


def test_the_change_log_tells_who_was_what_when(lake: Lake) -> None:
    sync(lake, 0, [row(1, Decimal(80)), row(2, Decimal(90))])
    sync(lake, 1, [row(1, Decimal("85.50"), updated_at=at(0)), row(3, None)])
    sync(lake, 2, [row(1, Decimal("85.50"), updated_at=at(1)), row(2, Decimal(0)), row(3, None)])
    changes = lake.read(CHANGES, columns=["seen_at", "key", "op", "field", "before", "after"]).to_pylist()
    assert sorted((tuple(change.values()) for change in changes), key=repr) == sorted(
        [
            (at(0), None, "loaded", None, None, None),
            (at(1), '[1,"raw"]', "updated", "score", "80", "85.5"),
            (at(1), '[2,"raw"]', "deleted", None, None, None),
            (at(1), '[3,"raw"]', "created", None, None, None),
            (at(2), '[2,"raw"]', "returned", None, None, None),
            (at(2), '[2,"raw"]', "updated", "score", "90", "0"),
        ],
        key=repr,
    )
    work = home_of(lake)
    assert known_on(lake, MARKS, SLICE, "score", at(0) - timedelta(seconds=1), work).num_rows == 0


def test_a_column_added_later_is_null_in_what_was_there(lake: Lake) -> None:
    sync(lake, 0, [row(1), row(2)])
    wider = replace(MARKS, columns=(*MARKS.columns, Column("rank", pa.int64(), "Rank")))
    lake.ensure([wider])
    outcome = sync(lake, 1, [row(1, rank=None), row(2, rank=3)], table=wider)
    assert (outcome.counts.unchanged, outcome.counts.changed) == (1, 1)
    other = Slice.of(_school_id=101, _semester_id=21)
    sync(lake, 1, [row(1, rank=1)], table=wider, slice=other)
    assert sorted(lake.read(wider, columns=["rank"])["rank"].to_pylist(), key=repr) == [1, 3, None]


def test_a_column_of_another_type_is_refused(lake: Lake) -> None:
    columns = tuple(replace(c, type=pa.string()) if c.name == "score" else c for c in MARKS.columns)
    with pytest.raises(SchemaConflict, match="marks, column score"):
        lake.ensure([replace(MARKS, columns=columns)])


def test_a_slice_larger_than_a_chunk(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warehouse.lake.sql.CHUNK_ROWS", 10)
    sync(lake, 0, [row(id, kind=kind) for id in range(50) for kind in ("raw", "item")])
    outcome = sync(lake, 1, [row(id, Decimal(id % 2)) for id in range(10, 60)] * 2)
    tally = outcome.counts
    assert (tally.new, tally.changed, tally.vanished, tally.duplicates) == (10, 40, 60, 50)
    assert lake.read(MARKS).num_rows == 50
    assert lake.read(CHANGES).num_rows == 1 + 10 + 40 + 60


def test_maintenance_changes_no_answer(lake: Lake) -> None:
    for number in range(4):
        sync(
            lake,
            number,
            [row(1, Decimal(number)), row(2)],
            bad=[
                bad((9, "raw")),
            ],
        )
    logs = (LOAD_LOG, QUARANTINE, CHANGES)
    before = [lake.read(log).sort_by([("slice", "ascending")]).num_rows for log in logs]
    scratch = home_of(lake) / "scratch"
    (scratch / "left").mkdir(parents=True)
    (scratch / "left.parquet").touch()
    maintain(lake, [MARKS], scratch, timedelta(0))
    assert list(scratch.iterdir()) == []
    assert [lake.read(log).num_rows for log in logs] == before
    assert held(lake) == [(1, Decimal(3)), (2, None)]
    assert len(parquet_of(lake, MARKS)) == len(lake.files(LOAD_LOG)) == 1
    assert sync(lake, 5, [row(1, Decimal(4)), row(2)], guard=ANYTHING).counts.changed == 1


@pytest.mark.parametrize("name", ["a|b", "", "a'b", "a/b", "语文"])
def test_a_slice_name_that_needs_quoting_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        Slice.of(_school_id=1, _dataset=name)
