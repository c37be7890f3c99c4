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

#: By workbook of `exports.library`, what makes the figures above its first sheet, by a school's id.
FIGURES: Mapping[str, Callable[[duckdb.DuckDBPyConnection, int], tuple[Figure, ...]]] = {
    "attendance": figures,
    "grades": grade_figures,
    "early_warning": figures,
}


def ready_workbooks(
    con: duckdb.DuckDBPyConnection, name: str, school_id: int, language: Language
) -> tuple[Workbook, ...]:
    """The workbooks of one school with a name of READY, from the published file."""
    if name == "reports":
        return reports(con, school_id, language)
    definitions = definitions_of(con, school_id, name)
    if name == "early_warning":
        definitions += definitions_of_back_test(con, school_id)
    above = FIGURES[name](con, school_id)
    return (make_workbook(con, name, school_id, language, above, definitions),)
