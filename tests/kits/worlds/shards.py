"""Schools that are published in shards, and what tells that they are what one file would be."""

from dataclasses import replace
from typing import Any

import dagster as dg
import duckdb
import pytest

from assets.publication import models
from assets.publication.shards import SHARDS
from pipelines.definitions import build_definitions
from pipelines.nights.run_state import RUN_KEY_TAG
from pipelines.nights.sync import JobEnd, build_shards
from pipelines.publication.due_shards import shards_to_build
from pipelines.settings.options import PublishOptions
from pipelines.settings.settings import Settings
from tests.kits.worlds.world import World
from warehouse.publish.fill import REWRITTEN
from warehouse.published.manifest import Manifest
from warehouse.published.shards import Shards, read_manifest

#: Tables that say of a file how it was made: of them a union says something of its own.
OF_THE_FILE = {"quality.publication", "quality.contents"}
TABLES = """
    SELECT schema_name || '.' || table_name FROM duckdb_columns()
    WHERE database_name = current_database() AND NOT internal GROUP BY ALL ORDER BY ALL
"""


class District:
    """A world whose schools are published in shards of two. `options`: others of their publication."""

    def __init__(self, world: World, **options: Any) -> None:
        publishing = PublishOptions(**{"schools_per_shard": 2, **options})
        changed = world.settings.options.model_copy(update={"publish": publishing})
        self.world = replace(world, settings=world.settings.model_copy(update={"options": changed}))
        assert self.settings.shards
        self.shards: Shards = self.settings.shards

    @property
    def settings(self) -> Settings:
        return self.world.settings

    @property
    def manifest(self) -> Manifest:
        return read_manifest(self.shards)

    def build(self) -> list[JobEnd]:
        """What `campus build` does, run by run; none: nothing has changed."""
        due = shards_to_build(self.settings, self.world.lake, self.world.instance).due
        definitions = build_definitions(self.settings)
        return list(build_shards(definitions, self.world.instance, due)) if due else []

    def build_only(self, name: str) -> None:
        """Build one shard, due or not."""
        self.world.instance.add_dynamic_partitions(SHARDS.name or "", [name])
        [end, _] = build_shards(build_definitions(self.settings), self.world.instance, [name])
        assert end.problem is None

    def tick(self, cursor: str | None) -> Any:
        """One look of the sensor that publishes."""
        definitions = build_definitions(self.settings)
        context = dg.build_sensor_context(
            instance=self.world.instance, cursor=cursor, repository_def=definitions.get_repository_def()
        )
        # The daemon has a reference to its instance, by which Dagster finds the partitions there are.
        with dg.partition_loading_context(dynamic_partitions_store=self.world.instance):
            return definitions.resolve_sensor_def("publish_after_loads").evaluate_tick(context)

    def carry_out(self, tick: Any) -> None:
        """Make the runs that are asked for, as Dagster's daemon would."""
        definitions = build_definitions(self.settings)
        for request in tick.run_requests:
            job = definitions.resolve_job_def(request.job_name)
            done = job.execute_in_process(
                instance=self.world.instance,
                partition_key=request.partition_key,
                tags={**request.tags, RUN_KEY_TAG: request.run_key},
            )
            assert done.success


def digests(con: duckdb.DuckDBPyConnection, *, of_one_sync: bool = True) -> dict[str, Any]:
    """The columns of each table, and what tells its rows from others. Not `of_one_sync`: whichever sync said
    last what each of them says anew."""
    result = {}
    rewritten = set() if of_one_sync else {f"quality.{log.name}" for log in REWRITTEN}
    # What a publication says of levels is logged after it, so each publication of a lake has more rows of it.
    names = [name for (name,) in con.execute(TABLES).fetchall() if name != "quality.published_levels"]
    for name in names:
        columns = [column[:2] for column in con.execute(f"DESCRIBE {name}").fetchall()]
        left_out = (
            {"checked_at", "message"} if name in ("quality.check_results", "quality.relations") else set()
        )
        if name in rewritten:
            left_out = {column for column, type in columns if column == "sync_id" or type == "TIMESTAMP"}
        shown = ", ".join(f'"{column}"' for column, _ in columns if column not in left_out)
        query = f"SELECT count(*), sum(hash(t)) FROM (SELECT {shown} FROM {name}) AS t"
        result[name] = (columns, con.execute(query).fetchall())
    return {name: digest for name, digest in result.items() if name not in OF_THE_FILE}


def forbid_school(patch: pytest.MonkeyPatch, school: int) -> None:
    """A check that this school's rows break."""
    real = models.project_of  # type: ignore[attr-defined]

    def with_a_check(build: Any) -> Any:
        project = real(build)
        check = replace(
            project.checks[0],
            name="no_such_school",
            of="core.dim_school",
            sql=f"SELECT * FROM core.dim_school WHERE school_id = {school}",
            inputs=("raw.students", "core.dim_school"),
            blocks=True,
            keeps=None,
        )
        return replace(project, checks=(*project.checks, check))

    patch.setattr(models, "project_of", with_a_check)
