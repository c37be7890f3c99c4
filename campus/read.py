"""Reading one slice of one resource: which questions are asked, and what their answers make together.

Questions that belong together form a unit (an item's scores, a class's assessment). Units are read side by
side; one that fails is noted and its last good rows stay, so that one broken class stops nobody.
"""

import codecs
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Raw

from campus.client import Client
from campus.collect import Collector, Gathered
from campus.collection import Collection, read_collection, together
from campus.decode import BadRow, Drift, Key, Page, decode_page, raw_rows, row_key, row_text
from campus.errors import CampusError, NotFound, Transient, UnexpectedAnswer
from campus.events import Tally
from campus.paging import PageNumbers, Unpaged
from campus.questions import Unit, Where, class_batch, units_of
from campus.resources import ResourceSpec

# So many failures in a row mean that the platform is down, not that one class is broken.
GIVE_UP_AFTER = 20


async def read(client: Client, spec: ResourceSpec, where: Where, collector: Collector) -> None:
    """Read one slice of a resource into the collector.

    Raises CampusError where nothing of the slice can be read; what fails in part is in the account."""
    units = await units_of(client, spec, where, collector.account.tally)

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

    units = await units_of(client, spec, where, assessments.account.tally)
    await _read_all(client, units, read_unit, [assessments, items])


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
                    continue
                if not unit.ids:
                    raise
                # A batch that is refused tells of one of its ids, or of its length, and not of the platform.
                failed_in_a_row += len(unit.ids) == 1 or isinstance(error, Transient)
                if len(unit.ids) > 1 and failed_in_a_row < GIVE_UP_AFTER:
                    total += 2
                    waiting.extend(_halves(unit, collectors[0].spec))
                else:
                    give_up(unit, error)
                    while failed_in_a_row >= GIVE_UP_AFTER and waiting:
                        give_up(waiting.popleft(), error)
                        done += 1
            finally:
                done += 1
                for collector in collectors:
                    collector.progress(done, total)

    await together(work() for _ in range(min(client.config.concurrency, total)))
    for collector in collectors:
        collector.flush()


def _halves(unit: Unit, spec: ResourceSpec) -> tuple[Unit, Unit]:
    middle = len(unit.ids) // 2
    return class_batch(spec, unit.ids[:middle]), class_batch(spec, unit.ids[middle:])


async def _read_unit(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, tally: Tally
) -> Gathered:
    if not spec.with_trashed:
        gathered, _ = await _read_pages(client, spec, school_id, unit, tally)
    else:
        gathered = await _read_with_trashed(client, spec, school_id, unit, tally)
    _leave_out_strangers(gathered, unit.belongs)
    for row in gathered.rows:
        for name, value in unit.known.items():
            if getattr(row, name) is None:
                setattr(row, name, value)
    _set_keyless_aside(gathered, spec)
    gathered.bad = [replace(bad, key=_whole_key(bad.key, spec, unit.known)) for bad in gathered.bad]
    return gathered


def _leave_out_strangers(gathered: Gathered, belongs: Mapping[str, int]) -> None:
    """Drop the rows that a platform sends because it ignores a parameter."""
    own = [
        index
        for index, row in enumerate(gathered.rows)
        if all(getattr(row, name) in (None, value) for name, value in belongs.items())
    ]
    if strangers := len(gathered.rows) - len(own):
        _keep_only(gathered, own)
        gathered.total = None
        gathered.drift[Drift("ignored_parameter", ", ".join(belongs))] += strangers


def _set_keyless_aside(gathered: Gathered, spec: ResourceSpec) -> None:
    """Quarantine the rows with null in a part of the key that the contract lets the question supply."""
    keyless = {index for index, row in enumerate(gathered.rows) if None in row_key(row, spec.primary_key)}
    if keyless:
        gathered.bad += [
            BadRow(None, "a part of the key is null", row_text(gathered.rows[index], gathered.extras[index]))
            for index in keyless
        ]
        _keep_only(gathered, [index for index in range(len(gathered.rows)) if index not in keyless])


def _keep_only(gathered: Gathered, indexes: list[int]) -> None:
    gathered.rows = [gathered.rows[index] for index in indexes]
    gathered.extras = [gathered.extras[index] for index in indexes]
    gathered.trashed = [gathered.trashed[index] for index in indexes]


def _whole_key(key: Key | None, spec: ResourceSpec, known: Mapping[str, int | str]) -> Key | None:
    """The key of a broken row with what the question knows of it; None where a part is still missing."""
    if key is None:
        return None
    whole = tuple(known.get(name, value) for name, value in zip(spec.primary_key, key, strict=True))
    return None if None in whole else whole


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
    paging = PageNumbers(client.per_page, client.config.unpaged_limit) if spec.paged else Unpaged()
    pages, outcome = await read_collection(
        client,
        Collection(unit.path, unit.params, school_id, spec.scopes),
        paging,
        parse=lambda body: decode_page(body, spec.contract, spec.primary_key),
        keys=lambda page: (
            [row_key(row, spec.primary_key) for row in page.rows]
            + [bad.key or (bad.raw,) for bad in page.bad]
        ),
        tally=tally,
    )
    if isinstance(paging, PageNumbers):
        # What one list found out about the page size, the next ones need not ask again.
        client.per_page = min(client.per_page, paging.size)
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
    sent: frozenset[str] = frozenset()
    for page in pages:
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
        total=None,
    )


def _split_assessment(
    body: bytes, assessment: ResourceSpec, item: ResourceSpec
) -> tuple[Page[Any], Page[Any]]:
    """The assessment of a class and the items inside it, each decoded against its own contract."""
    answer = body.removeprefix(codecs.BOM_UTF8).strip() or b"null"
    rows = raw_rows(b"[%b]" % answer if answer.startswith(b"{") else answer)
    own: list[bytes] = []
    items: list[Raw] = []
    for row in rows:
        rest, embedded = _without_items(row)
        own += [rest] if rest != b"{}" else []
        items += embedded
    return (
        decode_page(b"[%b]" % b",".join(own), assessment.contract, assessment.primary_key),
        decode_page(msgspec.json.encode(items), item.contract, item.primary_key),
    )


def _without_items(row: bytes | Raw) -> tuple[bytes, list[Raw]]:
    """An assessment on its own, and the items inside it."""
    try:
        members = msgspec.json.decode(row, type=dict[str, Raw])
        items = msgspec.json.decode(members.pop("items", b"null"), type=list[Raw] | None)
    except msgspec.DecodeError as error:
        raise UnexpectedAnswer(f"expected an assessment with a list of items: {error}.") from error
    if items is None and bytes(members.get("item_num", b"0")) not in (b"0", b"null"):
        raise UnexpectedAnswer("the assessment came without its items although expand=items was asked.")
    return msgspec.json.encode(members), items or []
