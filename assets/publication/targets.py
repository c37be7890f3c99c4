"""Targets of builds: the file of a home, or the file of a shard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campus.http.events import Listener
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Table
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.models.dbt_project import Build


@dataclass(frozen=True)
class Closed:
    """The closed semesters of a shard, which have a file of their own."""

    #: The lake, limited to the closed semesters in tables that are divided.
    lake: Lake
    #: School and id of each semester, as in the models.
    semesters: frozenset[tuple[int, int]]
    #: The file of these semesters.
    build: FrozenBuild


@dataclass(frozen=True)
class Target:
    """A file to build and publish."""

    build: Build
    lake: Lake
    #: As of `inputs_of`.
    inputs: tuple[list[Table], dict[str, Any]]
    #: The published file that the build continues from.
    previous: Path | None
    #: Moves the finished file to its place, and returns its metadata.
    publish: Callable[[], Mapping[str, Any]]
    #: Records why the file was not published. Empty: no problem.
    note_problem: Callable[[str], None]
    #: Records that the published file is up to date with the lake.
    note_unchanged: Callable[[], None]
    #: The beginning of the message of a failure.
    nothing_published: str
    #: Publishes the files of audiences. Returns each problem, and whether it is a failure.
    publish_audiences: Callable[[], list[tuple[str, bool]]] = list
    #: Receives the progress of models and checks.
    listener: Listener | None = None
    closed: Closed | None = None
