"""Writes the site of a school into a folder. A page that has not changed is not written again.

All pages load the date of the data and its alarms from age.js, and the names of the workbooks beside them
from workbooks.js, so that only these files change each night."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from exports.board.data import alarms
from exports.library.definitions import all_definitions
from exports.library.sheet_library import Rows
from exports.library.words import texts, untranslated
from exports.pages.cells import Links, calendar_of, heading_facts, line_chart, table_of
from exports.pages.render import (
    PageSection,
    age_of_page,
    by_language,
    crumb,
    read_shared,
    render,
    time_text,
)
from exports.pages.sections import TEXTS, Layout, PageKind, Pages, Row, layout_of
from exports.site.folders import READERS, SITE, WRITTEN, Role
from exports.site.kinds import Kind, kinds
from exports.site.readers import (
    OF_ROLE,
    WORKBOOKS_SCRIPT,
    delete_earlier_workbooks,
    delete_other_readers,
    delete_other_workbooks,
    file_names,
    readers_of,
    write_changed,
    write_manifest,
    write_workbooks_script,
)
from exports.source import Origin
from exports.spreadsheet.sheets import Definition, Language, Words
from warehouse.identifiers import quoted

#: Pages whose rows are read at once.
BATCH = 50
BOARD_PAGE = "board.html"
#: Files that all pages load.
SHARED = ("page.css", "page.js")
AGE_SCRIPT = "age.js"
#: The files of a reader that this module writes, as patterns.
WRITTEN_FILES = ("*.html", "*/*.html", "*.js", "*.css")


@dataclass(frozen=True)
class Source:
    """What the pages of all readers are made of."""

    con: duckdb.DuckDBPyConnection
    origin: Origin
    language: Language
    #: The definitions by their anchors.
    terms: Mapping[str, Definition]
    #: The titles of all pages of the school, by kind, then by key.
    titles: Mapping[PageKind, Mapping[str, str]]
    #: Whether pages show guardians.
    guardians: bool
    #: The heading and the sections by kind of page, read once.
    layouts: dict[PageKind, list[Layout]] = field(default_factory=dict)

    def layouts_of(self, kind: PageKind) -> list[Layout]:
        """The heading and the sections of a kind of page."""
        if kind not in self.layouts:
            data = kinds()[kind]
            sections = {"": data.heading} | data.sections_for(guardians=self.guardians)
            self.layouts[kind] = [
                layout_of(
                    *(self.con, name, section, self.origin, list(self.titles[kind])),
                    kind=kind,
                    title="" if name else data.title,
                )
                for name, section in sections.items()
            ]
        return self.layouts[kind]

    def delete_rows(self, kind: PageKind) -> None:
        """Delete the rows of a kind of page, to free their memory."""
        for layout in self.layouts.pop(kind, ()):
            self.con.execute(f"DROP TABLE {quoted(layout.table)}")


def has_guardians(con: duckdb.DuckDBPyConnection, school_id: int) -> bool:
    """Whether a student of the school has a guardian account."""
    return bool(Rows.of(con, kinds()["index"].heading, school_id).select("1", "has_guardians"))


def titles_of(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[PageKind, dict[str, str]]:
    """The titles of all pages of a school by kind, then by key in the order of keys."""
    return {kind: _titles(con, school_id, data) for kind, data in kinds().items()}


def _titles(con: duckdb.DuckDBPyConnection, school_id: int, kind: Kind) -> dict[str, str]:
    columns = f"{quoted(kind.heading.page)}::VARCHAR AS page, {quoted(kind.title)}::VARCHAR"
    return dict(Rows.of(con, kind.heading, school_id).select(columns, clauses="ORDER BY page"))


def write_role(
    con: duckdb.DuckDBPyConnection,
    origin: Origin,
    folder: Path,
    language: Language,
    role: Role,
    write_board_page: Callable[[Path, Pages], bool],
    *,
    guardians: bool,
) -> dict[str, int]:
    """Write the sites of all readers of a role, with a manifest of who may read what. Deletes the sites of
    persons who have no pages any more.

    Args:
        folder: That of the school.
        write_board_page: Writes the board, with links to these pages, for the head. False: unchanged.
        guardians: Whether the pages of students show their guardians.

    Returns:
        The number of pages by kind; under `readers` and `written`, those of readers and of new and changed
        files."""
    titles = titles_of(con, origin.school.id)
    terms = {anchor(term): entry for term, entry in all_definitions(con, origin.school.id).items()}
    # Where no guardian is published, pages say nothing about guardians.
    guardians = guardians and has_guardians(con, origin.school.id)
    source = Source(con, origin, language, terms, titles, guardians)
    if role != "head":
        return _write_readers(source, folder / role, role)
    counts = _write_site(source, folder / role, titles, None)
    counts[WRITTEN] += write_board_page(folder / role / BOARD_PAGE, titles)
    return counts | {READERS: 1}


def _write_readers(source: Source, folder: Path, role: Role) -> dict[str, int]:
    """Write the sites of all teachers of a role into its folder."""
    readers = readers_of(source.con, source.origin.school.id, role, source.titles)
    delete_earlier_workbooks(folder, source.origin.generation)
    total: Counter[str] = Counter()
    for reader in readers:
        title = reader.name or reader.staff_number or str(reader.teacher_id)
        folder_of_reader = folder / str(reader.teacher_id)
        total.update(
            _write_site(source, folder_of_reader, reader.pages, (title, texts(SITE, "readers")[role]))
        )
    for kind in list(source.layouts):
        source.delete_rows(kind)
    delete_other_readers(folder, readers)
    write_manifest(folder, role, readers)
    return dict(total) | {READERS: len(readers)}


def _write_site(
    source: Source, folder: Path, pages: Pages, heading: tuple[str, Words] | None
) -> dict[str, int]:
    """Write the pages of a reader, and delete earlier files that are not among them.

    `heading`: the title and the kind of the index; None: those of the school, for its head."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = {name: read_shared(name) for name in SHARED}
    current = {folder / name for name in (*shared, AGE_SCRIPT, WORKBOOKS_SCRIPT, BOARD_PAGE)}
    written = sum(write_changed(folder / name, text) for name, text in shared.items())
    for path, text in _pages(source, pages, heading):
        written += write_changed(folder / path, text)
        current.add(folder / path)
    for kind, keys in pages.items():
        delete_other_workbooks(folder / kind, file_names(source.titles[kind], keys))
    written += write_changed(folder / AGE_SCRIPT, age_script(source.origin))
    written += write_workbooks_script(folder, pages, source.titles)
    for old in {path for name in WRITTEN_FILES for path in folder.glob(name)} - current:
        old.unlink()
    return {kind: len(keys) for kind, keys in pages.items()} | {WRITTEN: written}


