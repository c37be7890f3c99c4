"""What a build is of, and what becomes of it: the file of a home, or that of a shard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campus.http.events import Listener
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Table
from warehouse.publish.dbt_project import Build
from warehouse.publish.frozen import FrozenBuild


@dataclass(frozen=True)
class Closed:
    """The closed semesters of a shard, which `semesters` are as the models have them: school and id. `lake`
    has nothing else of the tables that are divided; `build`: the file that they are in."""

    lake: Lake
    semesters: frozenset[tuple[int, int]]
    build: FrozenBuild


@dataclass(frozen=True)
class Target:
    """`inputs`: as of `inputs_of`. `carried`: the published file to go on from. `publish`: puts the finished
    file in its place, and says where. `note_problem`: why it was not published, for who looks in the morning;
    empty: nothing is wrong. `note_unchanged`: what is published holds what the lake does.
    `nothing_published`: how a failure begins. `closed`: of semesters that have a file of their own.
    `publish_audiences`: publishes the files of audiences; returns each problem, and if it failed. `listener`:
    is told how far the models are."""

    build: Build
    lake: Lake
    inputs: tuple[list[Table], dict[str, Any]]
    carried: Path | None
    publish: Callable[[Path], Mapping[str, Any]]
    note_problem: Callable[[str], None]
    note_unchanged: Callable[[], None]
    nothing_published: str
    publish_audiences: Callable[[], list[tuple[str, bool]]] = list
    listener: Listener | None = None
    closed: Closed | None = None
