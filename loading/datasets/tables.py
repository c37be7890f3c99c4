"""What a dataset of a school becomes: the query for its records, and the table that keeps them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import fields
from campus.datasets.records import Source
from campus.datasets.selection import DatasetQuery, Selection, ask_for, targets
from campus.decoding.definition import (
    UPDATED_AT,
    Decided,
    Definition,
    columns_of,
    key_fields,
    parse_definition,
    primary_key,
)
from campus.decoding.inferred_contract import contract_of
from campus.registry import DATASETS, ResourceSpec
from warehouse.lake.delta import Lake
from warehouse.lake.tables import ROW_KEY, Column, Slice, Table, dataset_table
from warehouse.load.dataset_plans import Plan, read_plans
from warehouse.load.watermark import Incremental

# Beside the members of a dataset object in a plan; no platform has one of this name.
_DECIDED = "_decided_by_values"


@dataclass(frozen=True)
class DatasetSettings:
    """How datasets are read. `segment_rows`: ids a segment at least; `max_segments`: segments of one dataset
    at most, when it is first seen; `limit`: rows a request; `incremental`: how changes alone are read."""

    selection: Selection = field(default_factory=Selection)
    segment_rows: int = 250_000
    max_segments: int = 500
    segments_at_a_time: int = 4
    limit: int = 10_000
    incremental: Incremental = field(default_factory=Incremental)


@dataclass(frozen=True)
class AskedDataset:
    """A dataset of a school as it is asked for. `signature` changes with whatever makes another query or
    another table of it."""

    spec: ResourceSpec
    query: DatasetQuery
    source: Source
    table: Table
    definition: Definition
    signature: str


def ask_dataset(
    selection: Selection,
    school_id: int,
    table: str,
    path: str,
    definition: Definition,
    definitions: Mapping[str, Definition],
) -> AskedDataset:
    """What is asked of a dataset under the operator's selection. `definitions`: those of the school by name.

    Raises campus.datasets.selection.SelectionError where the selection does not fit the metadata."""
    query = ask_for(selection, definition, definitions, school_id)
    contract = contract_of(definition, query.fields, targets(definition, query.expand, definitions))
    key = primary_key(definition)
    wanted = _wanted_table(table, definition, query.fields, query.expand, definitions)
    source = Source(
        school_id=school_id,
        path=path,
        contract=contract,
        key=key,
        key_fields=tuple(field.name for field in key_fields(definition)),
        params=query.params,
        updated_at=None if _hides_changes(query) else _updated_at(definition, wanted),
    )
    spec = ResourceSpec(
        wanted.name, path, contract, DATASETS.scopes, primary_key=wanted.primary_key, child_of=DATASETS.name
    )
    return AskedDataset(spec, query, source, wanted, definition, _signature(source, wanted))


def _wanted_table(
    table: str,
    definition: Definition,
    selected: tuple[str, ...] | None,
    expand: tuple[str, ...],
    definitions: Mapping[str, Definition],
) -> Table:
    """The lake table of a dataset as its definition wants it."""
    contract = contract_of(definition, selected, targets(definition, expand, definitions))
    columns = [
        Column(each.name, each.arrow_type, each.description, each.personal) for each in fields(contract)
    ]
    key = primary_key(definition)
    named = "" if definition.name == table else f". Named “{definition.name}” by the platform"
    return dataset_table(
        table,
        columns if key else [ROW_KEY, *columns],
        key or (ROW_KEY.name,),
        " ".join(f"{contract.__doc__}{named}".split()),
    )


def segment_slice(school_id: int, segment: int) -> Slice:
    """The slice of a dataset's table that holds a segment; one that is read by pages is segment 0."""
    return Slice.of(_school_id=school_id, _segment=segment)


def stored_definition(asked: AskedDataset, sent: Mapping[str, bytes], decided: Mapping[str, Decided]) -> str:
    """A dataset object as a plan keeps it: with what is selected of it, with the datasets that its relations
    lead to, and with what was decided of all of them by their values. `sent`: the objects of the school's
    datasets by name; `decided`: by name too."""
    query, definition = asked.query, asked.definition
    members: dict[str, Any] = msgspec.json.decode(sent[definition.name], type=dict[str, Raw])
    refs = {one.ref_name for one in definition.relations if one.name in query.expand and one.ref_name}
    embedded = targets(definition, query.expand, {name: parse_definition(sent[name]) for name in refs})
    names = [target.name for target in embedded.values()]
    members["selected"] = query.fields
    members["expanded"] = query.expand
    members["targets"] = [Raw(sent[name]) for name in names]
    members[_DECIDED] = {name: decided[name] for name in (*names, definition.name) if name in decided}
    return msgspec.json.encode(members).decode()


def decided_of(plan: Plan) -> dict[str, Decided]:
    """What was decided by their values of a plan's dataset and of those that its relations lead to."""
    return msgspec.json.decode(plan.definition, type=_Decisions).decided


def definitions_of(plan: Plan) -> dict[str, Definition]:
    """The definition that a plan was made from, and those that its relations lead to, by name."""
    stored = msgspec.json.decode(plan.definition, type=dict[str, Raw])
    embedded = msgspec.json.decode(stored["targets"], type=list[Raw])
    decided = decided_of(plan)
    found = [parse_definition(one, decided) for one in (*embedded, plan.definition.encode())]
    return {definition.name: definition for definition in found}


def planned_table(plan: Plan) -> Table:
    """The table of a plan as its definition wants it."""
    definitions = definitions_of(plan)
    stored = msgspec.json.decode(plan.definition, type=_Selected)
    return _wanted_table(plan.table, definitions[plan.dataset], stored.selected, stored.expanded, definitions)


def planned_tables(lake: Lake) -> list[Table]:
    """The tables of all plans, for publication: the newest definition first."""
    plans = sorted(read_plans(lake), key=lambda plan: plan.valid_since, reverse=True)
    return [planned_table(plan) for plan in plans]


class _Decisions(msgspec.Struct, rename={"decided": _DECIDED}):
    # Plans of earlier versions have none.
    decided: dict[str, Decided] = {}


class _Selected(msgspec.Struct):
    selected: tuple[str, ...] | None
    expanded: tuple[str, ...]


def _hides_changes(query: DatasetQuery) -> bool:
    """A change of an embedded record moves no updated_at, and a filter by it is the operator's own."""
    return bool(query.expand) or any(name.startswith(f"{UPDATED_AT}_") for name in query.params)


def _updated_at(definition: Definition, wanted: Table) -> str | None:
    column = columns_of(definition).get(UPDATED_AT)
    types = {each.name: each.type for each in wanted.columns}
    return column if column is not None and pa.types.is_timestamp(types.get(column, pa.null())) else None


def _signature(source: Source, wanted: Table) -> str:
    asked = [
        sorted(source.params.items()),
        source.key,
        [(column.name, str(column.type)) for column in wanted.columns],
    ]
    return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()[:32]
