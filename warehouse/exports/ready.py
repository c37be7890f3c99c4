"""The ready-made workbooks, by the name that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from warehouse.exports.sheets import Workbook

#: Makes the workbooks of one school (its id) from what is in the published file: most are the same for all
#: schools, and those of reports follow what was loaded.
Maker = Callable[[duckdb.DuckDBPyConnection, int], tuple[Workbook, ...]]

READY: Mapping[str, Maker] = {}
