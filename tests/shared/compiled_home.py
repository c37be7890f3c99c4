"""Homes in which dbt has compiled its project already, as in any home after the first command."""

import shutil
from collections.abc import Callable
from pathlib import Path

from warehouse.publish.dbt_project import Build

NewHome = Callable[[], Path]


def give_compiled(home: Path, compiled: Build) -> None:
    """Give a home what dbt has compiled in another one, of the present state of the project alone: others may
    be made or deleted meanwhile."""
    given = home / "dbt" / compiled.target.name
    shutil.copytree(compiled.target, given)
    # The cache may be of a time when files were open to others.
    for path in (given, *given.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o027)
