"""Reading one slice of one resource: which questions are asked, and what their answers make together.

Questions that belong together form a unit (an item's scores, a class's assessment). Units are read side by
side; one that fails is noted and its last good rows stay, so that one broken class stops nobody.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Raw

from campus.client import Client
from campus.collect import Collector, Gathered
from campus.decode import BadRow, Page, decode_page, row_key
from campus.errors import CampusError, NotFound, Refused, TornBody, UnexpectedAnswer
from campus.events import Tally
from campus.paging import PageNumbers, PageRequest, PageSeen, Unpaged
from campus.resources import ResourceSpec

# Proxies and servers commonly refuse a request line beyond 2,000 characters; the rest of the URL needs some.
MAX_IDS_LENGTH = 1_500
# So many failures in a row mean that the platform is down, not that one class is broken.
GIVE_UP_AFTER = 20


@dataclass(frozen=True)
class Where:
    """What one slice is asked for with. `parents`: ids of the classes or items that the questions name."""

    school_id: int | None
    semester_id: int | None = None
    parents: tuple[int, ...] = ()
    term_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """One collection to ask for. `ids`: what is missing if it fails. `known`: fields that the question fixes.
    `may_be_absent`: an unknown id (404) is a normal answer that means no rows."""

    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[int | str, ...] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    may_be_absent: bool = False


async def read(client: Client, spec: ResourceSpec, where: Where, collector: Collector) -> None:
    """Read one slice of a resource into the collector.

    Raises CampusError where nothing of the slice can be read; what fails in part is in the account."""
    units = await _units(client, spec, where, collector.account.tally)

    async def read_unit(unit: Unit) -> None:
        collector.add(await _read_unit(client, spec, where.school_id, unit, collector.account.tally))

    await _read_all(client, units, read_unit, [collector])


async def read_assessments(client: Client, where: Where, assessments: Collector, items: Collector) -> None:
    """Read the assessments of the classes in `where.parents` with their items, one request a class.

    A class without an assessment (404, null, or an empty answer) is normal and gives no row."""
    spec = assessments.spec

    async def read_unit(unit: Unit) -> None:
        answer = await client.get(
            unit.path,
            unit.params,
            school_id=where.school_id,
            scope=spec.scopes,
            parse=lambda body: _split_assessment(body, assessments.spec, items.spec),
            tally=assessments.account.tally,
        )
        own, embedded = answer.value
        for row in own.rows:
            row.class_id = unit.known["class_id"]
        assessments.add(_gathered(own))
        items.add(_gathered(embedded))

    units = [
        Unit(
            spec.path.format(id=class_id),
            spec.params,
            ids=(class_id,),
            known={"class_id": class_id},
            may_be_absent=True,
        )
        for class_id in where.parents
    ]
    await _read_all(client, units, read_unit, [assessments, items])


async def _units(client: Client, spec: ResourceSpec, where: Where, tally: Tally) -> list[Unit]:
    """The questions that determine a slice."""
    match spec.asked:
        case "once":
            return [Unit(spec.path, spec.params)]
        case "by_term_type":
            return [
                Unit(spec.path.format(type=quote(kind, safe="")), spec.params, (kind,), may_be_absent=True)
                for kind in where.term_types
            ]
        case "by_semester":
            return [Unit(spec.path, spec.params | _of_semester(where))]
        case "members":
            return await _member_units(client, spec, where, tally)
        case "by_item":
            return [
                Unit(spec.path.format(id=item_id), spec.params, (item_id,), may_be_absent=True)
                for item_id in where.parents
            ]
        case "by_class_batch":
            return [_class_batch(spec, batch) for batch in id_batches(where.parents)]
        case "by_class":
            raise ValueError(f"{spec.name} comes with its class: use read_assessments")


def _of_semester(where: Where) -> dict[str, str]:
    return {"semester_id": str(where.semester_id)}


async def _member_units(client: Client, spec: ResourceSpec, where: Where, tally: Tally) -> list[Unit]:
    """The whole semester where members carry their class id, else class by class.

    Whether they do is not specified, so one row is looked at first."""
    whole = Unit(spec.path, spec.params | _of_semester(where))
    probe = await client.get(
        whole.path,
        {**whole.params, "page": "1", "per_page": "1"},
        school_id=where.school_id,
        scope=spec.scopes,
        parse=lambda body: decode_page(body, spec.contract, spec.primary_key),
        tally=tally,
    )
    page = probe.value
    if "class_id" in page.sent or not (page.rows or page.bad):
        return [whole]
    return [
        replace(
            whole,
            params={**whole.params, "class_id_in": str(class_id)},
            ids=(class_id,),
            known={"class_id": class_id},
        )
        for class_id in where.parents
    ]


def id_batches(ids: Iterable[int], max_length: int = MAX_IDS_LENGTH) -> list[tuple[int, ...]]:
    """Split ids so that each batch, comma-separated and URL-encoded, stays within `max_length` characters."""
    batches: list[tuple[int, ...]] = []
    batch: list[int] = []
    length = 0
    for one in ids:
        cost = len(str(one)) + len("%2C")
        if batch and length + cost > max_length:
            batches.append(tuple(batch))
            batch, length = [], 0
        batch.append(one)
        length += cost
    return [*batches, tuple(batch)] if batch else batches


def _class_batch(spec: ResourceSpec, class_ids: tuple[int | str, ...]) -> Unit:
    ids = ",".join(str(one) for one in class_ids)
    return Unit(spec.path, {**spec.params, "class_ids": ids}, class_ids, may_be_absent=len(class_ids) == 1)


async def _read_all(
    client: Client,
    units: Iterable[Unit],
    read_unit: Callable[[Unit], Awaitable[None]],
    collectors: list[Collector],
) -> None:
    """Read units side by side, as many at a time as the client allows.

    A unit of several ids that fails is halved until the broken id stands alone. A unit without ids is the
    whole slice: its error is raised."""
    waiting = deque(units)
    total, done, failed_in_a_row = len(waiting), 0, 0

    def give_up(unit: Unit, error: CampusError) -> None:
        for collector in collectors:
            collector.fail(unit.ids, str(error))

    async def work() -> None:
        nonlocal total, done, failed_in_a_row
        while waiting:
            unit = waiting.popleft()
            try:
                await read_unit(unit)
                failed_in_a_row = 0
            except CampusError as error:
                if isinstance(error, NotFound) and unit.may_be_absent:
                    failed_in_a_row = 0
                elif len(unit.ids) > 1:
                    total += 2
                    waiting.extend(_halves(unit, collectors[0].spec))
                elif not unit.ids:
                    raise
                else:
                    failed_in_a_row += 1
                    give_up(unit, error)
                    while failed_in_a_row >= GIVE_UP_AFTER and waiting:
                        give_up(waiting.popleft(), error)
            done += 1
            for collector in collectors:
                collector.progress(done, total)

    await _together(work() for _ in range(min(client.config.concurrency, total)))
    for collector in collectors:
        collector.flush()


async def _together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run jobs side by side; the first error ends them all and is raised as it is."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _halves(unit: Unit, spec: ResourceSpec) -> tuple[Unit, Unit]:
    middle = len(unit.ids) // 2
    return _class_batch(spec, unit.ids[:middle]), _class_batch(spec, unit.ids[middle:])


async def _read_unit(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, tally: Tally
) -> Gathered:
    if not spec.with_trashed:
        gathered, _ = await _read_pages(client, spec, school_id, unit, tally)
    else:
        gathered = await _read_with_trashed(client, spec, school_id, unit, tally)
    for row in gathered.rows:
        for name, value in unit.known.items():
            setattr(row, name, value)
    if unit.known:
        gathered.bad = [_with_known_key(bad, spec, unit.known) for bad in gathered.bad]
    return gathered


def _with_known_key(bad: BadRow, spec: ResourceSpec, known: Mapping[str, int]) -> BadRow:
    if bad.key is None:
        return bad
    key = tuple(known.get(name, value) for name, value in zip(spec.primary_key, bad.key, strict=True))
    return replace(bad, key=key)


async def _read_with_trashed(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, tally: Tally
) -> Gathered:
    """Rows with the deleted ones among them, told apart.

    Whether such rows show deleted_at is not specified. Where they do not, a second read without with_trashed
    tells which are alive."""
    trashed_too = replace(unit, params={**unit.params, "with_trashed": "1"})
    everything, sent = await _read_pages(client, spec, school_id, trashed_too, tally)
    if not everything.rows or "deleted_at" in sent:
        everything.trashed = [row.deleted_at is not None for row in everything.rows]
        return everything
    alive, _ = await _read_pages(client, spec, school_id, unit, tally)
    alive_keys = {row_key(row, spec.primary_key) for row in alive.rows} | {bad.key for bad in alive.bad}
    gone = [
        index for index, row in enumerate(everything.rows) if row_key(row, spec.primary_key) not in alive_keys
    ]
    return replace(
        alive,
        rows=[*alive.rows, *(everything.rows[index] for index in gone)],
        extras=[*alive.extras, *(everything.extras[index] for index in gone)],
        trashed=[False] * len(alive.rows) + [True] * len(gone),
        bad=[*alive.bad, *(bad for bad in everything.bad if bad.key not in alive_keys)],
        total=None if alive.total is None else alive.total + len(gone),
        complete=alive.complete and everything.complete,
        note="; ".join(filter(None, (everything.note, alive.note))),
    )


async def _read_pages(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, tally: Tally
) -> tuple[Gathered, frozenset[str]]:
    """All pages of one collection, and the names of the fields that its rows were sent with."""
    config = client.config
    paging = PageNumbers(config.per_page, config.unpaged_limit) if spec.paged else Unpaged()
    pages: dict[PageRequest, Page[Any]] = {}

    async def ask(request: PageRequest) -> None:
        try:
            answer = await client.get(
                unit.path,
                {**unit.params, **dict(request.params)},
                school_id=school_id,
                scope=spec.scopes,
                parse=lambda body: decode_page(body, spec.contract, spec.primary_key),
                tally=tally,
            )
        except Refused:
            # perhaps only the page size or the unpaged form is unwelcome: the paging knows others
            if not paging.refused(request):
                raise
            return
        page = answer.value
        pages[request] = page
        tally.pages += 1
        keys = [row_key(row, spec.primary_key) for row in page.rows]
        keys += [bad.key or (bad.raw,) for bad in page.bad]
        paging.receive(request, PageSeen(keys, answer.pagination))

    while not paging.done:
        requests = paging.pending()
        if len(requests) == 1:
            await ask(requests[0])
        else:
            await _together(ask(request) for request in requests)
    outcome = paging.outcome
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
    sent: frozenset[str] = frozenset()
    for request in sorted(outcome.kept, key=lambda one: one.ordinal):
        page = pages[request]
        gathered.rows += page.rows
        gathered.extras += page.extras
        gathered.bad += page.bad
        gathered.drift.update(page.drift)
        sent |= page.sent
    gathered.trashed = [False] * len(gathered.rows)
    return gathered, sent


def _gathered(page: Page[Any]) -> Gathered:
    return Gathered(
        page.rows,
        page.extras,
        [False] * len(page.rows),
        page.bad,
        page.drift,
        total=len(page.rows) + len(page.bad),
    )


def _split_assessment(
    body: bytes, assessment: ResourceSpec, item: ResourceSpec
) -> tuple[Page[Any], Page[Any]]:
    """The assessment of a class and the items inside it, each decoded against its own contract."""
    try:
        answer = msgspec.json.decode(body or b"null", type=list[dict[str, Raw]] | dict[str, Raw] | None)
    except msgspec.ValidationError as error:
        raise UnexpectedAnswer(f"expected an assessment object: {error}") from error
    except msgspec.DecodeError as error:
        raise TornBody(str(error)) from error
    rows = answer if isinstance(answer, list) else [answer] if answer else []
    items: list[Raw] = []
    for row in rows:
        embedded = row.pop("items", None)
        if embedded is None and msgspec.json.decode(row.get("item_num", b"0")):
            raise UnexpectedAnswer("the assessment came without its items although expand=items was asked")
        items += msgspec.json.decode(embedded or b"[]", type=list[Raw] | None) or []
    return (
        decode_page(msgspec.json.encode(rows), assessment.contract, assessment.primary_key),
        decode_page(msgspec.json.encode(items), item.contract, item.primary_key),
    )
