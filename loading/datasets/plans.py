"""Plans the datasets of a school: the query for each dataset, and its segments. Values decide on types and
keys that the metadata leave open."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from msgspec import Raw

from campus.account import Drift
from campus.datasets.layout import Layout, has_integer_key, plan_layout
from campus.datasets.metadata import OfferedDatasets, read_datasets
from campus.datasets.paged import RowNumbers
from campus.datasets.selection import (
    DatasetQuery,
    SelectionError,
    embedded_datasets,
    plan_query,
    selected_names,
    unmatched_patterns,
)
from campus.datasets.type_inference import decide, first_rows, needs_values, revise
from campus.decoding.definition import Decided, Definition, meaning_of, parse_definition
from campus.decoding.inferred_contract import contract_of, key_fields, table_names
from campus.fetch.collection import run_together
from campus.fetch.reader import Reader
from campus.http.client import segment
from campus.http.errors import CampusError, UnexpectedAnswer
from campus.registry import DATASET_METADATA, DATASETS, ResourceSpec
from loading.datasets.tables import (
    DatasetSpec,
    dataset_spec,
    definitions_of,
    earlier_decisions,
    partitions_of,
    planned_table,
    segment_slice,
    stored_definition,
)
from loading.slices.commit import STORAGE_ERRORS, Loaded, empty_slice
from loading.slices.loader import Loader, failures_as_outcomes, staged
from loading.slices.stage import SliceContext
from loading.tables import slice_of
from warehouse.lake.tables import ROW_KEY, Table
from warehouse.load.logs.dataset_plans import Plan, read_plans, record_plans
from warehouse.load.logs.load_log import (
    SliceStatus,
    now,
    quarantined,
    record_differences,
    slice_statuses,
    unreadable_fields,
)
from warehouse.load.schema_evolution import changes, evolve, type_name
from warehouse.load.watermark import extra_fields, live_rows
from warehouse.maintenance.rekey import rekey


def retire(loader: Loader, plan: Plan, *, is_sure: bool = False) -> None:
    """Empty the slices of a plan that hold rows or quarantined rows, as far as the guard allows. `is_sure`:
    ignore the guard."""
    lake = loader.runtime.lake
    table = evolve(lake, planned_table(plan)).table
    contract = contract_of(definitions_of(plan)[plan.dataset])
    resource = ResourceSpec(table.name, plan.path, contract, DATASETS.scopes, primary_key=table.primary_key)
    slices = [segment_slice(plan.school_id, number) for number in plan.segments]
    rows = live_rows(lake, table, slices, None)
    statuses = slice_statuses(lake, plan.school_id).get(table.name, {})
    loader.run.loaded += [
        empty_slice(
            SliceContext(loader.runtime, loader.cause, resource, slice, table), is_sure=is_sure, retires=False
        )
        for slice in slices
        if rows[slice].alive or statuses.get(str(slice), SliceStatus()).quarantined
    ]


def definition_drift(dataset: DatasetSpec, before: Plan | None) -> list[Drift]:
    """Parts of the metadata that are not understood, and differences from the metadata of the last plan."""
    drift = [*dataset.definition.drift]
    if before is not None:
        old, new = planned_table(before), dataset.table
        drift += [change for change in changes(old, new) if change.field != ROW_KEY.name]
        if key_text(old) != key_text(new):
            drift.append(Drift("key_changed", "", f"{key_text(old)} -> {key_text(new)}"))
        drift += _grown_enums(definitions_of(before)[before.dataset], dataset.definition)
    return drift


def is_our_change(plan: Plan, dataset: DatasetSpec) -> bool:
    """Whether a dataset's query or table changed, while the platform's words about its key did not."""
    before = definitions_of(plan)[plan.dataset]
    return plan.signature != dataset.signature and _key_words(before) == _key_words(dataset.definition)


def _key_words(definition: Definition) -> list[tuple[str, str | None]]:
    """The fields that the metadata call primary, with the platform's words for their types."""
    return [(f.name, f.word) for f in key_fields(definition)] if definition.tells_key else []


def key_text(table: Table) -> str:
    """The key of a dataset's rows, for messages."""
    if table.primary_key == (ROW_KEY.name,):
        return "none"
    types = {column.name: type_name(column.type) for column in table.columns}
    return ", ".join(f"{name} ({types[name]})" for name in table.primary_key)


