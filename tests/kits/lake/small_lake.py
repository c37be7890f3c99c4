"""A small table of every kind of column, and short ways to read and commit it."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa

from tests.kits.lake.readings import reading_of
from tests.kits.servers.object_store import BUCKET
from warehouse.lake.copies import Copies
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Column, Slice, Stored, Table
from warehouse.load.commit import Guard, Outcome, commit
from warehouse.load.stage import StageWriter

MARKS = Table(
    name="marks",
    columns=(
        Column("id", pa.int64(), "Mark"),
        Column("kind", pa.string(), "Kind of mark"),
        Column("class_id", pa.int64(), "Class that it was given in"),
        Column("score", pa.decimal128(38, 18), "Points; null: not scored"),
        Column("tags", pa.list_(pa.struct([("name", pa.string())])), "Tags"),
        Column("updated_at", pa.timestamp("us"), 'Last update, the teacher\'s "own" one'),
    ),
    primary_key=("id", "kind"),
    slice_columns=("_school_id", "_semester_id"),
    comment="Marks of the test's school",
    tracks_changes=True,
)
SLICE = Slice.of(_school_id=101, _semester_id=20)
START = datetime(2026, 3, 2, 2)
ANYTHING = Guard(allowed=True, quarantine_share=1.0)
#: Makes an empty lake with MARKS at this path of a disk.
NewLake = Callable[[str | Path], Lake]


def lake_at(root: str) -> Lake:
    """A lake as another process opens it: `root` is a path, or one in the bucket of the tests."""
    return Lake(root, Copies(Path(root.removeprefix(f"s3://{BUCKET}")).parent / "copies"))


def home_of(lake: Lake) -> Path:
    """A folder for what a test writes beside the lake."""
    return Path(lake.root.removeprefix(f"s3://{BUCKET}")).parent


def names_in(lake: Lake, folder: str = "") -> set[str]:
    """The names below the root of all that is in a folder of the lake."""
    return {entry["path"] for part in obstore.list(lake.objects, prefix=folder) for entry in part}


def parquet_of(lake: Lake, table: Stored) -> set[str]:
    """The table's data files, those that are replaced too."""
    return {
        name
        for name in names_in(lake, table.folder)
        if name.endswith(".parquet") and "_delta_log" not in name
    }


def empty(lake: Lake, folder: str = "") -> None:
    """Delete all that is in a folder of the lake."""
    obstore.delete(lake.objects, sorted(names_in(lake, folder)))


def at(sync: int) -> datetime:
    """When the sync of that number began: one a night."""
    return START + timedelta(days=sync)


def row(id: int, score: Any = None, **fields: Any) -> dict[str, Any]:
    """A row as the spool takes it; alive unless said otherwise."""
    blank = {"kind": "raw", "class_id": 7, "score": score, "tags": [], "updated_at": None}
    return {"id": id, **blank, "_extra": None, "_trashed": False, "_trashed_at": None, **fields}


def sync(
    lake: Lake,
    number: int,
    rows: Iterable[dict[str, Any]],
    *,
    guard: Guard = ANYTHING,
    slice: Slice = SLICE,
    table: Table = MARKS,
    **said: Any,
) -> Outcome:
    """Commit one reading of the slice; `said` overrides what the reading says of itself."""
    rows = list(rows)
    work = home_of(lake) / "work"
    with StageWriter(table, work, synced_at=said.get("started_at", at(number))) as spool:
        spool.write(pa.RecordBatch.from_pylist(rows, schema=table.staging_schema))
        reading = reading_of(spool.finish(), at(number), f"night-{number}", **said)
        return commit(lake, table, slice, reading, guard, work)


def held(
    lake: Lake, columns: Sequence[str] = ("id", "score"), *, alive: bool = True
) -> list[tuple[Any, ...]]:
    """What the lake holds of the slice, in the order of the columns."""
    rows = lake.read(MARKS, SLICE, columns, alive=alive).to_pylist()
    return sorted((tuple(record.values()) for record in rows), key=repr)
