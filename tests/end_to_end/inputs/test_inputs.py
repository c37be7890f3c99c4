"""Talks and measures from a school's own file to the lake, by the job of a night."""

import asyncio
import datetime as dt
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import openpyxl
import pytest

from campus.files.table_file import TableError
from loading.inputs import plan_inputs, read_inputs
from loading.slices.commit import Loaded, in_words
from loading.slices.loader import load_planned
from tests.kits.programs.command_line import campus
from tests.kits.worlds.world import World
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import now
from warehouse.load.slice_reading import Cause

ONLY_INPUTS = 'key:"raw/interventions"'
SCHOOL, OTHER = 101, 102
HEADER = "学号,姓名,日期,类型,负责人,结果,备注"


@pytest.fixture(scope="module")
def loaded(load_world: Callable[..., World]) -> World:
    return load_world("two_schools", checks=True)


@pytest.fixture
def home(loaded: World) -> Iterator[World]:
    """A world without inputs, whose lake has none either."""
    for link in (loaded.home / "inputs").glob("*"):
        if link.is_symlink():
            link.unlink()
    for school in (SCHOOL, OTHER):
        for path in files(loaded, school).glob("*"):
            path.unlink()
    for school in (SCHOOL, OTHER):
        write(loaded, HEADER, school=school)
    assert problem(loaded, accept_vanished=True) == ""
    for school in (SCHOOL, OTHER):
        (files(loaded, school) / "interventions.csv").unlink()
    assert rows(loaded) == []
    yield loaded


def files(world: World, school: int = SCHOOL) -> Path:
    folder = world.home / "inputs" / str(school)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def students(world: World, school: int = SCHOOL) -> list[dict[str, Any]]:
    return [row for row in world.held("students") if row["_school_id"] == school]


def write(world: World, *lines: str, school: int = SCHOOL, encoding: str = "utf-8") -> Path:
    path = files(world, school) / "interventions.csv"
    path.write_text("\n".join(lines), encoding=encoding)
    return path


def line(student: dict[str, Any], day: str = "2025-03-03", rest: str = "谈话,李老师,好,") -> str:
    return f"{student['usin']},{student['name']},{day},{rest}"


def rows(world: World) -> list[dict[str, Any]]:
    return world.held("interventions")


def problem(world: World, *, accept_vanished: bool = False) -> str:
    """Load the files of both schools, as a step of a night does. Why that failed; empty: it did not."""
    runtime, _ = world.opened_as_is()
    runtime = replace(runtime, guard=replace(runtime.guard, allowed=accept_vanished))
    cause = Cause(f"load-{next(world.numbers)}", "run", now())
    schools = {SCHOOL: (), OTHER: ()}
    reported: list[Loaded] = []
    load = load_planned(runtime, cause, plan_inputs, schools, reported.append, schools=schools, scopes=None)
    ends = asyncio.run(load).loaded
    assert ends == reported
    return in_words([end for end in ends if end.status == "failed"])


def test_csv_of_a_chinese_spreadsheet_program_loads(home: World) -> None:
    student = students(home)[0]
    write(home, HEADER, line(student), encoding="gb18030")
    assert problem(home) == ""
    [row] = rows(home)
    values = {name: row[name] for name in ("student_id", "date", "kind", "done_by", "result", "note")}
    assert values == {
        "student_id": student["id"],
        "date": dt.date(2025, 3, 3),
        "kind": "talk",
        "done_by": "李老师",
        "result": "好",
        "note": None,
    }


def test_xlsx_with_days_as_numbers_loads(home: World) -> None:
    first, second = students(home)[:2]
    book = openpyxl.Workbook()
    for cells in (
        ["学号", "日期", "类型"],
        [first["usin"], dt.datetime(2025, 3, 3), "谈话"],
        [second["usin"], 45719, "plan"],
    ):
        book.active.append(cells)
    book.save(files(home) / "interventions.xlsx")
    assert problem(home) == ""
    assert {(row["student_id"], row["date"], row["kind"]) for row in rows(home)} == {
        (first["id"], dt.date(2025, 3, 3), "talk"),
        (second["id"], dt.date(2025, 3, 3), "plan"),
    }


