"""Describes a dataset of a school: the query for its records, and the table that stores them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from campus.contracts.fields import Contract, fields
from campus.datasets.records import Source
from campus.datasets.selection import DatasetQuery, Selection, embedded_datasets, plan_query
from campus.decoding.definition import UPDATED_AT, Decided, Definition, parse_definition
from campus.decoding.inferred_contract import columns_of, contract_of, key_fields, primary_key
from campus.registry import DATASETS, ResourceSpec
from loading.partition_keys import segment_key
from loading.tables import read_rows, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import ROW_KEY, SYNCED_AT, Column, Slice, Table, dataset_table
from warehouse.load.logs.dataset_plans import Plan, read_plans
from warehouse.load.watermark import Incremental

# A member of the stored definition, beside those of the platform's dataset object.
_DECIDED = "_decided_by_values"


@dataclass(frozen=True)
class DatasetSettings:
    """How datasets are read."""

    selection: Selection = field(default_factory=Selection)
    # The least number of ids in a segment.
    segment_rows: int = 250_000
    # Of one dataset, when it is new.
    max_segments: int = 500
    segments_at_a_time: int = 4
    # Rows a request.
    limit: int = 10_000
    incremental: Incremental = field(default_factory=Incremental)


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset of a school under the operator's selection."""

    resource: ResourceSpec
    query: DatasetQuery
    source: Source
    table: Table
    definition: Definition
    # Changes with the query and with the table.
    signature: str


def dataset_spec(
    selection: Selection,
    school_id: int,
    table_name: str,
    path: str,
    definition: Definition,
    definitions: Mapping[str, Definition],
) -> DatasetSpec:
    """Describe a dataset under the operator's selection. `definitions`: of the school's datasets, by name.

    Raises campus.datasets.selection.SelectionError where the selection does not fit the metadata."""
    query = plan_query(selection, definition, definitions, school_id)
    contract = contract_of(definition, query.fields, embedded_datasets(definition, query.expand, definitions))
    table = _table(table_name, definition, contract)
    source = Source(
        path=path,
        contract=contract,
        key=primary_key(definition),
        key_fields=tuple(field.name for field in key_fields(definition)),
        params=query.params,
        updated_at=None if _hides_changes(query) else _updated_at(definition, table),
    )
    resource = ResourceSpec(
        table.name, path, contract, DATASETS.scopes, primary_key=table.primary_key, child_of=DATASETS.name
    )
    return DatasetSpec(resource, query, source, table, definition, _signature(source, table))


def _table(name: str, definition: Definition, contract: type[Contract]) -> Table:
    columns = [
        Column(column.name, column.arrow_type, column.description, column.personal)
        for column in fields(contract)
    ]
    key = primary_key(definition)
    named = "" if definition.name == name else f". Named “{definition.name}” by the platform"
    return dataset_table(
        name,
        columns if key else [ROW_KEY, *columns],
        key or (ROW_KEY.name,),
        " ".join(f"{contract.__doc__}{named}".split()),
    )


def segment_slice(school_id: int, segment: int) -> Slice:
    """The slice of a segment. A dataset that is read by pages is segment 0."""
    return Slice.of(_school_id=school_id, _segment=segment)


def stored_definition(dataset: DatasetSpec, sent: Mapping[str, bytes], decided: Mapping[str, Decided]) -> str:
    """The definition that a plan stores: the dataset object, its selection, the objects of embedded datasets,
    and the decisions of all of them. `sent`: the dataset objects of the school, by name."""
    query, definition = dataset.query, dataset.definition
    members: dict[str, Any] = msgspec.json.decode(sent[definition.name], type=dict[str, Raw])
    refs = {relation.name: relation.ref_name for relation in definition.relations}
    names = [ref for name in query.expand if (ref := refs[name])]
    members["selected"] = query.fields
    members["expanded"] = query.expand
    members["targets"] = [Raw(sent[name]) for name in names]
    members[_DECIDED] = {name: decided[name] for name in (*names, definition.name) if name in decided}
    return msgspec.json.encode(members).decode()


def decided_of(plan: Plan) -> dict[str, Decided]:
    """The decisions by values that a plan stores: of its dataset and of embedded datasets."""
    return msgspec.json.decode(plan.definition, type=_Stored).decided


def earlier_decisions(plans: Mapping[str, Plan]) -> dict[str, Decided]:
    """The stored decisions on a school's datasets, by name. A dataset's own plan comes before the plans of
    datasets that embed it."""
    decided: dict[str, Decided] = {}
    for plan in plans.values():
        for name, decision in decided_of(plan).items():
            if name == plan.dataset or name not in decided:
                decided[name] = decision
    return decided


def definitions_of(plan: Plan) -> dict[str, Definition]:
    """The definitions that a plan stores, by name: of its dataset and of embedded datasets."""
    stored = msgspec.json.decode(plan.definition, type=_Stored)
    sent = (*stored.targets, plan.definition.encode())
    definitions = [parse_definition(definition, stored.decided) for definition in sent]
    return {definition.name: definition for definition in definitions}


def planned_table(plan: Plan) -> Table:
    """The table of a plan, by the definition that it stores."""
    definitions = definitions_of(plan)
    definition = definitions[plan.dataset]
    stored = msgspec.json.decode(plan.definition, type=_Stored)
    embedded = embedded_datasets(definition, stored.expanded, definitions)
    return _table(plan.table, definition, contract_of(definition, stored.selected, embedded))


def partitions_of(plan: Plan) -> list[str]:
    """The partition keys of a plan's segments."""
    if plan.retired_since is not None:
        return []
    return [segment_key(plan.school_id, plan.table, number) for number in plan.segments]


def planned_tables(lake: Lake) -> list[Table]:
    """The tables of all plans for publication, the newest definition first."""
    plans = sorted(read_plans(lake), key=lambda plan: plan.valid_since, reverse=True)
    return [planned_table(plan) for plan in plans]


@dataclass(frozen=True)
class LastUpdate:
    """The last update of a whole dataset, as the platform states it."""

    updated_at: datetime
    # The discovery that read the statement first.
    stated_at: datetime


def last_updates(lake: Lake, school_id: int) -> dict[str, LastUpdate]:
    """The last updates of a school's datasets by name, where the platform states one."""
    columns = ["name", "last_updated_at", SYNCED_AT]
    return {
        row["name"]: LastUpdate(row["last_updated_at"], row[SYNCED_AT])
        for row in read_rows(lake, DATASETS, slice_of(DATASETS, school_id), columns)
        if row["last_updated_at"] is not None
    }


class _Stored(msgspec.Struct, rename={"decided": _DECIDED}):
    """The members of a stored definition beside those of the platform's dataset object."""

    selected: tuple[str, ...] | None
    expanded: tuple[str, ...]
    targets: list[Raw]
    decided: dict[str, Decided]


def _hides_changes(query: DatasetQuery) -> bool:
    """A change of an embedded record does not move updated_at, and the operator may filter by updated_at."""
    return bool(query.expand) or any(name.startswith(f"{UPDATED_AT}_") for name in query.params)


def _updated_at(definition: Definition, table: Table) -> str | None:
    column = columns_of(definition).get(UPDATED_AT)
    types = {column.name: column.type for column in table.columns}
    return column if column is not None and pa.types.is_timestamp(types.get(column, pa.null())) else None


def _signature(source: Source, table: Table) -> str:
    columns = [(column.name, str(column.type)) for column in table.columns]
    signed = [sorted(source.params.items()), source.key, columns]
    return hashlib.sha256(msgspec.json.encode(signed)).hexdigest()[:32]