def _grown_enums(before: Definition, after: Definition) -> list[Drift]:
    listed = {field.name: set(field.enum or ()) for field in before.fields if field.type == "enum"}
    return [
        Drift("enum_grown", field.name, str(value))
        for field in after.fields
        if field.name in listed
        for value in field.enum or ()
        if value not in listed[field.name]
    ]


async def plan_datasets(loader: Loader, school_id: int, names: Mapping[str, str]) -> list[str]:
    """Load the metadata of a school's datasets, and plan the partitions of their records. A dataset that
    cannot be planned keeps its last plan, and is a problem of the run.

    Args:
        names: Of the tables that any school's datasets have so far, by the platform's name."""
    runtime, loaded = loader.runtime, list[Loaded]()
    offered = OfferedDatasets(None, {})
    before = {plan.dataset: plan for plan in read_plans(runtime.lake, school_id)}
    active = sorted(plan.dataset for plan in before.values() if plan.retired_since is None)

    contexts = [loader.context(spec, slice_of(spec, school_id)) for spec in DATASET_METADATA]
    with failures_as_outcomes(contexts, loaded), staged(contexts) as slices:
        collectors = [slice_.collector for slice_ in slices]
        reader = Reader(loader.client, school_id, DATASETS.scopes, collectors[0].account.tally)
        offered = await read_datasets(reader, *collectors)
        if active and not offered.definitions and not offered.unread and not runtime.guard.allowed:
            # One message for all of them.
            raise UnexpectedAnswer(
                f"the platform lists no datasets, and there were {', '.join(active)}. They are read on.",
                f"If they are gone, {runtime.guard.override} and sync again.",
            )
        loaded += await loader.commit(slices)
    loader.run.loaded += loaded
    if not offered.complete or any(result.outcome is None for result in loaded):
        return [key for plan in before.values() for key in partitions_of(plan)]
    return await _School(loader, school_id, offered, before).plan(names)