def _pages(source: Source, pages: Pages, heading: tuple[str, Words] | None) -> Iterator[tuple[str, str]]:
    """Each page with its path in the site. The index comes last, after the pages that it links to."""
    allowed: Pages = {kind: set(keys) for kind, keys in pages.items()}
    yield "definitions.html", _definitions(source)
    for kind in (kind for kind in reversed(kinds()) if pages.get(kind)):
        layouts, all_keys = source.layouts_of(kind), list(pages[kind])
        for start in range(0, len(all_keys), BATCH):
            keys = all_keys[start : start + BATCH]
            tables = [layout.rows(source.con, keys) for layout in layouts]
            for key in keys:
                [heading_rows, *section_rows] = [table.get(key, []) for table in tables]
                if heading_rows:
                    address = "index" if kind == "index" else f"{kind}/{key}"
                    page = _page(source, kind, address, heading_rows[0], section_rows, allowed, heading)
                    yield f"{address}.html", page
        if heading is None:
            source.delete_rows(kind)


def _definitions(source: Source) -> str:
    school, definitions = source.origin.school.name, TEXTS["definitions"]
    variables = {
        "title": definitions,
        "kind": untranslated(school),
        "suffix": untranslated(school),
        "crumbs": [crumb(school, "index.html"), crumb(definitions)],
        "glossary": source.terms,
        "footer": TEXTS["footer"],
    }
    return render(source.language, variables)


def _page(
    source: Source,
    kind: PageKind,
    address: str,
    row: Row,
    section_rows: Sequence[Sequence[Row]],
    allowed: Pages,
    heading: tuple[str, Words] | None,
) -> str:
    """A page of the row of its heading and of the rows of its sections."""
    layouts, school, is_index = source.layouts_of(kind), source.origin.school.name, kind == "index"
    links = Links(allowed, "" if is_index else "../")
    title, name_of_kind = heading if is_index and heading else (row["_title"], kinds()[kind].name)
    variables = {
        "title": untranslated(title),
        "kind": name_of_kind,
        "suffix": untranslated(school),
        "address": address,
        "crumbs": _crumbs(row, layouts[0], links, school, kind),
        "facts": heading_facts(layouts[0], row, links),
        "link": crumb(texts(SITE)["board"], BOARD_PAGE) if is_index and heading is None else None,
        "sections": [
            _section(source, kind, layout, rows, links)
            for layout, all_rows in zip(layouts[1:], section_rows, strict=True)
            for rows in [layout.section.rows_for(all_rows, allowed)]
            if layout.section.is_on_page(rows, allowed)
        ],
        "root": links.root,
        "footer": TEXTS["footer"],
    }
    return render(source.language, variables)


def _section(
    source: Source, kind: PageKind, layout: Layout, rows: Sequence[Row], links: Links
) -> PageSection:
    section, table = layout.section, None
    if rows and not section.is_calendar:
        is_in_workbook = kind in OF_ROLE.values() and not section.only_with_rows
        table = replace(table_of(layout, rows, links), is_in_workbook=is_in_workbook)
    return PageSection(
        layout.name,
        section.name,
        (section.about,),
        "first" if section.is_on_first_sheet else "",
        None if rows else layout.nothing,
        line_chart=line_chart(layout, section.line, rows) if section.line else None,
        calendar=calendar_of(rows) if section.is_calendar else None,
        table=table,
        terms=[{"words": source.terms[name].term, "anchor": name} for name in map(anchor, section.terms)],
    )


def _crumbs(row: Row, heading: Layout, links: Links, school: str, kind: PageKind) -> list[dict[str, Any]]:
    """The path from the index by cohort and class to a page."""
    if kind == "index":
        return [crumb(school)]
    names = {link: (row[name], row[f"_{key}"]) for name, (link, key) in heading.section.links.items()}
    above: tuple[PageKind, ...] = ("cohort", "class")
    between = [
        crumb(str(names[step][0]), f"{links.root}{step}/{names[step][1]}.html")
        for step in above
        if step in names and names[step][1] in links.pages.get(step, ())
    ]
    return [crumb(school, f"{links.root}index.html"), *between, crumb(row["_title"])]


def anchor(term: str) -> str:
    """The name of a definition in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", term.lower()).strip("-")


def age_script(origin: Origin) -> str:
    """The date of the data and its alarms, as a script that sets a variable."""
    of_data = {
        "as_of": time_text(origin.age.as_of),
        "alarms": [by_language(alarm) for alarm in alarms(origin)],
    }
    return f"window.campusAge = {json.dumps(age_of_page(origin) | of_data)};\n"
