"""The file board.yml: the rows, the texts and the panels of the board."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import duckdb

from exports.library.definitions import definitions_of
from exports.library.view_rows import Data, ViewRows
from exports.library.words import Phrase, content_of, definition
from exports.spreadsheet.sheets import Definition, Words


class Panel(Data):
    """A figure, a chart or a list of a page."""

    title: Phrase
    #: How to read it.
    hint: Phrase = Words("", "")
    #: The source tables.
    tables: tuple[str, ...] = ()
    #: The terms below it: names of definitions, `attendance_rate`, or `early_warning` for levels and limits.
    terms: tuple[str, ...] = ()
    is_chart: bool = False


class BoardData(Data):
    """The content of board.yml."""

    most: dict[str, int]
    sources: tuple[str, ...]
    rows: dict[str, ViewRows]
    panels: dict[str, Panel]
    definitions: dict[str, Definition]
    texts: dict[str, Phrase]
    script: dict[str, Phrase]

    def charts(self) -> dict[str, Panel]:
        """The panels that are charts, by name."""
        return {name: panel for name, panel in self.panels.items() if panel.is_chart}


BOARD = BoardData.model_validate(content_of("board"))
TEXTS, SCRIPT, SOURCES = BOARD.texts, BOARD.script, BOARD.sources


def terms_of(
    con: duckdb.DuckDBPyConnection,
    school_id: int,
    panels: Mapping[str, Iterable[str]],
    definitions: Mapping[str, Definition],
) -> dict[str, list[Definition]]:
    """The definitions below each panel of a page, by the names of its terms, with the limits of a school."""
    warnings = definitions_of(con, school_id, "early_warning")

    def defined(name: str) -> Iterator[Definition]:
        if name == "early_warning":
            yield from warnings
        else:
            yield definitions[name] if name in definitions else definition(name)

    return {name: [entry for term in terms for entry in defined(term)] for name, terms in panels.items()}
