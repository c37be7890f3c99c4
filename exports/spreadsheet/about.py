"""Writes the first sheet of a workbook: its content, age, source and definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import count

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from exports.source import Origin
from exports.spreadsheet.cells import as_text
from exports.spreadsheet.sheets import Language, Sheet, Words, Workbook
from exports.spreadsheet.styles import HEADER, Styles, height_of

#: The longest name of a tab, and the characters that it may not have.
TAB_LIMIT, NOT_IN_TABS = 31, re.compile(r"[\[\]:*?/\\\x00-\x1f]")

SCHOOL = Words("School", "学校")
LOADED = Words("Data as of", "数据截至")
NOT_LOADED = Words("Not up to date", "未能更新")
FAILED = Words(
    "Could not be loaded at {at}: {of}. This file shows an earlier load of them, or nothing if there was "
    "none.",
    "{at}未能加载：{of}。本文件显示此前加载的数据，从未加载过的部分没有数据。",
)
IN_PART = Words("Read in part", "部分读取")
SINCE = Words(
    "Since {at}, only changes were read of: {of}. A change without a date may be missing.",
    "自{at}起只读取有更新的记录：{of}。平台没有记录时间的变更可能尚未包含。",
)
NOT_KNOWN = Words("Not known", "数据暂缺")
NEVER = Words(
    "Never loaded whole so far, last tried at {at}: {of}. Numbers that need them are not known: their cells "
    "are empty, or cover the loaded part only.",
    "尚未完整加载（最近一次尝试：{at}）：{of}。相关数字暂缺：单元格留空，或仅反映已加载的部分。",
)
AFFECTED = Words(" Affected sheets: {}.", "涉及工作表：{}。")
PUBLISHED = Words("Published", "发布时间")
GENERATION = Words("Generation", "文件版本")
FILTERS = Words("Left out", "未包含")
NOTHING = Words("nothing", "无")
CUT = Words("Cut texts", "被截断的文本")
CUT_ADVICE = Words(
    "{} longer than a cell may be; CSV and Parquet have them whole",
    "有{}处文本超出单元格长度；CSV和Parquet文件保留全文",
)
SHEETS = (Words("Sheet", "工作表"), Words("Rows", "行数"), Words("What it shows", "内容"))
DEFINITIONS = (Words("Term", "术语"), Words("", ""), Words("Definition", "定义"))
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
        is_alarm = term in (NOT_LOADED, NOT_KNOWN)
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
    yield SCHOOL, Words(*[f"{school.name} ({school.id})"] * 2)
    for term, moment in ((LOADED, origin.age.as_of), (PUBLISHED, origin.published_at)):
        if moment:
            yield term, Words(*[f"{moment:%Y-%m-%d %H:%M}"] * 2)
    parts = [(sheet.name, sheet.sources) for sheet in workbook.sheets]
    for term, words, resources in (
        (NOT_KNOWN, NEVER, origin.age.never),
        (NOT_LOADED, FAILED, dict.fromkeys(origin.age.older, ())),
    ):
        if alarm := origin.alarm(words, resources, AFFECTED, parts):
            yield term, alarm
    if in_part := origin.loads.in_part(table for sheet in workbook.sheets for table in sheet.sources):
        since, of = in_part
        yield IN_PART, Words(SINCE.en.format(at=since, of=of.en), SINCE.zh.format(at=since, of=of.zh))
    yield GENERATION, Words(origin.generation, origin.generation)
    yield FILTERS, workbook.filters or NOTHING
    if cut:
        yield CUT, Words(CUT_ADVICE.en.format(cut), CUT_ADVICE.zh.format(cut))
