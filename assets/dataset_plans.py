"""Planning: which datasets a school offers, how each of them is asked for, and which segments it has."""

from collections.abc import Mapping
from dataclasses import replace

from assets.committing import STORAGE_ERRORS, Loaded, Planned, empty_slice
from assets.dataset_tables import (
    Asked,
    DatasetSettings,
    ask_dataset,
    definitions_of,
    planned_table,
    segment_slice,
    stored_definition,
)
from assets.loading import Loader
from assets.partitions import segment_key
from assets.runtime import Cause, Runtime
from assets.tables import slice_of
from campus.client import Client, segment
from campus.collect import Collector
from campus.collection import together
from campus.datasets.definition import Definition, contract_of, parse_definition
from campus.datasets.metadata import Offered, read_datasets
from campus.datasets.names import table_names
from campus.datasets.plan import Layout, lay_out
from campus.datasets.selection import SelectionError, chosen, unmatched
from campus.errors import CampusError
from campus.events import Tally
from campus.resources import DATASET_FIELDS, DATASET_METADATA, DATASET_RELATIONS, DATASETS, ResourceSpec
from warehouse.evolve import changes, evolve, type_name
from warehouse.plans import Plan, read_plans, record_plans
from warehouse.quality import Standing, now, record_drift, standings
from warehouse.reading import Drift
from warehouse.slices import Guard
from warehouse.state import held
from warehouse.tables import ROW_KEY, Table


