"""The notes that teachers write into the exported list of early warning: its sheet of students has a column
for the day of a talk, and one for a note.

A row with a day or a note becomes a line of the log of talks and measures."""

from collections.abc import Mapping

from campus.contracts.inputs import KINDS
from campus.files.table_file import TableFile, TableRow

#: The headings of the columns to fill in, in Chinese and English.
TALK_DATE, NOTE = ("谈话日期", "Talk on"), ("谈话备注", "Note")
#: The columns of the list that are read. The others are for people.
FIELDS: Mapping[str, str] = {
    "学号": "usin",
    "Student number": "usin",
    "姓名": "name",
    "Student": "name",
    **dict.fromkeys(TALK_DATE, "date"),
    **dict.fromkeys(NOTE, "note"),
}
TALK = next(iter(KINDS))
COLUMNS = ("usin", "name", "date", "kind", "note")


def lines_of_list(table: TableFile) -> TableFile:
    """The rows of a list with a day or a note, as lines of the log."""
    rows = []
    for row in table.rows:
        cells = {FIELDS[column]: cell for column, cell in row.cells.items() if column in FIELDS}
        if cells.get("date") or cells.get("note"):
            own = dict.fromkeys(COLUMNS, "") | cells | {"kind": TALK}
            rows.append(TableRow(row.line, own, row.problem))
    return TableFile(COLUMNS, tuple(rows))