class _School:
    """Plans each dataset of a school by itself, so that a failure concerns one dataset."""

    def __init__(
        self, loader: Loader, school_id: int, offered: OfferedDatasets, before: Mapping[str, Plan]
    ) -> None:
        self._loader, self._school_id, self._offered, self._before = loader, school_id, offered, before
        #: Of this discovery and of earlier ones, by name.
        self._decided = earlier_decisions(before)
        #: With these decisions.
        self._definitions = {
            name: parse_definition(sent, self._decided) for name, sent in offered.definitions.items()
        }
        #: Decisions of this discovery, and errors that prevented a decision.
        self._drift: dict[str, list[Drift]] = {}
        self._undecided: dict[str, CampusError] = {}
        self._plans: dict[str, Plan] = {}

    async def plan(self, names: Mapping[str, str]) -> list[str]:
        settings = self._loader.runtime.datasets
        listed = [*self._definitions, *self._offered.unread]
        if listed:
            for note in unmatched_patterns(settings.selection, listed):
                self._note(note)
        for name in selected_names(settings.selection, self._offered.unread):
            self._keep(name, self._of(name) + self._offered.unread[name])
        selected = selected_names(settings.selection, self._definitions)
        new = [name for name in selected if name not in names]
        tables = {**names, **dict(zip(new, table_names(new, names.values()), strict=True))}
        await run_together(self._decide(name) for name in self._with_embedded(selected))
        await run_together(self._plan_or_keep(name, tables[name]) for name in selected)
        self._retire_dropped()
        record_plans(
            self._loader.runtime.lake, self._school_id, [self._plans[name] for name in sorted(self._plans)]
        )
        return [key for plan in self._plans.values() for key in partitions_of(plan)]

    def _with_embedded(self, names: Sequence[str]) -> list[str]:
        all_names = dict.fromkeys(names)
        for name in names:
            # A selection that does not fit is reported where the dataset itself is planned.
            with suppress(SelectionError):
                expand = self._query(self._definitions[name]).expand
                embedded = embedded_datasets(self._definitions[name], expand, self._definitions)
                all_names |= dict.fromkeys(definition.name for definition in embedded.values())
        return list(all_names)

    def _query(self, definition: Definition) -> DatasetQuery:
        return plan_query(
            self._loader.runtime.datasets.selection, definition, self._definitions, self._school_id
        )

    async def _decide(self, name: str) -> None:
        definition, before = self._definitions[name], self._decided.get(name, Decided())
        decided = revise(definition, before, self._misfits(definition))
        if needs_values(definition, decided):
            try:
                decided = decide(definition, decided, await self._first_rows(definition))
            except CampusError as error:
                self._undecided[name] = error
        if decided == before:
            return
        self._decided[name] = decided
        self._definitions[name] = parse_definition(self._offered.definitions[name], self._decided)
        self._drift[name] = [
            Drift(
                "unknown_type" if meaning_of(field.word).kind is None else "type_decided",
                field.name,
                f"{field.word or 'no type'} -> {field.type}",
            )
            for field in self._definitions[name].fields
            if field.guessed and decided.types[field.name] != before.types.get(field.name)
        ]
        if decided.key != before.key:
            self._drift[name].append(Drift("key_decided", decided.key or ""))

    def _misfits(self, definition: Definition) -> list[str]:
        """Rows in quarantine, and values that their columns could not hold. They may show that a decision by
        the first values was too narrow."""
        plan, guessed = self._before.get(definition.name), {f.name for f in definition.fields if f.guessed}
        if plan is None or not guessed:
            return []
        lake, table = self._loader.runtime.lake, planned_table(plan)
        rows = quarantined(lake, table, self._school_id)
        if guessed & unreadable_fields(lake, table, self._school_id):
            rows += extra_fields(lake, table, self._school_id)
        return rows

    async def _first_rows(self, definition: Definition) -> Sequence[bytes | Raw]:
        params: dict[str, str] = {}
        with suppress(SelectionError):
            params = self._query(definition).params
        params.pop("expand", None)
        reader = Reader(self._loader.client, self._school_id, DATASETS.scopes)
        return await first_rows(reader, self._path(definition.name), params)

    def _path(self, name: str) -> str:
        return f"{self._offered.prefix}{DATASETS.path}/{segment(name)}/records"

    async def _plan_or_keep(self, name: str, table: str) -> None:
        try:
            await self._plan_dataset(name, table)
        except SelectionError as error:
            self._keep(name, str(error))
        except (CampusError, *STORAGE_ERRORS) as error:
            self._keep(name, f"{self._of(name)}{error}")

    async def _plan_dataset(self, name: str, table: str) -> None:
        runtime = self._loader.runtime
        if name in self._undecided:
            raise self._undecided[name]
        before = self._before.get(name)
        dataset = dataset_spec(
            runtime.datasets.selection,
            self._school_id,
            table,
            self._path(name),
            self._definitions[name],
            self._definitions,
        )
        is_ours = before is not None and is_our_change(before, dataset)
        has_other_key = (
            before is not None and not is_ours and key_text(planned_table(before)) != key_text(dataset.table)
        )
        layout = await self._layout(dataset, None if has_other_key else before, is_our_change=is_ours)
        drift = [*definition_drift(dataset, before), *self._drift.get(name, [])]
        record_differences(runtime.lake, dataset.table, self._school_id, drift, self._loader.cause.started_at)
        after = self._new_plan(dataset, layout, before)
        can_move_rows = after.width or not before or not before.width or not has_integer_key(dataset.source)
        if before is not None and is_ours and can_move_rows:
            after = self._move_rows(before, dataset, after)
        elif before is not None and before.segments and (has_other_key or before.width != after.width):
            if not runtime.guard.allowed:
                reason = (
                    self._other_key(before, dataset) if has_other_key else self._no_segments(name, layout)
                )
                self._keep(name, reason)
                return
            # The rows of the old slices come back in the new slices, which are cut in another way.
            retire(self._loader, before, is_sure=True)
            # The retirement is the last load of these slices, and the new plan must not go on from it.
            after = replace(after, valid_since=now())
        if after.width is None and (before is None or before.width is not None):
            self._note(f"dataset {name}: it is read by pages, as {layout.why}")
        self._plans[name] = after

    def _move_rows(self, before: Plan, dataset: DatasetSpec, after: Plan) -> Plan:
        """Move the stored rows to the new key and its segments: the dataset is the same at the platform."""
        runtime = self._loader.runtime
        stored = rekey(runtime.lake, dataset.table, self._school_id, after.width, RowNumbers, runtime.scratch)
        if after.width is not None:
            after = replace(after, segments=tuple(sorted({*after.segments, *stored})))
        dropped = tuple(number for number in before.segments if number not in after.segments)
        retire(self._loader, replace(before, segments=dropped))
        parts = "pages" if after.width is None else "segments of its ids"
        self._note(
            f"dataset {before.dataset}: its columns changed, so all of it is read again, by {parts}; "
            "the stored rows stay"
        )
        return after

    def _keep(self, name: str, problem: str) -> None:
        """Keep the last plan of a dataset, and report the problem."""
        self._loader.run.problems.append(problem)
        if name in self._before:
            self._plans[name] = self._before[name]

    def _note(self, message: str) -> None:
        self._loader.run.notes.append(f"school {self._school_id}, {message}")

    def _of(self, name: str) -> str:
        """The beginning of a message about a dataset."""
        return f"school {self._school_id}, dataset {name!r}: "

    def _other_key(self, before: Plan, dataset: DatasetSpec) -> str:
        override = self._loader.runtime.guard.override
        return (
            f"{self._of(before.dataset)}its key is {key_text(dataset.table)} now and was "
            f"{key_text(planned_table(before))}, so its rows cannot be compared with those that are held. It "
            f"is read as before. If the platform means it so, {override} and sync again: "
            f"all rows load under the new key, and those that are held count as deleted."
        )

    def _no_segments(self, name: str, layout: Layout) -> str:
        override = self._loader.runtime.guard.override
        return (
            f"{self._of(name)}its segments cannot be asked for, as {layout.why.rstrip('.')}. "
            f"That may pass, so it is planned as before. If it does not, {override} and "
            f"sync again: it is read by pages from then on."
        )

    def _retire_dropped(self) -> None:
        """Empty the datasets that the platform no longer lists, as far as the guard allows."""
        for name in sorted(self._before.keys() - self._definitions.keys() - self._offered.unread.keys()):
            plan = self._before[name]
            try:
                retire(self._loader, plan)
                record_differences(
                    self._loader.runtime.lake,
                    planned_table(plan),
                    self._school_id,
                    [],
                    self._loader.cause.started_at,
                )
            except STORAGE_ERRORS as error:
                self._loader.run.problems.append(f"{self._of(name)}{error}")

    async def _layout(self, dataset: DatasetSpec, before: Plan | None, *, is_our_change: bool) -> Layout:
        """Find the segments of a dataset, and add those that held rows before, so that their deletion shows.

        A dataset that is read by pages stays so until the operator wants segments: its one slice must be
        emptied before the segments load, and if the platform failed in between, no row would be left to
        publish. After `is_our_change` the rows are moved instead."""
        settings, guard = self._loader.runtime.datasets, self._loader.runtime.guard
        width = before.width if before is not None and before.segments else None
        reader = Reader(self._loader.client, self._school_id, DATASETS.scopes)
        layout = await plan_layout(
            reader, dataset.source, width, settings.segment_rows, settings.max_segments
        )
        if before is not None and before.width == layout.width:
            return replace(layout, segments=tuple(sorted({*before.segments, *layout.segments})))
        if before is None or before.width is not None or is_our_change or guard.allowed:
            return layout
        self._note(
            f"dataset {before.dataset}: it is still read by pages, though it can now be read by "
            f"segments, which is faster; to read it by segments, {guard.override}"
        )
        return Layout(None)

    def _new_plan(self, dataset: DatasetSpec, layout: Layout, before: Plan | None) -> Plan:
        same = before is not None and before.signature == dataset.signature and before.width == layout.width
        return Plan(
            school_id=self._school_id,
            dataset=dataset.definition.name,
            table=dataset.table.name.removeprefix("datasets."),
            path=dataset.source.path,
            mode="pages" if layout.width is None else "segments",
            key=dataset.source.key,
            width=layout.width,
            segments=layout.segments if layout.width is not None else (0,),
            definition=stored_definition(dataset, self._offered.definitions, self._decided),
            signature=dataset.signature,
            valid_since=before.valid_since if before is not None and same else self._loader.cause.started_at,
        )
