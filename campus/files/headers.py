"""The columns and words of the files that people keep: theirs, and what they stand for."""

import re
from collections.abc import Collection, Mapping
from datetime import date, datetime

from campus.files.table_file import TableError, TableFile, TableRow
from campus.selections import nearest

#: What a person may call a field, beside its own name.
NAMES: Mapping[str, str] = {
    "课程班ID": "class_id",
    "课程班编号": "csin",
    "班级编号": "csin",
    "日期": "date",
    "节次": "lesson",
    "学生ID": "rid",
    "学号": "usin",
    "结果": "result",
    "考勤": "result",
    "教室ID": "classroom_id",
    "刷卡时间": "created_at",
    "时间": "created_at",
    "卡号": "card_id",
    "设备ID": "device_id",
    "用户名": "username",
    "密码": "password",
}


def renamed(
    table: TableFile, field_names: Collection[str], name: str, names: Mapping[str, str] = NAMES
) -> list[TableRow]:
    """The rows with their cells by field. field_names: the fields that there are. name: of the file. names:
    what a person may call a field.

    Raises TableError for a column that stands for none of them."""
    fields = {column: names.get(column, column.lower()) for column in table.columns}
    # No heading is quoted: a file without headings has a row there.
    numbers: dict[str, int] = {}
    for number, field in enumerate(fields.values(), 1):
        if field not in field_names:
            expected = ", ".join(sorted(field_names))
            raise TableError(
                f"{name}, line 1: column {number} has no known heading{nearest(field, field_names)}; "
                f"expected: {expected}"
            )
        if numbers.setdefault(field, number) != number:
            raise TableError(f"{name}, line 1: columns {numbers[field]} and {number} both mean {field}")
    return [
        TableRow(row.line, {fields[column]: cell for column, cell in row.cells.items()}, row.problem)
        for row in table.rows
    ]


def needs(rows_have: Collection[str], *alternatives: Collection[str], name: str) -> None:
    """Raises TableError where of some alternatives no column is there."""
    for names in alternatives:
        if not set(names) & set(rows_have):
            raise TableError(f"{name}: the column {' or '.join(names)} is missing")


_DAY = r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?"
_TIME = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?"


def day_of(text: str) -> date | None:
    """A day as people write it: 2025-06-03, 2025/6/3, 2025.6.3, 2025年6月3日; None: it is none.

    A spreadsheet's day has midnight besides."""
    parts = re.fullmatch(rf"{_DAY}(?:[ T]00:00:00)?", text.strip())
    try:
        return date(*map(int, parts.groups())) if parts else None
    except ValueError:
        return None


def moment_of(text: str) -> datetime | None:
    """A day and a time as people and platforms write them, without a zone; None: it is none."""
    parts = re.fullmatch(rf"{_DAY}[ T]{_TIME}", text.strip())
    if parts is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups())
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
