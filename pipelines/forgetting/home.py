"""`campus forget`: a person or a school taken out of every place of a home, in an order that survives a
death anywhere.

Who it is stands in a file of its own until the proof: after the lake has forgotten, nothing else could tell
what to look for in the other places. The list comes first, so that whatever loads from then on brings nobody
back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
import obstore
import pyarrow.compute as pc

from loading.custom_fields import users_table
from loading.forgotten_stores import (
    forget_in_inbox,
    forget_in_journal,
    forget_in_outbox,
    forget_school_in,
)
from loading.pushes.inbox import inbox_path, left_behind
from loading.reports.tables import held_tables
from loading.tables import TABLES
from loading.writes.journal import journal_path
from loading.writes.outbox import outbox_path
from pipelines.cli.commands import run_build
from pipelines.cli.exporting import run_export
from pipelines.forgetting.account import FOLDER, UNPROVEN, Account, Store
from pipelines.forgetting.dagster_storage import forget_in_dagster, forget_school_in_dagster
from pipelines.forgetting.files import (
    delete_arrived,
    delete_exports,
    delete_plans,
    delete_plans_of_school,
    delete_scraps,
    files_that_name,
)
from pipelines.instance import dagster_home, open_instance
from pipelines.lake import lake_of
from pipelines.settings import Settings
from warehouse.files import put_in_place
from warehouse.forgetting.forgotten import (
    NAME,
    Forgotten,
    Matcher,
    change,
    matcher,
    matcher_of,
    read,
    with_person,
)
from warehouse.forgetting.identity import GUARDIAN, STUDENT, People, Person, choices_of
from warehouse.forgetting.search import Search, Searched
from warehouse.forgetting.surgery import (
    Changed,
    forget_in_logs,
    forget_in_tables,
    forget_school,
    purge,
)
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import LOGS, STANDINGS
from warehouse.lake.tables import SCHOOL_ID, Stored, Table
from warehouse.load.dataset_plans import DATASET_PLANS, dataset_tables, read_plans
from warehouse.load.load_log import now
from warehouse.load.week_evidence import WEEK_SIGHTINGS
from warehouse.publish.publish import ANEW, generations
from warehouse.published.manifest import Manifest
from warehouse.published.shards import Shards
from warehouse.published.shards import change as change_manifest
from warehouse.published.shards import clean as clean_shards

#: Below the home, places that the search passes by: the list, and the requests themselves.
OWN = (UNPROVEN, FOLDER, "writers", "keys")
BACKUPS = (
    "Backups are outside of the home and stay as they are: a restore takes "
    "what is on the list out of them. To be rid of them sooner, delete them."
)
COPIES = (
    "Copies in other folders (--to), in mails and with readers that have "
    "campus.duckdb open are not the home's."
)


#: The kind of a request for all of a school who are on the list.
SEVERAL = "several"


#: The store that has files of everybody, so that it speaks of no school.
SCRAPS = "unfinished files and copies"


class NobodyThere(Exception):
    """The home has nothing about this id."""


class Request(msgspec.Struct, frozen=True):
    """Who is to be forgotten. `persons`: the person asked for first, then the guardians."""

    school_id: int
    kind: str
    id: int
    persons: tuple[Person, ...]


Tell = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """What a request is carried out with. `apply`: False only counts."""

    settings: Settings
    lake: Lake
    account: Account
    tags: Mapping[str, str]
    tell: Tell
    apply: bool

    def note(self, store: Store) -> None:
        """Note what became of a place, and say so where it is anything."""
        self.account.add(store)
        if store.rows or store.removed or store.files:
            self.tell(f"  {store.words}")


def request_of(settings: Settings, lake: Lake, school_id: int, kind: str, id: int) -> Request:
    """Who an id stands for, by what the lake has, and by what an attempt that did not end has found.

    Raises NobodyThere where neither has anything."""
    people = People(lake, school_id, TABLES)
    person = people.find(kind, id)
    persons = [] if person is None else [person]
    if person is not None and kind == STUDENT:
        persons += people.guardians_of(person)
    known = _read_request(_path(settings, school_id, kind, id))
    if known is not None:
        persons = _together(known.persons, persons)
    if not persons:
        raise NobodyThere(f"school {school_id} has no {kind} {id} in this home")
    return Request(school_id, kind, id, tuple(persons))


def unknown_request(school_id: int, kind: str, id: int) -> Request:
    """The request for an id that nothing is known of, so that no load ever brings it."""
    ids = frozenset((id,))
    return Request(school_id, kind, id, (Person(school_id, kind, ids, ids),))


def forget_persons(
    settings: Settings, request: Request, tags: Mapping[str, str], tell: Tell, *, apply: bool
) -> Account:
    """Take the persons of a request out of the home, and search all of it. apply: False only counts.

    For whoever is alone in the home. Raises OSError, deltalake's, DuckDB's and sqlite3's errors; the same
    command goes on then."""
    lake = lake_of(settings)
    account = Account(
        f"a {request.kind}"
        + (f" and {len(request.persons) - 1} guardians" if len(request.persons) > 1 else ""),
        request.school_id,
        f"{now():%Y-%m-%d %H:%M:%S}",
        not apply,
        len(request.persons),
    )
    job = Job(settings, lake, account, tags, tell, apply)
    known = _on_list(job, request)
    search = Search(request.persons)
    _in_lake(job, request.school_id, known)
    _in_stores(job, request.school_id, known)
    _in_files(job, request.school_id, search)
    job.note(Store("Dagster's records", rows=forget_in_dagster(dagster_home(settings), search, apply=apply)))
    _say_what_is_left(job, request, search)
    if apply:
        _publish(job, request.school_id)
        _prove(job, search)
        if account.is_proven:
            _path(settings, request.school_id, request.kind, request.id).unlink(missing_ok=True)
    return account


def forget_whole_school(
    settings: Settings, school_id: int, tags: Mapping[str, str], tell: Tell, *, apply: bool
) -> Account:
    """Take a school that was loaded by mistake out of the home. apply: False only counts."""
    lake = lake_of(settings)
    account = Account(f"school {school_id}", school_id, f"{now():%Y-%m-%d %H:%M:%S}", not apply)
    job = Job(settings, lake, account, tags, tell, apply)
    if apply:
        change(lake, lambda before: replace_schools(before, {**before.schools, school_id: account.at}))
    for changed in forget_school(lake, _everything(lake), school_id, apply=apply):
        job.note(_store(changed))
    if apply:
        _purge(job)
    for path in (*_inboxes(settings.home), outbox_path(settings.home), journal_path(settings.home)):
        job.note(Store(path.name, removed=forget_school_in(path, school_id, apply=apply)))
    job.note(Store(SCRAPS, files=delete_scraps(settings.home, apply=apply)))
    job.note(Store("exports", files=delete_exports(settings.home, school_id, apply=apply)))
    job.note(Store("plans", files=delete_plans_of_school(settings.home, school_id, apply=apply)))
    with open_instance(settings) as instance:
        partitions, runs = forget_school_in_dagster(instance, school_id, apply=apply)
    job.note(Store("Dagster's partitions", removed=partitions))
    job.note(Store("Dagster's runs", removed=runs))
    account.left += [
        BACKUPS,
        COPIES,
        f"No sync loads school {school_id} any more. `campus forget --school "
        f"{school_id} --allow` lets it be loaded "
        "again. Take it out of CAMPUS_SCHOOL_IDS where that names it.",
    ]
    if apply:
        _publish(job, school_id)
        account.found += _rows_of_school(settings, lake, school_id)
    return account


def replace_schools(forgotten: Forgotten, schools: Mapping[int, str]) -> Forgotten:
    """The list with these schools."""
    return msgspec.structs.replace(forgotten, schools=dict(schools))


def allow_school(settings: Settings, school_id: int) -> bool:
    """Take a school off the list; whether it was on it."""
    lake = lake_of(settings)
    if school_id not in read(lake).schools:
        return False
    change(
        lake,
        lambda before: replace_schools(
            before, {one: at for one, at in before.schools.items() if one != school_id}
        ),
    )
    return True


def forget_again(settings: Settings, tags: Mapping[str, str], tell: Tell) -> list[Account]:
    """Take everybody on the list out of a home that was restored from an older backup."""
    lake = lake_of(settings)
    forgotten = read(lake)
    accounts = [
        forget_whole_school(settings, school_id, tags, tell, apply=True)
        for school_id in sorted(forgotten.schools)
    ]
    for school_id in sorted({entry.school_id for group in forgotten.groups for entry in group.entries}):
        known = matcher(forgotten, school_id)
        assert known is not None
        people = People(lake, school_id, TABLES)
        found = [
            person
            for each in people.known.values()
            if known.find(each.generation, str(each.id)) is not None
            and (person := people.find(each.kind or STUDENT, each.id)) is not None
        ]
        if found:
            request = Request(school_id, SEVERAL, 0, tuple(_together((), found)))
            accounts.append(forget_persons(settings, request, tags, tell, apply=True))
    return accounts


def _on_list(job: Job, request: Request) -> Matcher:
    """Write down whom it is about, then put them on the list. What recognises them."""
    choices = choices_of(job.lake, TABLES["user_fields"], request.school_id)

    def listed(forgotten: Forgotten) -> Forgotten:
        for person in request.persons:
            forgotten, _ = with_person(
                forgotten, person.school_id, person.kind, person.marks, since=job.account.at, choices=choices
            )
        return forgotten

    if job.apply:
        _write_request(_path(job.settings, request.school_id, request.kind, request.id), request)
        change(job.lake, listed)
        found = matcher_of(job.lake, request.school_id)
    else:
        found = matcher(listed(read(job.lake)), request.school_id)
    assert found is not None
    return found


def _in_lake(job: Job, school_id: int, known: Matcher) -> None:
    lake, scratch = job.lake, job.settings.home / "scratch"
    tables = _tables(lake)
    for changed in forget_in_tables(lake, tables, school_id, known, scratch, apply=job.apply):
        job.note(_store(changed))
    for changed in forget_in_logs(lake, TABLES, school_id, known, apply=job.apply):
        job.note(_store(changed))
    if job.apply:
        _purge(job)


def _purge(job: Job) -> None:
    files = sum(purge(job.lake, table) for table in _everything(job.lake) if job.lake.holds(table))
    job.note(Store("older versions of the lake", files=files))


def _in_stores(job: Job, school_id: int, known: Matcher) -> None:
    home, apply = job.settings.home, job.apply
    resources = job.settings.options.pushes.drained.resources
    outbox, journal = outbox_path(home), journal_path(home)
    for inbox in _inboxes(home):
        job.note(Store(inbox.name, rows=forget_in_inbox(inbox, school_id, known, resources, apply=apply)))
    job.note(Store(outbox.name, removed=forget_in_outbox(outbox, school_id, known, apply=apply)))
    job.note(Store(journal.name, rows=forget_in_journal(journal, school_id, known, apply=apply)))


def _inboxes(home: Path) -> list[Path]:
    """The inbox of pushes, and one that was left behind when it moved to a folder of its own."""
    before = left_behind(home)
    return [inbox_path(home), *([before] if before else [])]


def _in_files(job: Job, school_id: int, search: Search) -> None:
    home, apply = job.settings.home, job.apply
    job.note(Store(SCRAPS, files=delete_scraps(home, apply=apply)))
    job.note(Store("plans", files=delete_plans(home, search, apply=apply)))
    folder = job.settings.options.writes.inbox.folder
    if folder is not None:
        job.note(Store("files that were read", files=delete_arrived(folder, search, apply=apply)))
    job.note(Store("exports", files=delete_exports(home, school_id, apply=apply)))


def _say_what_is_left(job: Job, request: Request, search: Search) -> None:
    settings, left = job.settings, job.account.left
    left += [BACKUPS, COPIES]
    if shared := sum(person.shared for person in request.persons):
        left.append(
            f"{shared} names or addresses are also those of others, or too short to "
            f"tell: they were removed where a row is "
            "about the person, and stay with the others."
        )
    folder = settings.options.writes.inbox.folder
    if folder is not None:
        left += [
            f"{path} still names them: it is not ours to change. Have whoever writes it take them out."
            for path in files_that_name(folder, search)
        ]
    known = matcher_of(job.lake, request.school_id)
    if known is not None and any(known.identifies(card) is not None for card in settings.card_ids):
        left.append("CAMPUS_CARD_IDS names a card of theirs: take it out of the settings.")
    if request.kind == GUARDIAN:
        left.append("The student of this guardian stays.")


def _publish(job: Job, school_id: int) -> None:
    """Make what is published anew, with nothing carried over, and delete what was published before."""
    settings = job.settings
    if not settings.published.exists():
        return
    shards = settings.shards
    if shards is None:
        (settings.home / ANEW).touch()
    else:
        change_manifest(shards, partial(_unbuilt, school_id=school_id), clock=now)
    status = run_build(settings, job.tags, job.lake)
    if status:
        job.account.found.append(f"{settings.published}: it could not be built anew, for the reason above")
        return
    job.note(Store("published files", files=_forget_generations(settings, shards)))
    exported = any(store.name == "exports" and store.files for store in job.account.stores)
    names = _schools_to_export(job, school_id)
    if exported and names and run_export(settings, (), schools=names):
        job.account.left.append(
            "Exports were deleted and could not all be written again: run campus export --all."
        )


def _schools_to_export(job: Job, school_id: int) -> tuple[int, ...]:
    if any(store.name == "Dagster's partitions" for store in job.account.stores):
        return ()
    return (school_id,)


def _unbuilt(manifest: Manifest, school_id: int) -> Manifest:
    """The manifest in which the shards of a school are of no models, so that nothing is carried over from
    their files."""
    shards = tuple(
        msgspec.structs.replace(shard, published=msgspec.structs.replace(shard.published, models=""))
        if shard.published and school_id in (*shard.schools, *shard.published.schools)
        else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=shards)


def _forget_generations(settings: Settings, shards: Shards | None) -> int:
    if shards is None:
        old = generations(settings.home)[1:]
        for generation in old:
            generation.path.unlink()
        return len(old) + 1
    alone = replace(shards, keep=1)
    change_manifest(alone, lambda before: msgspec.structs.replace(before, before=()), clock=now)
    gone = len(clean_shards(alone, timedelta(0)))
    delete_scraps(settings.home, apply=True)
    return gone


def _prove(job: Job, search: Search) -> None:
    """Search every file of the home, and of what it keeps elsewhere."""
    settings, account = job.settings, job.account
    home = settings.home
    roots = [home]
    roots += [root for root in _folders_elsewhere(settings) if not root.is_relative_to(home)]
    skip = [home / name for name in OWN]
    for root in roots:
        searched = search.folder(root, [*skip, *(each / NAME for each in _lake_folders(settings))])
        _add(account, searched)
    if job.lake.is_remote:
        _add(account, _searched_store(job.lake, search))


def _folders_elsewhere(settings: Settings) -> Iterator[Path]:
    yield from _lake_folders(settings)
    shards = settings.shards
    if shards is not None and not shards.is_remote:
        yield Path(shards.root)
    yield dagster_home(settings)


def _lake_folders(settings: Settings) -> list[Path]:
    return [settings.lake_folder] if settings.lake_folder is not None else []


def _searched_store(lake: Lake, search: Search) -> Searched:
    searched = Searched()
    with tempfile.TemporaryDirectory() as folder:
        for page in obstore.list(lake.objects):
            for entry in page:
                if entry["path"] == NAME:
                    continue
                copy = Path(folder) / "lake" / entry["path"]
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(bytes(obstore.get(lake.objects, entry["path"]).bytes()))
                search.file(copy, entry["path"], searched)
                copy.unlink()
    return searched


def _add(account: Account, searched: Searched) -> None:
    account.searched_files += searched.files
    account.searched_tables += searched.tables
    account.searched_bytes += searched.bytes
    account.found += map(str, searched.findings)
    account.unread += searched.unread


def _rows_of_school(settings: Settings, lake: Lake, school_id: int) -> list[str]:
    """Where the lake still has rows of a school."""
    mine = pc.field(SCHOOL_ID.name) == school_id
    return [
        f"{table.name}: rows of the school"
        for table in _everything(lake)
        if lake.holds(table)
        and SCHOOL_ID.name in table.lake_schema.names
        and lake.scan(table, lake.open(table), [SCHOOL_ID.name], mine).num_rows
    ]


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


def _path(settings: Settings, school_id: int, kind: str, id: int) -> Path:
    return settings.home / UNPROVEN / f"{school_id}-{kind}-{id}.json"


def _write_request(path: Path, request: Request) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(msgspec.json.encode(request))
    put_in_place(unfinished, path)


def _read_request(path: Path) -> Request | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Request)
    except FileNotFoundError:
        return None


def _in_words(request: Request) -> str:
    more = len(request.persons) - 1
    if request.kind == SEVERAL:
        return f"{more + 1} persons"
    return f"a {request.kind}" + (f" and {more} accounts of guardians" if more else "")


def _together(before: Iterable[Person], now_known: Iterable[Person]) -> list[Person]:
    """Persons as two attempts have found them, each once."""
    found = list(before)
    for person in now_known:
        same = next((each for each in found if each.kind == person.kind and each.ids & person.ids), None)
        if same is None:
            found.append(person)
        else:
            found[found.index(same)] = same.joined(person)
    return found
