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
from exports.spreadsheet.sheets import Language, Sheet, Words, Workbook
from exports.spreadsheet.styles import HEADER, Styles, height_of

#: The longest name of a tab, and the characters that it may not have.
TAB_LIMIT, NOT_IN_TABS = 31, re.compile(r"[\[\]:*?/\\\x00-\x1f]")

TEXTS = texts("spreadsheet")
#: The headings of the lists of sheets and of definitions.
SHEETS = tuple(TEXTS[name] for name in ("sheet", "rows", "what_it_shows"))
DEFINITIONS = (TEXTS["term"], Words("", ""), TEXTS["definition"])
WIDTHS = (20, 7, 66)
ALARM = "#C00000"


@dataclass(frozen=True)
class Part:
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
    parts: Sequence[Part],
    cut: int,
    language: Language,
) -> None:
    """Write the first sheet."""
    for place, width in enumerate(WIDTHS):
        worksheet.set_column(place, place, width)
    wrapped = styles.of(text_wrap=True, valign="top")
    bold = styles.of(bold=True, valign="top")
    header = styles.of(**HEADER)
    link = styles.of(font_color="#0563C1", underline=1, valign="top")
    rows = count()
    worksheet.write_string(
        next(rows), 0, as_text(workbook.title.in_language(language)), styles.of(bold=True, font_size=16)
    )
    worksheet.merge_range(row := next(rows), 0, row, 2, "", wrapped)
    worksheet.write_string(row, 0, as_text(workbook.about.in_language(language)), wrapped)
    worksheet.set_row(row, height_of(workbook.about.in_language(language), sum(WIDTHS)))
    next(rows)
    red = styles.of(bold=True, font_color=ALARM, valign="top", text_wrap=True)
    for term, value in _facts(workbook, origin, cut):
        row, text = next(rows), as_text(value.in_language(language))
        is_alarm = term in (TEXTS["not_loaded"], TEXTS["not_known"])
        worksheet.write_string(row, 0, term.in_language(language), red if is_alarm else bold)
        worksheet.merge_range(row, 1, row, 2, "", red if is_alarm else wrapped)
        worksheet.write_string(row, 1, text, red if is_alarm else wrapped)
        worksheet.set_row(row, height_of(text, sum(WIDTHS[1:])))
    next(rows)
    worksheet.hide_gridlines(2)
    _write_header(worksheet, next(rows), [words.in_language(language) for words in SHEETS], header)
    for part in parts:
        row = next(rows)
        target = f"internal:'{part.tab.replace(chr(39), chr(39) * 2)}'!A1"
        worksheet.write_url(row, 0, target, link, string=part.tab)
        counted = styles.of(num_format="#,##0", align="center", valign="top")
        if part.rows or not origin.not_loaded(part.sheet.sources):
            worksheet.write_number(row, 1, part.rows, counted)
        else:
            worksheet.write_string(row, 1, "—", counted)
        _write_text(worksheet, row, part.sheet.about.in_language(language), wrapped)
    if workbook.definitions:
        next(rows)
        _write_header(worksheet, next(rows), [words.in_language(language) for words in DEFINITIONS], header)
    for definition in workbook.definitions:
        row = next(rows)
        worksheet.write_string(row, 0, definition.term.in_language(language), bold)
        _write_text(worksheet, row, definition.meaning.in_language(language), wrapped)


def _write_text(worksheet: Worksheet, row: int, text: str, style: Format) -> None:
    worksheet.write_string(row, 2, as_text(text), style)
    worksheet.set_row(row, height_of(text, WIDTHS[2]))


def _write_header(worksheet: Worksheet, row: int, labels: Sequence[str], style: object) -> None:
    for place, label in enumerate(labels):
        worksheet.write_string(row, place, label, style)


def _facts(workbook: Workbook, origin: Origin, cut: int) -> Iterator[tuple[Words, Words]]:
    school = origin.school
    yield TEXTS["school"], Words(*[f"{school.name} ({school.id})"] * 2)
    for term, moment in ((TEXTS["loaded"], origin.age.as_of), (TEXTS["published"], origin.published_at)):
        if moment:
            yield term, Words(*[f"{moment:%Y-%m-%d %H:%M}"] * 2)
    parts = [(sheet.name, sheet.sources) for sheet in workbook.sheets]
    for term, words, resources in (
        (TEXTS["not_known"], TEXTS["never"], origin.age.never),
        (TEXTS["not_loaded"], TEXTS["failed"], dict.fromkeys(origin.age.older, ())),
    ):
        if alarm := origin.alarm(words, resources, TEXTS["affected"], parts):
            yield term, alarm
    if in_part := origin.loads.in_part(table for sheet in workbook.sheets for table in sheet.sources):
        since, of = in_part
        yield TEXTS["in_part"], TEXTS["since"].format(at=since, of=of)
    yield TEXTS["generation"], Words(origin.generation, origin.generation)
    yield TEXTS["filters"], workbook.filters or TEXTS["nothing"]
    if cut:
        yield TEXTS["cut"], TEXTS["cut_advice"].format(cut)
