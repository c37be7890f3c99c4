"""Reads the rows of a roster from a table, and checks each row and then all rows together."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from campus.files.table_file import TableError, TableFile, TableRow, errors_in
from campus.identity_numbers import without_identity_numbers
from campus.selections import nearest
from writeback.roster.fields import (
    HEADERS,
    STANDARD,
    Refused,
    RosterField,
    check_text,
    in_chinese,
    value_of,
)

SCHOOL = "school_id"
#: Letters of a refused row's name.
LONGEST_SHOWN = 100


@dataclass(frozen=True)
class Reading:
    """How a roster is read; see `writes.roster` in docs/campus.yaml."""

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    empty: Literal["keep", "clear"] = "keep"
    unusual_text: Literal["refuse", "send"] = "refuse"
    longest_text: int = 255


@dataclass(frozen=True)
class RosterRow:
    """One person of a roster."""

    line: int
    outer_id: str
    #: The roster's values, by the interface's names; None: the value is emptied.
    values: Mapping[str, Any]
    #: The values of custom fields. `values` has them, too.
    custom: Mapping[str, Any]


class RefusedRow(msgspec.Struct, frozen=True):
    """A row that is refused, and so not written."""

    line: int
    #: The outer_id, usin and name; empty: the row has none.
    key: str
    reason: str
    usin: str = ""
    name: str = ""
    #: The reason in Chinese.
    chinese: str = ""


def read_rows(
    table: TableFile, school_id: int, custom: Collection[str], reading: Reading, name: str
) -> tuple[list[RosterRow], list[RefusedRow]]:
    """The rows of a table, and the refused rows. custom: the names of the school's own fields.

    Raises TableError for columns that make no sense."""
    fields = _fields(table.columns, custom, reading, name)
    rows: list[RosterRow] = []
    bad: list[RefusedRow] = []
    for row in table.rows:
        try:
            if row.problem:
                raise Refused(row.problem, _error_in_chinese(row))
            rows.append(_row(row, fields, school_id, reading))
        except Refused as reason:
            key, usin = (_named(row, name, fields, reading) for name in ("outer_id", "usin"))
            name_there = _name_there(row, fields)
            bad.append(RefusedRow(row.line, key, str(reason), usin, name_there, reason.chinese))
    twice = _twice(rows, bad)
    bad += [turned_away(row, twice[row.line]) for row in rows if row.line in twice]
    return [row for row in rows if row.line not in twice], bad


def turned_away(row: RosterRow, reason: Refused) -> RefusedRow:
    """Refuse a row that could be read."""
    usin, name = (str(row.values.get(field_name) or "") for field_name in ("usin", "name"))
    return RefusedRow(row.line, row.outer_id, str(reason), usin, name, reason.chinese)


def _fields(
    columns: Sequence[str], custom: Collection[str], reading: Reading, name: str
) -> dict[str, RosterField]:
    """The field of each column."""
    specs = {
        **STANDARD,
        **{custom_name: RosterField(custom_name) for custom_name in custom},
        SCHOOL: RosterField(SCHOOL, "number"),
    }
    by_column: dict[str, RosterField] = {}
    for number, column in enumerate(columns, 1):
        field_name = field_of(column, reading.columns, specs)
        if field_name not in specs:
            raise TableError(
                f"{name}, line 1: column {number} has no known heading{nearest(field_name, specs)}. Name it "
                f"as a field, or say in writes.roster.columns of campus.yaml what it is"
            )
        if any(spec.name == field_name for spec in by_column.values()):
            raise TableError(f"{name}, line 1: column {number} is the second with {field_name}")
        by_column[column] = specs[field_name]
    available = {spec.name for spec in by_column.values()} | set(reading.defaults)
    for needed in ("outer_id", "role"):
        if needed not in available:
            raise TableError(
                f"{name}: no column is {needed}. Add it, or say in writes.roster of campus.yaml which column "
                f"it is{' or what holds for all rows (defaults)' if needed == 'role' else ''}"
            )
    return by_column


def field_of(column: str, columns: Mapping[str, str], fields: Collection[str] = STANDARD) -> str:
    """The name of the field that a column is meant for, whether there is one of that name or not. told: by
    campus.yaml, the field by the column."""
    name = columns.get(column) or HEADERS.get(column) or column
    return name.lower() if name not in fields and name.lower() in fields else name


def _row(row: TableRow, fields: Mapping[str, RosterField], school_id: int, reading: Reading) -> RosterRow:
    values: dict[str, Any] = {
        name: value_of(STANDARD[name], str(value), reading.values.get(name, {}))
        for name, value in reading.defaults.items()
    }
    for column, spec in fields.items():
        text = row.cells[column]
        if not text:
            # A choice has no empty value.
            if reading.empty == "clear" and spec.kind != "choice" and spec.name not in values:
                values[spec.name] = None
            continue
        if spec.kind == "text":
            _check(spec.name, text, reading)
        values[spec.name] = value_of(spec, text, reading.values.get(spec.name, {}))
    if not values.get("outer_id"):
        raise Refused("outer_id is missing: by it a row is known again", "缺少外部编号，无法识别此人")
    for needed in ("usin", "name"):
        if any(spec.name == needed for spec in fields.values()) and not values.get(needed):
            raise Refused(f"{needed} is missing", f"缺少{in_chinese(needed)}")
    if values.get("role") is None:
        raise Refused("role is missing", "缺少角色")
    if values.pop(SCHOOL, None) not in (None, school_id):
        raise Refused(
            f"it is of another school; this plan is for {school_id}",
            f"属于其他学校，本计划用于学校 {school_id}",
        )
    return RosterRow(
        row.line,
        str(values["outer_id"]),
        values,
        {name: value for name, value in values.items() if name not in STANDARD},
    )


def _check(name: str, text: str, reading: Reading) -> None:
    check_text(name, text, longest=reading.longest_text, unusual=reading.unusual_text == "send")


def _named(row: TableRow, name: str, fields: Mapping[str, RosterField], reading: Reading) -> str:
    """The outer_id or usin of a row; empty: the row has none, or its value identifies nobody."""
    text = next((row.cells[column] for column, spec in fields.items() if spec.name == name), "")
    try:
        _check(name, text, reading)
    except Refused:
        return ""
    return text


def _name_there(row: TableRow, fields: Mapping[str, RosterField]) -> str:
    """The name in a refused row; empty: the row has no name that can be shown."""
    text = next((row.cells[column] for column, spec in fields.items() if spec.name == "name"), "")
    try:
        check_text("name", text, longest=LONGEST_SHOWN, unusual=True)
    except Refused:
        return ""
    # Cells may have slipped.
    return without_identity_numbers(text)


def _error_in_chinese(row: TableRow) -> str:
    wrong = "、".join(f"第 {number} 列为 {row.cells[column]}" for number, column in errors_in(row.cells))
    return f"{wrong}：此单元格有错误"


def _twice(rows: Sequence[RosterRow], bad: Sequence[RefusedRow]) -> dict[int, Refused]:
    """The lines that share what only one row may have, with the reason. bad: rows that are refused already,
    of which one may be meant instead."""
    refusals: dict[int, Refused] = {}
    for name in ("outer_id", "usin"):
        lines: dict[Any, list[int]] = defaultdict(list)
        for refused in bad if name == "outer_id" else ():
            if refused.key:
                lines[refused.key].append(refused.line)
        for row in rows:
            if row.values.get(name):
                lines[row.values[name]].append(row.line)
        for same in lines.values():
            if len(same) > 1:
                numbers = ", ".join(map(str, sorted(same)))
                reason = Refused(
                    f"lines {numbers} have the same {name}", f"第 {numbers} 行的{in_chinese(name)}相同"
                )
                refusals |= {line: reason for line in same if line not in refusals}
    return refusals
