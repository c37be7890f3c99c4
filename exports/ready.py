"""The ready-made workbooks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from exports.spreadsheet.sheets import Language, Workbook
from exports.workbooks.attendance import attendance
from exports.workbooks.early_warning import early_warning
from exports.workbooks.grades import grades
from exports.workbooks.reports import reports

#: Makes the workbooks of one school (its id) in a language, from the published file.
Maker = Callable[[duckdb.DuckDBPyConnection, int, Language], tuple[Workbook, ...]]

READY: Mapping[str, Maker] = {
    "attendance": attendance,
    "grades": grades,
    "early_warning": early_warning,
    "reports": reports,
}

#: The name of the pages of `exports.board`, which are no workbooks.
BOARD = "board"
#: The name of the zip of `exports.oneroster`.
ONEROSTER = "oneroster"
