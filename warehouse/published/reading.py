"""What is published, opened to be read: a file as it is, shards as if they were one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from warehouse.published.manifest import Manifest
from warehouse.published.shards import Published, Shards, fetched, manifest
from warehouse.published.union import show_as_one

Config = Mapping[str, str | bool | int | float | list[str]]

#: Times that a manifest is read anew as files are gone that it names: whoever read it has slept for hours.
ATTEMPTS = 3


@contextmanager
def opened(published: Published, config: Config | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Read what is published, of one manifest; what is replaced meanwhile stays as it was for this reader.
    Nothing that is published can be changed by it. `config`: DuckDB's.

    Raises duckdb.Error, FileNotFoundError, PublicationBroken."""
    if isinstance(published, Path):
        with closing(duckdb.connect(str(published), read_only=True, config=dict(config or {}))) as con:
            yield con
        return
    found, files = _files(published)
    with closing(duckdb.connect(config=dict(config or {}))) as con:
        show_as_one(con, found, files)
        yield con


def _files(shards: Shards) -> tuple[Manifest, dict[str, Path]]:
    """A manifest and the files of its shards on this machine, by name of the shard."""
    for _ in range(ATTEMPTS - 1):
        found = manifest(shards)
        try:
            return found, _fetched(shards, found)
        except FileNotFoundError:
            continue
    found = manifest(shards)
    return found, _fetched(shards, found)


def _fetched(shards: Shards, found: Manifest) -> dict[str, Path]:
    names = found.files_of_shards
    return dict(zip(names, fetched(shards, list(names.values())), strict=True))
