"""Build the private file once `raw` is filled: models, checks, their results and the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import duckdb

from warehouse.identifiers import literal
from warehouse.lake.sql import connect, version_of
from warehouse.lake.tables import Table
from warehouse.publish.dictionary import CATALOG, record_dictionary
from warehouse.publish.fill import OF_EVERY_SYNC, REWRITTEN
from warehouse.publish.frozen import FrozenBuild
from warehouse.publish.lineage import record_lineage
from warehouse.publish.metrics import record_metrics
from warehouse.publish.models.compiled_models import Project, read_project
from warehouse.publish.models.dbt_project import DATABASE, PROJECT, Build, compiled, fingerprint
from warehouse.publish.models.model_runner import Built, Checked, run
from warehouse.publish.models.thresholds import read_own, version, with_own
from warehouse.publish.publish import ANEW, made_by, record_checks
from warehouse.publish.relations import record_relations
from warehouse.published.shards import Published, read_manifest

#: What the tables of the platform look like, and what they are called.
CONTRACTS = [PROJECT.parents[1] / "campus" / folder for folder in ("contracts", "registry")]

#: Of DuckDB, for the file that a build is compared with.
MEMORY_MB_TO_COMPARE = 256


def project_of(build: Build) -> Project:
    """The compiled models and checks, with the thresholds of the home.

    Raises ModelsBroken, ThresholdsWrong."""
    project = read_project(compiled())
    return with_own(project, read_own(build.home, project), build.file.parent / "seeds")


def build_models(
    build: Build,
    project: Project,
    changed: Iterable[str],
    tables: Iterable[Table],
    endpoints: Mapping[str, str],
    previous: Path | None = None,
    frozen: FrozenBuild | None = None,
) -> Iterator[Built | Checked]:
    """Run the models and checks on the file of `build`, and record what the file says of itself.

    Yields each model and check when it is done. `changed`: as `fill.build_raw` returns it. `tables` and
    `endpoints` are for the dictionary. `previous`: the published file that the build started from. `frozen`:
    the file of its closed semesters.

    Raises ModelsBroken, MixedSemesters."""
    spill = build.file.parent / "spill"
    with (
        closing(connect(build.file, scratch=spill)) as con,
        nullcontext() if previous is None else opened_as_built(previous, spill) as before,
    ):
        con.execute(f"SET threads = {build.threads}")
        con.execute(f"SET memory_limit = '{build.memory_limit}'")
        # Tables have no order, and preserving it would cost memory at tens of millions of rows.
        con.execute("SET preserve_insertion_order = false")
        done = []
        for outcome in run(con, project, _stale({*changed}), previous=before, frozen=frozen):
            done.append(outcome)
            yield outcome
        if frozen is not None:
            frozen.detach(con)
        record_checks(con, filter(None, map(_result, done)))
        record_relations(con, compiled())
        if before is None or version_of(con, CATALOG) != version_of(before, CATALOG):
            record_lineage(con, tables, endpoints)
            record_metrics(con)
            record_dictionary(con, compiled(), tables, endpoints)


def _stale(changed: set[str]) -> set[str]:
    """The tables of the lake that models have to look at. New times of a log alone are no reason to publish,
    but a new file has them."""
    return changed if changed <= OF_EVERY_SYNC else changed | {f"quality.{log.name}" for log in REWRITTEN}


def models_version(home: Path) -> str:
    """A version of everything that turns a home's lake into a published file: the models, the code around
    them, and the home's own thresholds."""
    return "-".join(filter(None, (models_digest(), version(home))))


def models_digest() -> str:
    """A digest of the models, the code around them and the contracts of their tables: two checkouts of a
    release may differ."""
    return fingerprint(PROJECT.parent, *CONTRACTS)


def carried_by(published: Path, version: str) -> Path | None:
    """The published file that an incremental build starts from; None: the build starts from nothing.

    None if other code made the file, if a person was erased since, or if more than half of it is unused."""
    if published.with_name(ANEW).exists():
        return None
    return published if made_by(published) == version and not is_loose(published) else None


def of_another_version(published: Published) -> str | None:
    """Why nothing may be exported from a published file: models of another version, with other tables or
    meanings, made it. None: these models made it, with any thresholds."""
    makers, models = {version.partition("-")[0] for version in versions_of(published)}, models_digest()
    if makers == {models}:
        return None
    named = ", ".join(sorted(maker or "unknown" for maker in makers))
    return (
        f"{published} was published by another version (models {named}; this is {models}): run "
        "`campus build` first"
    )


def versions_of(published: Published) -> set[str]:
    """The models_version of each published file; "": unknown."""
    if isinstance(published, Path):
        return {made_by(published) or ""}
    return {shard.published.models for shard in read_manifest(published).shards if shard.published}


def is_loose(file: Path) -> bool:
    """Whether more than half of a file is free blocks, which replaced tables have left."""
    with closing(duckdb.connect(str(file), read_only=True)) as con:
        [(used, free)] = con.execute("SELECT used_blocks, free_blocks FROM pragma_database_size()").fetchall()
    return bool(free > used)


@contextmanager
def opened_as_built(file: Path, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a published file by the name that its views have for it, whatever the file is called."""
    with closing(connect(scratch=scratch, memory_mb=MEMORY_MB_TO_COMPARE)) as con:
        con.execute(f"ATTACH {literal(str(file))} AS {DATABASE} (READ_ONLY)")
        con.execute(f"USE {DATABASE}")
        yield con


def _result(done: Built | Checked) -> dict[str, Any] | None:
    """The row of quality.check_results for a check, or for a model that could not be made."""
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
