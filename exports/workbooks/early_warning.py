"""The workbook of early warning, and its sheet in the workbook of a class."""

from __future__ import annotations

from dataclasses import replace

import duckdb

from exports.figures import figures
from exports.library.sheet_library import make_sheet, make_workbook, sheets_of
from exports.source import Origin
from exports.spreadsheet.sheets import Definition, Language, Sheet, Workbook
from exports.workbooks.back_test import MEANING, REASONS_PROVEN, reasons_proven
from exports.workbooks.definitions import warning_definitions


def early_warning(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbook of early warning of a school."""
    definitions = (
        *warning_definitions(con, school_id),
        MEANING,
        *(Definition(REASONS_PROVEN, sentence) for sentence in reasons_proven(con, school_id)),
    )
    heads = figures(con, school_id)
    return (make_workbook(con, "early_warning", school_id, language, heads, definitions),)


def at_a_glance(con: duckdb.DuckDBPyConnection, origin: Origin, language: Language) -> Sheet:
    """All students of the administrative classes in $pages on one page."""
    sheet = make_sheet(con, sheets_of("class_workbook")["at_a_glance"], origin.school.id, language)
    return replace(sheet, about=sheet.about.format(day=origin.made_of(sheet.sources).day))
