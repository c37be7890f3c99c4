"""`campus forget`: takes a person or a school out of every place of a home, in an order that survives a death
anywhere.

A request has a file of its own until the proof: once the lake has forgotten, nothing else could tell what to
look for in the other places. The list comes first, so that whatever loads from then on brings nobody back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
import obstore

from loading.custom_fields import users_table
from loading.pushes.forgotten_keys import forget_in_inbox
from loading.pushes.inbox import inbox_path, left_behind
from loading.reports.tables import held_tables
from loading.tables import TABLES
from pipelines.cli.commands import run_build
from pipelines.cli.exporting import run_export
from pipelines.forgetting.account import RESTORED, SCHOOL, SEVERAL, UNPROVEN, Account, Store
from pipelines.forgetting.dagster_storage import forget_in_dagster, forget_school_in_dagster
from pipelines.forgetting.files import (
    arrived_files,
    delete_arrived,
    delete_audience_files,
    delete_exports,
    delete_extracts,
    delete_plans,
    delete_plans_of_school,
    delete_scraps,
    delete_words,
    delete_words_of_school,
    naming,
)
from pipelines.forgetting.proof import prove, prove_school, tables_with
from pipelines.instance import dagster_home, open_instance
from pipelines.lake import lake_of
from pipelines.settings import Settings
from warehouse.files import put_in_place
from warehouse.forgetting.columns import V1
from warehouse.forgetting.forgotten import Forgotten, Matcher, change, matcher, read, with_person
from warehouse.forgetting.identity import GUARDIAN, People, Person, choices_of
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
from warehouse.lake.log_tables import LOGS, STANDINGS
from warehouse.lake.tables import Stored, Table
from warehouse.load.dataset_plans import DATASET_PLANS, dataset_tables, read_plans
from warehouse.load.load_log import now
from warehouse.load.week_evidence import WEEK_SIGHTINGS
from warehouse.publish.publish import ANEW, generations
from warehouse.publish.shards.district import FILE
from warehouse.published.manifest import Manifest
from warehouse.published.shards import Shards
from warehouse.published.shards import change as change_manifest
from warehouse.published.shards import clean as clean_shards
from writeback.store.forgetting import forget_in_store
from writeback.store.location import store_path

BACKUPS = (
    "Backups stay as they are. campus restore takes out of them whoever is on the list. To be rid of the "
    "data sooner, delete the backups."
)
COPIES = (
    "Copies elsewhere are not searched: what export and extract wrote to other folders, mails, and files "
    "that somebody still has open."
)
EXTRACTS = (
    "Extracts that were given away stay as they are. Ask for them to be deleted: whoever has an extract, "
    "keys/pseudonyms of this home and the id can still tell whose rows are whose."
)


class NobodyThere(Exception):
    """The home has nothing about this id."""


class AnotherKind(Exception):
    """The id is that of a person of another kind."""


class Request(msgspec.Struct, frozen=True):
    """What is to be forgotten."""

    school_id: int
    kind: str
    id: int
    #: The person whose id was given first, then guardians. A school has none.
    persons: tuple[Person, ...] = ()
    #: The id is that of v1.
    of_v1: bool = False

    @property
    def words(self) -> str:
        """What is to be forgotten, in words that name nobody."""
        if self.kind == SCHOOL:
            return f"school {self.school_id}"
        if self.kind == SEVERAL:
            return f"everybody on the list of school {self.school_id}"
        guardians = len(self.persons) - 1
        accounts = "" if not guardians else f" and {guardians} guardian account{'s' * (guardians > 1)}"
        return f"a {self.kind}{accounts} of school {self.school_id}"


Tell = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """What a request is carried out with."""

    settings: Settings
    lake: Lake
    request: Request
    account: Account
    #: Of the runs that build.
    tags: Mapping[str, str]
    tell: Tell
    #: False: everything is only counted.
    apply: bool

    @classmethod
    def of(
        cls, settings: Settings, request: Request, tags: Mapping[str, str], tell: Tell, *, apply: bool
    ) -> Job:
        """A new job, with an account that is empty."""
        account = Account(
            request.words, request.school_id, f"{now():%Y-%m-%d %H:%M:%S}", not apply, len(request.persons)
        )
        return cls(settings, lake_of(settings), request, account, tags, tell, apply)

    def note(self, store: Store) -> None:
        """Note what changed in a place, and say so."""
        self.account.stores.append(store)
        if store.is_changed:
            self.tell(f"  {store.words}")


def request_of(
    settings: Settings, lake: Lake, school_id: int, kind: str, id: int, *, of_v1: bool = False
) -> Request:
    """Whom an id means, by what the lake has, and by what an attempt that did not end has found.

    Raises AnotherKind where the id is somebody else's, and NobodyThere where neither has anything."""
    people = People(lake, school_id, TABLES)
    request = _with_those_before(
        settings, Request(school_id, kind, id, tuple(people.find(kind, id, of_v1=of_v1)), of_v1)
    )
    if not request.persons and (kinds := people.other_kinds(kind, id)):
        options = " or ".join(f"--{other}" for other in kinds)
        raise AnotherKind(f"{id} of school {school_id} is a {' and a '.join(kinds)}: say {options}")
    if not request.persons:
        raise NobodyThere(f"this home has no {kind} {id} of school {school_id}")
    return request


