"""`campus forget`: removes a person or a school from every place of a home, and survives a kill at any step.

The list of the forgotten is written first, so that no load brings anybody back. The request has a file until
the proof: see requests.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec

from loading.custom_fields import users_table
from loading.inputs import FOLDER as INPUTS
from loading.pushes.forgotten_keys import forget_in_inbox
from loading.pushes.inbox import inbox_path, left_behind
from loading.reports.tables import held_tables
from loading.tables import TABLES
from pipelines.deliveries.log import FILE as DELIVERIES
from pipelines.forgetting.account import RESTORED, SCHOOL, UNPROVEN, Account, StoreChange
from pipelines.forgetting.dagster_storage import forget_in_dagster, forget_school_in_dagster
from pipelines.forgetting.files import (
    arrived_files,
    delete_exports,
    delete_extracts,
    delete_files,
    delete_logs,
    delete_logs_of_school,
    delete_plans,
    delete_plans_of_school,
    delete_scraps,
    files_below,
    naming,
)
from pipelines.forgetting.job import BACKUPS, COPIES, Job, Notify, note_files_of_others, note_what_stays
from pipelines.forgetting.proof import prove, prove_school, tables_with
from pipelines.forgetting.republish import republish
from pipelines.forgetting.requests import Request, request_of_list
from pipelines.lake.opening import lake_of
from pipelines.runs.instance import dagster_home, open_instance
from pipelines.settings.settings import Settings
from warehouse.forgetting.forgotten import Forgotten, Matcher, change, matcher, read, with_person
from warehouse.forgetting.identity import choices_of
from warehouse.forgetting.search import Search
from warehouse.forgetting.sqlite_rows import forget_school_in
from warehouse.forgetting.surgery import (
    Changed,
    forget_in_logs,
    forget_in_tables,
    forget_school,
    purge,
)
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Stored, Table
from warehouse.load.logs.dataset_plans import dataset_tables, read_plans
from warehouse.maintenance.compaction import STORED_LOGS
from warehouse.published.audiences import audience_files
from writeback.store.forgetting import forget_in_store
from writeback.store.location import store_path


def forget_persons(
    settings: Settings, request: Request, tags: Mapping[str, str], notify: Notify, *, apply: bool
) -> Account:
    """Remove the persons of a request from the home, and search all of it. `apply`: False only counts.

    No other process may write to the home. Raises OSError, deltalake's, DuckDB's and sqlite3's errors; the
    same command then resumes."""
    job = Job.of(settings, request, tags, notify, apply=apply)
    search = Search(request.persons)
    _remove_unpublished(job, search)
    if apply:
        republish([job])
        _prove_persons(job, search)
    return job.account


def holds_school(settings: Settings, school_id: int) -> bool:
    """Whether the home has rows of a school, or an unfinished request to forget the school."""
    lake = lake_of(settings)
    request = Request(school_id, SCHOOL, school_id)
    return bool(tables_with(lake, _stored_tables(lake), school_id)) or request.path(settings.home).exists()


def forget_whole_school(
    settings: Settings, school_id: int, tags: Mapping[str, str], notify: Notify, *, apply: bool
) -> Account:
    """Remove a school, loaded by mistake, from the home. `apply`: False only counts.

    No other process may write to the home. Raises as `forget_persons`."""
    request = Request(school_id, SCHOOL, school_id)
    job = Job.of(settings, request, tags, notify, apply=apply)
    lake, account, home = job.lake, job.account, settings.home
    if apply:
        request.write(home)
        change(lake, lambda before: _with_schools(before, {**before.schools, school_id: account.at}))
    for changed in forget_school(lake, _stored_tables(lake), school_id, apply=apply):
        job.record(_store_change(changed))
    _purge(job)
    for path in (*_inboxes(home), store_path(home), home / DELIVERIES):
        job.record(StoreChange(path.name, removed=forget_school_in(path, school_id, apply=apply)))
    job.record(StoreChange("plans", files=delete_plans_of_school(home, school_id, apply=apply)))
    job.record(StoreChange("notes and logs", files=delete_logs_of_school(home, school_id, apply=apply)))
    folder = settings.options.writes.inbox.folder
    if folder is not None:
        arrived = arrived_files(folder, school_id, done=True)
        job.record(StoreChange("files that were read", files=delete_files(arrived, apply=apply)))
        note_files_of_others(job, folder, arrived_files(folder, school_id, done=False))
    note_files_of_others(job, home / INPUTS, files_below(home / INPUTS / str(school_id)))
    _delete_derived(job)
    with open_instance(settings) as instance:
        partitions, runs = forget_school_in_dagster(instance, school_id, apply=apply)
    job.record(StoreChange("Dagster's partitions", removed=partitions))
    job.record(StoreChange("Dagster's runs", removed=runs))
    account.left += [
        BACKUPS,
        COPIES,
        f"No sync loads school {school_id} any more, until `campus forget --school {school_id} --allow`. "
        f"Take it out of CAMPUS_SCHOOL_IDS where that names it.",
    ]
    if apply:
        republish([job], removed={school_id})
        prove_school(settings, lake, _stored_tables(lake), school_id, account)
        _delete_proven_request(job)
    return account


def allow_school(settings: Settings, school_id: int) -> bool:
    """Take a school off the list. Returns whether the list had the school."""
    lake = lake_of(settings)
    if school_id not in read(lake).schools:
        return False
    change(
        lake,
        lambda before: _with_schools(
            before, {other: at for other, at in before.schools.items() if other != school_id}
        ),
    )
    return True


def forget_again(settings: Settings, tags: Mapping[str, str], notify: Notify) -> list[Account]:
    """Remove everybody on the list from the home, such as after a restore from an older backup.

    No other process may write to the home. Raises as `forget_persons`."""
    lake = lake_of(settings)
    forgotten = read(lake)
    accounts = [
        forget_whole_school(settings, school_id, tags, notify, apply=True)
        for school_id in sorted(forgotten.schools)
        if holds_school(settings, school_id)
    ]
    schools = sorted({entry.school_id for group in forgotten.groups for entry in group.entries})
    jobs = []
    for school_id in schools:
        request = request_of_list(settings, lake, school_id)
        job = Job.of(settings, request, tags, notify, apply=True)
        search = Search(request.persons)
        _remove_unpublished(job, search)
        jobs.append((job, search))
    if jobs:
        republish([job for job, _ in jobs])
    for job, search in jobs:
        _prove_persons(job, search)
    accounts += [job.account for job, _ in jobs]
    if all(account.is_proven for account in accounts):
        (settings.home / UNPROVEN / RESTORED).unlink(missing_ok=True)
    return accounts


def _remove_unpublished(job: Job, search: Search) -> None:
    """Put the persons of a request on the list, then remove them from everything but the published files."""
    listed = _put_on_list(job)
    _forget_in_lake(job, listed)
    _forget_in_stores(job, listed)
    _delete_files(job, search)
    rows = forget_in_dagster(dagster_home(job.settings), search, apply=job.apply)
    job.record(StoreChange("Dagster's records", rows=rows))
    note_what_stays(job, listed)


def _put_on_list(job: Job) -> Matcher:
    """Write the request, then put its persons on the list. Returns the matcher of all listed persons of the
    school."""
    school_id = job.request.school_id
    choices = choices_of(job.lake, TABLES["user_fields"], school_id)

    def with_persons(forgotten: Forgotten) -> Forgotten:
        for person in job.request.persons:
            forgotten, _ = with_person(
                forgotten, person.school_id, person.kind, person.marks, since=job.account.at, choices=choices
            )
        return forgotten

    if job.apply:
        job.request.write(job.settings.home)
        forgotten = change(job.lake, with_persons)
    else:
        forgotten = with_persons(read(job.lake))
    listed = matcher(forgotten, school_id)
    assert listed is not None
    return listed


def _forget_in_lake(job: Job, listed: Matcher) -> None:
    lake, school_id, scratch = job.lake, job.request.school_id, job.settings.home / "scratch"
    for changed in forget_in_tables(
        lake, _platform_tables(lake), school_id, listed, scratch, apply=job.apply
    ):
        job.record(_store_change(changed))
    for changed in forget_in_logs(lake, TABLES, school_id, listed, apply=job.apply):
        job.record(_store_change(changed))
    _purge(job)


def _purge(job: Job) -> None:
    if job.apply:
        files = sum(purge(job.lake, table) for table in _stored_tables(job.lake) if job.lake.holds(table))
        job.record(StoreChange("older versions of the lake", files=files))


def _forget_in_stores(job: Job, listed: Matcher) -> None:
    home, apply, school_id = job.settings.home, job.apply, job.request.school_id
    resources = job.settings.options.pushes.push_settings.resources
    for inbox in _inboxes(home):
        rows = forget_in_inbox(inbox, school_id, listed, resources, apply=apply)
        job.record(StoreChange(inbox.name, rows=rows))
    writes = store_path(home)
    rows, removed = forget_in_store(writes, school_id, listed, apply=apply)
    job.record(StoreChange(writes.name, rows=rows, removed=removed))
    # The next publication is another generation, for which the log has no rows.
    removed = forget_school_in(home / DELIVERIES, school_id, apply=apply)
    job.record(StoreChange(DELIVERIES, removed=removed))


def _inboxes(home: Path) -> list[Path]:
    """The inbox of pushes, and the inbox at its earlier path, if any."""
    before = left_behind(home)
    return [inbox_path(home), *([before] if before else [])]


def _delete_files(job: Job, search: Search) -> None:
    home, apply, left = job.settings.home, job.apply, job.account.left
    school_id = job.request.school_id
    plans = delete_plans(home, school_id, search, apply=apply)
    job.record(StoreChange("plans", files=plans))
    if plans:
        left.append("Plans that named them were deleted: make a new plan of what is still to be written.")
    folder = job.settings.options.writes.inbox.folder
    if folder is not None:
        arrived = naming(arrived_files(folder, school_id, done=True), search)
        job.record(StoreChange("files that were read", files=delete_files(arrived, apply=apply)))
        note_files_of_others(job, folder, list(naming(arrived_files(folder, school_id, done=False), search)))
    inputs = home / INPUTS
    note_files_of_others(job, inputs, list(naming(files_below(inputs / str(school_id)), search)))
    job.record(StoreChange("notes and logs", files=delete_logs(home, search, apply=apply)))
    _delete_derived(job)


def _delete_derived(job: Job) -> None:
    """Delete files derived from the lake or from the published file."""
    settings, apply = job.settings, job.apply
    job.record(StoreChange("unfinished files and copies", files=delete_scraps(settings.home, apply=apply)))
    exports = delete_exports(settings.home, job.request.school_id, apply=apply)
    job.record(StoreChange("exports", files=exports))
    job.record(StoreChange("extracts", files=delete_extracts(settings.home, apply=apply)))
    # The next build makes the files of audiences anew.
    audiences = delete_files(audience_files(settings.home, settings.audiences), apply=apply)
    job.record(StoreChange("files of audiences", files=audiences))


def _prove_persons(job: Job, search: Search) -> None:
    if job.request.persons:
        job.notify("Searching every file of the home.")
        prove(job.settings, job.lake, search, job.account)
    else:
        job.account.left.append(
            "The lake names nobody who is on the list. No file was searched, since the list has no names and "
            "no ids."
        )
    _delete_proven_request(job)


def _delete_proven_request(job: Job) -> None:
    if job.account.is_proven:
        job.request.path(job.settings.home).unlink(missing_ok=True)


def _platform_tables(lake: Lake) -> list[Table]:
    """All tables with rows of the platform, datasets with the primary keys of their plans."""
    keys: dict[str, set[str]] = {}
    for plan in read_plans(lake):
        keys.setdefault(f"datasets.{plan.table}", set()).update(plan.key)
    datasets = [
        replace(table, primary_key=tuple(keys.get(table.name, ())) or table.primary_key)
        for table in dataset_tables(lake)
    ]
    resources = {**TABLES, "v1_users": users_table(lake)}
    return [*resources.values(), *datasets, *held_tables(lake)]


def _stored_tables(lake: Lake) -> list[Stored]:
    return [*_platform_tables(lake), *STORED_LOGS]


def _store_change(changed: Changed) -> StoreChange:
    return StoreChange(changed.table, changed.rows, changed.removed, changed.files)


def _with_schools(forgotten: Forgotten, schools: Mapping[int, str]) -> Forgotten:
    return msgspec.structs.replace(forgotten, schools=dict(schools))
