"""Deletes old runs from Dagster's storage."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg

#: The interval of deletions: finding the needed runs takes a second.
EVERY = timedelta(days=7)
#: On the last run that deleted others.
DONE_TAG = "campus/forgot_old_runs"
#: The runs that a night deletes at most: the first night after an upgrade has years of runs.
MAX_DELETED = 2000
#: Events that are read at a time.
BATCH = 500
ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


def delete_old_runs(instance: dg.DagsterInstance, max_age: timedelta, run_id: str) -> int:
    """Delete finished runs older than `max_age` with their events, once a week. Returns their number.
    `run_id`: the run that calls.

    A run stays that materialized an asset or a partition last: otherwise the asset would count as never
    loaded. Dagster stores the last results of checks apart from runs."""
    today = datetime.now(UTC)
    lately = dg.RunsFilter(tags={DONE_TAG: "true"}, created_after=today - EVERY)
    if instance.get_run_records(lately, limit=1):
        return 0
    instance.add_run_tags(run_id, {DONE_TAG: "true"})
    old = dg.RunsFilter(statuses=ENDED, created_before=today - max_age)
    runs = [record.dagster_run.run_id for record in instance.get_run_records(old, ascending=True)]
    needed = set(_last_runs(instance)) if runs else set[str]()
    deleted = [run for run in runs if run not in needed][:MAX_DELETED]
    for run in deleted:
        instance.delete_run(run)
    return len(deleted)


def _last_runs(instance: dg.DagsterInstance) -> Iterator[str]:
    """The runs that materialized an asset or a partition last."""
    keys = instance.get_asset_keys()
    for record in instance.get_asset_records(keys):
        last = record.asset_entry.last_materialization_record
        if last is not None:
            yield last.run_id
    for key in keys:
        latest = instance.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_MATERIALIZATION)
        ids = sorted(latest.values())
        for first in range(0, len(ids), BATCH):
            wanted = dg.AssetRecordsFilter(asset_key=key, storage_ids=ids[first : first + BATCH])
            yield from (
                event.run_id for event in instance.fetch_materializations(wanted, limit=BATCH).records
            )
