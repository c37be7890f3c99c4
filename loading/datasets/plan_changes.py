"""Compares a dataset with its last plan."""

from campus.account import Drift
from campus.decoding.definition import Definition
from campus.decoding.inferred_contract import key_fields
from loading.datasets.tables import DatasetSpec, definitions_of, planned_table
from warehouse.lake.tables import ROW_KEY, Table
from warehouse.load.logs.dataset_plans import Plan
from warehouse.load.schema_evolution import changes, type_name


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
