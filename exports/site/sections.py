"""Pages as data: each kind of page has a heading and sections, and each section is a sheet with links.

A query gives the rows of many pages at once, by its first column `page`, for the parameters $school_id and
$pages. Columns whose names begin with _ are not shown. A pair of columns x_en and x_zh is one column in two
languages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from exports.spreadsheet.sheets import Sheet, Words

#: The name of the export of pages.
SITE = "site"
#: The name of the export of workbooks beside the pages.
WORKBOOK = "workbook"
#: The kinds of pages, each a folder of the site. The index is one page at its root.
PageKind = Literal["index", "cohort", "class", "course", "student"]
#: The keys of the pages that a site has, by kind. Cells link to these only.
Pages = Mapping[PageKind, Collection[str]]

#: `class-teacher`: head and deputy teachers of administrative classes. `teacher`: teachers of course classes.
Role = Literal["head", "class-teacher", "teacher"]
#: The pages that cells link to: by column, the kind of page and the column with its key.
Links = Mapping[str, tuple[PageKind, str]]
#: A mean of fewer students than these is not shown beside a student, whose classmates it would name.
FEWEST = 5


@dataclass(frozen=True)
class Line:
    """A line chart of a section's rows: a line for each of `values`, over the column `along`."""

    along: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A table of a page, with its chart."""

    #: Its query has the columns `page` and those to show.
    sheet: Sheet
    links: Links = field(default_factory=dict)
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
    #: Is about guardians: left out where `exports.guardians` of campus.yaml does not allow it.
    is_about_guardians: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of page."""

    name: Words
    #: SQL for the keys of all pages, as the column `page`, by $school_id.
    keys: str
    #: One row a page: `_name` is the title, and the other columns are facts below it.
    heading: Section
    sections: tuple[Section, ...]