def test_notes_in_a_list_load_beside_the_log(home: World) -> None:
    first, second = students(home)[:2]
    book = openpyxl.Workbook()
    book.create_sheet("学生")
    for cells in (
        ["学生预警 · 学生"],
        [None],
        ["行政班", "学号", "姓名", "谈话日期", "谈话备注"],
        ["1", first["usin"], first["name"], dt.datetime(2025, 3, 3), "约定每周面谈"],
        ["1", second["usin"], second["name"], None, None],
    ):
        book["学生"].append(cells)
    book.save(files(home) / "early_warning_101_2025-03-03.xlsx")
    assert "lists and no interventions.csv or interventions.xlsx" in problem(home)
    write(home, HEADER, line(second))
    assert problem(home) == ""
    assert {(row["student_id"], row["kind"], row["note"]) for row in rows(home)} == {
        (first["id"], "talk", "约定每周面谈"),
        (second["id"], "talk", None),
    }
    book["学生"]["E4"] = "wrong student"
    book["学生"]["C4"] = second["name"]
    book.save(files(home) / "early_warning_101_2025-03-03.xlsx")
    said = problem(home)
    assert "early_warning_101_2025-03-03.xlsx, line 4: the student with this usin has another name" in said


def test_file_is_the_truth(home: World) -> None:
    """The same file changes nothing; a changed line replaces its row, and a removed line is gone."""
    first, second = students(home)[:2]
    write(home, HEADER, line(first), line(second))
    assert problem(home) == ""
    version = home.versions()["interventions"]
    assert problem(home) == "" and home.versions()["interventions"] == version
    write(home, HEADER, line(first, rest="谈话,李老师,变好了,"))
    assert problem(home) == ""
    assert [(row["student_id"], row["result"]) for row in rows(home)] == [(first["id"], "变好了")]


def test_each_school_has_its_own_file(home: World) -> None:
    """A number of school 102 is unknown in 101; one school's mistake holds the other up in nothing."""
    own, others = students(home)[0], students(home, OTHER)[-1]
    write(home, HEADER, line(own), f"X{others['usin']},,2025-03-03,谈话,,,")
    write(home, HEADER, line(others), school=OTHER)
    said = problem(home)
    assert "interventions.csv, line 3: no student of the school has this usin" in said
    assert "interventions 102" not in said and others["usin"] not in said.replace("interventions", "")
    assert {(row["_school_id"], row["student_id"]) for row in rows(home)} == {
        (SCHOOL, own["id"]),
        (OTHER, others["id"]),
    }
    [bad] = [row for row in home.log("quarantine") if row["resource"] == "interventions"]
    assert (bad["_school_id"], bad["raw"]) == (SCHOOL, '{"file": "interventions.csv", "line": 3}')


def test_file_that_is_gone_leaves_its_rows(home: World) -> None:
    path = write(home, HEADER, line(students(home)[0]))
    assert problem(home) == ""
    path.unlink()
    assert f"{path.parent} has no interventions.csv or interventions.xlsx any more; its rows stay" in problem(
        home
    )
    assert len(rows(home)) == 1
    write(home, HEADER)
    assert problem(home) == "" and rows(home) == []
    path.unlink()
    assert problem(home) == ""


def test_students_are_loaded_before_their_file(tmp_path: Path) -> None:
    path = tmp_path / "interventions.csv"
    message = f"{path}: the students of school {SCHOOL} are not loaded yet: run campus sync --school {SCHOOL}"
    with pytest.raises(TableError, match=f"^{re.escape(message)} first$"):
        read_inputs(Lake(str(tmp_path / "lake")), SCHOOL, [path], dt.date(2026, 9, 1))


def test_many_removed_lines_are_confirmed_first(home: World) -> None:
    people = students(home)[:10]
    write(home, HEADER, *map(line, people))
    assert problem(home) == ""
    write(home, HEADER)
    assert "10 of 10 rows would be gone (10 no longer sent, " in problem(home) and len(rows(home)) == 10
    assert problem(home, accept_vanished=True) == "" and rows(home) == []


def test_file_that_is_written_meanwhile_is_not_loaded(home: World) -> None:
    path = write(home, HEADER, line(students(home)[0]))

    def grow(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
        return status

    fstat = os.fstat
    with patch("untrusted.files.os.fstat", grow):
        assert f"{path} was changed while it was read" in problem(home)
    assert rows(home) == []
    assert problem(home) == "" and len(rows(home)) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04nothing", "is damaged"),
        (b"a\0b", "is damaged"),
        ("学号,日期,类型,心情\n".encode(), "line 1: column 4 has no known heading"),
        (b"usin,date,kind\n" + b"x" * 40_000 + b",,\n", "32,767 letters in a cell"),
    ],
)
def test_file_that_makes_no_sense_leaves_the_rows(home: World, content: bytes, said: str) -> None:
    path = write(home, HEADER, line(students(home)[0]))
    assert problem(home) == ""
    name = "interventions.xlsx" if content.startswith(b"PK") else path.name
    path.unlink()
    (path.parent / name).write_bytes(content)
    assert said in problem(home)
    assert len(rows(home)) == 1


