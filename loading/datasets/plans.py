"""Planning: which datasets a school offers, how each of them is asked for, and which segments it has."""

from collections.abc import Mapping
from dataclasses import replace

from campus.datasets.metadata import OfferedDatasets, read_datasets
from campus.datasets.plan import Layout, has_ids, lay_out
from campus.datasets.selection import SelectionError, chosen, unmatched
from campus.decoding.column_names import table_names
from campus.decoding.columnar import RowNumbers
from campus.fetch.collection import together
from campus.http.client import Client
from campus.http.errors import CampusError, UnexpectedAnswer
from campus.http.events import Tally
from campus.registry import DATASET_FIELDS, DATASET_METADATA, DATASET_RELATIONS, DATASETS
from loading.commit import STORAGE_ERRORS, Planned
from loading.datasets.decisions import Decisions
from loading.datasets.plan_changes import drift_of, is_read_otherwise, key_text
from loading.datasets.retirement import retire
from loading.datasets.tables import (
    AskedDataset,
    DatasetSettings,
    ask_dataset,
    planned_table,
    stored_definition,
)
from loading.load_slice import Loader
from loading.partition_keys import segment_key
from loading.runtime import Cause, Runtime
from loading.strategies import Collectors, Strategy
from loading.tables import slice_of
from warehouse.load.dataset_plans import Plan, read_plans, record_plans
from warehouse.load.load_log import now, record_differences
from warehouse.maintenance.rekey import rekey


async def plan_datasets(
    loader: Loader, client: Client, runtime: Runtime, cause: Cause, school_id: int, names: Mapping[str, str]
) -> Planned:
    """Load the metadata of a school's datasets and plan how their records are read.

    names: the tables of all datasets that any school has had so far, by the platform's name. A dataset that
    cannot be planned keeps its last plan, and is a problem."""
    offered = OfferedDatasets(None, {})
    before = {plan.dataset: plan for plan in read_plans(runtime.lake, school_id)}
    read_so_far = sorted(plan.dataset for plan in before.values() if plan.retired_since is None)

    async def read(collectors: Collectors) -> None:
        nonlocal offered
        offered = await read_datasets(
            client,
            school_id,
            collectors[DATASETS],
            collectors[DATASET_FIELDS],
            collectors[DATASET_RELATIONS],
        )
        if read_so_far and not offered.definitions and not offered.unread and not runtime.guard.allowed:
            # Said of all of them at once, and of none in particular.
            raise UnexpectedAnswer(
                f"the platform lists no datasets, and there were {', '.join(read_so_far)}. They are read on.",
                f"If they are gone, {runtime.guard.override} and sync again.",
            )

    slices = {spec: slice_of(spec, school_id) for spec in DATASET_METADATA}
    planned = Planned(await loader.load(slices, Strategy(read)))
    if not offered.complete or any(one.outcome is None for one in planned.loaded):
        planned.partitions = [key for plan in before.values() for key in partitions_of(plan)]
        return planned
    school = _School(client, runtime, cause, school_id, offered, planned, before)
    await school.plan(names)
    return planned


