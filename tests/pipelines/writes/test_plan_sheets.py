"""The workbook of a plan: whose guardian somebody is, who is refused and why, in either language."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from campus.contracts.v1_people import UserField
from campus.files.table_file import table_of
from exports.spreadsheet.sheets import Language
from pipelines.writes.plan_sheets import write_plan_sheets
from tests.kits.writes.rosters import SCHOOL, Row
from writeback.roster.make_plan import make_plan
from writeback.roster.plan import Plan, PlanOptions
from writeback.roster.rows import Reading, read_rows

BLOOD = UserField(name="bloodType", role=1, label="血型", type=2, options=["A型", "B型"])
HERE = {
    "id": 7,
    "outer_id": "s-7",
    "usin": "S7",
    "name": "老生",
    "role": 1,
    "status": 1,
    "graduates_in": 2025,
}


def person(**fields: Any) -> dict[str, Any]:
    """A user of the platform."""
    empty = dict.fromkeys(
        ("gender", "phone", "email", "student_id", "guardian_role", "bloodType", "entered_at")
    )
    return {**empty, **HERE, **fields}


def row(outer_id: str, name: str, **cells: str) -> dict[str, str]:
    usin = outer_id.upper().replace("-", "")
    return {"outer_id": outer_id, "usin": usin, "name": name, "role": "学生", "graduates_in": "2025"} | cells


ROWS = (
    row("s-1", "新生", bloodType="A型"),
    row("g-1", "王家长", role="家长", graduates_in="", student_outer_id="s-1"),
    row("g-7", "李家长", role="家长", graduates_in="", student_outer_id="s-7"),
    row("s-7", "改名", bloodType="B型"),
    row("x-1", "坏血", bloodType="Z"),
    row("x-2", "无人", role="家长", graduates_in="", student_outer_id="nobody"),
    row("x-3", "坏年", graduates_in="abc"),
    row("x-4", ""),
    row("x-5", "=坏"),
    row("x-6", "重一"),
    row("x-6", "重二"),
    row("x-7", "角色", role="校长"),
    row("x-8", "日期", entered_at="soon"),
    row("x-9", "公式", phone="#REF!"),
)


def plan_of(rows: Sequence[Row]) -> Plan:
    fields = {(BLOOD.name, BLOOD.role): BLOOD}
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, *([row.get(name, "") for name in columns] for row in rows)]
    table = table_of(enumerate(lines, 1), "roster")
    good, bad = read_rows(table, SCHOOL, {BLOOD.name}, Reading(), "roster")
    about = {"school_id": SCHOOL, "made_at": datetime(2026, 11, 23, 8), "source": "r.csv", "sha256": ""}
    people = [person(), person(id=8, outer_id="s-8", usin="S8", name="走了")]
    return make_plan(good, bad, people, fields, PlanOptions(), **about)


def sheets(plan: Plan, folder: Path, language: Language) -> dict[str, list[tuple[Any, ...]]]:
    path = folder / f"{language}.xlsx"
    write_plan_sheets(plan, path, language)
    book = openpyxl.load_workbook(path)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book}


def column(rows: Sequence[tuple[Any, ...]], name: str) -> list[Any]:
    """A column by its header."""
    return [row[rows[0].index(name)] or "" for row in rows[1:]]


def test_a_new_guardian_stands_with_the_student(tmp_path: Path) -> None:
    """With one who is new too, and with one who is on the platform."""
    created = sheets(plan_of(ROWS), tmp_path, "en")["to create"]
    assert column(created, "student") == ["", "S1 新生", "S7 老生"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_field_of_the_school_has_its_label(tmp_path: Path, language: Language) -> None:
    _, created, changed, *_ = sheets(plan_of(ROWS), tmp_path, language).values()
    assert column(created, "血型 bloodType") == ["A型", "", ""]
    assert [line for line in changed if "血型 bloodType" in line]
    assert column(changed, "name" if language == "en" else "姓名 name") == ["改名", "改名"]


def test_a_refused_row_has_its_number_and_name(tmp_path: Path) -> None:
    refused = sheets(plan_of(ROWS), tmp_path, "en")["refused"]
    names = ["坏血", "无人", "坏年", "", "=坏", "重一", "重二", "角色", "日期", "公式"]
    assert column(refused, "name") == names
    assert column(refused, "usin")[:2] == ["X1", "X2"]


def test_an_id_number_in_the_place_of_a_name_is_not_shown() -> None:
    plan = plan_of([row("x-1", "11010519491231002X", graduates_in="abc")])
    assert "11010519491231002X" not in plan.refused[0].name


def test_a_workbook_in_chinese_has_no_english_sentence(tmp_path: Path) -> None:
    """Names of fields, settings and options are as they are typed."""
    plan = plan_of(ROWS)
    assert len(plan.refused) == 10 and plan.notes
    summary, *_, refused = sheets(plan, tmp_path, "zh").values()
    assert "名册中没有的 1 人保持不变；--delete 会删除他们。" in [line[1] for line in summary]
    for reason in column(refused, "原因"):
        assert not re.search(r"[a-z]+ [a-z]+", reason), reason
