"""One build of the private file once `raw` is filled: the models and checks, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from warehouse.lake.sql import connect
from warehouse.lake.tables import Table
from warehouse.publish.compiled_models import Project, read_project
from warehouse.publish.dbt_project import PROJECT, Build, compiled, fingerprint
from warehouse.publish.dictionary import record_dictionary
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.model_runner import Built, Checked, run
from warehouse.publish.publish import ANEW, made_by, record_checks
from warehouse.publish.thresholds import read_own, version, with_own
from warehouse.published.shards import Published, manifest


def project_of(build: Build) -> Project:
    """The models and checks as they are compiled, with the thresholds of the home.

    Raises ModelsBroken, ThresholdsWrong."""
    project = read_project(compiled())
    return with_own(project, read_own(build.home, project), build.file.parent / "seeds")


def build_models(
    build: Build,
    project: Project,
    changed: Iterable[str],
    tables: Iterable[Table],
    endpoints: Mapping[str, str],
    frozen: FrozenBuild | None = None,
) -> Iterator[Built | Checked]:
    """Run the models and checks on the file of `build`, and write down in it what was found; yields each as
    it is done. `changed`: as `fill.build_raw` returns it. `tables` and `endpoints` are for the dictionary.
    `frozen`: the file of its closed semesters.

    Raises ModelsBroken, MixedSemesters."""
    con = connect(build.file, scratch=build.file.parent / "spill")
    with closing(con):
        con.execute(f"SET threads = {build.threads}")
        con.execute(f"SET memory_limit = '{build.memory_limit}'")
        # Order costs memory at tens of millions of rows, and tables have none.
        con.execute("SET preserve_insertion_order = false")
        done = []
        for each in run(con, project, changed, frozen=frozen):
            done.append(each)
            yield each
        if frozen is not None:
            frozen.detach(con)
        record_checks(con, filter(None, map(_result, done)))
        record_dictionary(con, compiled(), tables, endpoints)


def models_version(home: Path) -> str:
    """A name for all that makes a published file out of a home's lake: the models, the code around them, and
    the home's own thresholds."""
    return "-".join(filter(None, (fingerprint(PROJECT.parent), version(home))))


def carried_by(published: Path, version: str) -> Path | None:
    """The published file to go on from; None: a build begins with nothing. That is so where other code made
    the file, where somebody was forgotten since, and where more than half of it is room that tables which
    were replaced have left."""
    if published.with_name(ANEW).exists():
        return None
    return published if made_by(published) == version and not is_loose(published) else None


def of_another_version(published: Published) -> str | None:
    """Why nothing is to be made of what is published: the models of this version have other tables, or mean
    something else by them. None: it is of these models, whatever the thresholds."""
    if {version.partition("-")[0] for version in versions_of(published)} == {fingerprint(PROJECT.parent)}:
        return None
    return f"{published} was published by another version: run `campus build` first"


def versions_of(published: Published) -> set[str]:
    """The models_version of each published file; "": it is not known."""
    if isinstance(published, Path):
        return {made_by(published) or ""}
    return {shard.published.models for shard in manifest(published).shards if shard.published}


def is_loose(file: Path) -> bool:
    """Whether more than half of a file is room that tables which were replaced have left."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        [(used, free)] = con.execute("SELECT used_blocks, free_blocks FROM pragma_database_size()").fetchall()
    return bool(free > used)


def _result(done: Built | Checked) -> dict[str, Any] | None:
    """The row of quality.check_results: what a check found, or that a model could not be made."""
    if isinstance(done, Checked):
        return {
            "name": done.check.name,
            "model": done.check.of.partition(".")[2],
            "status": done.status,
            "failures": done.failures,
            "message": done.message,
        }
    if done.problem is None:
        return None
    name = done.model.name.partition(".")[2]
    return {"name": name, "model": name, "status": "error", "message": done.problem}
