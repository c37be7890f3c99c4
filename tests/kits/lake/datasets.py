"""Datasets of made-up definitions, and short ways to evolve, load and look at them."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from tests.kits.lake.readings import reading_of
from tests.kits.lake.small_lake import ANYTHING, at, home_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Column, Slice, Table, dataset_table
from warehouse.load.commit import Guard, Outcome, commit
from warehouse.load.schema_evolution import Evolved, evolve
from warehouse.load.stage import StageWriter

ID = Column("id", pa.int64(), "Key")
SCORE = Column("score", pa.decimal128(8, 2), "Points")
UPDATED = Column("updated_at", pa.timestamp("us"), "Last update")
#: Rows of a batch.
PAGE = 100


def define(*columns: Column, table: str = "course_scores", key: tuple[str, ...] = ("id",)) -> Table:
    """A dataset's table, keyed by `id` unless said otherwise."""
    return dataset_table(table, (ID, *columns), key, "Scores of courses")


def segment(number: int = 0, school: int = 101) -> Slice:
    return Slice.of(_school_id=school, _segment=number)


def load(
    lake: Lake,
    number: int,
    wanted: Table,
    rows: Iterable[dict[str, Any]],
    *,
    slice: Slice | None = None,
    guard: Guard = ANYTHING,
    **said: Any,
) -> Outcome:
    """Evolve and commit one reading of a segment; `said` overrides what the reading says of itself."""
    rows = list(rows)
    evolved = evolve(lake, wanted)
    work = home_of(lake) / "work"
    with StageWriter(evolved.table, work, synced_at=at(number)) as spool:
        for start in range(0, len(rows), PAGE):
            page = pa.RecordBatch.from_pylist(rows[start : start + PAGE], schema=wanted.staging_schema)
            spool.write(evolved.shaped(page))
        reading = reading_of(spool.finish(), at(number), f"night-{number}", **said)
        return commit(lake, evolved.table, slice or segment(), reading, guard, work)


def everything(lake: Lake, evolved: Evolved) -> list[dict[str, Any]]:
    """All rows and columns that the lake holds of a dataset, tombstones too."""
    reader = lake.open(evolved.table).scan()
    return list(pa.table(reader).to_pylist())
