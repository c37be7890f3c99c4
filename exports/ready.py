"""The ready-made workbooks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import duckdb

from exports.figures import figures, grade_figures
from exports.library.back_test import definitions_of_back_test
from exports.library.definitions import definitions_of
from exports.library.sheet_library import make_workbook
from exports.reports import reports
from exports.spreadsheet.sheets import Figure, Language, Workbook

#: The workbooks of `exports.library`, and what makes the figures above their first sheets, by a school's id.
OF_LIBRARY: Mapping[str, Callable[[duckdb.DuckDBPyConnection, int], tuple[Figure, ...]]] = {
    "attendance": figures,
    "grades": grade_figures,
    "early_warning": figures,
}
READY = (*OF_LIBRARY, "reports")

#: The name of the pages of `exports.board`, which are no workbooks.
BOARD = "board"
#: The name of the zip of `exports.oneroster`.
ONEROSTER = "oneroster"


def ready_workbooks(
    con: duckdb.DuckDBPyConnection, name: str, school_id: int, language: Language
) -> tuple[Workbook, ...]:
    """The workbooks of one school with a name of READY, from the published file."""
    if name == "reports":
        return reports(con, school_id, language)
    definitions = definitions_of(con, school_id, name)
    if name == "early_warning":
        definitions += definitions_of_back_test(con, school_id)
    above = OF_LIBRARY[name](con, school_id)
    return (make_workbook(con, name, school_id, language, above, definitions),)
