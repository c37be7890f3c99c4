"""The lists of partitions in Dagster's storage put in order: keys of earlier versions, `101|20`, are renamed
with their last loads, and what a person has added that no platform has is taken out."""

from collections.abc import Iterator, Mapping

import dagster as dg

from assets.partitions import PARTITIONS
from loading.partition_keys import renamed

# Events that are read at a time.
BATCH = 500


def put_in_order(instance: dg.DagsterInstance) -> list[str]:
    """Rename or take out the keys that are not written as they are today; says in words what that means.

    The last materialization of each renamed partition of each asset is logged again under the new key, so
    that nothing counts as never loaded. What a crash left undone, the next call does."""
    count = 0
    strange: list[str] = []
    for partitions, pattern in PARTITIONS.items():
        name = partitions.name or ""
        wrong = [key for key in instance.get_dynamic_partitions(name) if not pattern.fullmatch(key)]
        mine = {key: renamed(key) for key in wrong if pattern.fullmatch(renamed(key))}
        _tell_again(instance, mine)
        instance.add_dynamic_partitions(name, list(mine.values()))
        # Last, since they say that there is something to do.
        for key in wrong:
            instance.delete_dynamic_partition(name, key)
        count += len(mine)
        strange += [key for key in wrong if key not in mine]
    return [*_of_renamed(count), *_of_strange(strange)]


def _of_renamed(count: int) -> list[str]:
    if not count:
        return []
    return [
        f"{count:,} partition keys are renamed, such as 101|20 to 101:20, since Dagster's UI could not "
        f"launch the old ones. The last load of each partition is kept under its new key; Dagster's events "
        f"of earlier loads stay under the old one"
    ]


def _of_strange(strange: list[str]) -> list[str]:
    if not strange:
        return []
    return [f"partitions that the platform does not have are taken out again: {', '.join(strange)}"]


def _tell_again(instance: dg.DagsterInstance, new: Mapping[str, str]) -> None:
    """Tell the last materialization of each partition under its new key too."""
    for asset in instance.all_asset_keys() if new else ():
        for event in _last_events(instance, asset, new):
            instance.report_runless_asset_event(event)


def _last_events(
    instance: dg.DagsterInstance, asset: dg.AssetKey, new: Mapping[str, str]
) -> Iterator[dg.AssetMaterialization]:
    """The last materializations of an asset's partitions under old keys, each under its new one. Those that
    have one are left out."""
    made = dg.DagsterEventType.ASSET_MATERIALIZATION
    latest = instance.get_latest_storage_id_by_partition(asset, made)
    due = sorted(number for key, number in latest.items() if key in new and new[key] not in latest)
    for start in range(0, len(due), BATCH):
        wanted = dg.AssetRecordsFilter(asset_key=asset, storage_ids=due[start : start + BATCH])
        for record in instance.fetch_materializations(wanted, limit=BATCH, ascending=True).records:
            told = record.asset_materialization
            assert told is not None and told.partition is not None
            yield dg.AssetMaterialization(
                asset,
                partition=new[told.partition],
                metadata={
                    **told.metadata,
                    "loaded": dg.MetadataValue.timestamp(record.timestamp),
                    "loaded by": dg.MetadataValue.dagster_run(record.run_id),
                },
            )
