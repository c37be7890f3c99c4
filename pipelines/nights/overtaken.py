"""Whether later good runs have materialized what a failed run left out, whatever job they belong to."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

import dagster as dg

from assets.publication.models import MODELS, PUBLISHED
from pipelines.runs.partition_selection import SCHOOLS_TAG

#: The latest materializations of an asset among which those of a run's partitions are looked for.
MATERIALIZATIONS_READ = 1000


def is_overtaken(instance: dg.DagsterInstance, failed: dg.RunRecord, published_at: float) -> bool:
    """Whether later good runs have materialized each asset that a failed run did not. A run of a job without
    assets is never overtaken.

    `published_at`: when the published file was made or found up to date, in seconds since 1970."""
    ended = failed.end_time or failed.update_timestamp.timestamp()
    lacking = _lacking(instance, failed.dagster_run)
    return bool(lacking) and all(
        (key == PUBLISHED and partitions == {None} and published_at > ended)
        or partitions <= _materialized(instance, failed.dagster_run, key, partitions, ended)
        for key, partitions in lacking.items()
    )


def _lacking(instance: dg.DagsterInstance, run: dg.DagsterRun) -> dict[dg.AssetKey, set[str | None]]:
    """The assets of the steps that did not succeed, with their partitions; None: the asset has none. The
    published file stands for all models."""
    kinds = {dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED, dg.DagsterEventType.STEP_SUCCESS}
    events = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=kinds)]
    succeeded = {event.step_key for event in events if event and event.is_step_success}
    lacking = defaultdict[dg.AssetKey, set[str | None]](set)
    for event in events:
        if event is None or event.step_key in succeeded:
            continue
        planned: Any = event.event_specific_data
        keys = planned.partitions_subset and planned.partitions_subset.get_partition_keys()
        lacking[PUBLISHED if event.step_key == MODELS else planned.asset_key] |= {
            *(keys or [planned.partition])
        }
    return lacking


def _materialized(
    instance: dg.DagsterInstance,
    failed: dg.DagsterRun,
    key: dg.AssetKey,
    partitions: Collection[str | None],
    ended: float,
) -> set[str | None]:
    """The partitions of an asset that good runs have materialized since a run ended."""
    named = [partition for partition in partitions if partition is not None]
    later = dg.AssetRecordsFilter(key, asset_partitions=named or None, after_timestamp=ended)
    records = instance.fetch_materializations(later, limit=MATERIALIZATIONS_READ).records
    run_ids = list({record.run_id for record in records})
    runs = instance.get_runs(dg.RunsFilter(run_ids=run_ids)) if run_ids else []
    # A discovery of some schools does not replace a discovery of all.
    good = {
        run.run_id
        for run in runs
        if run.is_success and run.tags.get(SCHOOLS_TAG) in (None, failed.tags.get(SCHOOLS_TAG))
    }
    return {record.partition_key for record in records if record.run_id in good}
