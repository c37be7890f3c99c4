"""The addresses of teachers that a school keeps in a file: staff numbers with mail addresses.

A refused line is named by its number alone: it may name anybody."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from campus.files.headers import needs, renamed
from campus.files.table_file import TableFile
from campus.inputs.interventions import COMMENT

#: The headings of the fields, in Chinese and English.
HEADINGS: Mapping[str, tuple[str, str]] = {
    "staff_number": ("工号", "staff number"),
    "address": ("邮箱", "address"),
}
_FIELDS = {heading: field for field, headings in HEADINGS.items() for heading in headings}
#: One address, which cannot begin another header or name several recipients.
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True)
class Addresses:
    """The addresses by staff number, and the refused lines with their reasons."""

    of_staff: Mapping[str, str]
    refused: tuple[tuple[int, str], ...]


def read_addresses(table: TableFile, staff_numbers: Collection[str], name: str) -> Addresses:
    """Read the lines of a file. `staff_numbers`: those of the school's teachers, repeated where several
    teachers have the same.

    Raises TableError for a missing or unknown column."""
    rows = [
        row
        for row in renamed(table, HEADINGS, name, _FIELDS)
        if not next(iter(row.cells.values()), "").startswith(COMMENT)
    ]
    for field in HEADINGS:
        needs({_FIELDS.get(column, column.lower()) for column in table.columns}, {field}, name=name)
    lines = Counter(row.cells.get("staff_number", "") for row in rows)
    teachers = Counter(staff_numbers)
    of_staff: dict[str, str] = {}
    refused: list[tuple[int, str]] = []
    for row in rows:
        number, address = row.cells.get("staff_number", ""), row.cells.get("address", "")
        if row.problem:
            reason = row.problem
        elif not number:
            reason = "it has no staff number"
        elif lines[number] > 1:
            reason = "another line has the same staff number"
        elif not teachers[number]:
            reason = "no teacher of the school has this staff number"
        elif teachers[number] > 1:
            reason = "several teachers of the school have this staff number"
        elif not _ADDRESS.fullmatch(address):
            reason = "it has no mail address such as name@school.example"
        else:
            of_staff[number] = address
            continue
        refused.append((row.line, reason))
    return Addresses(of_staff, tuple(refused))
