"""All that the project takes of Dagster without its promise to keep it: no public name does the same.
tests/house/test_dagster_private.py says in words what an upgrade has taken away."""

from typing import Any

from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition
from dagster._core.storage.event_log import SqliteEventLogStorage as SqliteEventLogStorage

#: What dg.define_asset_job gives; Dagster exports no name for it.
AssetJob = UnresolvedAssetJobDefinition

#: What dagster.yaml names to keep nothing of what runs print. Dagster exports no name for it either.
NO_COMPUTE_LOGS = {
    "module": "dagster._core.storage.noop_compute_log_manager",
    "class": "NoOpComputeLogManager",
}

#: Lets dg.multi_asset have checks of assets that it only reads, such as those of `raw`. Dagster hides it.
CHECKS_OF_OTHER_ASSETS: dict[str, Any] = {"allow_arbitrary_check_specs": True}
