"""A plan as a workbook for the person who decides: what would be created, changed, deleted, and refused."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import xlsxwriter

from loading.writes.roster.plan import Plan

WORDS = {1: "student", 2: "teacher", 8: "guardian"}
#: Columns that a created row shows first.
FIRST = ("usin", "name", "graduates_in", "gender", "phone", "email", "status")


def write_plan_sheets(plan: Plan, path: Path) -> None:
    """Write the workbook. Every cell is text or a number: nothing of a roster is ever a formula."""
    path.touch(mode=0o600)
    with xlsxwriter.Workbook(
        path, {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    ) as book:
        style = book.add_format(
            {"bold": True, "bg_color": "#E8EEF4", "border": 1, "text_wrap": True, "valign": "top"}
        )
        plain = book.add_format({"text_wrap": True, "valign": "top"})
        title = book.add_format({"bold": True, "font_size": 14})
        summary = book.add_worksheet("Summary")
        summary.set_column(0, 0, 34)
        summary.set_column(1, 1, 80, plain)
        summary.write_string(0, 0, f"Plan for school {plan.school_id}", title)
        for number, (name, value) in enumerate(_summary(plan), 2):
            summary.write_string(number, 0, name)
            summary.write(number, 1, value, plain)
        made = plan.of("create")
        names = [name for name in FIRST if any(name in step.after for step in made)]
        names += sorted({name for step in made for name in step.after} - {*names, "outer_id", "role"})
        _sheet(
            book,
            "Created",
            ("line", "outer_id", "role", *names, "set, and not shown"),
            (
                (
                    step.line,
                    step.outer_id,
                    WORDS[step.role],
                    *(step.after.get(name) for name in names),
                    ", ".join(step.secret),
                )
                for step in made
            ),
            style,
        )
        _sheet(
            book,
            "Changed",
            ("line", "outer_id", "role", "platform id", "field", "before", "after"),
            (
                (step.line, step.outer_id, WORDS[step.role], step.id, name, step.before.get(name), after)
                for step in plan.of("change")
                for name, after in step.after.items()
            ),
            style,
        )
        deleted = {step.id for step in plan.of("delete")}
        _sheet(
            book,
            "Gone",
            ("platform id", "outer_id", "role", "usin", "name", "will be deleted"),
            (
                (
                    one.id,
                    one.outer_id,
                    WORDS.get(one.role, one.role),
                    one.usin,
                    one.name,
                    "yes" if one.id in deleted else "no",
                )
                for one in plan.gone
            ),
            style,
        )
        _sheet(
            book,
            "Refused",
            ("line", "outer_id", "reason"),
            ((one.line, one.key, one.reason) for one in plan.refused),
            style,
        )


def _summary(plan: Plan) -> list[tuple[str, str | int]]:
    return [
        ("made at (China time)", plan.made_at),
        ("of", plan.source),
        ("rows of the roster", plan.rows),
        ("users on the platform", plan.people),
        ("to be created", len(plan.of("create"))),
        ("to be changed", len(plan.of("change"))),
        ("as they are already", plan.unchanged),
        ("gone from the roster", len(plan.gone)),
        ("of these to be deleted", len(plan.of("delete"))),
        ("refused rows", len(plan.refused)),
        *(("note", note) for note in plan.notes),
        ("how to go on", "campus roster apply with this file, or with the .json of the same name"),
        ("mind", "To edit this workbook changes nothing: what is applied is the .json of the same name."),
    ]


def _sheet(book: Any, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], style: Any) -> None:
    sheet = book.add_worksheet(name)
    sheet.write_row(0, 0, columns, style)
    sheet.freeze_panes(1, 0)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)
    last = 0
    for last, row in enumerate(rows, 1):
        for column, value in enumerate(row):
            if isinstance(value, int) and not isinstance(value, bool):
                sheet.write_number(last, column, value)
            elif value is not None:
                sheet.write_string(last, column, str(value))
    sheet.set_column(0, len(columns) - 1, 16)
    if "reason" in columns:
        sheet.set_column(len(columns) - 1, len(columns) - 1, 90)
    if last:
        sheet.autofilter(0, 0, last, len(columns) - 1)
