"""Builds the published files again without the forgotten rows, and deletes the earlier files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import msgspec
import obstore

from pipelines.cli.actions.export import run_export
from pipelines.cli.actions.load import run_build
from pipelines.forgetting.account import StoreChange
from pipelines.forgetting.files import delete_scraps
from pipelines.forgetting.job import Job
from pipelines.settings.settings import Settings
from warehouse.load.logs.load_log import now
from warehouse.publish.publish import ANEW, generations
from warehouse.publish.shards.district import FILE
from warehouse.publish.tables.commit import delete_tables, publish_tables
from warehouse.published.manifest import Manifest
from warehouse.published.shards import Shards
from warehouse.published.shards import change as change_manifest
from warehouse.published.shards import clean as clean_shards


def republish(jobs: Sequence[Job], removed: Collection[int] = ()) -> None:
    """Build the published files of the jobs' schools without reuse of earlier files, and delete the earlier
    files. The first job's account has the changes.

    `removed`: the schools that the lake lacks now. Writes the exports again if any job deleted some."""
    job = jobs[0]
    settings, shards = job.settings, job.settings.shards
    if shards is not None:
        school_ids = {job.request.school_id for job in jobs}
        change_manifest(shards, partial(_without_models, school_ids=school_ids, removed=removed), clock=now)
    if not settings.published.exists():
        job.record(StoreChange("published files", files=_delete_earlier_files(settings, shards, keep=0)))
        return
    job.notify("Building the published files again.")
    if shards is None:
        (settings.home / ANEW).touch()
    if run_build(settings, job.tags, job.lake):
        job.account.findings.append(f"{settings.published}: the build failed, for the reason above")
        return
    job.record(StoreChange("published files", files=_delete_earlier_files(settings, shards, keep=1)))
    changes = [change for job in jobs for change in job.account.stores]
    was_exported = any(change.name == "exports" and change.files for change in changes)
    if was_exported and run_export(settings, ()):
        job.account.left.append("Exports were deleted and could not all be written again: run campus export.")


def _without_models(manifest: Manifest, school_ids: Collection[int], removed: Collection[int]) -> Manifest:
    """The manifest without the models of these schools' shards, so that no build reuses their files.

    A shard with only `removed` schools is dropped, since no build would replace its file."""
    shards = []
    for shard in manifest.shards:
        schools = {*shard.schools, *(shard.published.schools if shard.published else ())}
        if schools and schools.issubset(removed):
            continue
        if shard.published and not schools.isdisjoint(school_ids):
            published = msgspec.structs.replace(shard.published, models="")
            shard = msgspec.structs.replace(shard, published=published)
        shards.append(shard)
    district = manifest.district if shards else None
    return msgspec.structs.replace(manifest, shards=tuple(shards), district=district)


def _delete_earlier_files(settings: Settings, shards: Shards | None, keep: int) -> int:
    """Delete the earlier published files, and return their count. `keep`: the latest generations of a home
    that stay."""
    if shards is None:
        old = generations(settings.home)[keep:]
        for generation in old:
            generation.path.unlink()
        return len(old) + keep
    latest_only = replace(shards, keep=1)
    if keep == 0:
        delete_tables(shards)
        # Nothing is published any more, and the manifest does not name this file.
        with suppress(FileNotFoundError):
            obstore.delete(shards.objects, [FILE])
    change_manifest(latest_only, lambda before: msgspec.structs.replace(before, before=()), clock=now)
    deleted = len(clean_shards(latest_only, timedelta(0)))
    if keep and shards.has_tables:
        publish_tables(latest_only, timedelta(0))
    elif keep:
        delete_tables(shards)
    delete_scraps(settings.home, apply=True)
    return deleted
