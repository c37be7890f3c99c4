"""A roster plan as a workbook for the person who decides: users to create, change and delete, and refused
rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from exports.spreadsheet.sheets import Language, Words
from exports.spreadsheet.styles import (
    DEFAULTS,
    WIDEST,
    Styles,
    height_of,
    paper_for,
    set_page,
    text_width,
)
from writeback.roster.fields import STANDARD, in_chinese
from writeback.roster.plan import Plan, Step

ROLES = {1: Words("student", "学生"), 2: Words("teacher", "教师"), 8: Words("guardian", "家长")}
#: The first columns of the sheet of users to create.
FIRST = ("usin", "name", "graduates_in", "gender", "phone", "email", "status")
WARD = Words("student", "所属学生")
LINE, ID, ROLE = Words("line", "行"), Words("platform id", "平台ID"), Words("role", "角色")
YES, NO = Words("yes", "是"), Words("no", "否")
#: A roster's text never becomes a formula, a link or a number.
PLAIN_TEXT = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
NARROWEST = 6
TITLE = {"bold": True, "font_size": 14}


@dataclass(frozen=True)
class Table:
    """A sheet: its name, the labels of its columns, and its rows."""

    name: Words
    columns: Sequence[Words]
    rows: Sequence[Sequence[Any]]


def write_plan_sheets(plan: Plan, path: Path, language: Language) -> None:
    """Write the workbook, readable by this user alone."""
    path.touch(mode=0o600)
    with xlsxwriter.Workbook(path, {**PLAIN_TEXT, **DEFAULTS}) as book:
        styles = Styles(book)
        tables = [_created(plan), _changed(plan), _gone(plan), _refused(plan)]
        _write_summary(
            book.add_worksheet(Words("summary", "概览").in_language(language)), plan, styles, language
        )
        for table in tables:
            _write_table(book.add_worksheet(table.name.in_language(language)), table, plan, styles, language)


def _field(name: str, labels: Mapping[str, str] | None = None) -> Words:
    """The header of a field's column. `labels`: the labels of custom fields."""
    if name in STANDARD:
        return Words(name, f"{in_chinese(name)} {name}")
    label = (labels or {}).get(name, name)
    header = name if label == name else f"{label} {name}"
    return Words(header, header)


def _value(name: str, value: Any) -> Any:
    """A value for people: the code of a choice becomes its Chinese word."""
    standard = STANDARD.get(name)
    words = standard.words if standard else {}
    word = next((word for word, code in words.items() if code == value and word != str(value)), None)
    return value if word is None else Words(str(value), word)


def _role(role: int) -> Words:
    return ROLES.get(role, Words(str(role), str(role)))


def _created(plan: Plan) -> Table:
    steps = plan.of("create")
    named = {name for step in steps for name in step.after}
    fields = [*(name for name in FIRST if name in named), *sorted(named - {*FIRST, "outer_id", "role"})]
    hidden = Words("set, and not shown", "已设置，不显示")
    wards = (WARD,) if any(step.ward for step in steps) else ()
    labels = (_field(name, plan.labels) for name in fields)
    columns = (LINE, _field("outer_id"), ROLE, *wards, *labels, hidden)

    def row(step: Step) -> tuple[Any, ...]:
        values = (_value(name, step.after.get(name)) for name in fields)
        secret = Words(", ".join(step.secret), "、".join(map(in_chinese, step.secret)))
        ward = (step.ward,) if wards else ()
        return (step.line, step.outer_id, _role(step.role), *ward, *values, secret)

    return Table(Words("to create", "将新建"), columns, [row(step) for step in steps])


def _changed(plan: Plan) -> Table:
    before, after = Words("before", "变更前"), Words("after", "变更后")
    wards = (WARD,) if any(step.ward for step in plan.of("change")) else ()
    person = (LINE, _field("outer_id"), ROLE, ID, _field("name"), *wards)
    columns = (*person, Words("field", "字段"), before, after)
    rows = [
        (
            *(step.line, step.outer_id, _role(step.role), step.id, step.name),
            *((step.ward,) if wards else ()),
            _field(name, plan.labels),
            *(_value(name, step.before.get(name)), _value(name, value)),
        )
        for step in plan.of("change")
        for name, value in step.after.items()
    ]
    return Table(Words("to change", "将变更"), columns, rows)


def _gone(plan: Plan) -> Table:
    deleted = {step.id for step in plan.of("delete")}
    columns = (ID, _field("outer_id"), ROLE, _field("usin"), _field("name"), Words("to delete", "将删除"))
    rows = [
        (user.id, user.outer_id, _role(user.role), user.usin, user.name, YES if user.id in deleted else NO)
        for user in plan.gone
    ]
    return Table(Words("gone", "名册中没有"), columns, rows)


