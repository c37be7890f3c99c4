"""Workbooks of the platform's reports: one for each query, with the platform's headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from exports.library.words import content_of, texts, untranslated
from exports.spreadsheet.sheets import Column, Language, Sheet, Workbook
from warehouse.identifiers import PARAMS, ROW_NUMBER, listed, literal, quoted

QUERIES: Mapping[str, str] = content_of("reports", Path(__file__).parent)
TEXTS = texts("spreadsheet")
PARAMETERS, NUMBER = Column(TEXTS["parameters"]), Column(TEXTS["row_number"])


def reports(con: duckdb.DuckDBPyConnection, school_id: int, language: Language) -> tuple[Workbook, ...]:
    """The workbooks of a school's reports, one for each query."""
    queries = con.execute(QUERIES["queries"], {"school_id": school_id}).fetchall()
    return tuple(ReportQuery(con, school_id, *query).workbook() for query in queries)


@dataclass(frozen=True)
class ReportQuery:
    """A loaded query of a school."""

    con: duckdb.DuckDBPyConnection
    school_id: int
    table: str
    report: str
    label: str
    #: Was requested with several combinations of parameters.
    is_varied: bool

    def workbook(self) -> Workbook:
        """The workbook of the query."""
        about = TEXTS["report"].format(self.report)
        return Workbook(name=self.table, title=untranslated(self.label), about=about, sheets=self._sheets())

    def _rows(self, name: str, condition: str = "true") -> list[tuple[Any, ...]]:
        query = QUERIES[name].format(table=literal(self.table), condition=condition)
        return self.con.execute(query, {"school_id": self.school_id}).fetchall()

    def _sheets(self) -> tuple[Sheet, ...]:
        """One sheet for all combinations of parameters, or a sheet for each if their columns differ, as in
        pivots."""
        combinations = self._rows("combinations") if self.is_varied else []
        if len({tuple(columns) for _, columns in combinations}) < 2:
            return (self._sheet(self.label, {PARAMS: PARAMETERS} if self.is_varied else {}),)
        return tuple(self._sheet(params, {}, params) for params, _ in combinations)

    def _sheet(self, name: str, varied: Mapping[str, Column], params: str | None = None) -> Sheet:
        """A sheet with the rows of the query, or of one combination. `varied`: the first columns."""
        cells = {column: quoted(column) for column in varied}
        columns = dict(varied)
        for column_name, cell, column in self._columns(params):
            cells[column_name], columns[column_name] = cell, column
        if not cells:
            cells, columns = {ROW_NUMBER: quoted(ROW_NUMBER)}, {ROW_NUMBER: NUMBER}
        return Sheet(
            name=untranslated(name),
            about=TEXTS["all_rows"],
            query=f"""
            SELECT {", ".join(f"{cell} AS {quoted(column)}" for column, cell in cells.items())}
            FROM reports.{quoted(self.table)}
            WHERE _school_id = $school_id AND {_combination(PARAMS, params)}
            ORDER BY {listed((*varied, ROW_NUMBER))}
            """,
            columns=columns,
        )

    def _columns(self, params: str | None) -> Iterator[tuple[str, str, Column]]:
        """Name, SQL and format of each column. An attachment has two columns: names and addresses of
        files."""
        for name, is_attachment, path in self._rows("fields", _combination("params", params)):
            headers = tuple(untranslated(header) for header in path)
            if is_attachment:
                yield f"{name} name", _of_files(name, "name"), Column(TEXTS["file"], groups=headers)
                link = f"coalesce({_of_files(name, 'url')}, {quoted(name)})"
                yield name, link, Column(TEXTS["link"], "link", groups=headers)
            else:
                yield name, quoted(name), Column(headers[-1], groups=headers[:-1])


def _combination(column: str, params: str | None) -> str:
    """SQL for the rows of a combination. None: of all combinations."""
    return "true" if params is None else f"{quoted(column)} = {literal(params)}"


def _of_files(column: str, member: str) -> str:
    """SQL for a member of an attachment: an address, or JSON of one or several files, whose members become
    lines. Null where the attachment lacks it."""
    files = f"CASE WHEN json_valid({quoted(column)}) THEN {quoted(column)} END"
    several = f"array_to_string(json_extract_string({files}, '$[*].{member}'), chr(10))"
    return f"coalesce(nullif({several}, ''), json_extract_string({files}, '$.{member}'))"
