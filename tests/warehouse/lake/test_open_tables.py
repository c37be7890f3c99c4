"""A table that was open before is brought up to date: it has to be as one that is opened anew."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import obstore
import pyarrow as pa
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kits.lake.small_lake import MARKS, empty, home_of, names_in, row, sync
from warehouse.lake.delta import Lake, relative_files, stored_schema
from warehouse.lake.logs.tables import CHANGES, LOAD_LOG, STANDINGS
from warehouse.lake.tables import Column, Slice, Stored
from warehouse.load.delta_commit import note
from warehouse.maintenance.compaction import maintain

SLICES = [Slice.of(_school_id=101, _semester_id=semester_id) for semester_id in (20, 21)]
TABLES = (MARKS, CHANGES, LOAD_LOG, STANDINGS)
TRANSACTIONS = [
    name
    for slice_ in SLICES
    for name in (slice_.counter, f"{slice_.counter}@base", f"marks/{slice_.counter}")
]
WIDER = replace(MARKS, columns=(*MARKS.columns, Column("hint", pa.string(), "Hint")))


def as_it_is(opened: DeltaTable) -> dict[str, Any]:
    """All that is asked of an open table."""
    return {
        "version": opened.version(),
        "files": sorted(opened.file_uris()),
        "of slices": [sorted(opened.file_uris(file_pruning_predicate=slice_.predicate)) for slice_ in SLICES]
        if "_semester_id" in {field.name for field in opened.schema().fields}
        else [],
        "schema": opened.schema().to_json(),
        "configuration": opened.metadata().configuration,
        "transactions": [opened.transaction_version(slice_.counter) for slice_ in SLICES],
        "rows": sum(batch.num_rows for batch in opened.scan()),
    }


def tip_as_it_is(lake: Lake, table: Stored) -> dict[str, Any]:
    """All that is asked of a table state."""
    table_state = lake.table_state(table)
    return {
        "version": table_state.version,
        "files": sorted(name for names in table_state.names.values() for name in names),
        "of slices": [table_state.files(slice_) for slice_ in SLICES] if table == MARKS else [],
        "schema": table_state.schema,
        "transactions": [table_state.transactions.get(name) for name in TRANSACTIONS],
    }


def opened_anew(lake: Lake, table: Stored) -> dict[str, Any]:
    """The same as deltalake has it."""
    opened = DeltaTable(lake.uri(table), storage_options=lake.storage_options)
    return {
        "version": opened.version(),
        "files": relative_files(opened),
        "of slices": [relative_files(opened, slice_) for slice_ in SLICES] if table == MARKS else [],
        "schema": stored_schema(opened),
        "transactions": [opened.transaction_version(name) for name in TRANSACTIONS],
    }


def _load(slice: int) -> Callable[[Lake, int], Any]:
    return lambda lake, number: sync(
        lake, number, [row(id, number) for id in range(number % 3, 4)], slice=SLICES[slice]
    )


def _maintain(lake: Lake, _number: int) -> None:
    maintain(lake, [MARKS], home_of(lake) / "work", timedelta(0))


def _delete(lake: Lake, _number: int) -> None:
    DeltaTable(lake.uri(MARKS)).delete(SLICES[0].predicate)


def _forget_commits(lake: Lake, _number: int) -> None:
    """As the cleanup after a commit does where all that came before have expired."""
    for table in TABLES:
        note(lake, table, lake.table_state(table), {})
        opened = DeltaTable(lake.uri(table))
        opened.create_checkpoint()
        for number in range(opened.version()):
            (Path(lake.uri(table)) / f"_delta_log/{number:020}.json").unlink(missing_ok=True)


STEPS: dict[str, Callable[[Lake, int], Any]] = {
    "load": _load(0),
    "load of the other slice": _load(1),
    "upkeep": _maintain,
    "a new column": lambda lake, _: lake.ensure([WIDER]),
}


@given(steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), min_size=2, max_size=14))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_table_that_stayed_open_is_as_one_opened_anew(steps: list[tuple[str, bool]]) -> None:
    with TemporaryDirectory() as folder:
        lakes = [Lake(f"{folder}/lake"), Lake(f"{folder}/lake")]
        lakes[0].ensure([MARKS])
        for number, (step, other) in enumerate(steps):
            # What another process does is seen too.
            STEPS[step](lakes[other], number)
            for table in TABLES:
                anew = as_it_is(DeltaTable(lakes[0].uri(table)))
                for lake in lakes:
                    assert as_it_is(lake.open(table)) == anew, (step, table)


MORE_STEPS = STEPS | {"rows gone by other hands": _delete, "commits forgotten": _forget_commits}


@given(steps=st.lists(st.tuples(st.sampled_from(sorted(MORE_STEPS)), st.booleans()), min_size=2, max_size=14))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_tip_that_followed_is_as_the_table_opened_anew(steps: list[tuple[str, bool]]) -> None:
    with TemporaryDirectory() as folder:
        lakes = [Lake(f"{folder}/lake"), Lake(f"{folder}/lake")]
        lakes[0].ensure([MARKS])
        for number, (step, other) in enumerate(steps):
            MORE_STEPS[step](lakes[other], number)
            for table in TABLES:
                anew = opened_anew(lakes[0], table)
                for lake in lakes:
                    assert tip_as_it_is(lake, table) == anew, (step, table)


def test_whoever_has_a_table_open_keeps_it_as_it_was(lake: Lake) -> None:
    _load(0)(lake, 0)
    lake.open(MARKS)
    first = lake.open(MARKS)
    before = as_it_is(first)
    _load(0)(lake, 1)
    assert as_it_is(lake.open(MARKS)) != before
    assert as_it_is(first) == before


def test_a_table_that_was_restored_is_opened_anew(lake: Lake) -> None:
    _load(0)(lake, 0)
    contents = {name: bytes(obstore.get(lake.objects, name).bytes()) for name in names_in(lake)}
    _load(0)(lake, 1)
    empty(lake)
    for name, content in contents.items():
        obstore.put(lake.objects, name, content)
    _load(1)(lake, 2)
    for table in TABLES:
        assert as_it_is(lake.open(table)) == as_it_is(DeltaTable(lake.uri(table))), table
        assert tip_as_it_is(lake, table) == opened_anew(lake, table), table
