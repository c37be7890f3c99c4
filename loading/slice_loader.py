"""From the platform to the lake, one slice at a time: read, spool, compare, commit, account for."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Set
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pyarrow as pa

from campus.decoding.nested import SPLITTERS, family
from campus.http.client import Client
from campus.http.errors import CampusError, Forbidden, Halt, NotFound, Refused
from campus.http.events import Tally
from campus.plan.modes import MODES, parents_of, unit_in_words
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.gathered import Account, Collector
from campus.sources.named_rows import read_by_ids
from campus.sources.slice import read, read_together
from loading.changes import read_changes, since_of, staging_context
from loading.commit import (
    STORAGE_ERRORS,
    Loaded,
    commit_slice,
    confirm_slice,
    empty_slice,
    fail_slice,
    guard_of,
    reading_of,
)
from loading.forgotten import forgotten_ids
from loading.moved import CLASSES, may_rest, moved_items, outdated_classes
from loading.runtime import Cause, Runtime
from loading.slice_context import SliceContext
from loading.stage import Stage, open_stage
from loading.tables import TABLES, slice_of, values
from warehouse.lake.tables import Slice, Table
from warehouse.load.load_log import Standing, standings
from warehouse.load.slice_reading import RequestedRows, RetainedRows

# A message that lists more broken classes than this is read by nobody.
IDS_SHOWN = 20
# Whose rows each question for a person's transcripts names.
PEOPLE = (RESOURCES["v1_users"],)
# What stands for the id of each in a reason that many have.
ID = "{id}"
IN_PATH, NUMBER = re.compile("/(?P<id>[^/ :]+)"), re.compile(r"(?P<id>\d+)")


class Loader:
    """Loads the slices of one run, without those that the run's cause has committed already."""

    def __init__(
        self,
        runtime: Runtime,
        client: Client,
        cause: Cause,
        committed: Mapping[tuple[str, str], datetime],
    ) -> None:
        self.runtime = runtime
        self._client = client
        self.cause = cause
        self._committed = committed
        # One commit at a time bounds the memory; the other slices go on reading meanwhile.
        self._commits = asyncio.Lock()
        self._known: dict[int, Mapping[str, Mapping[str, Standing]]] = {}

    async def load(self, specs: tuple[ResourceSpec, ...], query: SliceQuery, *, again: bool) -> list[Loaded]:
        """Load one slice, or those that come in one answer (see campus.decoding.nested).

        `again`: also where this run's cause has committed it, because what the questions are made from is
        new. A failure is an outcome, not an exception: the other slices go on. Raises Halt where they cannot.
        """
        slices = {spec: _slice(spec, query) for spec in specs}
        tally = Tally()
        if len(specs) == 1 and (again or not self._is_done(specs[0], slices[specs[0]])):
            done = await self._load_changes(specs[0], slices[specs[0]], query, tally)
            if done is not None:
                return [done]
        return await self.load_by(partial(self.read, query=query), slices, again=again, tally=tally)

    async def load_by(
        self,
        reading: Callable[[dict[ResourceSpec, Collector]], Awaitable[None]],
        slices: Mapping[ResourceSpec, Slice],
        *,
        again: bool,
        asked: Mapping[ResourceSpec, RequestedRows] | None = None,
        follows: bool = False,
        tally: Tally | None = None,
    ) -> list[Loaded]:
        """The same for slices of resources that a function of their own reads together. `asked`: what it asks
        for, where that is not the whole of a slice; `follows`: as in `SliceReading`; `tally`: of the requests
        that it took to come here."""
        if not again and all(self._is_done(spec, slice) for spec, slice in slices.items()):
            return [
                Loaded(spec, slice, "skipped", "already loaded by this sync")
                for spec, slice in slices.items()
            ]
        with ExitStack() as stack:
            try:
                stages = {
                    spec: stack.enter_context(open_stage(self.context(spec, slice)))
                    for spec, slice in slices.items()
                }
                collectors = {
                    spec: Collector(spec, str(slices[spec]), stages[spec].write, self.runtime.listener)
                    for spec in slices
                }
                if tally is not None:
                    next(iter(collectors.values())).account.tally = tally
                await reading(collectors)
            except Halt as halt:
                self._halted(slices, halt)
                raise
            except (CampusError, *STORAGE_ERRORS) as error:
                refused = isinstance(error, (Forbidden, NotFound))
                return [
                    replace(self._failed(spec, slice, str(error)), refused=refused)
                    for spec, slice in slices.items()
                ]
            async with self._commits:
                return [
                    await asyncio.to_thread(
                        self._commit,
                        stages[spec],
                        collectors[spec].account,
                        asked=(asked or {}).get(spec),
                        follows=follows,
                    )
                    for spec in slices
                ]

    async def load_moved(self, spec: ResourceSpec, query: SliceQuery, *, again: bool) -> list[Loaded]:
        """The same for a slice of which only what may have moved is asked for, see `loading.moved`."""
        slice, table = _slice(spec, query), TABLES[spec.name]
        standing = self._standings(slice, table).get(str(slice))
        told_by = [self._standings(slice, TABLES[name]).get(str(slice)) for name in spec.moves_with]
        # A row that is in quarantine may have moved.
        known = all(one is not None and not one.quarantined for one in told_by)
        moved = moved_items(self.runtime, self.cause, query, standing, self._overlap) if known else None
        if moved is None or (not again and self._is_done(spec, slice)):
            return await self.load((spec,), query, again=again)
        if not moved.concerned:
            return [self.leave(spec, query)]
        query = replace(query, parents=moved.asked, filled=query.filled.intersection(moved.asked))
        asked = {spec: RequestedRows(spec.unit_column or "", moved.concerned, suffices=True)}
        return await self.load_by(partial(self.read, query=query), {spec: slice}, again=again, asked=asked)

    async def load_outdated_classes(self, query: SliceQuery) -> list[Loaded]:
        """Read the rows of the classes again whose members have moved, see `loading.moved`."""
        slice, lake = _slice(CLASSES, query), self.runtime.lake
        # The run itself may have read all of them meanwhile.
        standing = standings(lake, slice.school_id).get(CLASSES.name, {}).get(str(slice))
        found = outdated_classes(lake, query, standing, self._overlap)
        if not found.ids:
            return []
        if found.are_most:
            whole = partial(self.read, query=query)
            return await self.load_by(whole, {CLASSES: slice}, again=True, follows=True)
        by_ids = replace(query, filled=frozenset(found.ids))

        async def reading(collectors: Mapping[ResourceSpec, Collector]) -> None:
            try:
                await read_by_ids(self._client, CLASSES, by_ids, found.ids, collectors[CLASSES])
            except Refused:
                # The list of all has them too.
                await read(self._client, CLASSES, query, collectors[CLASSES])

        asked = {CLASSES: RequestedRows("id", found.ids, suffices=True)}
        return await self.load_by(reading, {CLASSES: slice}, again=True, asked=asked, follows=True)

    @property
    def _overlap(self) -> timedelta:
        """How long before a load began a row may be dated that changed while it ran: more query the
        platform's clock is behind ours."""
        return self.runtime.incremental.overlap + timedelta(seconds=max(-(self._client.clock_skew or 0), 0))

    def may_rest(self, spec: ResourceSpec, query: SliceQuery) -> bool:
        """Whether a slice of what seldom changes need not be asked for now, see `loading.moved`."""
        slice = _slice(spec, query)
        standing = self._standings(slice, TABLES[spec.name]).get(str(slice))
        return spec.seldom_changes and may_rest(self.runtime, self.cause, spec, query, standing)

    def leave(self, spec: ResourceSpec, query: SliceQuery) -> Loaded:
        """A slice that is left as it was, without a request."""
        return confirm_slice(self.context(spec, _slice(spec, query)), Account(), None)

    def context(self, spec: ResourceSpec, slice: Slice) -> SliceContext:
        """A slice in this run."""
        return SliceContext.of(self.runtime, self.cause, spec, slice)

    async def _load_changes(
        self, spec: ResourceSpec, slice: Slice, query: SliceQuery, tally: Tally
    ) -> Loaded | None:
        """Load a slice by what changed of it; None: it has to be read in full."""
        context = self.context(spec, slice)
        try:
            since = since_of(context, self._client, query, self._standings(slice, context.table))
            if since is None:
                return None
            asked = replace(query, since=since)
            with open_stage(staging_context(context)) as stage:
                found = await read_changes(context, self._client, asked, stage, tally)
                if found is None:
                    return None
                if not found.news:
                    return confirm_slice(context, found.account, found.total)
                reading = replace(
                    reading_of(context, stage.writer, found.account),
                    incremental=found.incremental,
                    alive_total=found.total,
                )
                async with self._commits:
                    return await asyncio.to_thread(
                        commit_slice, context, reading, guard_of(context), found.account.began
                    )
        except Halt as halt:
            self._halted({spec: slice}, halt)
            raise
        except (CampusError, *STORAGE_ERRORS) as error:
            return self._failed(spec, slice, str(error))

    def _halted(self, slices: Mapping[ResourceSpec, Slice], halt: Halt) -> None:
        """Write down at what the run, or the school's part of it, has ended."""
        for spec, slice in slices.items():
            self._failed(spec, slice, str(halt))

    def _standings(self, slice: Slice, table: Table) -> Mapping[str, Standing]:
        """How far the slices of a table can be relied on, as this run found them."""
        school_id = slice.school_id
        if school_id not in self._known:
            self._known[school_id] = standings(self.runtime.lake, school_id)
        return self._known[school_id].get(table.name, {})

    def _is_done(self, spec: ResourceSpec, slice: Slice) -> bool:
        """Whether this run's cause has committed the slice, after what it is asked with."""
        own = self._committed.get((spec.name, str(slice)))
        parent = self._committed.get((spec.child_of or "", str(slice)))
        return own is not None and (parent is None or parent <= own)

    def store(self, spec: ResourceSpec, slice: Slice, rows: pa.Table) -> Loaded:
        """Make `rows` (as `campus.decoding.page.to_batch` shapes them) the whole of a slice."""
        with open_stage(self.context(spec, slice)) as stage:
            for batch in rows.to_batches():
                stage.write(batch)
            return self._commit(stage, Account(received=rows.num_rows, server_total=None))

    def retire(self, spec: ResourceSpec, slice: Slice, *, is_sure: bool = False) -> Loaded:
        """Empty the slice of what is gone, as far as the guard lets it; `is_sure`: whatever it says."""
        context = self.context(spec, slice)
        guard = guard_of(context)
        return empty_slice(context, replace(guard, allowed=True) if is_sure else guard, retires=True)

    def not_asked(self, spec: ResourceSpec, query: SliceQuery) -> Loaded:
        """A slice whose parent could not be loaded: it keeps its last good rows."""
        return self._failed(
            spec, _slice(spec, query), "not asked for, since what it is asked with could not be loaded"
        )

    async def read(self, collectors: dict[ResourceSpec, Collector], *, query: SliceQuery) -> None:
        """Read slices, or the parts of them that `query` names, into their collectors. Raises CampusError."""
        by_name = {spec.name: collector for spec, collector in collectors.items()}
        first = next(iter(collectors))
        main = first.embedded_in or first.name
        if main in SPLITTERS:
            wanted = [by_name.get(name) or Collector(RESOURCES[name]) for name in family(main)]
            await read_together(self._client, query, *wanted)
        else:
            await read(self._client, first, query, collectors[first])

    def _commit(
        self,
        stage: Stage,
        account: Account,
        *,
        asked: RequestedRows | None = None,
        follows: bool = False,
    ) -> Loaded:
        context = stage.context
        spec = context.spec
        reading = replace(
            reading_of(context, stage.writer, account),
            retained=self._kept(spec, context.slice, account),
            requested=asked,
            follows=follows,
            failures=failures(unit_in_words(spec), account.failed),
        )
        return commit_slice(context, reading, guard_of(context), account.began)

    def _failed(self, spec: ResourceSpec, slice: Slice, message: str) -> Loaded:
        return fail_slice(self.context(spec, slice), message)

    def _kept(self, spec: ResourceSpec, slice: Slice, account: Account) -> tuple[RetainedRows, ...]:
        """The rows that stay: of a class, item or type that could not be read, and of whom nobody can ask
        for."""
        return (*self._of_forgotten(spec, slice), *self._of_failed(spec, slice, account))

    def _of_forgotten(self, spec: ResourceSpec, slice: Slice) -> tuple[RetainedRows, ...]:
        """The rows of the forgotten where each question names a person, as long as the person is there."""
        mode, parent = MODES[spec.asked], parents_of(spec)
        substitutes = forgotten_ids(self.runtime.lake, slice.school_id)
        if not (substitutes and mode.names_parents and spec.unit_column and parent in PEOPLE):
            return ()
        assert parent is not None
        alive = self.runtime.lake.read(TABLES[parent.name], Slice.of(_school_id=slice.school_id), ["id"])
        stay = substitutes.intersection(values(alive, "id"))
        return (RetainedRows(spec.unit_column, tuple(stay), failed=False),) if stay else ()

    def _of_failed(self, spec: ResourceSpec, slice: Slice, account: Account) -> tuple[RetainedRows, ...]:
        if not account.failed or spec.unit_column is None:
            return ()
        ids = tuple(account.failed)
        if spec.unit_via is not None:
            ids = self.via(RESOURCES[spec.unit_via], slice, ids)
        if MODES[spec.asked].respelled:
            ids = self._spellings(spec, spec.unit_column, slice, ids)
        return (RetainedRows(spec.unit_column, ids),)

    def _spellings(
        self, spec: ResourceSpec, column: str, slice: Slice, failed: tuple[int | str, ...]
    ) -> tuple[int | str, ...]:
        """The types of held terms that those which failed may stand for: a platform may send `graduates_in`
        for `system.graduates_in`, or words of its own."""
        asked = self.runtime.term_types
        lost = {bare(str(kind)) for kind in failed}
        read = {bare(kind) for kind in asked if kind not in failed}
        sent = {*values(self.runtime.lake.read(TABLES[spec.name], slice, [column], alive=False), column)}
        others = (kind for kind in sent if kind is not None and kind not in asked)
        return (*failed, *(kind for kind in others if bare(kind) in lost or bare(kind) not in read))

    def via(self, spec: ResourceSpec, slice: Slice, failed: tuple[int | str, ...]) -> tuple[int | str, ...]:
        """The rows of a resource that stand for the units which failed: assessments for their classes."""
        unit = spec.unit_column or ""
        table = self.runtime.lake.read(TABLES[spec.name], slice, ["id", unit], alive=False)
        pairs = zip(values(table, "id"), values(table, unit), strict=True)
        return tuple(row for row, of_unit in pairs if of_unit in failed)


