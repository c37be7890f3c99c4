"""The published file as exports read it: which schools are in it, and as of when it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import duckdb

#: Enough to sort a table of any size; what goes beyond is spilled to disk.
MEMORY_MB = 256


@dataclass(frozen=True)
class School:
    """A school of the published file."""

    id: int
    name: str


@dataclass(frozen=True)
class Origin:
    """Where the rows of a file come from. `loaded_at`: when the last of the school's loads ended, by the
    platform's clock; None: it was never loaded."""

    school: School
    generation: str
    published_at: datetime
    loaded_at: datetime | None

    @property
    def day(self) -> date:
        """The date of the data."""
        return (self.loaded_at or self.published_at).date()

    def parameters(self, query: str) -> dict[str, int]:
        """What a query is given: DuckDB refuses a value for which there is no place."""
        return {"school_id": self.school.id} if "$school_id" in query else {}


@contextmanager
def opened(published: Path, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Read the published file; what is replaced meanwhile stays as it was for this reader. It spills to
    `scratch`."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{MEMORY_MB}MB",
        "threads": 2,
        "temp_directory": str(scratch),
        "autoinstall_known_extensions": False,
    }
    with closing(duckdb.connect(str(published), read_only=True, config=config)) as con:
        yield con


def schools(con: duckdb.DuckDBPyConnection) -> list[School]:
    """The schools that the platform still has, by id."""
    rows = con.execute("SELECT school_id, school_name FROM core.dim_school WHERE NOT is_deleted ORDER BY 1")
    return [School(id, name) for id, name in rows.fetchall()]


def origin(con: duckdb.DuckDBPyConnection, school: School) -> Origin:
    """Where the rows of a school come from."""
    [(generation, published_at)] = con.execute(
        "SELECT generation, published_at FROM quality.publication"
    ).fetchall()
    [(loaded_at,)] = con.execute(
        "SELECT max(finished_at) FROM quality.load_log WHERE _school_id = ?", [school.id]
    ).fetchall()
    return Origin(school, generation, published_at, loaded_at)