def unknown_request(school_id: int, kind: str, id: int, *, of_v1: bool = False) -> Request:
    """The request for an id that nothing is known of, so that no load ever brings it."""
    ids = frozenset((id,))
    return Request(school_id, kind, id, (Person(school_id, kind, frozenset() if of_v1 else ids, ids),), of_v1)


def forget_persons(
    settings: Settings, request: Request, tags: Mapping[str, str], tell: Tell, *, apply: bool
) -> Account:
    """Take the persons of a request out of the home, and search all of it. apply: False only counts.

    For whoever is alone in the home. Raises OSError, deltalake's, DuckDB's and sqlite3's errors; the same
    command goes on then."""
    job = Job.of(settings, request, tags, tell, apply=apply)
    search = Search(request.persons)
    _take_out(job, search)
    if apply:
        _publish(job, {request.school_id})
        _prove_persons(job, search)
    return job.account


def holds_school(settings: Settings, school_id: int) -> bool:
    """Whether the home has rows of a school, or was about to forget it."""
    lake = lake_of(settings)
    request = Request(school_id, SCHOOL, school_id)
    return bool(tables_with(lake, _everything(lake), school_id)) or _path(settings, request).exists()


def forget_whole_school(
    settings: Settings, school_id: int, tags: Mapping[str, str], tell: Tell, *, apply: bool
) -> Account:
    """Take a school that was loaded by mistake out of the home. apply: False only counts.

    For whoever is alone in the home. Raises as `forget_persons`."""
    request = Request(school_id, SCHOOL, school_id)
    job = Job.of(settings, request, tags, tell, apply=apply)
    lake, account, home = job.lake, job.account, settings.home
    if apply:
        _write_request(settings, request)
        change(lake, lambda before: _with_schools(before, {**before.schools, school_id: account.at}))
    for changed in forget_school(lake, _everything(lake), school_id, apply=apply):
        job.note(_store(changed))
    _purge(job)
    for path in (*_inboxes(home), store_path(home)):
        job.note(Store(path.name, removed=forget_school_in(path, school_id, apply=apply)))
    job.note(Store("plans", files=delete_plans_of_school(home, school_id, apply=apply)))
    job.note(Store("notes and logs", files=delete_words_of_school(home, school_id, apply=apply)))
    folder = settings.options.writes.inbox.folder
    if folder is not None:
        arrived = arrived_files(folder, school_id, done=True)
        job.note(Store("files that were read", files=delete_arrived(arrived, apply=apply)))
        say_what_waits(job, folder, arrived_files(folder, school_id, done=False))
    _delete_derived(job)
    with open_instance(settings) as instance:
        partitions, runs = forget_school_in_dagster(instance, school_id, apply=apply)
    job.note(Store("Dagster's partitions", removed=partitions))
    job.note(Store("Dagster's runs", removed=runs))
    account.left += [
        BACKUPS,
        COPIES,
        f"No sync loads school {school_id} any more, until `campus forget --school {school_id} --allow`. "
        f"Take it out of CAMPUS_SCHOOL_IDS where that names it.",
    ]
    if apply:
        _publish(job, {school_id}, removed={school_id})
        prove_school(settings, lake, _everything(lake), school_id, account)
        _end(job)
    return account