def test_fifo_does_not_hold_up_the_night(home: World) -> None:
    os.mkfifo(files(home) / "interventions.csv")
    assert "no regular file" in problem(home)


LINKS = ("file", "hard link", "folder", "list", "no headings")


@pytest.mark.parametrize("kind", LINKS)
def test_nothing_of_another_file_is_shown(home: World, tmp_path: Path, kind: str) -> None:
    """Whoever may write to `inputs` may not read what the warehouse's user may, such as `.env`."""
    secret, foreign = home.home / "secret.csv", tmp_path / "101"
    secret.write_text("hunter2,20230101\nhunter2,20230101\n")
    path = files(home) / "interventions.csv"
    if kind == "file":
        path.symlink_to("../../secret.csv")
    elif kind == "hard link":
        os.link(secret, path)
    elif kind == "folder":
        path.parent.rmdir()
        foreign.mkdir()
        secret.rename(foreign / "interventions.csv")
        path.parent.symlink_to(foreign)
    elif kind == "list":
        write(home, HEADER)
        (path.parent / "early_warning_1.xlsx").symlink_to("../../secret.csv")
    else:
        secret.rename(path)
    load = home.load(select=ONLY_INPUTS)
    checked = campus(home.home, "inputs", "check", CAMPUS_HOME=str(home.home), HOME=str(home.home))
    texts = f"{load.problems} {load.log} {home.log('quarantine')} {checked.output}"
    assert load.problems and checked.exit_code == 1 and rows(home) == []
    assert "hunter2" not in texts and "20230101" not in texts
    expected = "line 1: column 1 has no heading" if kind == "no headings" else "a link"
    expected = "line 1: column 1 has no known heading" if kind == "no headings" else "link"
    assert expected in str(load.problems) and expected in checked.output


def test_name_of_a_file_may_have_any_case_and_no_other_letters(home: World) -> None:
    path = write(home, HEADER, line(students(home)[0])).rename(files(home) / "Interventions.CSV")
    assert problem(home) == "" and len(rows(home)) == 1
    path.rename(path.with_name("talks.csv"))
    assert "has a file by another name than interventions.csv or interventions.xlsx" in problem(home)
    assert len(rows(home)) == 1


def test_two_files_of_a_school_are_refused(home: World) -> None:
    write(home, HEADER)
    (files(home) / "interventions.xlsx").write_bytes(b"")
    assert "interventions.csv and interventions.xlsx: keep one of them" in problem(home)


def test_check_names_every_refused_line_and_loads_nothing(home: World) -> None:
    first, second = students(home)[:2]
    path = write(home, HEADER, line(first), line(second, day="2999-01-01"), "999999,,2025-03-03,谈话,,,")
    said = campus(home.home, "inputs", "check", CAMPUS_HOME=str(home.home), HOME=str(home.home))
    assert said.exit_code == 1
    assert f"{path}, line 3: the date is in the future" in said.output
    assert f"{path}, line 4: no student of the school has this usin" in said.output
    assert f"{path}: lines that load: 1; refused: 2" in said.output
    assert "999999" not in said.output and rows(home) == []


def test_template_loads_nothing_and_has_no_mistake(home: World) -> None:
    for name, language in (("interventions.csv", "zh"), ("interventions.xlsx", "en")):
        target = files(home) / name
        command = ("inputs", "template", str(target), "--language", language)
        environment = {"CAMPUS_HOME": str(home.home), "HOME": str(home.home)}
        assert campus(home.home, *command, **environment).exit_code == 0
        assert campus(home.home, *command, **environment).exit_code == 1, "an existing file stays"
        checked = campus(home.home, "inputs", "check", "--school", str(SCHOOL), **environment)
        assert checked.exit_code == 0 and "lines that load: 0; refused: 0" in checked.output
        target.unlink()


def test_night_loads_them_and_says_what_is_wrong(tmp_path: Path, home: World) -> None:
    """Without the folder the night has no step for it."""
    write(home, HEADER, line(students(home)[0]))
    stray = home.home / "inputs" / "interventions.csv"
    stray.write_text(HEADER)
    load = home.load(select=ONLY_INPUTS)
    assert {end.job for end in load.ends} == {"discovery", "inputs"} and len(rows(home)) == 1
    folder = stray.parent
    message = f"1 files or links in {folder} are not loaded: files belong into {folder}/<school id>/"
    assert message in load.problems[0]
    stray.unlink()
    write(home, HEADER)
    assert problem(home) == "" and rows(home) == []
    (home.home / "inputs").rename(tmp_path / "inputs")
    assert [end.job for end in home.load(select=ONLY_INPUTS).ends] == ["discovery"]
    (tmp_path / "inputs").rename(home.home / "inputs")
