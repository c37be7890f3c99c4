"""Writes the site of a school into a folder. A page that has not changed is not written again.

All pages load the date of the data and its alarms from age.js, so that only age.js changes each night."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from exports.board.age import OLD_DAYS, alarms
from exports.board.words import SCRIPT
from exports.library.definitions import all_definitions
from exports.library.sheet_library import Rows
from exports.library.words import texts
from exports.site.kinds import Kind, kinds
from exports.site.nightly import READERS, WRITTEN
from exports.site.page import (
    HERE,
    Layout,
    Row,
    anchor,
    crumb,
    facts_of,
    is_on_page,
    layout_of,
    render,
    rows_for,
    section_of,
)
from exports.site.readers import Reader, readers_of
from exports.site.sections import SITE, Links, PageKind, Pages, Role
from exports.source import Origin
from exports.spreadsheet.sheets import LANGUAGES, Definition, Language, Words
from warehouse.csv_cells import safe_cell
from warehouse.files import without_separators
from warehouse.identifiers import quoted

#: Pages whose rows are read at once.
BATCH = 50
BOARD_PAGE = "board.html"
#: In the folder of a role: the generation of its workbooks, written after the last of them.
WORKBOOKS_NOTE = "workbooks.txt"
#: Bytes of a page's title in the name of its workbook: a name has 255 bytes at most.
LONGEST_NAME = 200
#: Files that all pages load.
SHARED = ("site.css", "site.js")


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
                layout_of(self.con, kind, name, section, self.origin, self.terms, list(self.titles[kind]))
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


def delete_other_readers(folder: Path, readers: Sequence[Reader]) -> None:
    """Delete the folders of persons who are no readers of the role any more."""
    folders = {str(reader.teacher_id) for reader in readers}
    for left in _readers_folders(folder):
        if left.name not in folders:
            shutil.rmtree(left)


def _readers_folders(folder: Path) -> list[Path]:
    """The folders of readers in that of a role. Others may put folders with words as names beside them."""
    return [path for path in folder.glob("*/") if path.name.isdecimal()]


def delete_earlier_workbooks(folder: Path, generation: str) -> None:
    """Delete the workbooks of a role that are not of the generation of its pages."""
    note = folder / WORKBOOKS_NOTE
    if note.exists() and note.read_text(encoding="utf-8") == generation:
        return
    for reader in _readers_folders(folder):
        for workbook in reader.glob("*/*.xlsx"):
            workbook.unlink()


def file_names(titles: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    """The names of the workbooks of pages by key: the titles of the pages, such as 高三(1)班.xlsx."""
    names = {key: _file_name(title) for key, title in titles.items() if key in keys}
    # Some file systems ignore case.
    often = Counter(name.casefold() for name in names.values())
    return {
        key: f"{name}.xlsx" if name and often[name.casefold()] == 1 else f"{name} [{key}].xlsx".strip()
        for key, name in names.items()
    }


def _file_name(title: str) -> str:
    """A title as a part of the name of a file. No title ends like the key that equal names get."""
    name = without_separators(title).replace("[", "(").replace("]", ")").encode()[:LONGEST_NAME]
    return name.decode(errors="ignore").strip(" .")


def delete_other_workbooks(folder: Path, names: Mapping[str, str]) -> None:
    """Delete the workbooks of a folder that have none of these names."""
    for workbook in {*folder.glob("*.xlsx")} - {folder / name for name in names.values()}:
        workbook.unlink()


def write_manifest(folder: Path, role: Role, readers: Sequence[Reader]) -> None:
    """Write who may read which folder into the folder of the role."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "manifest.csv", _manifest(role, readers))


def _manifest(role: Role, readers: Sequence[Reader]) -> str:
    """Who may read which folder, as CSV."""
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(("role", "teacher_id", "staff_number", "name", "folder", "classes", "courses", "students"))
    for reader in readers:
        who = (role, reader.teacher_id, reader.staff_number, reader.name, str(reader.teacher_id))
        kinds: tuple[PageKind, ...] = ("class", "course", "student")
        counts = (len(reader.pages.get(kind, ())) for kind in kinds)
        rows.writerow([safe_cell(cell) for cell in (*who, *counts)])
    return text.getvalue()


