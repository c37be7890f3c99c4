"""The files board.yml and schools.yml: the rows, texts, panels and lists of boards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import duckdb
from pydantic import Field as Setting

from exports.library.definitions import definitions_of
from exports.library.view_rows import Data, ViewRows
from exports.library.words import Phrase, content_of, definition, untranslated
from exports.pages.sections import Section
from exports.source import Origin, joined
from exports.spreadsheet.sheets import Definition, Words

PageOfCharts = Literal["school", "few_schools", "many_schools"]
#: The most names in a list.
MOST_NAMES = 10


class Panel(Data):
    """A figure or a chart of a page."""

    title: Phrase
    #: How to read it.
    hint: Phrase = Words("", "")
    #: The source tables.
    tables: tuple[str, ...] = ()
    #: The terms below it: names of definitions, `attendance_rate`, or `early_warning` for levels and limits.
    terms: tuple[str, ...] = ()
    is_chart: bool = False
    #: Has both columns of the page.
    is_wide: bool = False


class ListData(Section):
    """A list of a page: a section whose rows follow the group that is picked. `terms`: as of a panel."""

    tables: tuple[str, ...]
    #: The rows that are shown before a reader asks for all.
    most: int
    #: Stands above the charts in one of the two columns; other lists have both columns below the charts.
    is_first: bool = False
    #: The figure that says why there are no rows.
    figure: str
    #: Columns with names of persons, with the texts that number them where the page names nobody.
    persons: dict[str, str]
    #: Columns with the texts in the place of missing values.
    unknown: dict[str, str] = Setting(default_factory=dict)


class BoardData(Data):
    """The content of board.yml."""

    sources: tuple[str, ...]
    rows: dict[str, ViewRows]
    panels: dict[str, Panel]
    lists: dict[str, ListData]
    definitions: dict[str, Definition]
    texts: dict[str, Phrase]
    script: dict[str, Phrase]

    def charts(self) -> dict[str, Panel]:
        """The panels that are charts, by name."""
        return {name: panel for name, panel in self.panels.items() if panel.is_chart}


class SchoolsPage(Data):
    """The page of a few schools, or of many."""

    charts: dict[str, Panel]
    #: The definitions below the table of schools.
    terms: tuple[str, ...]


class SchoolsData(Data):
    """The content of schools.yml."""

    #: The schools that are listed before a reader asks for all.
    most: int
    rows: dict[str, ViewRows]
    pages: dict[PageOfCharts, SchoolsPage]
    reasons: dict[str, Phrase]
    texts: dict[str, Phrase]
    definitions: dict[str, Definition]


BOARD = BoardData.model_validate(content_of("board"))
SCHOOLS = SchoolsData.model_validate(content_of("schools"))


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


def alarms(origin: Origin) -> list[Words]:
    """The messages about resources that were never loaded, and about those whose last load failed."""
    panels = [(panel.title, panel.tables) for panel in BOARD.panels.values()]
    panels += [(data.name, data.tables) for data in BOARD.lists.values()]
    messages = (
        origin.alarm(BOARD.texts["never"], origin.age.never, BOARD.texts["affected"], panels),
        origin.alarm(
            BOARD.texts["failed"], dict.fromkeys(origin.age.older, ()), BOARD.texts["affected"], panels
        ),
    )
    return [message for message in messages if message]


def abridged(names: Sequence[str]) -> Words:
    """A list of schools; of many the first names and the number of the rest."""
    first = joined(map(untranslated, names[:MOST_NAMES]))
    if len(names) <= MOST_NAMES:
        return first
    return SCHOOLS.texts["and_more"].format(names=first, rest=len(names) - MOST_NAMES, all=len(names))
