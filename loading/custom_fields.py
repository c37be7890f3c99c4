"""The table of v1 users, which has a column for each custom field of a school."""

from dataclasses import replace

from campus.plan.custom_fields import ID_NUMBER, CustomField, with_custom_fields
from campus.registry import RESOURCES, ResourceSpec
from loading.connection.runtime import Runtime
from loading.tables import TABLES, lake_table, slice_of
from warehouse.identifiers import folded
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice, Table
from warehouse.load.schema_evolution import stored_columns
from warehouse.maintenance.erase_column import forget

USERS, FIELDS = RESOURCES["v1_users"], RESOURCES["user_fields"]


def with_fields_of(runtime: Runtime, spec: ResourceSpec, school_id: int) -> ResourceSpec:
    """A resource with the custom fields of a school, by the lake."""
    if spec.fields_from is None:
        return spec
    custom = _custom_fields(runtime.lake, slice_of(RESOURCES[spec.fields_from], school_id))
    return with_custom_fields(spec, custom, keep_id_numbers=runtime.keep_id_numbers)


def users_table(lake: Lake) -> Table:
    """The table of users with the custom fields of all schools, including former fields."""
    table = TABLES[USERS.name]
    now = lake_table(with_custom_fields(USERS, _custom_fields(lake), keep_id_numbers=False))
    comments = {folded(column.name): column.comment for column in now.columns}
    own_names = {folded(column.name) for column in table.columns}
    stored = [column.column for column in stored_columns(table, lake.open(table))]
    custom = [column for column in stored if folded(column.name) not in own_names]
    described = [
        replace(column, comment=comments.get(folded(column.name), column.comment)) for column in custom
    ]
    return replace(table, columns=(*table.columns, *described))


def forget_id_numbers(lake: Lake) -> None:
    """Erase the national id numbers from the lake, also of deleted rows and of schools that are no longer
    read."""
    forget(lake, TABLES[USERS.name], ID_NUMBER)


def _custom_fields(lake: Lake, slice: Slice | None = None) -> list[CustomField]:
    rows = lake.read(TABLES[FIELDS.name], slice, ["_school_id", "role", "name", "label", "options"])
    ordered = rows.sort_by([(column, "ascending") for column in ("_school_id", "role", "name")])
    return [CustomField(row["name"], row["label"], row["options"]) for row in ordered.to_pylist()]
