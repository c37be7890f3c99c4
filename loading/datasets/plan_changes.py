"""How a dataset differs from what it was when it was planned last."""

from campus.decoding.definition import Definition, key_fields
from loading.datasets.tables import AskedDataset, definitions_of, planned_table
from warehouse.lake.tables import ROW_KEY, Table
from warehouse.load.dataset_plans import Plan
from warehouse.load.schema_evolution import changes, type_name
from warehouse.load.slice_reading import Drift


def drift_of(asked: AskedDataset, before: Plan | None) -> list[Drift]:
    """Where a dataset's metadata depart from what is understood of them, and from those it was planned by."""
    drift = [Drift(one.kind, one.field, one.sample or None, 0) for one in asked.definition.drift]
    if before is not None:
        old, new = planned_table(before), asked.table
        drift += [one for one in changes(old, new) if one.field != ROW_KEY.name]
        if key_text(old) != key_text(new):
            drift.append(Drift("key_changed", "", f"{key_text(old)} -> {key_text(new)}", 0))
        drift += _grown_enums(definitions_of(before)[before.dataset], asked.definition)
    return drift


def is_read_otherwise(plan: Plan, asked: AskedDataset) -> bool:
    """Whether a dataset becomes another table, or is asked for otherwise, though the platform says of its key
    what it said before."""
    before = definitions_of(plan)[plan.dataset]
    return plan.signature != asked.signature and _told_key(before) == _told_key(asked.definition)


def _told_key(definition: Definition) -> list[tuple[str, str | None]]:
    """The fields that the metadata call primary, with their words for the types."""
    return [(f.name, f.word) for f in key_fields(definition)] if definition.tells_key else []


def key_text(table: Table) -> str:
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
