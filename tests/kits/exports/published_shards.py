"""Publications of shards in which each school has the number of the publication."""

from datetime import datetime
from functools import partial
from pathlib import Path

import duckdb

from warehouse.published.manifest import ShardFile, with_file
from warehouse.published.reading import opened
from warehouse.published.shards import Shards, change, put, read_manifest


def publish(shards: Shards, name: str, number: int, tmp_path: Path) -> None:
    """Publish a file of a shard in which each school has the number of the publication."""
    file, path = tmp_path / f"{name}-{number}.duckdb", f"shards/{name}/{number:04}.duckdb"
    schools = read_manifest(shards).shard(name).schools
    with duckdb.connect(str(file)) as con:
        con.execute("CREATE SCHEMA marts")
        con.execute(
            "CREATE TABLE marts.told AS SELECT unnest(?) AS school_id, ? AS number", [schools, number]
        )
    put(shards, file, path)
    named = ShardFile(f"{number:04}", path, schools, "models", 1)
    change(shards, partial(with_file, name=name, file=named), clock=datetime.now)


def numbers(shards: Shards) -> list[tuple[int, int]]:
    with opened(shards) as con:
        return con.execute("SELECT school_id, number FROM marts.told ORDER BY ALL").fetchall()
