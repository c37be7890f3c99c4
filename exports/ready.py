"""The ready-made workbooks, by the name that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from exports.sheets import Language, Workbook
from exports.workbooks.attendance import attendance
from exports.workbooks.early_warning import early_warning
from exports.workbooks.grades import grades
from exports.workbooks.reports import reports

#: Makes the workbooks of one school (its id) in a language, from what is in the published file: weeks,
#: thresholds, and which reports there are.
Maker = Callable[[duckdb.DuckDBPyConnection, int, Language], tuple[Workbook, ...]]

READY: Mapping[str, Maker] = {
    "attendance": attendance,
    "grades": grades,
    "early_warning": early_warning,
    "reports": reports,
}

#: The name that asks for the pages of `exports.board`, which are no workbooks.
BOARD = "board"
