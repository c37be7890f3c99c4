"""Dagster's memory of runs, kept to what somebody still looks at."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg

#: So often, since to find out which runs are needed takes a second.
EVERY = timedelta(days=7)
#: On the run that did it last.
DONE_TAG = "campus/forgot_old_runs"
#: Runs that one night deletes at most: the first night after an upgrade has years of them.
AT_A_TIME = 2000
#: Events that are read at a time.
BATCH = 500
ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


def forget_old_runs(instance: dg.DagsterInstance, kept: timedelta, run_id: str) -> int:
    """Delete the runs that ended longer ago than `kept`, with their events, once a week; how many. `run_id`:
    the run that does it.

    Those stay which materialized an asset or a partition last: it would count as never loaded. What a check
    found last is remembered apart from its run."""
    today = datetime.now(UTC)
    lately = dg.RunsFilter(tags={DONE_TAG: "true"}, created_after=today - EVERY)
    if instance.get_run_records(lately, limit=1):
        return 0
    instance.add_run_tags(run_id, {DONE_TAG: "true"})
    old = dg.RunsFilter(statuses=ENDED, created_before=today - kept)
    runs = [record.dagster_run.run_id for record in instance.get_run_records(old, ascending=True)]
    needed = set(_last_runs(instance)) if runs else set[str]()
    forgotten = [each for each in runs if each not in needed][:AT_A_TIME]
    for each in forgotten:
        instance.delete_run(each)
    return len(forgotten)


def _last_runs(instance: dg.DagsterInstance) -> Iterator[str]:
    """The runs that materialized an asset, or one of its partitions, last."""
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
            yield from (each.run_id for each in instance.fetch_materializations(wanted, limit=BATCH).records)
