"""A school whose classes are all called 1班: whoever tears a page off a printed list has a single class."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pytest
from openpyxl.utils import range_boundaries
from openpyxl.worksheet.worksheet import Worksheet

from tests.kits.exports.spreadsheets import filtered
from tests.kits.programs import command_line
from tests.kits.worlds.world import World

SCHOOL = 101
NAME, TEACHER, UNKNOWN = "1班", "王芳", "未知"
#: The sheets with a page for each class, by workbook.
SHEETS = {"attendance": "出勤偏低学生", "early_warning": "学生", "grades": "学生"}
CLASSES = "SELECT student_number, admin_class_id FROM marts.early_warning WHERE is_current"

Page = list[Mapping[str, Any]]


@pytest.fixture(scope="module")
def school(make_world: Callable[..., World]) -> World:
    """Two grades of two classes. The first grade's class teachers have the same name, and the last class has
    no teacher."""
    world = make_world("new_term", students=160, same_class_names=True)
    first, second, _, last = world.platform.rows("admin_classes", SCHOOL)
    for teacher in (first["row"]["teacher_ids"][0], second["row"]["teacher_ids"][0]):
        world.platform.update("teachers", teacher, name=TEACHER)
    world.platform.update("admin_classes", last["key"], teacher_ids=[])
    assert world.load(select=None).problems == []
    assert world.publish().problem is None
    result = command_line.campus(
        world.home, "export", *SHEETS, "--to", str(world.home / "to"), CAMPUS_HOME=str(world.home)
    )
    assert result.exit_code == 0, result.stderr
    return world


@pytest.fixture(scope="module")
def heads(school: World) -> Mapping[int, tuple[str, ...]]:
    """What a page says of its class, by class id."""
    rows = {
        resource: [entry["row"] for entry in school.platform.rows(resource, SCHOOL)]
        for resource in ("admin_classes", "structures", "teachers")
    }
    grades = {row["graduates_in_id"]: row["name"] for row in rows["structures"] if row["type"] == "grade"}
    teachers = {row["id"]: row["name"] for row in rows["teachers"]}
    class_heads = {
        row["id"]: (grades[row["graduates_in_id"]], NAME, *[teachers[id] for id in row["teacher_ids"][:1]])
        for row in rows["admin_classes"]
    }
    [last] = [key for key, head in class_heads.items() if len(head) == 2]
    alike = {key for key, head in class_heads.items() if TEACHER in head}
    assert len(class_heads) == 4 and len(alike) == 2
    named = {key: (class_heads[key][0], f"{NAME} ({key})", TEACHER) for key in alike}
    return class_heads | named | {last: (*class_heads[last], UNKNOWN)}


def pages_of(folder: Path, workbook: str) -> list[Page]:
    """The rows between the page breaks of the sheet that has a page for each class."""
    [path] = folder.glob(f"{workbook}_*.xlsx")
    sheet: Worksheet = openpyxl.load_workbook(path)[SHEETS[workbook]]
    _, header, _, last = range_boundaries(filtered(sheet))
    labels = [cell.value for cell in sheet[header]]
    ends = [*(line.id for line in sheet.row_breaks.brk), last]
    return [
        [
            dict(zip(labels, cells, strict=True))
            for cells in sheet.iter_rows(min_row=begin + 1, max_row=end, values_only=True)
        ]
        for begin, end in zip([header, *ends[:-1]], ends, strict=True)
    ]


@pytest.mark.parametrize("workbook", SHEETS)
def test_each_page_has_a_single_class(
    school: World, heads: Mapping[int, tuple[str, ...]], workbook: str
) -> None:
    with duckdb.connect(str(school.settings.published), read_only=True) as con:
        class_of = dict(con.execute(CLASSES).fetchall())
    pages = pages_of(school.home / "to", workbook)
    classes = [{class_of[row["学号"]] for row in page} for page in pages]
    assert [len(page) for page in classes] == [1] * len(heads), "a page has pupils of several classes"
    assert set().union(*classes) == set(heads)
    for page, [class_id] in zip(pages, classes, strict=True):
        # A class that needs two sheets of paper says on both whose it is.
        assert {tuple(row.values())[:3] for row in page} == {heads[class_id]}
        assert list(page[0])[:3] == ["年级", "行政班", "班主任"]
