"""The fields and rows of reports as the platform sends them, by its readings."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from simulator.datasets.rendering import CASTS, EXTRA
from simulator.datasets.table import Handle, Table
from simulator.readings import Readings
from simulator.reports.metadata import FIELDS, HIDDEN
from simulator.school.rows import Values

OTHER_KINDS = {
    "int": "INTEGER",
    "float": "double precision",
    "decimal": "numeric",
    "string": "varchar(255)",
    "timestamp": "datetime",
    "attachment": "file",
}

Shape = Callable[[Any], Any]  # of a value that is not null


def sent_fields(readings: Readings, fields: Iterable[Values]) -> list[Values]:
    """The fields of an answer."""
    return [_sent_field(readings, field) for field in fields]


def _sent_field(readings: Readings, field: Values) -> Values:
    sent = {name: value for name, value in field.items() if name not in HIDDEN[FIELDS]}
    if sent["kind"] == "text" and readings.report_kinds == "unknown":
        sent["kind"] = "rich_text"
    if readings.report_kinds == "other":
        sent["kind"] = OTHER_KINDS.get(sent["kind"], sent["kind"])
    if sent["label_in_path"] == [sent["label"]] and readings.report_label_path != "always":
        sent["label_in_path"] = None
        if readings.report_label_path == "omitted":
            del sent["label_in_path"]
    return sent


def sent_rows(
    readings: Readings, fields: Sequence[Values], table: Table, rows: Iterable[Handle]
) -> list[Values]:
    """The rows of an answer. Values of tests stay unchanged."""
    columns = [(field["name"], _shape(readings, field)) for field in fields]
    extra = {name: column[0] for name, column in EXTRA.items()} if readings.extra_fields == "some" else {}
    return [_sent_row(readings, columns, table, row) | extra for row in rows]


def _sent_row(
    readings: Readings, columns: Iterable[tuple[str, Shape | None]], table: Table, row: Handle
) -> Values:
    given = () if isinstance(row, int) else row.given
    values: Values = {}
    for name, shape in columns:
        value = table.value(row, name)
        if shape and value is not None and name not in given:
            value = shape(value)
        if value is not None or readings.report_nulls == "sent":
            values[name] = value
    return values


def _shape(readings: Readings, field: Values) -> Shape | None:
    kind = field["kind"]
    if kind != field["made_kind"]:
        return CASTS.get("integer" if kind == "int" else kind)
    if kind == "decimal" and readings.decimals == "number":
        return lambda value: msgspec.Raw(value.encode())
    if kind == "attachment" and readings.report_attachments == "url":
        return lambda value: value["url"]
    if kind == "attachment" and readings.report_attachments == "list":
        return lambda value: [value]
    return None
