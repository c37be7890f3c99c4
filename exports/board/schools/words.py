"""The file schools.yml: the rows, the texts and the parts of the page of several schools."""

from __future__ import annotations

from collections.abc import Sequence

from exports.board.charts import Page
from exports.board.words import Panel
from exports.library.view_rows import Data, ViewRows
from exports.library.words import Phrase, content_of, untranslated
from exports.source import joined
from exports.spreadsheet.sheets import Definition, Words

#: The most names in a list.
MOST_NAMES = 10


class PageData(Data):
    """The page of a few schools, or of many."""

    charts: dict[str, Panel]
    #: The definitions below the table of schools.
    terms: tuple[str, ...]


class SchoolsData(Data):
    """The content of schools.yml."""

    rows: dict[str, ViewRows]
    pages: dict[Page, PageData]
    reasons: dict[str, Phrase]
    texts: dict[str, Phrase]
    definitions: dict[str, Definition]


SCHOOLS = SchoolsData.model_validate(content_of("schools"))
TEXTS = SCHOOLS.texts


def listed(names: Sequence[str]) -> Words:
    """A list of schools; of many the first names and the number of the rest."""
    first = joined(map(untranslated, names[:MOST_NAMES]))
    if len(names) <= MOST_NAMES:
        return first
    return TEXTS["and_more"].format(names=first, rest=len(names) - MOST_NAMES, all=len(names))