def _refused(plan: Plan) -> Table:
    columns = (LINE, _field("outer_id"), _field("usin"), _field("name"), Words("reason", "原因"))
    rows = [
        (row.line, row.key, row.usin, row.name, Words(row.reason, row.chinese or row.reason))
        for row in plan.refused
    ]
    return Table(Words("refused", "被拒绝"), columns, rows)


def _summary(plan: Plan) -> list[tuple[Words, str | int | Words]]:
    apply = Words(
        "campus roster apply, with this workbook or the .json of the same name.",
        "campus roster apply，后面写本工作簿或同名的 .json 文件。",
    )
    no_edit = Words(
        "Edits of this workbook have no effect: campus applies the .json of the same name.",
        "修改本工作簿不起作用：执行的是同名的 .json 文件。",
    )
    notes = [Words(*texts) for texts in zip(plan.notes, plan.chinese_notes, strict=True)]
    return [
        (Words("made at (China time)", "生成时间"), str(plan.made_at)),
        (Words("made of", "来源"), plan.source),
        (Words("for the platform", "平台"), plan.base_url),
        (Words("rows of the roster", "名册行数"), plan.rows),
        (Words("users on the platform", "平台用户数"), plan.people),
        (Words("to be created", "将新建"), len(plan.of("create"))),
        (Words("to be changed", "将变更"), len(plan.of("change"))),
        (Words("as they are already", "无需变更"), plan.unchanged),
        (Words("gone from the roster", "名册中没有"), len(plan.gone)),
        (Words("of these to be deleted", "其中将删除"), len(plan.of("delete"))),
        (Words("refused rows", "被拒绝的行"), len(plan.refused)),
        *((Words("mind", "注意"), note) for note in notes),
        (Words("to carry it out", "如何执行"), apply),
        (Words("mind", "注意"), no_edit),
    ]


def _write_summary(sheet: Worksheet, plan: Plan, styles: Styles, language: Language) -> None:
    title = Words(f"Plan for school {plan.school_id}", f"学校 {plan.school_id} 的名册计划").in_language(
        language
    )
    rows = [(label.in_language(language), _cell(value, language)) for label, value in _summary(plan)]
    widths = (max(text_width(label) for label, _ in rows) + 2, WIDEST)
    set_page(sheet, title, paper_for(widths))
    for column, width in enumerate(widths):
        sheet.set_column(column, column, width)
    sheet.write_string(0, 0, title, styles.of(**TITLE))
    for number, (label, value) in enumerate(rows, 2):
        sheet.set_row(number, height_of(str(value), WIDEST) + 4)
        sheet.write_string(number, 0, label, styles.named("cell"))
        sheet.write(number, 1, value, styles.named("cell", align="left", text_wrap=True))


def _write_table(sheet: Worksheet, table: Table, plan: Plan, styles: Styles, language: Language) -> None:
    labels = [label.in_language(language) for label in table.columns]
    rows = [[_cell(value, language) for value in row] for row in table.rows]
    widths = [_width(cells) for cells in zip(labels, *rows, strict=True)]
    set_page(sheet, f"{table.name.in_language(language)}: {plan.school_id}", paper_for(widths))
    sheet.freeze_panes(1, 0)
    sheet.repeat_rows(0)
    for column, (label, width) in enumerate(zip(labels, widths, strict=True)):
        sheet.set_column(column, column, width)
        sheet.write_string(0, column, label, styles.heading())
    for number, row in enumerate(rows, 1):
        heights = (height_of(str(cell), width) for cell, width in zip(row, widths, strict=True))
        sheet.set_row(number, max(heights) + 4)
        for column, value in enumerate(row):
            _write(sheet, number, column, value, styles)
    if rows:
        sheet.autofilter(0, 0, len(rows), len(labels) - 1)


def _width(cells: Sequence[Any]) -> float:
    """The width of a column in characters, with room for the arrow of its filter."""
    widest = max(text_width("" if cell is None else str(cell)) for cell in cells)
    return min(max(widest, text_width(str(cells[0])) + 3, NARROWEST) + 1, WIDEST)


def _cell(value: Any, language: Language) -> Any:
    return value.in_language(language) if isinstance(value, Words) else value


def _write(sheet: Worksheet, row: int, column: int, value: Any, styles: Styles) -> None:
    style = styles.named("cell", align="left", text_wrap=True)
    if isinstance(value, int) and not isinstance(value, bool):
        sheet.write_number(row, column, value, style)
    else:
        sheet.write_string(row, column, "" if value is None else str(value), style)
