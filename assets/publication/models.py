"""The warehouse file as assets: rows of the lake and models in a private DuckDB file, checked, then
published."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import dagster as dg

from assets.publication.model_inputs import inputs_of
from assets.publication.shards import SHARDS, shard_target
from assets.publication.targets import Target
from assets.shared import markdown
from assets.shared.dagster_private import CHECKS_OF_OTHER_ASSETS, CHOSEN_ASSETS
from campus.http.events import Event
from loading.attendance.weeks import AttendanceSettings
from loading.connection.runtime import Runtime
from loading.tables import ENDPOINTS, TABLES
from warehouse.files import workspace
from warehouse.lake.delta import Lake
from warehouse.load.logs.writer import standing_rows
from warehouse.publish.audiences import audiences_are_published, publish_audiences
from warehouse.publish.build import build_models, carried_by, models_version, of_another_version, project_of
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
from warehouse.publish.models.compiled_models import Check, Model, Project, read_project
from warehouse.publish.models.dbt_project import Build, alone, compiled
from warehouse.publish.models.model_runner import Built, Checked, run_check
from warehouse.publish.models.thresholds import ThresholdsWrong
from warehouse.publish.publish import FILE, hold_open, prove, publish
from warehouse.publish.published_levels import log_levels, unlogged_levels
from warehouse.publish.whole_build import compare, is_whole_build_due, note_whole_build
from warehouse.published.audiences import Audience
from warehouse.published.problem import note_audiences, note_problem
from warehouse.published.reading import opened
from warehouse.published.shards import Published, Shards

PUBLISHED = dg.AssetKey(["campus_duckdb"])
#: The step that builds the models and publishes.
MODELS = "models"
NOTHING_PUBLISHED = "nothing was published, and campus.duckdb is the last good one"
FROM_NOTHING = "the weekly build from nothing"
LOADED_MEANWHILE = "A load has changed the lake meanwhile: the next build is compared with one from nothing."
MIXED = "rows of closed and open semesters depend on each other, so these schools stay in one file"
NOTHING_CHANGED = "Nothing has changed since the last publication: campus.duckdb stays as it is."

#: The metadata of an asset that a person materializes, and that is up to date.
UNCHANGED = {"unchanged": True}
#: What a step of models reports to Dagster.
Events = Iterator[dg.AssetCheckResult | dg.MaterializeResult[None]]


def model_assets(build: Build, shards: Shards | None = None) -> dg.AssetsDefinition:
    """The models and the published file as assets, and the checks of the models as asset checks. All are one
    step, which builds one file: a run of some models builds all. A backfill of all assets has several such
    runs, since it starts a model once the tables before the model are loaded.

    Args:
        shards: With shards, each shard has a file, and is a partition."""
    project = read_project(compiled())
    models = [_model_spec(model) for model in project.models]
    inputs = {name for model in project.models for name in model.inputs}
    published = dg.AssetSpec(
        PUBLISHED,
        # Dagster reads the last event of each dependency: the models that no other model reads are enough.
        deps=[_key(model.name) for model in project.models if model.name not in inputs],
        group_name="published",
        description="campus.duckdb, which analysts open. Replaced as a whole once every check has passed.",
        kinds={"duckdb"},
        skippable=True,
    )

    @dg.multi_asset(
        name=MODELS,
        specs=[*models, published],
        check_specs=[_check_spec(check) for check in project.checks],
        can_subset=True,
        required_resource_keys={"campus"},
        pool="duckdb_build",
        partitions_def=SHARDS if shards else None,
        **CHECKS_OF_OTHER_ASSETS,
    )
    def warehouse(context: dg.AssetExecutionContext) -> Events:
        if not context.selected_asset_keys:
            yield from _check_published(context, project.checks, shards or build.home / FILE)
            return
        runtime: Runtime = context.resources.campus
        mine = replace(build, shard=context.partition_key) if shards else build
        with alone(mine):
            version = models_version(runtime.home)
            if shards:
                yield from _publish_shard(context, runtime, mine, shards, version)
            else:
                yield from _build_and_publish(context, _home_target(runtime, mine, version))

    return warehouse


def quality_sources() -> list[dg.AssetSpec]:
    """The tables that loads and builds write, and that models read."""
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
    """Whether a build would publish nothing: the published file has the rows of the lake, by these models and
    of the same day, and the files of audiences are made of it."""
    with hold_open(home / FILE):
        previous = carried_by(home / FILE, models_version(home))
        if previous is None or not audiences_are_published(home / FILE, home, audiences):
            return False
        tables, options = inputs_of(lake, settings, home)
        changed = differences(lake, tables, contents_of(previous), home / "build" / "spill", **options)
        return changed <= OF_EVERY_SYNC and not days_have_moved(lake, days_of(previous))


def note_unchanged(home: Path, standings: Iterable[Mapping[str, Any]]) -> None:
    """Record that the published file is up to date with the lake, without problems, as of these standings."""
    note_problem(home, "")
    prove(home, standings)


def require_published(published: Published) -> None:
    """Raises dg.Failure without a published file of this version."""
    if not published.exists():
        raise dg.Failure(f"{published} does not exist yet: publish it first", allow_retries=False)
    if problem := of_another_version(published):
        raise dg.Failure(problem, allow_retries=False)


def _check_published(
    context: dg.AssetExecutionContext, checks: Sequence[Check], published: Published
) -> Iterator[dg.AssetCheckResult]:
    """Run the selected checks on the published file, without a build. Raises dg.Failure."""
    require_published(published)
    with opened(published) as con:
        for selected in checks:
            if dg.AssetCheckKey(_key(selected.of), selected.name) in context.selected_asset_check_keys:
                yield from _report_check(context, run_check(con, replace(selected, keeps=None)))


def _home_target(runtime: Runtime, build: Build, version: str) -> Target:
    """The target of a home: one file of all schools."""

    def published() -> Mapping[str, Any]:
        generation = publish(build.file, runtime.home, runtime.keep_generations, models_version=version)
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
        previous=carried_by(runtime.home / FILE, version),
        publish=published,
        note_problem=partial(note_problem, runtime.home),
        note_unchanged=lambda: note_unchanged(runtime.home, standings),
        nothing_published=NOTHING_PUBLISHED,
        publish_audiences=audiences,
        listener=runtime.listener,
    )


def _publish_shard(
    context: dg.AssetExecutionContext, runtime: Runtime, build: Build, shards: Shards, version: str
) -> Events:
    mixed = frozenset[int]()
    while True:
        try:
            yield from _build_and_publish(context, shard_target(runtime, build, shards, version, mixed))
        except MixedSemesters as error:
            context.log.warning(f"{error}: {MIXED}")
            mixed |= error.schools
        else:
            return


def _build_and_publish(context: dg.AssetExecutionContext, target: Target) -> Events:
    """Build a file and publish it. Raises dg.Failure, and MixedSemesters before any event is logged."""
    build, (tables, options) = target.build, target.inputs
    try:
        project = project_of(build)
    except ThresholdsWrong as error:
        target.note_problem(str(error))
        raise dg.Failure(f"{target.nothing_published}: {error}", allow_retries=False) from error
    changed = build_raw(target.lake, tables, build.file, previous=target.previous, **options)
    if target.previous:
        # The models are still those of the last publication, which a crash may have kept from its log.
        log_levels(context.resources.campus.lake, unlogged_levels(build.file))
    closed = target.closed
    if closed is not None:
        changed |= build_frozen(closed.lake, tables, closed.semesters, closed.build)
    made = build_models(
        build,
        project,
        changed,
        TABLES.values(),
        ENDPOINTS,
        previous=target.previous,
        frozen=closed.build if closed else None,
    )
    partition = context.partition_key if context.has_partition_key else None
    rebuilt, problems, reported = False, list[str](), set[dg.AssetKey]()
    # With closed semesters, the models are built before events: only then it shows whether semesters
    # separate.
    total = len(project.models) + len(project.checks)
    for number, done in enumerate(list(made) if closed else made, 1):
        if target.listener:
            target.listener(Event("progress", resource="models and checks", done=number, total=total))
        if problem := _problem(done):
            problems.append(problem)
        if isinstance(done, Checked):
            yield from _report_check(context, done)
        else:
            rebuilt = rebuilt or done.changed
            if done.problem is None:
                context.log_event(_materialized(done, partition))
                reported.add(_key(done.model.name))
    if problems:
        _refuse(target, problems)
    target.note_problem("")
    if target.previous and not rebuilt and changed <= OF_EVERY_SYNC:
        build.file.unlink()
        target.note_unchanged()
        context.log.info(NOTHING_CHANGED)
        yield from _report_unchanged(context, reported, partition)
        _publish_audiences(context, target)
        return
    # With closed semesters, each of the two files is a part. With times alone, models keep those of before.
    if closed is None and not changed <= OF_EVERY_SYNC:
        _compare_with_whole_build(context, target, project)
    levels = unlogged_levels(build.file)
    metadata = target.publish()
    if PUBLISHED in context.selected_asset_keys:
        yield dg.MaterializeResult(PUBLISHED, metadata=metadata)
    else:
        context.log_event(dg.AssetMaterialization(PUBLISHED, partition=partition, metadata=metadata))
    yield from _report_unchanged(context, {*reported, PUBLISHED}, partition)
    log_levels(context.resources.campus.lake, levels)
    _publish_audiences(context, target)


def _compare_with_whole_build(context: dg.AssetExecutionContext, target: Target, project: Project) -> None:
    """Once a week, put a file that was built from nothing in the place of the build's file, and warn where
    the two differ. Raises dg.Failure where the models cannot be built from nothing."""
    build, (tables, options) = target.build, target.inputs
    if target.previous is not None:
        if not is_whole_build_due(build):
            return
        with workspace(build.file.parent) as scratch:
            whole = replace(build, home=scratch)
            changed = build_raw(target.lake, tables, whole.file, **options)
            if contents_of(whole.file) != contents_of(build.file):
                context.log.info(LOADED_MEANWHILE)
                return
            steps = list(build_models(whole, project, changed, TABLES.values(), ENDPOINTS))
            if problems := [f"{FROM_NOTHING}: {problem}" for step in steps if (problem := _problem(step))]:
                _refuse(target, problems)
            models = [model.name for model in project.models if model.kind == "table"]
            if message := compare(build, whole.file, models):
                context.log.warning(message)
            whole.file.replace(build.file)
    note_whole_build(build)


def _problem(step: Built | Checked) -> str | None:
    """Why a file must not be published; None: nothing is wrong."""
    if isinstance(step, Built):
        return None if step.problem is None else f"{step.model.name}: {step.problem}"
    return f"{step.check.name}: {step.message}" if step.forbids else None


def _refuse(target: Target, problems: Sequence[str]) -> NoReturn:
    target.note_problem("; ".join(problems))
    raise dg.Failure(f"{target.nothing_published}: {'; '.join(problems)}", allow_retries=False)


def _report_unchanged(
    context: dg.AssetExecutionContext, reported: Collection[dg.AssetKey], partition: str | None
) -> Events:
    """Report the assets that a person chose and that are up to date as they are. Dagster would take them for
    failed, and skip what depends on them."""
    if context.job_name != CHOSEN_ASSETS:
        return
    for key in sorted(context.selected_asset_keys.difference(reported)):
        if key == PUBLISHED:
            # Exports of the same run need an output.
            yield dg.MaterializeResult(key, metadata=UNCHANGED)
        else:
            context.log_event(dg.AssetMaterialization(key, partition=partition, metadata=UNCHANGED))


def _publish_audiences(context: dg.AssetExecutionContext, target: Target) -> None:
    """Publish the files of audiences. Raises dg.Failure where one fails; published files stay."""
    ends = target.publish_audiences()
    for problem, _ in ends:
        context.log.warning(problem)
    if failed := [problem for problem, is_failed in ends if is_failed]:
        raise dg.Failure(f"campus.duckdb is published, but {'; '.join(failed)}", allow_retries=False)


def _key(name: str) -> dg.AssetKey:
    """The asset of `schema.table`."""
    return dg.AssetKey(name.split("."))


def _model_spec(model: Model) -> dg.AssetSpec:
    """The asset of a model, in the group of its folder."""
    columns = [dg.TableColumn(column.name, column.type or "", column.comment) for column in model.columns]
    sql = {} if model.kind == "seed" else {"sql": markdown.value(f"```sql\n{model.source.strip()}\n```")}
    return dg.AssetSpec(
        _key(model.name),
        deps=[_key(name) for name in model.inputs],
        group_name=model.schema,
        description=model.comment,
        kinds={"sql", "duckdb"},
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


def _materialized(built: Built, partition: str | None) -> dg.AssetMaterialization:
    """The materialization of a model, as an event. An output of the step would cost two more events, and a
    lookup of each input."""
    rows = {} if built.rows is None else {"dagster/row_count": built.rows}
    return dg.AssetMaterialization(
        _key(built.model.name),
        partition=partition,
        metadata={"seconds": round(built.seconds, 3), **rows},
    )


def _report_check(context: dg.AssetExecutionContext, checked: Checked) -> Iterator[dg.AssetCheckResult]:
    """Report the result of a check to Dagster. A run that did not plan the check, such as the job `publish`,
    logs it as an event. Planning costs 20 ms a check, even if the night does not run it."""
    check = checked.check
    of = dg.AssetCheckKey(_key(check.of), check.name)
    result = dg.AssetCheckResult(
        asset_key=of.asset_key,
        check_name=check.name,
        passed=checked.status == "pass",
        severity=dg.AssetCheckSeverity.ERROR if checked.forbids else dg.AssetCheckSeverity.WARN,
        # An error of DuckDB contains values of rows.
        description=checked.message and markdown.text(checked.message),
        metadata={} if checked.failures is None else {"rows that break it": checked.failures},
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
