"""Records how the slices of shards stood when their files last proved equal to the lake."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import obstore
import pyarrow as pa
from pyarrow import parquet

from warehouse.age import PROVEN
from warehouse.lake.logs.tables import STANDINGS
from warehouse.published.reading import standings_of
from warehouse.published.shards import Shards, read_manifest

SCHEMA = STANDINGS.row_schema.append(pa.field("generation", pa.string()))


def prove_shards(shards: Shards, names: Collection[str], standings: Iterable[Mapping[str, Any]]) -> None:
    """Record beside the manifest how the slices of some shards stood when their files last proved equal to
    the lake, as `publish.prove` does for a home's file. Records of other shards stay."""
    generations = {
        school: shard.published.generation
        for shard in read_manifest(shards).shards
        if shard.published and shard.name in names
        for school in shard.schools
    }
    if not generations:
        return
    before = standings_of(shards)
    rows = [row for row in before if row["_school_id"] not in generations]
    rows += [
        {**row, "generation": generations[row["_school_id"]]}
        for row in standings
        if row["_school_id"] in generations
    ]
    written = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), written)
    obstore.put(shards.objects, PROVEN, written.getvalue())
