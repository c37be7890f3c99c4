"""Pages as data (exports/library/site.yml): each kind of page has a heading and sections, and each section is
a sheet with links."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field, model_validator

from exports.library.sheet_library import ColumnData, SheetData
from exports.library.view_rows import Data
from exports.library.words import Phrase, content_of
from exports.site.sections import SITE, PageKind


class Line(Data):
    """A line chart of a section's rows: a line for each of `values`, over the column `along`."""

    along: str
    values: tuple[str, ...]


class Section(SheetData):
    """A table of a page, with its chart."""

    #: The column with the key of a row's page.
    page: str
    links: dict[str, tuple[PageKind, str]] = Field(default_factory=dict)
    line: Line | None = None
    #: Draws the rows as a calendar of lessons instead of a table.
    is_calendar: bool = False
    #: English names of the terms that the section needs, as in `definitions`.
    terms: tuple[str, ...] = ()
    #: Has a field that narrows the rows to those with a text.
    is_searched: bool = False
    #: Lists the pages of a kind: rows of pages that the reader may not see are left out, and the section,
    #: too, where the reader sees no page of the kind.
    lists: PageKind | None = None
    #: Columns that a page leaves out if none of its rows has a value.
    optional: tuple[str, ...] = ()
    #: Of a heading: the section that lists the students of a level, by the column with their number.
    narrows: dict[str, str] = Field(default_factory=dict)
    #: The column that phones show in a line of its own, below the rest of its row.
    wide: str = ""
    #: The last row is the newest: phones show the rows in the opposite order, and a chart's right end first.
    is_newest_last: bool = False
    #: Of the first sheet of the printed page: what else the page has begins on a new sheet.
    is_on_first_sheet: bool = False
    #: Columns that the section leaves out of those of a section from which it is made.
    omits: tuple[str, ...] = ()
    #: Columns about guardians: left out where `exports.guardians` of campus.yaml does not allow them.
    about_guardians: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _omit(cls, data: dict[str, Any]) -> dict[str, Any]:
        """A column in the file is its name, or {name: {...}}."""
        omits = set(data.get("omits", ()))
        columns = [
            item for item in data["columns"] if omits.isdisjoint([item] if isinstance(item, str) else item)
        ]
        return data | {"columns": columns}

    def without_guardians(self) -> Section | None:
        """The section as pages show it that may not name guardians; None: it is about nothing else."""
        columns = tuple(
            item
            for item in self.columns
            if not (isinstance(item, ColumnData) and item.name in self.about_guardians)
        )
        return self.model_copy(update={"columns": columns}) if columns else None


class Kind(Data):
    """A kind of page."""

    name: Phrase
    #: The column of the heading with the title.
    title: str
    #: A row for each page, whose columns are facts below the title.
    heading: Section
    sections: dict[str, Section]

    def sections_for(self, *, guardians: bool) -> dict[str, Section]:
        """The sections. `guardians`: they may name guardians."""
        if guardians:
            return self.sections
        sections = {name: section.without_guardians() for name, section in self.sections.items()}
        return {name: section for name, section in sections.items() if section is not None}


@cache
def kinds() -> dict[PageKind, Kind]:
    """The kinds of pages. Raises pydantic.ValidationError."""
    return {kind: Kind.model_validate(data) for kind, data in content_of(SITE)["kinds"].items()}


@cache
def signs() -> dict[str, Any]:
    """The signs of the calendar by mark, each with its style."""
    return dict(content_of(SITE)["signs"])