def allow_school(settings: Settings, school_id: int) -> bool:
    """Take a school off the list; whether it was on it."""
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


def forget_again(settings: Settings, tags: Mapping[str, str], tell: Tell) -> list[Account]:
    """Take everybody on the list out of the home, as of one that was restored from an older backup.

    For whoever is alone in the home. Raises as `forget_persons`."""
    lake = lake_of(settings)
    forgotten = read(lake)
    accounts = [
        forget_whole_school(settings, school_id, tags, tell, apply=True)
        for school_id in sorted(forgotten.schools)
        if holds_school(settings, school_id)
    ]
    schools = sorted({entry.school_id for group in forgotten.groups for entry in group.entries})
    jobs = []
    for school_id in schools:
        request = _request_of_list(settings, lake, school_id)
        job = Job.of(settings, request, tags, tell, apply=True)
        search = Search(request.persons)
        _take_out(job, search)
        jobs.append((job, search))
    if jobs:
        _publish(jobs[0][0], schools)
    for job, search in jobs:
        _prove_persons(job, search)
    accounts += [job.account for job, _ in jobs]
    if all(account.is_proven for account in accounts):
        (settings.home / UNPROVEN / RESTORED).unlink(missing_ok=True)
    return accounts


def _request_of_list(settings: Settings, lake: Lake, school_id: int) -> Request:
    """All persons of a school who are on the list and of whom the lake knows. The lake's rows go by the list
    itself, the files by these."""
    persons = People(lake, school_id, TABLES).listed()
    return _with_those_before(settings, Request(school_id, SEVERAL, 0, tuple(persons)))


def _take_out(job: Job, search: Search) -> None:
    """Put the persons of a request on the list, then take them out of everything but what is published."""
    listed = _on_list(job)
    _in_lake(job, listed)
    _in_stores(job, listed)
    _in_files(job, search)
    rows = forget_in_dagster(dagster_home(job.settings), search, apply=job.apply)
    job.note(Store("Dagster's records", rows=rows))
    _say_what_is_left(job, listed)


def _on_list(job: Job) -> Matcher:
    """Write the request down, then put its persons on the list. What recognises all of the school who are on
    it."""
    school_id = job.request.school_id
    choices = choices_of(job.lake, TABLES["user_fields"], school_id)

    def with_persons(forgotten: Forgotten) -> Forgotten:
        for person in job.request.persons:
            forgotten, _ = with_person(
                forgotten, person.school_id, person.kind, person.marks, since=job.account.at, choices=choices
            )
        return forgotten

    if job.apply:
        _write_request(job.settings, job.request)
        forgotten = change(job.lake, with_persons)
    else:
        forgotten = with_persons(read(job.lake))
    listed = matcher(forgotten, school_id)
    assert listed is not None
    return listed


def _in_lake(job: Job, listed: Matcher) -> None:
    lake, school_id, scratch = job.lake, job.request.school_id, job.settings.home / "scratch"
    for changed in forget_in_tables(lake, _tables(lake), school_id, listed, scratch, apply=job.apply):
        job.note(_store(changed))
    for changed in forget_in_logs(lake, TABLES, school_id, listed, apply=job.apply):
        job.note(_store(changed))
    _purge(job)


def _purge(job: Job) -> None:
    if job.apply:
        files = sum(purge(job.lake, table) for table in _everything(job.lake) if job.lake.holds(table))
        job.note(Store("older versions of the lake", files=files))


def _in_stores(job: Job, listed: Matcher) -> None:
    home, apply, school_id = job.settings.home, job.apply, job.request.school_id
    resources = job.settings.options.pushes.drained.resources
    for inbox in _inboxes(home):
        rows = forget_in_inbox(inbox, school_id, listed, resources, apply=apply)
        job.note(Store(inbox.name, rows=rows))
    writes = store_path(home)
    rows, removed = forget_in_store(writes, school_id, listed, apply=apply)
    job.note(Store(writes.name, rows=rows, removed=removed))


