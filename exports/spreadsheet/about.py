"""Writes the first sheet of a workbook: its content, age, source and definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import count

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from exports.library.words import texts
from exports.source import Origin
from exports.spreadsheet.cells import as_text
from exports.spreadsheet.head import write_across
from exports.spreadsheet.sheets import Language, Sheet, Words, Workbook
from exports.spreadsheet.styles import Styles, height_of

#: The longest name of a tab, and the characters that it may not have.
TAB_LIMIT, NOT_IN_TABS = 31, re.compile(r"[\[\]:*?/\\\x00-\x1f]")

TEXTS = texts("spreadsheet")
#: The headings of the lists of sheets and of definitions.
SHEETS = tuple(TEXTS[name] for name in ("sheet", "rows", "what_it_shows"))
DEFINITIONS = (TEXTS["term"], Words("", ""), TEXTS["definition"])
WIDTHS = (20, 7, 66)


@dataclass(frozen=True)
class WrittenSheet:
    """A worksheet: its tab, its sheet, and its number of rows."""

    tab: str
    sheet: Sheet
    rows: int


def tab_name(name: str, taken: Set[str]) -> str:
    """A name for a tab that Excel allows and that is free. `taken`: the names in use, case-folded."""
    plain = NOT_IN_TABS.sub(" ", name).strip().strip("'") or "-"
    endings = ("" if number == 1 else f" ({number})" for number in count(1))
    names = (plain[: TAB_LIMIT - len(ending)] + ending for ending in endings)
    return next(name for name in names if name.casefold() not in taken)


def write_about(
    worksheet: Worksheet,
    styles: Styles,
    workbook: Workbook,
    origin: Origin,
    sheets: Sequence[WrittenSheet],
    cut: int,
    language: Language,
) -> None:
    """Write the first sheet. `cut`: the number of texts that were longer than a cell."""
    for index, width in enumerate(WIDTHS):
        worksheet.set_column(index, index, width)
    text, term = styles.named("text"), styles.named("term")
    worksheet.hide_gridlines(2)
    rows = count()
    title, about = (words.in_language(language) for words in (workbook.title, workbook.about))
    worksheet.write_string(next(rows), 0, as_text(title), styles.named("title"))
    _write_wrapped(worksheet, next(rows), 0, about, text)
    next(rows)
    for words, value in _facts(workbook, origin, cut):
        is_alarm = words in (TEXTS["not_loaded"], TEXTS["not_known"])
        left, right = (styles.named("alarm"),) * 2 if is_alarm else (term, text)
        row = next(rows)
        worksheet.write_string(row, 0, words.in_language(language), left)
        _write_wrapped(worksheet, row, 1, value.in_language(language), right)
    next(rows)
    _write_header(worksheet, next(rows), [words.in_language(language) for words in SHEETS], styles)
    for written in sheets:
        row = next(rows)
        target = f"internal:'{written.tab.replace(chr(39), chr(39) * 2)}'!A1"
        worksheet.write_url(row, 0, target, styles.named("link"), string=written.tab)
        if written.rows or not origin.not_loaded(written.sheet.sources):
            worksheet.write_number(row, 1, written.rows, styles.named("count"))
        else:
            worksheet.write_string(row, 1, "—", styles.named("count"))
        _write_wrapped(worksheet, row, 2, written.sheet.about.in_language(language), text)
    if workbook.definitions:
        next(rows)
        _write_header(worksheet, next(rows), [words.in_language(language) for words in DEFINITIONS], styles)
    for definition in workbook.definitions:
        row = next(rows)
        worksheet.write_string(row, 0, definition.term.in_language(language), term)
        _write_wrapped(worksheet, row, 2, definition.meaning.in_language(language), text)


def _write_wrapped(worksheet: Worksheet, row: int, first: int, text: str, style: Format) -> None:
    """Write a text from a column to the last one, in a row as high as the text needs."""
    write_across(worksheet, row, (first, len(WIDTHS) - 1), text, style)
    worksheet.set_row(row, height_of(text, sum(WIDTHS[first:])))


def _write_header(worksheet: Worksheet, row: int, labels: Sequence[str], styles: Styles) -> None:
    for index, label in enumerate(labels):
        worksheet.write_string(row, index, label, styles.named("header"))


def _facts(workbook: Workbook, origin: Origin, cut: int) -> Iterator[tuple[Words, Words]]:
    school = origin.school
    yield TEXTS["school"], Words(*[f"{school.name} ({school.id})"] * 2)
    for term, moment in ((TEXTS["loaded"], origin.age.as_of), (TEXTS["published"], origin.published_at)):
        if moment:
            yield term, Words(*[f"{moment:%Y-%m-%d %H:%M}"] * 2)
    sections = [(sheet.name, sheet.sources) for sheet in workbook.sheets]
    for term, words, resources in (
        (TEXTS["not_known"], TEXTS["never"], origin.age.never),
        (TEXTS["not_loaded"], TEXTS["failed"], dict.fromkeys(origin.age.older, ())),
    ):
        if alarm := origin.alarm(words, resources, TEXTS["affected"], sections):
            yield term, alarm
    if in_part := origin.loads.in_part(table for sheet in workbook.sheets for table in sheet.sources):
        since, of = in_part
        yield TEXTS["in_part"], TEXTS["since"].format(at=since, of=of)
    yield TEXTS["generation"], Words(origin.generation, origin.generation)
    yield TEXTS["filters"], workbook.filters or TEXTS["nothing"]
    if cut:
        yield TEXTS["cut"], TEXTS["cut_advice"].format(cut)
