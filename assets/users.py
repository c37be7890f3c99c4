"""The users of the v1 generation, whose columns differ from school to school: each custom field is one."""

from dataclasses import replace

from assets.runtime import Runtime
from assets.tables import TABLES, slice_of
from campus.resources import RESOURCES, ResourceSpec
from campus.users import CustomField, with_custom_fields
from warehouse.evolve import held_columns
from warehouse.lake import Lake
from warehouse.sql import folded
from warehouse.tables import Table

USERS, FIELDS = RESOURCES["v1_users"], RESOURCES["user_fields"]
STUDENT = 1


def users_spec(runtime: Runtime, school_id: int) -> ResourceSpec:
    """The resource with the custom fields that the lake holds of a school, as just read or last known."""
    columns = ["name", "label", "options"]
    rows = runtime.lake.read(TABLES[FIELDS.name], slice_of(FIELDS, school_id), columns)
    custom = [CustomField(row["name"], row["label"], row["options"]) for row in rows.to_pylist()]
    return with_custom_fields(USERS, custom, keep_id_numbers=runtime.keep_id_numbers)


def users_table(lake: Lake) -> Table:
    """The table with the custom fields of all schools, as the lake holds it."""
    table = TABLES[USERS.name]
    known = {folded(column.name) for column in table.columns}
    held = [each.column for each in held_columns(table, lake.open(table))]
    custom = tuple(column for column in held if folded(column.name) not in known)
    return replace(table, columns=(*table.columns, *custom))