def _inboxes(home: Path) -> list[Path]:
    """The inbox of pushes, and one that was left behind when it moved to a folder of its own."""
    before = left_behind(home)
    return [inbox_path(home), *([before] if before else [])]


def _in_files(job: Job, search: Search) -> None:
    home, apply, left = job.settings.home, job.apply, job.account.left
    plans = delete_plans(home, job.request.school_id, search, apply=apply)
    job.note(Store("plans", files=plans))
    if plans:
        left.append("Plans that named them were deleted: plan what is still to be written again.")
    folder = job.settings.options.writes.inbox.folder
    if folder is not None:
        school_id = job.request.school_id
        arrived = naming(arrived_files(folder, school_id, done=True), search)
        job.note(Store("files that were read", files=delete_arrived(arrived, apply=apply)))
        say_what_waits(job, folder, list(naming(arrived_files(folder, school_id, done=False), search)))
    job.note(Store("notes and logs", files=delete_words(home, search, apply=apply)))
    _delete_derived(job)


def say_what_waits(job: Job, folder: Path, paths: Sequence[Path]) -> None:
    """Name the files that are not ours to change, on the screen alone: their names may be a person's."""
    for path in paths:
        job.tell(f"  names them, or cannot be read: {path}")
    if paths:
        job.account.left.append(
            f"Files in {folder} that campus has not read, {len(paths)}, name what is forgotten, or cannot be "
            f"read. They are not ours to change: have whoever writes them take it out."
        )


def _delete_derived(job: Job) -> None:
    """Delete what is made of the lake or the published file, for people or on the way."""
    settings, apply = job.settings, job.apply
    job.note(Store("unfinished files and copies", files=delete_scraps(settings.home, apply=apply)))
    exports = delete_exports(settings.home, job.request.school_id, apply=apply)
    job.note(Store("exports", files=exports))
    job.note(Store("extracts", files=delete_extracts(settings.home, apply=apply)))
    audiences = delete_audience_files(settings.home, settings.audiences, apply=apply)
    job.note(Store("files of audiences", files=audiences))


def _say_what_is_left(job: Job, listed: Matcher) -> None:
    left, persons = job.account.left, job.request.persons
    left += [BACKUPS, COPIES, EXTRACTS]
    if shared := sum(person.shared for person in persons):
        left.append(
            f"{shared} of the names, numbers and addresses are also those of others, or too short to be "
            f"searched for. They go where a row is about the person, and stay with the others."
        )
    _say_what_is_uncertain(job)
    if any(listed.identifies(card) is not None for card in job.settings.card_ids):
        left.append("CAMPUS_CARD_IDS names a card of theirs: take it out of the settings.")
    if job.request.kind == GUARDIAN:
        left.append("The student of this guardian stays.")


def _say_what_is_uncertain(job: Job) -> None:
    """Name the ids that may be the persons' too, on the screen alone: the account names nobody."""
    uncertain = [(person.kind, *key) for person in job.request.persons for key in sorted(person.uncertain)]
    for kind, generation, id in uncertain:
        option = " --v1" if generation == V1 else ""
        job.tell(
            f"  left as it is: id {id} of {generation}, since nothing proves that it is the same {kind}. If "
            f"it is: campus forget --school {job.request.school_id} --{kind} {id}{option}"
        )
    if uncertain:
        job.account.left.append(
            f"Accounts that may be theirs were left as they are: {len(uncertain)}. The screen named them. "
            f"Forget those that are theirs."
        )


def _publish(job: Job, school_ids: Collection[int], removed: Collection[int] = ()) -> None:
    """Make what is published of some schools anew, with nothing carried over, and delete what was published
    before. removed: those of them that the lake has no more. Exports are written again, where any were
    deleted."""
    settings, shards = job.settings, job.settings.shards
    if shards is not None:
        change_manifest(shards, partial(_unbuilt, school_ids=school_ids, removed=removed), clock=now)
    if not settings.published.exists():
        job.note(Store("published files", files=_forget_generations(settings, shards, keep=0)))
        return
    job.tell("Building what is published anew.")
    if shards is None:
        (settings.home / ANEW).touch()
    if run_build(settings, job.tags, job.lake):
        job.account.found.append(f"{settings.published}: it could not be built anew, for the reason above")
        return
    job.note(Store("published files", files=_forget_generations(settings, shards, keep=1)))
    was_exported = any(store.name == "exports" and store.files for store in job.account.stores)
    if was_exported and run_export(settings, ()):
        job.account.left.append("Exports were deleted and could not all be written again: run campus export.")


