"""Makes written rows a table of Excel, with filters and a name for formulas and Power Query.

XlsxWriter adds no table to a file that it writes row by row: its `add_table` would write the labels again and
remember each cell. Here the labels are written already, so only the description is added."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count

from xlsxwriter.utility import xl_range
from xlsxwriter.worksheet import Worksheet

#: What a table without totals, formulas and colours of its own has beside its name, place and columns.
PLAIN_TABLE = {
    "title": None,
    "description": None,
    "style": "",
    "header_row_count": True,
    "totals_row_shown": False,
    "show_first_col": False,
    "show_last_col": False,
    "show_row_stripes": False,
    "show_col_stripes": False,
}
#: The longest name of a table is 255 characters, and a number may follow.
LONGEST_NAME = 240


def add_table(
    worksheet: Worksheet, name: str, labels: Sequence[str], rows: tuple[int, int], taken: set[str]
) -> bool:
    """Make rows a table. Returns False where they cannot be one: Excel wants distinct labels in one line,
    which a matrix with headings above its labels may not have.

    Args:
        name: What the rows are, in any words.
        labels: The cells of the header.
        rows: The row of the labels, and the last row.
        taken: The names of the file's tables in lower case, to which this name is added."""
    if len({label.casefold() for label in labels}) < len(labels) or any("\n" in label for label in labels):
        return False
    table_name = _free_name(name, taken)
    taken.add(table_name)
    cells = xl_range(rows[0], 0, rows[1], len(labels) - 1)
    columns = [{"id": number, "name": label} for number, label in enumerate(labels, 1)]
    places = {"range": cells, "a_range": cells, "autofilter": cells}
    worksheet.tables.append({**PLAIN_TABLE, **places, "name": table_name, "columns": columns})
    return True


def _free_name(name: str, taken: set[str]) -> str:
    """A name in lower case that Excel takes: letters, digits and lines, which looks like no cell."""
    plain = "t_" + re.sub(r"\W+", "_", name).strip("_").lower()[:LONGEST_NAME]
    return next(free for free in (f"{plain}{_ending(n)}" for n in count(1)) if free not in taken)


def _ending(number: int) -> str:
    return f"_{number}" if number > 1 else ""
