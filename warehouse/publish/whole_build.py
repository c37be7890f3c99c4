"""Once a week a build from nothing, beside the build that continued from the published file. Both must have
the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import duckdb

from warehouse.identifiers import literal, relation
from warehouse.lake.sql import connect, version_of
from warehouse.publish.models.dbt_project import Build
from warehouse.publish.publish import record_checks

SECONDS_BETWEEN_WHOLE_BUILDS = 7 * 24 * 3600
#: A file in a build's folder; its time is that of the last whole build.
MARKER = "whole_build"
#: The name of the result in quality.check_results.
CHECK = "continued_build_equals_whole_build"
DIFFERS = (
    "a build from nothing has other rows than the build that continued from the published file, in {}; the "
    "build from nothing is published. Report this as a fault of Campus Warehouse"
)


def is_whole_build_due(build: Build) -> bool:
    """Whether the last whole build is a week ago, or unknown."""
    marker = _marker(build)
    return not marker.exists() or time.time() - marker.stat().st_mtime >= SECONDS_BETWEEN_WHOLE_BUILDS


def note_whole_build(build: Build) -> None:
    """Note that the build's file was made from nothing, or was found equal to such a file."""
    _marker(build).touch()


def compare(build: Build, whole: Path, names: Iterable[str]) -> str | None:
    """Compare a build with a file that was built from nothing, and record the result in that file as a check.
    Returns what differs; None: nothing.

    Args:
        names: The tables that are compared (`schema.table`)."""
    spill = build.file.parent / "spill"
    with closing(connect(scratch=spill)) as con:
        for database, file in (("continued", build.file), ("whole", whole)):
            con.execute(f"ATTACH {literal(str(file))} AS {database} (READ_ONLY)")
        differing = [
            name for name in names if _version(con, "continued", name) != _version(con, "whole", name)
        ]
    message = DIFFERS.format(", ".join(differing)) if differing else None
    status = {"status": "warn" if differing else "pass", "failures": len(differing), "message": message}
    with closing(connect(whole, scratch=spill)) as con:
        record_checks(con, [{"name": CHECK, "model": "", **status}])
    return message


def _version(con: duckdb.DuckDBPyConnection, database: str, name: str) -> tuple[int, int | None]:
    return version_of(con, f"FROM {database}.{relation(name)}")


def _marker(build: Build) -> Path:
    return build.file.parent / MARKER