def _unbuilt(manifest: Manifest, school_ids: Collection[int], removed: Collection[int]) -> Manifest:
    """The manifest in which the shards of some schools are of no models, so that nothing is carried over from
    their files. A shard that has nothing but `removed` schools goes: no build would make it anew."""
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


def _forget_generations(settings: Settings, shards: Shards | None, keep: int) -> int:
    """Delete what was published before. keep: of the files of a home, so many of the latest stay."""
    if shards is None:
        old = generations(settings.home)[keep:]
        for generation in old:
            generation.path.unlink()
        return len(old) + keep
    if keep == 0:
        # Nothing is published any more, and this file lies beside those that the manifest names.
        with suppress(FileNotFoundError):
            obstore.delete(shards.objects, [FILE])
    alone = replace(shards, keep=1)
    change_manifest(alone, lambda before: msgspec.structs.replace(before, before=()), clock=now)
    gone = len(clean_shards(alone, timedelta(0)))
    delete_scraps(settings.home, apply=True)
    return gone


def _prove_persons(job: Job, search: Search) -> None:
    if job.request.persons:
        job.tell("Searching every file of the home.")
        prove(job.settings, job.lake, search, job.account)
    else:
        job.account.left.append(
            "The lake names nobody who is on the list. No file was searched, since the list has no names and "
            "no ids."
        )
    _end(job)


def _end(job: Job) -> None:
    """A request that is proven needs no file any more."""
    if job.account.is_proven:
        _path(job.settings, job.request).unlink(missing_ok=True)


def _tables(lake: Lake) -> list[Table]:
    """All tables of the platform's rows, with what is known of their columns."""
    keys: dict[str, set[str]] = {}
    for plan in read_plans(lake):
        keys.setdefault(f"datasets.{plan.table}", set()).update(plan.key)
    datasets = [
        replace(table, primary_key=tuple(keys.get(table.name, ())) or table.primary_key)
        for table in dataset_tables(lake)
    ]
    own = {**TABLES, "v1_users": users_table(lake)}
    return [*own.values(), *datasets, *held_tables(lake)]


def _everything(lake: Lake) -> list[Stored]:
    return [*_tables(lake), *LOGS, STANDINGS, DATASET_PLANS, WEEK_SIGHTINGS]


def _store(changed: Changed) -> Store:
    return Store(changed.table, changed.rows, changed.removed, changed.files)


def _with_schools(forgotten: Forgotten, schools: Mapping[int, str]) -> Forgotten:
    return msgspec.structs.replace(forgotten, schools=dict(schools))


def _path(settings: Settings, request: Request) -> Path:
    id = f"v1-{request.id}" if request.of_v1 else request.id
    return settings.home / UNPROVEN / f"{request.school_id}-{request.kind}-{id}.json"


def _write_request(settings: Settings, request: Request) -> None:
    path = _path(settings, request)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(msgspec.json.encode(request))
    put_in_place(unfinished, path)


def _with_those_before(settings: Settings, request: Request) -> Request:
    """A request with its persons as they are known now, and as an attempt that did not end has found them."""
    try:
        before = msgspec.json.decode(_path(settings, request).read_bytes(), type=Request)
    except FileNotFoundError:
        return request
    return msgspec.structs.replace(request, persons=tuple(_together(before.persons, request.persons)))


def _together(before: Iterable[Person], known_now: Iterable[Person]) -> list[Person]:
    """Persons as two attempts have found them, each once."""
    persons = list(before)
    for person in known_now:
        same = next((each for each in persons if each.is_same(person)), None)
        if same is None:
            persons.append(person)
        else:
            persons[persons.index(same)] = same.joined(person)
    return persons
