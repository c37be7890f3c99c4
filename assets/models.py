"""The warehouse file: the lake's rows and the models in a private DuckDB file, checked, then published."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg

from assets import markdown
from assets.dagster_private import CHECKS_OF_OTHER_ASSETS
from assets.model_inputs import inputs_of
from assets.shards import SHARDS, of_shard
from assets.targets import Target
from campus.http.events import Event
from loading.attendance.weeks import AttendanceSettings
from loading.runtime import Runtime
from loading.tables import ENDPOINTS, TABLES
from warehouse.lake.delta import Lake
from warehouse.load.log_writer import standing_rows
from warehouse.publish.audiences import audiences_are_published, publish_audiences
from warehouse.publish.build import build_models, carried_by, models_version, of_another_version, project_of
from warehouse.publish.compiled_models import Check, Model, read_project
from warehouse.publish.dbt_project import Build, alone, compiled
from warehouse.publish.fill import (
    OF_EVERY_SYNC,
    build_frozen,
    build_raw,
    contents_of,
    days_have_moved,
    days_of,
    differences,
)
from warehouse.publish.frozen import MixedSemesters
from warehouse.publish.model_runner import Built, Checked, check
from warehouse.publish.publish import FILE, kept_open, prove, publish
from warehouse.publish.thresholds import ThresholdsWrong
from warehouse.published.audiences import Audience
from warehouse.published.problem import note_audiences, note_problem
from warehouse.published.reading import opened
from warehouse.published.shards import Published, Shards

PUBLISHED = dg.AssetKey(["campus_duckdb"])
NOTHING_PUBLISHED = "nothing was published, and campus.duckdb is the last good one"
MIXED = "rows of closed semesters and of others go together, so that all of these schools' stay in one file"
NOTHING_CHANGED = "Nothing has changed since the last publication: campus.duckdb stays as it is."


def model_assets(build: Build, shards: Shards | None = None) -> dg.AssetsDefinition:
    """The models and the published file as assets, the models' checks as asset checks.

    All are one step: what is published is one file, built as a whole. `shards`: where there is such a file of
    each shard, which is a partition then."""
    project = read_project(compiled())
    models = [_model_spec(model) for model in project.models]
    published = dg.AssetSpec(
        PUBLISHED,
        deps=[spec.key for spec in models],
        group_name="published",
        description="campus.duckdb, which analysts open. Replaced as a whole once every check has passed.",
        kinds={"duckdb"},
        skippable=True,
    )

    @dg.multi_asset(
        name="models",
        specs=[*models, published],
        check_specs=[_check_spec(check) for check in project.checks],
        can_subset=True,
        required_resource_keys={"campus"},
        pool="duckdb_build",
        partitions_def=SHARDS if shards else None,
        **CHECKS_OF_OTHER_ASSETS,
    )
    def warehouse(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.AssetCheckResult]:
        if not context.selected_asset_keys:
            yield from _check_published(context, project.checks, shards or build.home / FILE)
            return
        if context.selected_asset_keys != warehouse.keys:
            raise dg.Failure(
                "The models are built and published together: materialize all of them.", allow_retries=False
            )
        runtime: Runtime = context.resources.campus
        mine = replace(build, shard=context.partition_key) if shards else build
        with alone(mine):
            version = models_version(runtime.home)
            if shards:
                yield from _publish_shard(context, runtime, mine, shards, version)
            else:
                yield from _build_and_publish(context, _of_home(runtime, mine, version))

    return warehouse


def quality_sources() -> list[dg.AssetSpec]:
    """What the warehouse itself writes about its loads, and models read."""
    return [
        dg.AssetSpec(
            _key(name),
            group_name="quality",
            description=f"{description}. Loads and builds write it; it is no asset to materialize.",
            kinds={"deltalake"},
        )
        for name, description in read_project(compiled()).sources.items()
        if name.startswith("quality.")
    ]


def is_published(
    lake: Lake, settings: AttendanceSettings, home: Path, audiences: Sequence[Audience] = ()
) -> bool:
    """Whether the published file of a home holds what the lake does, as these models make it, and as of the
    same day, and the file of each audience is made of it: a build would publish nothing."""
    with kept_open(home / FILE):
        carried = carried_by(home / FILE, models_version(home))
        if carried is None or not audiences_are_published(home / FILE, home, audiences):
            return False
        tables, more = inputs_of(lake, settings, home)
        changed = differences(lake, tables, contents_of(carried), home / "build" / "spill", **more)
        return changed <= OF_EVERY_SYNC and not days_have_moved(lake, days_of(carried))


def note_unchanged(home: Path, standings: Iterable[Mapping[str, Any]]) -> None:
    """Write down that the published file was found to hold what the lake does: nothing is wrong with the last
    build, and the data are as old as these standings, of just before, say."""
    note_problem(home, "")
    prove(home, standings)


def _check_published(
    context: dg.AssetExecutionContext, checks: Sequence[Check], published: Published
) -> Iterator[dg.AssetCheckResult]:
    """Run the checks that a person has chosen by themselves, on what is published. Raises dg.Failure."""
    if not published.exists():
        raise dg.Failure(f"{published} is not there yet: publish it first", allow_retries=False)
    if problem := of_another_version(published):
        raise dg.Failure(problem, allow_retries=False)
    with opened(published) as con:
        for one in checks:
            if dg.AssetCheckKey(_key(one.of), one.name) in context.selected_asset_check_keys:
                yield from _tell_checked(context, check(con, replace(one, keeps=None)))


def _of_home(runtime: Runtime, build: Build, version: str) -> Target:
    """The one file of all schools."""

    def published(file: Path) -> Mapping[str, Any]:
        generation = publish(file, runtime.home, runtime.keep_generations, models_version=version)
        return {
            "file": dg.MetadataValue.path(str(runtime.home / FILE)),
            "generation": generation.name,
            "bytes": generation.path.stat().st_size,
        }

    def audiences() -> list[tuple[str, bool]]:
        made = publish_audiences(
            runtime.home / FILE, runtime.home, runtime.audiences, build, runtime.keep_generations
        )
        wrong = [(end.problem, end.failed) for end in made if end.problem is not None]
        note_audiences(runtime.home, "; ".join(problem for problem, _ in wrong))
        return wrong

    standings = standing_rows(runtime.lake)
    return Target(
        build=build,
        lake=runtime.lake,
        inputs=inputs_of(runtime.lake, runtime.attendance, runtime.home),
        carried=carried_by(runtime.home / FILE, version),
        publish=published,
        note_problem=partial(note_problem, runtime.home),
        note_unchanged=lambda: note_unchanged(runtime.home, standings),
        nothing_published=NOTHING_PUBLISHED,
        publish_audiences=audiences,
        listener=runtime.listener,
    )


def _publish_shard(
    context: dg.AssetExecutionContext, runtime: Runtime, build: Build, shards: Shards, version: str
) -> Iterator[dg.AssetCheckResult]:
    mixed = frozenset[int]()
    while True:
        try:
            yield from _build_and_publish(context, of_shard(runtime, build, shards, version, mixed))
        except MixedSemesters as error:
            context.log.warning(f"{error}: {MIXED}")
            mixed |= error.schools
        else:
            return


def _build_and_publish(context: dg.AssetExecutionContext, target: Target) -> Iterator[dg.AssetCheckResult]:
    """Make a file and put it in its place. Raises MixedSemesters before anything is told, dg.Failure."""
    build, (tables, more) = target.build, target.inputs
    try:
        project = project_of(build)
    except ThresholdsWrong as error:
        target.note_problem(str(error))
        raise dg.Failure(f"{target.nothing_published}: {error}", allow_retries=False) from error
    changed = build_raw(target.lake, tables, build.file, carried=target.carried, **more)
    closed = target.closed
    if closed is not None:
        changed |= build_frozen(closed.lake, tables, closed.semesters, closed.build)
    made = build_models(
        build, project, changed, TABLES.values(), ENDPOINTS, frozen=closed.build if closed else None
    )
    rebuilt, problems = False, list[str]()
    # Whether the semesters can be told apart shows as the models are made: nothing is told before.
    total = len(project.models) + len(project.checks)
    for number, done in enumerate(list(made) if closed else made, 1):
        if target.listener:
            target.listener(Event("progress", resource="models and checks", done=number, total=total))
        if isinstance(done, Built):
            rebuilt = rebuilt or done.changed
            if done.problem is None:
                context.log_event(_materialized(done))
            else:
                problems.append(f"{done.model.name}: {done.problem}")
        else:
            yield from _tell_checked(context, done)
            if done.forbids:
                problems.append(f"{done.check.name}: {done.message}")
    target.note_problem("; ".join(problems))
    if problems:
        raise dg.Failure(f"{target.nothing_published}: {'; '.join(problems)}", allow_retries=False)
    if target.carried and not rebuilt and changed <= OF_EVERY_SYNC:
        build.file.unlink()
        target.note_unchanged()
        context.log.info(NOTHING_CHANGED)
        _publish_audiences(context, target)
        return
    partition = context.partition_key if context.has_partition_key else None
    context.log_event(
        dg.AssetMaterialization(PUBLISHED, partition=partition, metadata=target.publish(build.file))
    )
    _publish_audiences(context, target)


def _publish_audiences(context: dg.AssetExecutionContext, target: Target) -> None:
    """Publish the files of audiences. Raises dg.Failure where one is not: what is published stays so."""
    ends = target.publish_audiences()
    for problem, _ in ends:
        context.log.warning(problem)
    if failed := [problem for problem, is_failed in ends if is_failed]:
        raise dg.Failure(f"campus.duckdb is published, but {'; '.join(failed)}", allow_retries=False)


def _key(name: str) -> dg.AssetKey:
    """The asset of `schema.table`."""
    return dg.AssetKey(name.split("."))


def _model_spec(model: Model) -> dg.AssetSpec:
    """dbt's folders are Dagster's groups."""
    columns = [dg.TableColumn(column.name, column.type or "", column.comment) for column in model.columns]
    sql = {} if model.kind == "seed" else {"sql": markdown.value(f"```sql\n{model.source.strip()}\n```")}
    return dg.AssetSpec(
        _key(model.name),
        deps=[_key(name) for name in model.inputs],
        group_name=model.schema,
        description=model.comment,
        kinds={"dbt", "duckdb"},
        code_version=hashlib.sha256(model.source.encode()).hexdigest()[:16],
        metadata={
            "dagster/table_name": f"campus.{model.name}",
            **({"dagster/column_schema": dg.TableSchema(columns)} if columns else {}),
            **sql,
        },
        skippable=True,
    )


def _check_spec(check: Check) -> dg.AssetCheckSpec:
    others = [_key(name) for name in check.inputs if name != check.of]
    return dg.AssetCheckSpec(check.name, asset=_key(check.of), additional_deps=others, blocking=check.blocks)


def _materialized(built: Built) -> dg.AssetMaterialization:
    """What a run says of a model that it has made, as an event: an output of the step would have two events
    more, and Dagster would look up all that it reads, one by one, as it would for the published file."""
    rows = {} if built.rows is None else {"dagster/row_count": built.rows}
    return dg.AssetMaterialization(
        _key(built.model.name), metadata={"seconds": round(built.seconds, 3), **rows}
    )


def _tell_checked(context: dg.AssetExecutionContext, found: Checked) -> Iterator[dg.AssetCheckResult]:
    """Tell Dagster what a check found. A run that did not plan it, as the job `publish`, has it as an event:
    to plan each of them costs 20 ms, also for those that a night has no reason to run."""
    check = found.check
    of = dg.AssetCheckKey(_key(check.of), check.name)
    result = dg.AssetCheckResult(
        asset_key=of.asset_key,
        check_name=check.name,
        passed=found.status == "pass",
        severity=dg.AssetCheckSeverity.ERROR if found.forbids else dg.AssetCheckSeverity.WARN,
        # An error of DuckDB has values of the rows in it.
        description=found.message and markdown.text(found.message),
        metadata={} if found.failures is None else {"rows that break it": found.failures},
    )
    if of in context.selected_asset_check_keys:
        yield result
    else:
        context.log_event(
            dg.AssetCheckEvaluation(
                asset_key=of.asset_key,
                check_name=check.name,
                passed=result.passed,
                severity=result.severity,
                description=result.description,
                metadata=result.metadata,
                blocking=check.blocks,
            )
        )
