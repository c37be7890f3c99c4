"""A workbook for each class of a teacher, beside the page of the class. Its first sheet prints on one page;
the others are the sections of the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb

from exports.library.definitions import all_definitions
from exports.library.sheet_library import make_sheet, sheets_of
from exports.library.words import texts, untranslated
from exports.site.folders import READERS, SITE, WRITTEN, Role
from exports.site.kinds import kinds
from exports.site.readers import (
    OF_ROLE,
    WORKBOOKS_NOTE,
    delete_other_readers,
    delete_other_workbooks,
    file_names,
    readers_of,
    write_manifest,
    write_workbooks_script,
)
from exports.site.write import titles_of
from exports.source import Origin
from exports.spreadsheet.sheets import Chart, Language, Workbook
from exports.spreadsheet.writer import write_workbook
from exports.suppression import refuse_exposed
from warehouse.files import put_in_place, write_text


def write_workbooks(
    con: duckdb.DuckDBPyConnection,
    origin: Origin,
    folder: Path,
    language: Language,
    role: Role,
    scratch: Path,
) -> dict[str, int]:
    """Write the workbooks of all readers of a role. Deletes those of classes that a reader has no more.

    Args:
        folder: That of the school.
        scratch: For unfinished files, on the same disk.

    Returns:
        The counts of readers and of workbooks."""
    kind, school_id = OF_ROLE[role], origin.school.id
    titles = titles_of(con, school_id)
    readers = readers_of(con, school_id, role, titles)
    delete_other_readers(folder / role, readers)
    data = kinds()[kind]
    # The phones of guardians stay on pages, which show them only where the school allows it.
    sections = data.sections_for(guardians=False).values()
    terms = dict.fromkeys(term for section in sections for term in section.terms)
    definitions = all_definitions(con, school_id)
    sheets = [
        replace(
            make_sheet(con, section, school_id, language),
            charts=(Chart("line", section.name, line.along, line.values),) if line else (),
        )
        for section in sections
        if not section.only_with_rows
        for line in [section.line]
    ]
    if kind == "class":
        glance = make_sheet(con, sheets_of("class_workbook")["at_a_glance"], school_id, language)
        day = origin.made_of(glance.sources).day
        sheets = [replace(glance, about=glance.about.format(day=day)), *sheets]
    workbook = Workbook(
        name=kind,
        title=data.name,
        about=texts(SITE)["class_workbook"],
        # Teachers of a course see no warnings: the first sheet is that of their page.
        sheets=(replace(sheets[0], on_one_page=True), *sheets[1:]),
        definitions=tuple(definitions[term] for term in terms if term in definitions),
    )
    of_classes = origin.made_of(source for sheet in workbook.sheets for source in sheet.sources)
    written = 0
    for reader in readers:
        of_reader = folder / role / str(reader.teacher_id) / kind
        of_reader.mkdir(parents=True, exist_ok=True)
        names = file_names(titles[kind], reader.pages.get(kind, ()))
        delete_other_workbooks(of_reader, names)
        for key, name in names.items():
            refuse_exposed(con, workbook.sheets, {"school_id": school_id, "pages": [key]})
            unfinished = scratch / "unfinished.xlsx"
            of_class = replace(workbook, title=untranslated(titles[kind][key]))
            write_workbook(con, of_class, replace(of_classes, pages=(key,)), unfinished, language)
            put_in_place(unfinished, of_reader / name)
            written += 1
        write_workbooks_script(folder / role / str(reader.teacher_id), reader.pages, titles)
    write_manifest(folder / role, role, readers)
    write_text(folder / role / WORKBOOKS_NOTE, origin.generation)
    return {READERS: len(readers), WRITTEN: written}