async def plan_datasets(
    loader: Loader, client: Client, runtime: Runtime, cause: Cause, school_id: int, names: Mapping[str, str]
) -> Planned:
    """Load the metadata of a school's datasets and plan how their records are read.

    names: the tables of all datasets that any school has had so far, by the platform's name. A dataset that
    cannot be planned keeps its last plan, and is a problem."""
    offered = Offered(None, {})

    async def read(collectors: dict[ResourceSpec, Collector]) -> None:
        nonlocal offered
        offered = await read_datasets(
            client,
            school_id,
            collectors[DATASETS],
            collectors[DATASET_FIELDS],
            collectors[DATASET_RELATIONS],
        )

    slices = {spec: slice_of(spec, school_id) for spec in DATASET_METADATA}
    planned = Planned(await loader.load_by(read, slices, again=True))
    before = {plan.dataset: plan for plan in read_plans(runtime.lake, school_id)}
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
        offered: Offered,
        planned: Planned,
        before: Mapping[str, Plan],
    ) -> None:
        self._client, self._runtime, self._cause = client, runtime, cause
        self._school_id, self._offered, self._planned, self._before = school_id, offered, planned, before
        self._definitions = {name: parse_definition(sent) for name, sent in offered.definitions.items()}
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
        before = self._before.get(name)
        path = f"{self._offered.prefix}{DATASETS.path}/{segment(name)}/records"
        asked = ask_dataset(
            settings.selection, self._school_id, table, path, self._definitions[name], self._definitions
        )
        rekeyed = before is not None and _keyed(planned_table(before)) != _keyed(asked.table)
        layout = await self._lay_out(asked, None if rekeyed else before, settings)
        self._note_drift(asked, before)
        after = self._new_plan(asked, layout, before)
        if before is not None and before.segments and (rekeyed or before.width != after.width):
            if not self._runtime.guard.allowed:
                why = self._of_other_key(before, asked) if rekeyed else self._of_no_segments(before, layout)
                self._keep(name, why)
                return
            # Its slices are cut differently from now on: what the old ones hold comes back in the new ones.
            self._planned.loaded += self._retire(before, replace(self._runtime.guard, allowed=True))
            # Now, since the retirement is a load of these slices too, and none to go on from.
            after = replace(after, valid_since=now())
        if after.width is None and (before is None or before.width is not None):
            self._planned.notes.append(f"dataset {name}: it is read by pages, as {layout.why}")
        self._plans[name] = after

    def _keep(self, name: str, problem: str) -> None:
        """Leave a dataset as it was planned last."""
        self._planned.problems.append(problem)
        if name in self._before:
            self._plans[name] = self._before[name]

    def _where(self, name: str) -> str:
        return f"school {self._school_id}, dataset {name!r}: "

    def _of_other_key(self, before: Plan, asked: Asked) -> str:
        return (
            f"{self._where(before.dataset)}its key is {_keyed(asked.table)} now and was "
            f"{_keyed(planned_table(before))}, so its rows cannot be told from those that are held. It is "
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
            try:
                self._planned.loaded += self._retire(self._before[name], self._runtime.guard)
            except STORAGE_ERRORS as error:
                self._planned.problems.append(f"{self._where(name)}{error}")

    def _retire(self, plan: Plan, guard: Guard) -> list[Loaded]:
        """Empty those slices that still have something."""
        table = evolve(self._runtime.lake, planned_table(plan)).table
        contract = contract_of(definitions_of(plan)[plan.dataset])
        spec = ResourceSpec(table.name, plan.path, contract, DATASETS.scopes, primary_key=table.primary_key)
        slices = [segment_slice(self._school_id, number) for number in plan.segments]
        rows = held(self._runtime.lake, table, slices, None, self._runtime.scratch)
        known = standings(self._runtime.lake, self._school_id).get(table.name, {})
        retired = []
        for slice in slices:
            if not rows[slice].alive and not known.get(str(slice), Standing()).quarantined:
                continue
            retired.append(empty_slice(self._runtime, self._cause, spec, table, slice, guard))
        return retired

    async def _lay_out(self, asked: Asked, before: Plan | None, settings: DatasetSettings) -> Layout:
        """The segments that hold rows by now, and those that once did: what is gone from them shows there.

        What is read by pages stays so until the operator wants it otherwise: its one slice has to go before
        the segments come, and if the platform failed in between, no row would be left to publish."""
        width = before.width if before is not None and before.segments else None
        layout = await lay_out(
            self._client, asked.source, width, settings.segment_rows, settings.max_segments, Tally()
        )
        if before is None or before.width != layout.width:
            if before is None or before.width is not None or self._runtime.guard.allowed:
                return layout
            self._planned.notes.append(
                f"dataset {before.dataset}: it is read by pages as before, though its segments can be asked "
                f"for by now; to have it so, {self._runtime.guard.override}"
            )
            return Layout(None)
        return replace(layout, segments=tuple(sorted({*before.segments, *layout.segments})))

    def _new_plan(self, asked: Asked, layout: Layout, before: Plan | None) -> Plan:
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
            definition=stored_definition(asked, self._offered.definitions),
            signature=asked.signature,
            valid_since=before.valid_since if before is not None and same else self._cause.started_at,
        )

    def _note_drift(self, asked: Asked, before: Plan | None) -> None:
        drift = [Drift(one.kind, one.field, one.sample or None, 0) for one in asked.definition.drift]
        if before is not None:
            old, new = planned_table(before), asked.table
            drift += [one for one in changes(old, new) if one.field != ROW_KEY.name]
            if _keyed(old) != _keyed(new):
                drift.append(Drift("key_changed", "", f"{_keyed(old)} -> {_keyed(new)}", 0))
            drift += _grown_enums(definitions_of(before)[before.dataset], asked.definition)
        record_drift(self._runtime.lake, asked.table, self._school_id, drift, self._cause.started_at)
        self._planned.notes += [
            f"dataset {asked.definition.name}: {one.kind} {one.field} {one.value or ''}".rstrip()
            for one in drift
        ]


def partitions_of(plan: Plan) -> list[str]:
    """The partition keys of a plan's segments."""
    if plan.retired_since is not None:
        return []
    return [segment_key(plan.school_id, plan.table, number) for number in plan.segments]


def _keyed(table: Table) -> str:
    """The key of a dataset's rows in words."""
    if table.primary_key == (ROW_KEY.name,):
        return "none"
    types = {column.name: type_name(column.type) for column in table.columns}
    return ", ".join(f"{name} ({types[name]})" for name in table.primary_key)


def _grown_enums(before: Definition, after: Definition) -> list[Drift]:
    known = {each.name: set(each.enum or ()) for each in before.fields if each.type == "enum"}
    return [
        Drift("enum_grown", each.name, str(value), 0)
        for each in after.fields
        if each.name in known
        for value in each.enum or ()
        if value not in known[each.name]
    ]