class _School:
    """The planning of one school's datasets, each on its own: one that fails stands in no other's way."""

    def __init__(
        self,
        client: Client,
        runtime: Runtime,
        cause: Cause,
        school_id: int,
        offered: OfferedDatasets,
        planned: Planned,
        before: Mapping[str, Plan],
    ) -> None:
        self._client, self._runtime, self._cause = client, runtime, cause
        self._school_id, self._offered, self._planned, self._before = school_id, offered, planned, before
        self._decisions = Decisions(client, runtime, school_id, offered, before)
        self._definitions = self._decisions.definitions
        self._plans: dict[str, Plan] = {}

    async def plan(self, names: Mapping[str, str]) -> None:
        settings = self._runtime.datasets
        listed = [*self._definitions, *self._offered.unread]
        if listed:
            self._planned.notes += unmatched(settings.selection, listed)
        for name in chosen(settings.selection, self._offered.unread):
            self._keep(name, f"{self._where(name)}{self._offered.unread[name]}")
        wanted = chosen(settings.selection, self._definitions)
        new = [name for name in wanted if name not in names]
        tables = {**names, **dict(zip(new, table_names(new, names.values()), strict=True))}
        await self._decisions.decide(wanted)
        await together(self._plan_or_keep(name, tables[name], settings) for name in wanted)
        self._retire_dropped()
        record_plans(self._runtime.lake, self._school_id, [self._plans[name] for name in sorted(self._plans)])
        self._planned.partitions = [key for plan in self._plans.values() for key in partitions_of(plan)]

    async def _plan_or_keep(self, name: str, table: str, settings: DatasetSettings) -> None:
        try:
            await self._plan_one(name, table, settings)
        except SelectionError as error:
            self._keep(name, str(error))
        except (CampusError, *STORAGE_ERRORS) as error:
            self._keep(name, f"{self._where(name)}{error}")

    async def _plan_one(self, name: str, table: str, settings: DatasetSettings) -> None:
        if name in self._decisions.undecided:
            raise self._decisions.undecided[name]
        before = self._before.get(name)
        asked = ask_dataset(
            settings.selection,
            self._school_id,
            table,
            self._decisions.path(name),
            self._definitions[name],
            self._definitions,
        )
        mended = before is not None and is_read_otherwise(before, asked)
        rekeyed = (
            before is not None and not mended and key_text(planned_table(before)) != key_text(asked.table)
        )
        layout = await self._lay_out(asked, None if rekeyed else before, settings, mended=mended)
        drift = [*drift_of(asked, before), *self._decisions.drift.get(name, [])]
        record_differences(self._runtime.lake, asked.table, self._school_id, drift, self._cause.started_at)
        after = self._new_plan(asked, layout, before)
        if before is not None and mended and (after.width or not before.width or not has_ids(asked.source)):
            after = self._put_in_place(before, asked, after)
        elif before is not None and before.segments and (rekeyed or before.width != after.width):
            if not self._runtime.guard.allowed:
                why = self._of_other_key(before, asked) if rekeyed else self._of_no_segments(before, layout)
                self._keep(name, why)
                return
            # Its slices are cut differently from now on: what the old ones hold comes back in the new ones.
            every_row = replace(self._runtime.guard, allowed=True)
            self._planned.loaded += retire(self._runtime, self._cause, before, every_row)
            # Now, since the retirement is a load of these slices too, and none to go on from.
            after = replace(after, valid_since=now())
        if after.width is None and (before is None or before.width is not None):
            self._planned.notes.append(f"dataset {name}: it is read by pages, as {layout.why}")
        self._plans[name] = after

    def _put_in_place(self, before: Plan, asked: AskedDataset, after: Plan) -> Plan:
        """Have the rows that are held under the key and in the segments that their dataset has from now on,
        since it is not the platform that changed but our reading of it."""
        runtime = self._runtime
        held = rekey(runtime.lake, asked.table, self._school_id, after.width, RowNumbers, runtime.scratch)
        if after.width is not None:
            after = replace(after, segments=tuple(sorted({*after.segments, *held})))
        left = tuple(number for number in before.segments if number not in after.segments)
        self._planned.loaded += retire(runtime, self._cause, replace(before, segments=left), runtime.guard)
        how = "pages" if after.width is None else "segments of its ids"
        self._planned.notes.append(
            f"dataset {before.dataset}: its columns are others than so far, so all of it is read again, by "
            f"{how}; the rows that are held stay"
        )
        return after

    def _keep(self, name: str, problem: str) -> None:
        """Leave a dataset as it was planned last."""
        self._planned.problems.append(problem)
        if name in self._before:
            self._plans[name] = self._before[name]

    def _where(self, name: str) -> str:
        return f"school {self._school_id}, dataset {name!r}: "

    def _of_other_key(self, before: Plan, asked: AskedDataset) -> str:
        return (
            f"{self._where(before.dataset)}its key is {key_text(asked.table)} now and was "
            f"{key_text(planned_table(before))}, so its rows cannot be told from those that are held. It is "
            f"read as before. If the platform means it so, {self._runtime.guard.override} and sync again: "
            f"all rows load under the new key, and those that are held count as deleted."
        )

    def _of_no_segments(self, before: Plan, layout: Layout) -> str:
        return (
            f"{self._where(before.dataset)}its segments cannot be asked for, as {layout.why.rstrip('.')}. "
            f"That may pass, so it is planned as before. If it does not, {self._runtime.guard.override} and "
            f"sync again: it is read by pages from then on."
        )

    def _retire_dropped(self) -> None:
        """Let the rows of datasets vanish that the platform no longer has, as far as the guard lets them."""
        for name in sorted(self._before.keys() - self._definitions.keys() - self._offered.unread.keys()):
            plan = self._before[name]
            try:
                self._planned.loaded += retire(self._runtime, self._cause, plan, self._runtime.guard)
                record_differences(
                    self._runtime.lake, planned_table(plan), self._school_id, [], self._cause.started_at
                )
            except STORAGE_ERRORS as error:
                self._planned.problems.append(f"{self._where(name)}{error}")

    async def _lay_out(
        self, asked: AskedDataset, before: Plan | None, settings: DatasetSettings, *, mended: bool
    ) -> Layout:
        """The segments that hold rows by now, and those that once did: what is gone from them shows there.

        What is read by pages stays so until the operator wants it otherwise: its one slice has to go before
        the segments come, and if the platform failed in between, no row would be left to publish. What is
        `mended` has its rows put where they belong."""
        width = before.width if before is not None and before.segments else None
        layout = await lay_out(
            self._client, asked.source, width, settings.segment_rows, settings.max_segments, Tally()
        )
        if before is None or before.width != layout.width:
            if before is None or before.width is not None or mended or self._runtime.guard.allowed:
                return layout
            self._planned.notes.append(
                f"dataset {before.dataset}: it is read by pages as before, though its segments can be asked "
                f"for by now; to have it so, {self._runtime.guard.override}"
            )
            return Layout(None)
        return replace(layout, segments=tuple(sorted({*before.segments, *layout.segments})))

    def _new_plan(self, asked: AskedDataset, layout: Layout, before: Plan | None) -> Plan:
        same = before is not None and before.signature == asked.signature and before.width == layout.width
        return Plan(
            school_id=self._school_id,
            dataset=asked.definition.name,
            table=asked.table.name.removeprefix("datasets."),
            path=asked.source.path,
            mode="pages" if layout.width is None else "segments",
            key=asked.source.key,
            width=layout.width,
            segments=layout.segments if layout.width is not None else (0,),
            definition=stored_definition(asked, self._offered.definitions, self._decisions.decided),
            signature=asked.signature,
            valid_since=before.valid_since if before is not None and same else self._cause.started_at,
        )


def partitions_of(plan: Plan) -> list[str]:
    """The partition keys of a plan's segments."""
    if plan.retired_since is not None:
        return []
    return [segment_key(plan.school_id, plan.table, number) for number in plan.segments]
