"""From the platform to the lake, one slice at a time: read, spool, compare, commit, account for."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import partial

import pyarrow as pa

from assets.committing import STORAGE_ERRORS, Loaded, commit_slice, fail_slice, guard_of
from assets.runtime import Cause, Runtime
from assets.tables import TABLES, slice_of, values
from assets.targets import Target, open_target
from campus.client import Client
from campus.collect import Account, Collector
from campus.errors import CampusError
from campus.parts import SPLITTERS, family
from campus.questions import Where
from campus.read import read, read_together
from campus.resources import RESOURCES, ResourceSpec
from warehouse.reading import Kept
from warehouse.tables import Slice

# A message that lists more broken classes than this is read by nobody.
IDS_SHOWN = 20
# What one question asks for, in words, where it is no class.
UNITS = {
    # Of what comes in one list, only datasets are asked for one by one besides.
    "once": "dataset",
    "by_item": "item",
    "by_term_type": "term type",
    "by_student": "student",
    "by_device": "device",
    "by_card": "card",
}


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
        self._cause = cause
        self._committed = committed
        # One commit at a time bounds the memory; the other slices go on reading meanwhile.
        self._commits = asyncio.Lock()

    async def load(self, specs: tuple[ResourceSpec, ...], where: Where, *, again: bool) -> list[Loaded]:
        """Load one slice, or those that come in one answer (see campus.parts).

        `again`: also where this run's cause has committed it, because what the questions are made from is
        new. A failure is an outcome, not an exception: the other slices go on."""
        slices = {spec: _slice(spec, where) for spec in specs}
        return await self.load_by(partial(self._read, where=where), slices, again=again)

    async def load_by(
        self,
        reading: Callable[[dict[ResourceSpec, Collector]], Awaitable[None]],
        slices: Mapping[ResourceSpec, Slice],
        *,
        again: bool,
    ) -> list[Loaded]:
        """The same for slices of resources that a function of their own reads together."""
        if not again and all(self._is_done(spec, slice) for spec, slice in slices.items()):
            return [
                Loaded(spec, slice, "skipped", "already loaded by this sync")
                for spec, slice in slices.items()
            ]
        with ExitStack() as stack:
            try:
                targets = {spec: stack.enter_context(open_target(self.runtime, spec)) for spec in slices}
                collectors = {
                    spec: Collector(spec, str(slices[spec]), targets[spec].write, self.runtime.listener)
                    for spec in slices
                }
                await reading(collectors)
            except (CampusError, *STORAGE_ERRORS) as error:
                return [self._failed(spec, slice, str(error)) for spec, slice in slices.items()]
            async with self._commits:
                return [
                    await asyncio.to_thread(
                        self._commit, spec, slice, targets[spec], collectors[spec].account
                    )
                    for spec, slice in slices.items()
                ]

    def _is_done(self, spec: ResourceSpec, slice: Slice) -> bool:
        """Whether this run's cause has committed the slice, after what it is asked with."""
        own = self._committed.get((spec.name, str(slice)))
        parent = self._committed.get((spec.child_of or "", str(slice)))
        return own is not None and (parent is None or parent <= own)

    def store(self, spec: ResourceSpec, slice: Slice, rows: pa.Table) -> Loaded:
        """Make `rows` (as `campus.decode.to_batch` shapes them) the whole of a slice."""
        with open_target(self.runtime, spec) as target:
            for batch in rows.to_batches():
                target.write(batch)
            return self._commit(spec, slice, target, Account(received=rows.num_rows, server_total=None))

    def retire(self, spec: ResourceSpec, slice: Slice) -> Loaded:
        """Empty the slice of what is gone, as far as the guard lets it."""
        with open_target(self.runtime, spec) as target:
            return self._commit(spec, slice, target, Account(), retires=True)

    def not_asked(self, spec: ResourceSpec, where: Where) -> Loaded:
        """A slice whose parent could not be loaded: it keeps its last good rows."""
        return self._failed(
            spec, _slice(spec, where), "not asked for, since what it is asked with could not be loaded"
        )

    async def _read(self, collectors: dict[ResourceSpec, Collector], *, where: Where) -> None:
        by_name = {spec.name: collector for spec, collector in collectors.items()}
        first = next(iter(collectors))
        main = first.embedded_in or first.name
        if main in SPLITTERS:
            wanted = [
                by_name.get(name) or Collector(RESOURCES[name], "", lambda batch: None)
                for name in family(main)
            ]
            await read_together(self._client, where, *wanted)
        else:
            await read(self._client, first, where, collectors[first])

    def _commit(
        self,
        spec: ResourceSpec,
        slice: Slice,
        target: Target,
        account: Account,
        *,
        retires: bool = False,
    ) -> Loaded:
        return commit_slice(
            self.runtime,
            self._cause,
            spec,
            target.table,
            slice,
            target.spool,
            account,
            guard_of(self.runtime, spec),
            keep=self._kept(spec, slice, account),
            retires=retires,
            failures=failures(UNITS.get(spec.asked, "class"), account.failed),
        )

    def _failed(self, spec: ResourceSpec, slice: Slice, message: str) -> Loaded:
        return fail_slice(self.runtime, self._cause, spec, TABLES[spec.name], slice, message)

    def _kept(self, spec: ResourceSpec, slice: Slice, account: Account) -> tuple[Kept, ...]:
        """The rows that stay because their class, item or type could not be read."""
        if not account.failed or spec.unit_column is None:
            return ()
        ids = tuple(account.failed)
        if spec.unit_column in ("assessment_id", "source_id"):
            ids = self._assessments_of(slice, ids)
        return (Kept(spec.unit_column, ids),)

    def _assessments_of(self, slice: Slice, class_ids: tuple[int | str, ...]) -> tuple[int | str, ...]:
        """The assessments of classes; items and grades name these, not the class."""
        table = self.runtime.lake.read(TABLES["assessments"], slice, ["id", "class_id"], alive=False)
        pairs = zip(values(table, "id"), values(table, "class_id"), strict=True)
        return tuple(assessment for assessment, class_id in pairs if class_id in class_ids)


def _slice(spec: ResourceSpec, where: Where) -> Slice:
    assert where.school_id is not None
    return slice_of(spec, where.school_id, where.semester_id)


def failures(unit: str, failed: Mapping[int | str, str]) -> tuple[str, ...]:
    """The classes, items, types and so on that could not be read, those with the same reason together."""
    ids_by_reason: dict[str, list[str]] = {}
    for one, reason in failed.items():
        ids_by_reason.setdefault(reason, []).append(str(one))
    return tuple(f"{unit} {_some(ids)}: {reason}" for reason, ids in ids_by_reason.items())


def _some(ids: list[str]) -> str:
    more = len(ids) - IDS_SHOWN
    return ", ".join(ids[:IDS_SHOWN]) + (f" and {more} more" if more > 0 else "")
