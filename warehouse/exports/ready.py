"""The ready-made workbooks, by the name that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from warehouse.exports.sheets import Language, Workbook
from warehouse.exports.workbooks.attendance import attendance
from warehouse.exports.workbooks.early_warning import early_warning
from warehouse.exports.workbooks.grades import grades
from warehouse.exports.workbooks.reports import reports

#: Makes the workbooks of one school (its id) in a language, from what is in the published file: weeks,
#: thresholds, and which reports there are.
Maker = Callable[[duckdb.DuckDBPyConnection, int, Language], tuple[Workbook, ...]]

READY: Mapping[str, Maker] = {
    "attendance": attendance,
    "grades": grades,
    "early_warning": early_warning,
    "reports": reports,
}