def bare(kind: str) -> str:
    """A term's type without its prefix."""
    return kind.rpartition(".")[2]


def _slice(spec: ResourceSpec, query: SliceQuery) -> Slice:
    assert query.school_id is not None
    return slice_of(spec, query.school_id, query.semester_id)


def failures(unit: str, failed: Mapping[int | str, str]) -> tuple[str, ...]:
    """The classes, items, types and so on that could not be read, those with the same reason together. A
    reason that names one of them is the same for each of them."""
    groups: dict[str, dict[str, str]] = {}
    names = {str(one) for one in failed}
    for one, reason in failed.items():
        groups.setdefault(_for_any(reason, names), {})[str(one)] = reason
    return tuple(
        f"{unit} {_some([*group])}: {reason if len(group) > 1 else next(iter(group.values()))}"
        for reason, group in groups.items()
    )


def _for_any(reason: str, names: Set[str]) -> str:
    """A reason with {id} for these ids: as a part of the path, and in the platform's own words."""

    def put(found: re.Match[str]) -> str:
        return found[0].replace(found["id"], ID) if found["id"] in names else found[0]

    question, says, words = reason.partition("says: ")
    return IN_PATH.sub(put, question) + says + NUMBER.sub(put, words)


def _some(ids: list[str]) -> str:
    more = len(ids) - IDS_SHOWN
    return ", ".join(ids[:IDS_SHOWN]) + (f" and {more} more ({len(ids)} in all)" if more > 0 else "")