def _write_site(
    source: Source, folder: Path, pages: Pages, heading: tuple[str, Words] | None
) -> dict[str, int]:
    """Write the pages of a reader, and delete earlier pages and workbooks that are not among them.

    `heading`: the title and the kind of the index; None: those of the school, for its head."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: (HERE / name).read_text(encoding="utf-8") for name in SHARED}
    written = sum(_write(folder / name, text) for name, text in files.items())
    current = {folder / name for name in (*files, "age.js", BOARD_PAGE)}
    for path, text in _pages(source, pages, heading):
        written += _write(folder / path, text)
        current.add(folder / path)
    written += _write(folder / "age.js", age_script(source.origin))
    for old in {*folder.glob("*.html"), *folder.glob("*/*.html")} - current:
        old.unlink()
    for kind, keys in pages.items():
        delete_other_workbooks(folder / kind, file_names(source.titles[kind], keys))
    return {kind: len(keys) for kind, keys in pages.items()} | {WRITTEN: written}


def _pages(source: Source, pages: Pages, heading: tuple[str, Words] | None) -> Iterator[tuple[str, str]]:
    """Each page with its path in the site. The index comes last, after the pages that it links to."""
    allowed: Pages = {kind: set(keys) for kind, keys in pages.items()}
    language, school, definitions = source.language, source.origin.school.name, texts(SITE)["definitions"]
    of_definitions = {
        "title": definitions.in_language(language),
        "kind": definitions,
        "crumbs": [crumb(school, "index.html"), crumb(definitions)],
        "definitions": source.terms,
    }
    yield "definitions.html", render(language, school, of_definitions)
    for kind in (kind for kind in reversed(kinds()) if pages.get(kind)):
        layouts, own_keys = source.layouts_of(kind), list(pages[kind])
        for start in range(0, len(own_keys), BATCH):
            keys = own_keys[start : start + BATCH]
            tables = [layout.rows(source.con, keys) for layout in layouts]
            for key in keys:
                [heading_rows, *section_rows] = [table.get(key, []) for table in tables]
                if heading_rows:
                    page = _page(source, kind, heading_rows[0], section_rows, allowed, heading)
                    yield "index.html" if kind == "index" else f"{kind}/{key}.html", page
        if heading is None:
            source.delete_rows(kind)


def _page(
    source: Source,
    kind: PageKind,
    row: Row,
    section_rows: Sequence[Sequence[Row]],
    allowed: Pages,
    heading: tuple[str, Words] | None,
) -> str:
    """A page of the row of its heading and of the rows of its sections."""
    layouts, school, is_index = source.layouts_of(kind), source.origin.school.name, kind == "index"
    root = "" if is_index else "../"
    title, of_kind = heading if is_index and heading else (row["_title"], kinds()[kind].name)
    variables = {
        "title": title,
        "kind": of_kind,
        "crumbs": _crumbs(row, layouts[0].section.links, allowed, root, school, kind),
        "facts": facts_of(layouts[0], row, allowed, root),
        "has_board": is_index and heading is None,
        "sections": [
            section_of(layout, rows, allowed, root)
            for layout, all_rows in zip(layouts[1:], section_rows, strict=True)
            for rows in [rows_for(layout.section, all_rows, allowed)]
            if is_on_page(layout.section, rows, allowed)
        ],
        "root": root,
    }
    return render(source.language, school, variables)


def _crumbs(
    row: Row,
    links: Links,
    pages: Pages,
    root: str,
    school: str,
    kind: PageKind,
) -> list[dict[str, Any]]:
    """The path from the index by cohort and class to a page."""
    if kind == "index":
        return [crumb(school)]
    places = {link: (row[name], row[f"_{key}"]) for name, (link, key) in links.items()}
    above: tuple[PageKind, ...] = ("cohort", "class")
    between = [
        crumb(str(places[step][0]), f"{root}{step}/{places[step][1]}.html")
        for step in above
        if step in places and places[step][1] in pages.get(step, ())
    ]
    return [crumb(school, f"{root}index.html"), *between, crumb(row["_title"])]


def age_script(origin: Origin) -> str:
    """The date of the data and its alarms, as a script that sets a variable."""
    as_of = origin.age.as_of
    messages = alarms(origin)
    age = {
        "as_of": f"{as_of:%Y-%m-%d %H:%M}" if as_of else None,
        "moment": f"{as_of:%Y-%m-%dT%H:%M}+08:00" if as_of else None,
        "old_days": OLD_DAYS,
        "old": {code: SCRIPT["old"].in_language(code) for code in LANGUAGES},
        "alarm": {code: " ".join(message.in_language(code) for message in messages) for code in LANGUAGES},
    }
    return f"window.campusAge = {json.dumps(age, ensure_ascii=True)};\n"


def _write(path: Path, text: str) -> bool:
    """Write a file in place. False: it has this content already."""
    if path.exists() and path.read_bytes() == text.encode("utf-8"):
        return False
    path.parent.mkdir(exist_ok=True)
    # Not flushed to the disk: after a power cut the next export compares and writes it again.
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
    return True
