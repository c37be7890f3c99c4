"""The warehouse file: the lake's rows and dbt's models in a private DuckDB file, checked, then published."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, dbt_assets

from assets.dbt_private import Dbt
from loading.custom_fields import users_table
from loading.datasets.tables import planned_tables
from loading.reports.tables import result_tables
from loading.runtime import Runtime
from loading.semesters import calendar_rows
from loading.tables import ENDPOINTS, TABLES
from warehouse.publish.dbt_runner import EXECUTABLE, PROJECT, Build, alone, fingerprint
from warehouse.publish.dictionary import record_dictionary
from warehouse.publish.publish import build_raw, publish, record_checks

PUBLISHED = dg.AssetKey(["campus_duckdb"])
# Unit tests prove the models on made-up rows; a night's build checks the night's rows.
BUILD = ["build", "--exclude-resource-type", "unit_test"]
NOTHING_PUBLISHED = "nothing was published, and campus.duckdb is the last good one"


class Translator(DagsterDbtTranslator):
    """dbt's folders are Dagster's groups."""

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str | None:
        """staging, core, marts or seeds."""
        return str(dbt_resource_props["schema"])


def model_assets(manifest: Path, build: Build) -> list[dg.AssetsDefinition]:
    """The models as assets, their tests as asset checks, and the published file after all of them."""

    @dbt_assets(
        manifest=manifest,
        dagster_dbt_translator=Translator(DagsterDbtTranslatorSettings(enable_source_tests_as_checks=True)),
        required_resource_keys={"campus"},
        pool="duckdb_build",
    )
    def models(context: dg.AssetExecutionContext) -> Iterator[Any]:
        if context.selected_asset_keys != models.keys:
            raise dg.Failure("The models are built together: materialize all of them.", allow_retries=False)
        runtime: Runtime = context.resources.campus
        with alone(build):
            users = users_table(runtime.lake)
            tables = TABLES | {users.name: users}
            defined = [*planned_tables(runtime.lake), *result_tables(runtime.lake)]
            settings = runtime.attendance
            calendars = calendar_rows(runtime.lake, settings.semester_pairs, settings.weeks_begin)
            build_raw(runtime.lake, list(tables.values()), build.file, defined=defined, calendars=calendars)
            yield from _run_dbt(context, build)
            # What waits here has passed its checks, and no other run's build can take its place.
            build.file.rename(build.checked(context.run.run_id))

    @dg.asset(
        key=PUBLISHED,
        deps=list(models.keys),
        group_name="published",
        description="campus.duckdb, which analysts open. Replaced as a whole once every check has passed.",
        kinds={"duckdb"},
        required_resource_keys={"campus"},
        pool="duckdb_build",
    )
    def campus_duckdb(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        runtime: Runtime = context.resources.campus
        checked = build.checked(context.run.run_id)
        if not checked.exists():
            raise dg.Failure(
                "This run built no models: materialize campus_duckdb together with all of them.",
                allow_retries=False,
            )
        generation = publish(checked, runtime.home, runtime.keep_generations, models_version=fingerprint())
        return dg.MaterializeResult(
            metadata={
                "file": dg.MetadataValue.path(str(runtime.home / "campus.duckdb")),
                "generation": generation.name,
                "bytes": generation.path.stat().st_size,
            }
        )

    return [models, campus_duckdb]


def _run_dbt(context: dg.AssetExecutionContext, build: Build) -> Iterator[Any]:
    """Run dbt on the build file and record what its checks found; fail where one stands in the way."""
    results_file = build.target / "run_results.json"
    results_file.unlink(missing_ok=True)
    os.environ.update(build.environment)
    dbt = Dbt(
        project_dir=os.fspath(PROJECT), profiles_dir=os.fspath(PROJECT), dbt_executable=os.fspath(EXECUTABLE)
    )
    invocation = dbt.cli(BUILD, context=context, target_path=build.target, raise_on_error=False)
    yield from invocation.stream()
    if not results_file.exists():
        raise dg.Failure(
            f"{NOTHING_PUBLISHED}: dbt did not run; see {build.target}/dbt.log", allow_retries=False
        )
    results = _results(build.target)
    record_checks(build.file, results)
    record_dictionary(build.file, build.target / "manifest.json", TABLES.values(), ENDPOINTS)
    broken = [result for result in results if result["status"] in ("fail", "error")]
    if broken or not invocation.is_successful():
        raise dg.Failure(_why(broken), allow_retries=False)


def _results(target: Path) -> list[dict[str, Any]]:
    """What the checks of the last build found, and any model that could not be built, as
    warehouse.publish.publish.CHECK_RESULTS has it."""
    nodes = json.loads((target / "manifest.json").read_text(encoding="utf-8"))["nodes"]
    results = json.loads((target / "run_results.json").read_text(encoding="utf-8"))["results"]
    return [
        {
            "name": nodes[result["unique_id"]]["name"],
            "model": _checked_model(nodes[result["unique_id"]]),
            "status": result["status"],
            "failures": result["failures"],
            "message": result["message"],
        }
        for result in results
        if result["unique_id"].startswith("test.") or result["status"] == "error"
    ]


def _checked_model(node: Mapping[str, Any]) -> str:
    checked = node.get("attached_node") or next(iter(node["depends_on"]["nodes"]), node["unique_id"])
    return str(checked).rsplit(".", maxsplit=1)[-1]


def _why(broken: list[dict[str, Any]]) -> str:
    """What stands in the way of publication, each check in a few words."""
    reasons = [f"{result['name']}: {result['message']}" for result in broken] or ["dbt ended with an error"]
    return f"{NOTHING_PUBLISHED}: {'; '.join(reasons)}"
