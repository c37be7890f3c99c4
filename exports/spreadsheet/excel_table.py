"""Makes written rows a table of Excel, with filters and a name for formulas and Power Query.

XlsxWriter adds no table to a file that it writes row by row: its `add_table` would write the labels again and
remember each cell. Here the labels are written already, so only the description is added."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count

from xlsxwriter.utility import xl_range
from xlsxwriter.worksheet import Worksheet

from exports.spreadsheet.styles import CONTENT

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
    # Excel takes letters, digits and lines that look like no cell.
    plain = "t_" + re.sub(r"\W+", "_", name).strip("_").lower()[:LONGEST_NAME]
    numbered = (f"{plain}_{number}" for number in count(2))
    table_name = next(free for free in chain([plain], numbered) if free not in taken)
    taken.add(table_name)
    cells = xl_range(rows[0], 0, rows[1], len(labels) - 1)
    columns = [{"id": number, "name": label} for number, label in enumerate(labels, 1)]
    ranges = dict.fromkeys(("range", "a_range", "autofilter"), cells)
    worksheet.tables.append({**CONTENT["plain_table"], **ranges, "name": table_name, "columns": columns})
    return True
