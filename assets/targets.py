"""What a build is of, and what becomes of it: the file of a home, or that of a shard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warehouse.lake.delta import Lake
from warehouse.lake.tables import Table
from warehouse.publish.dbt_project import Build


@dataclass(frozen=True)
class Target:
    """`inputs`: as of `inputs_of`. `carried`: the published file to go on from. `publish`: puts the finished
    file in its place, and says where. `note_problem`: why it was not published, for who looks in the morning;
    empty: nothing is wrong. `note_unchanged`: what is published holds what the lake does.
    `nothing_published`: how a failure begins."""

    build: Build
    lake: Lake
    inputs: tuple[list[Table], dict[str, Any]]
    carried: Path | None
    publish: Callable[[Path], Mapping[str, Any]]
    note_problem: Callable[[str], None]
    note_unchanged: Callable[[], None]
    nothing_published: str
