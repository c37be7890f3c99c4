"""The datasets of a world: synced alone, and compared as an analyst sees them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from assets.loads import DATASET_RECORDS, DATASETS
from assets.shared.load_kind import asset_key
from assets.shared.partitions import DATASET_SEGMENTS
from campus.decoding.inferred_contract import columns_of
from loading.connection.runtime import SYNC_ID_TAG
from loading.datasets.tables import definitions_of, planned_tables
from pipelines.definitions import load_definitions
from pipelines.nights.sync import JobEnd
from pipelines.resources import open_runtime
from pipelines.runs.partition_selection import RANGE_END, RANGE_START
from pipelines.settings.options import DatasetOptions
from tests.kits.truth.dataset_truth import in_order, spelt, true_rows
from tests.kits.worlds.world import Load, World
from warehouse.lake.sql import connect
from warehouse.lake.tables import dataset_table
from warehouse.load.logs.dataset_plans import Plan, read_plans
from warehouse.publish.defined_tables import Shown, by_name, fill, show

SCHOOL = 101
# Nothing else is asked for, so that a sync takes a second or two.
ONLY_DATASETS = 'key:"datasets/records"'
OURS = ("_school_id", "_synced_at", "_deleted_at", "_extra")


def sync(world: World, *, full: bool = False, accept_vanished: bool = False, **options: Any) -> Load:
    """Discover and load all datasets; `options`: keys of the section `datasets` of campus.yaml."""
    chosen = world.settings.options.model_copy(update={"datasets": DatasetOptions(**options)})
    return world.load(select=ONLY_DATASETS, full=full, accept_vanished=accept_vanished, options=chosen)


def segments(load: Load, table: str) -> dict[int, dict[str, Any]]:
    """The load log's rows of a dataset in a load, by segment."""
    mine = [row for row in load.log if row["resource"] == f"datasets.{table}"]
    return {int(row["slice"].split(":")[1]): row for row in mine}


def partitions(world: World) -> list[str]:
    """The keys of all segments that Dagster knows."""
    return list(world.instance.get_dynamic_partitions(DATASET_SEGMENTS.name or ""))


def backfill(world: World, *keys: str) -> Load:
    """Load segments that stand side by side, as Dagster's backfills do."""
    sync_id = f"backfill-{next(world.numbers)}"
    tags = {SYNC_ID_TAG: sync_id, RANGE_START: keys[0], RANGE_END: keys[-1]}
    with open_runtime(world.settings) as runtime:
        job = load_definitions(world.settings, runtime).resolve_job_def(DATASETS)
        run = job.execute_in_process(instance=world.instance, tags=tags, raise_on_error=False)
    end = JobEnd(DATASETS, run.run_id, None if run.success else "failed")
    return Load(sync_id, [end], [row for row in world.log("load_log") if row["sync_id"] == sync_id])


def shown(world: World, partition: str) -> dict[str, Any]:
    """What Dagster shows of a segment's last load."""
    records = world.instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=DATASET_RECORDS, asset_partitions=[partition]), limit=1
    ).records
    metadata = records[0].asset_materialization
    assert metadata is not None
    return {name: value.value for name, value in metadata.metadata.items()}


def discovered(world: World) -> dict[str, Any]:
    """What the asset of the metadata shows of its last materialization."""
    event = world.instance.get_latest_materialization_event(asset_key("datasets"))
    assert event is not None and event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def asked(world: World, name: str) -> list[dict[str, Any]]:
    """The requests for records of a dataset since the log was cleared."""
    return [
        entry for entry in world.platform.log() if entry["path"].endswith(f"/uds/datasets/{name}/records")
    ]


@contextmanager
def damaged(world: World, table: str) -> Iterator[None]:
    """The lake's table of a dataset cannot be opened while the block lasts."""
    stored_table = dataset_table(table, (), (), "")
    commit = (
        Path(world.lake.uri(stored_table)) / "_delta_log" / f"{world.lake.version(stored_table) + 1:020}.json"
    )
    commit.write_text("no commit")
    try:
        yield
    finally:
        commit.unlink()


class Published:
    """The schema `datasets` as it would be published now, in memory, and nothing else of the file. A table is
    filled when it is first looked at."""

    def __init__(self, world: World) -> None:
        self._lake, self._unfilled = world.lake, dict[str, Shown]()
        for definitions in by_name(planned_tables(self._lake)):
            shown = show(self._lake, definitions)
            self._unfilled[shown.table.name] = shown
        self._con = connect(scratch=world.home / "spill")
        self._con.execute("CREATE SCHEMA datasets")

    def query(self, text: str) -> pa.Table:
        """What a query gives."""
        for name in list(self._unfilled):
            self._fill(name)
        return self._con.sql(text).to_arrow_table()

    def rows(self, table: str, *, alive: bool = True) -> list[dict[str, Any]]:
        """The rows of a table of the schema."""
        self._fill(f"datasets.{table}")
        condition = "WHERE _deleted_at IS NULL" if alive else ""
        return list(self._con.sql(f'FROM datasets."{table}" {condition}').to_arrow_table().to_pylist())

    def _fill(self, name: str) -> None:
        if shown := self._unfilled.pop(name, None):
            fill(self._lake, shown, self._con)

    def comments(self, table: str) -> dict[str, str]:
        """The comments of a table's columns."""
        result = self.query(f"""
            SELECT column_name, comment FROM duckdb_columns()
            WHERE schema_name = 'datasets' AND table_name = '{table}'
        """)
        return {row["column_name"]: row["comment"] for row in result.to_pylist()}


def planned(world: World) -> dict[str, Plan]:
    """The plans of the school by the platform's name of the dataset, without retired ones."""
    return {plan.dataset: plan for plan in read_plans(world.lake, SCHOOL) if not plan.retired_since}


def differences(world: World) -> dict[str, str]:
    """Where the published datasets are not the platform's own rows: by name, what is too much and missing."""
    result = {}
    published = Published(world)
    # What a dataset is compared by is asked for once, and not anew with each of them.
    rows = cache(partial(world.platform.rows, school_id=SCHOOL))
    for name, plan in planned(world).items():
        true = in_order(true_rows(rows, name))
        definition = definitions_of(plan)[name]
        wire = {column: wire_name for wire_name, column in columns_of(definition).items()}
        renamed = [
            {wire[column]: value for column, value in row.items() if column in wire}
            for row in published.rows(plan.table)
        ]
        seen = in_order(spelt(rows, name, renamed))
        if seen != true:
            extra = [row for row in seen if row not in true][:2]
            missing = [row for row in true if row not in seen][:2]
            result[name] = f"{len(seen)} rows, true {len(true)}: {extra} for {missing}"
    return result


def field_key(world: World, dataset: str, field: str) -> int:
    """The key of a field's metadata."""
    [entry] = [
        entry
        for entry in world.platform.rows("dataset_fields", SCHOOL)
        if (entry["row"]["dataset"], entry["row"]["name"]) == (dataset, field)
    ]
    return int(entry["key"])
