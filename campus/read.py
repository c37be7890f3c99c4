"""Reading one slice of one resource: which questions are asked, and what their answers make together.

Questions that belong together form a unit (an item's scores, a class's assessment). Units are read side by
side; one that fails is noted and its last good rows stay, so that one broken class stops nobody.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from campus.client import Client
from campus.collect import Collector, Gathered
from campus.collection import Collection, read_collection, together
from campus.decode import Page, decode_page, row_key
from campus.errors import CampusError, NotFound, Transient
from campus.events import Tally
from campus.paging import V1_NAMES, V3_NAMES, PageNumbers, Unpaged
from campus.parts import as_rows, taken_apart
from campus.questions import Unit, Where, class_batch, units_of
from campus.resources import ResourceSpec
from campus.settle import gathered_of, settle

# So many failures in a row mean that the platform is down, not that one class is broken.
GIVE_UP_AFTER = 20


async def read(client: Client, spec: ResourceSpec, where: Where, collector: Collector) -> None:
    """Read one slice of a resource into the collector.

    Raises CampusError where nothing of the slice can be read; what fails in part is in the account."""
    units = await units_of(client, spec, where, collector.account.tally)

    async def read_unit(unit: Unit) -> None:
        try:
            gathered = await _read_unit(client, spec, where.school_id, unit, collector.account.tally)
        except NotFound:
            if unit.if_absent is None:
                raise
            gathered = Gathered([spec.contract(**unit.if_absent)], [None], [False], total=None)
        collector.add(gathered)

    await read_all(client, units, read_unit, [collector])


async def read_together(client: Client, where: Where, main: Collector, *others: Collector) -> None:
    """Read resources whose rows come in one answer (see campus.parts), which is asked for as `main` is.

    A class without an assessment, a student without a transcript (404, null, or an empty answer) is normal
    and gives no row."""
    spec, tally = main.spec, main.account.tally
    collectors = [main, *others]

    async def read_unit(unit: Unit) -> None:
        answer = await client.get(
            unit.path,
            unit.params,
            school_id=where.school_id,
            scope=spec.scopes,
            parse=lambda body: taken_apart(body, spec.name),
            tally=tally,
        )
        for collector in collectors:
            page = answer.value[collector.spec.name]
            collector.add(settle(gathered_of(page), collector.spec, unit))

    units = await units_of(client, spec, where, tally)
    await read_all(client, units, read_unit, collectors)


async def read_all(
    client: Client,
    units: Iterable[Unit],
    read_unit: Callable[[Unit], Awaitable[None]],
    collectors: list[Collector],
) -> None:
    """Read units side by side, as many at a time as the client allows, and flush the collectors.

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
    return settle(gathered, spec, unit)


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
    names = V1_NAMES if spec.is_v1 else V3_NAMES
    limit = client.config.unpaged_limit
    paging = PageNumbers(client.per_page, limit, names=names) if spec.paged else Unpaged(names)
    pages, outcome = await read_collection(
        client,
        Collection(unit.path, unit.params, school_id, spec.scopes, anonymous=spec.anonymous),
        paging,
        parse=partial(_page_of, spec),
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


def _page_of(spec: ResourceSpec, body: bytes) -> Page[Any]:
    rows = as_rows(body, single=spec.single) if spec.is_v1 else body
    return decode_page(rows, spec.contract, spec.primary_key)
