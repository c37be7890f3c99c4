"""As of when a file says that it is: as its date and on its first sheet, and in red where a load failed."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pyarrow.parquet as pq
import pytest
from openpyxl.cell import Cell

from exports.board.data import BOARD
from exports.source import Loads
from exports.spreadsheet.sheets import Words
from tests.kits.exports.published_file import ORIGIN, exported, publish
from warehouse.publish.labels import in_words
from warehouse.publish.publish import prove

MADE = "CREATE TABLE marts.marks AS SELECT 101 AS school_id, 1 AS n"
STANDS = """
    UPDATE quality.dictionary SET stands_on = ['students'] WHERE table_name = 'marks' AND column_name IS NULL
"""
NIGHT, AFTERNOON = datetime(2026, 3, 3, 1), datetime(2026, 3, 3, 15)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Loaded on the 1st of March, whole; of it a table that stands on the students alone."""
    file = publish(tmp_path / "campus.duckdb", [MADE])
    with duckdb.connect(str(file)) as con:
        con.execute(STANDS)
        for resource in ("attendance_records", "devices", "grades", "students"):
            con.execute(
                "INSERT INTO quality.dictionary BY NAME "
                "SELECT 'raw' AS schema_name, $1 AS table_name, $2 AS label_en, $1 AS label_zh",
                [resource, in_words(resource)],
            )
    return file


def log(file: Path, resource: str, at: str, status: str, slice: str = "101", *, whole: bool = True) -> None:
    """Add an attempt to the file's load log."""
    with duckdb.connect(str(file)) as con:
        con.execute(
            "INSERT INTO quality.load_log BY NAME SELECT 101 AS _school_id, $1 AS resource, $4 AS slice, "
            "$2::TIMESTAMP AS started_at, $2::TIMESTAMP AS finished_at, $3 AS status, "
            "$3 <> 'failed' AS complete, $5 AS whole, 1 AS requests",
            [resource, at, status, slice, whole],
        )


def standing(
    good: datetime, tried: datetime | None = None, whole: datetime | None = None
) -> Mapping[str, Any]:
    return {
        "_school_id": 101,
        "resource": "students",
        "slice": "101",
        "status": "failed" if tried else "ok",
        "finished_at": tried or good,
        "complete_at": good,
        "whole_at": whole or good,
        "requests": None if tried else 1,
    }


def said(path: Path) -> dict[str, Cell]:
    """What the first sheet says, by term."""
    rows = openpyxl.load_workbook(path)["About"].iter_rows(max_col=2)
    return {str(term.value): value for term, value in rows}  # type: ignore[misc]


def of(published: Path) -> Path:
    [file] = exported(published, "marts.marks", schools=[101], folder=published.parent / "out", language="en")
    return file.path


def test_a_day_of_failures_leaves_the_date_and_is_told_in_red(published: Path) -> None:
    log(published, "students", "2026-03-02 09:00", "failed")
    log(published, "students", "2026-03-02 15:00", "failed")
    path = of(published)
    assert path.name == "marts.marks_101_2026-03-01.xlsx"
    cells = said(path)
    assert cells["Data as of"].value == "2026-03-01 01:30"
    assert str(cells["Not up to date"].value).startswith("Could not be loaded at 2026-03-02 15:00: Students.")
    assert "Affected sheets: Marks." in str(cells["Not up to date"].value)
    assert cells["Not up to date"].font.color.rgb == "FFC00000"


def test_what_was_read_in_part_is_said_where_it_concerns_the_file(published: Path) -> None:
    log(published, "devices", "2026-03-04 02:00", "ok", whole=False)
    assert "Read in part" not in said(of(published))
    log(published, "students", "2026-03-02 02:00", "ok", whole=False)
    words = str(said(of(published))["Read in part"].value)
    assert words.startswith("Since 2026-03-01, only changes were read of: Students.")
    # A later night that changed nothing has read as little; one that read all has seen all.
    prove(published.parent, [standing(NIGHT, whole=datetime(2026, 3, 2, 2))])
    assert "Since 2026-03-02, only" in str(said(of(published))["Read in part"].value)
    prove(published.parent, [standing(NIGHT)])
    assert "Read in part" not in said(of(published))


def test_what_was_never_loaded_is_not_called_older(published: Path) -> None:
    with duckdb.connect(str(published)) as con:
        con.execute("DELETE FROM quality.load_log WHERE _school_id = 101")
        con.execute("DELETE FROM marts.marks")
    log(published, "students", "2026-03-02 15:00", "failed")
    [file] = exported(published, "marts.marks", schools=[101], folder=published.parent / "out", language="en")
    cells = said(file.path)
    assert "Not up to date" not in cells
    assert str(cells["Not known"].value).startswith(
        "Never loaded whole so far, last tried at 2026-03-02 15:00: Students."
    )
    assert cells["Not known"].font.color.rgb == "FFC00000"
    assert cells["Marks"].value == "—", "no rows are not none"
    [[nothing]] = openpyxl.load_workbook(file.path)["Marks"].iter_rows(min_row=2, max_col=1, values_only=True)
    assert nothing == "Not known: never loaded whole: Students."
    [text] = exported(published, "marts.marks", schools=[101], folder=published.parent / "csv", format="csv")
    assert "数据暂缺" in text.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("slice", "resource"), [("101:21", "grades"), ("101:7:3", "attendance_records")])
def test_a_new_semester_that_is_refused_is_named(published: Path, slice: str, resource: str) -> None:
    """Nothing of it was ever loaded, so that no sheet shows it; the semester before is whole. 7 is its id in
    the v1 interface, and 21 is there another."""
    with duckdb.connect(str(published)) as con:
        con.execute(
            "INSERT INTO core.dim_semester VALUES "
            "(101, 20, '秋季', false, NULL), (101, 21, '春季', true, NULL)"
        )
        con.execute("INSERT INTO quality.semester_calendars VALUES (101, 20, 21), (101, 21, 7)")
        con.execute("INSERT INTO marts.early_warning VALUES (101, 20)")
        con.execute(STANDS.replace("students", resource))
    log(published, resource, "2026-03-02 02:00", "ok", "101:20" if resource == "grades" else "101:21:3")
    log(published, resource, "2026-03-02 15:00", "failed", slice)
    cells = said(of(published))
    assert "Not up to date" not in cells
    assert f": {in_words(resource)} (semester 春季). Numbers" in str(cells["Not known"].value)
    [file] = exported(published, "marts.marks", schools=[101], folder=published.parent / "zh")
    rows = openpyxl.load_workbook(file.path).worksheets[0].iter_rows(max_col=2, values_only=True)
    assert f"：{resource}（学期：春季）。" in str(dict(rows)["数据暂缺"])
    [flat] = exported(published, "marts.marks", schools=[101], folder=published.parent, format="parquet")
    metadata = pq.read_metadata(flat.path).metadata or {}
    assert metadata[b"never_loaded"].decode() == (f"{resource} (semester {slice.split(':')[1]})")


def test_what_a_table_does_not_stand_on_makes_it_no_older(published: Path) -> None:
    log(published, "students", "2026-03-02 02:00", "ok")
    log(published, "devices", "2026-02-01 02:00", "ok")
    log(published, "devices", "2026-03-02 02:00", "failed")
    path = of(published)
    assert path.name == "marts.marks_101_2026-03-02.xlsx" and "Not up to date" not in said(path)


def test_semesters_that_are_not_shown_make_it_no_older(published: Path) -> None:
    with duckdb.connect(str(published)) as con:
        con.execute(
            "INSERT INTO core.dim_semester VALUES (101, 20, 'S', true, NULL), (101, 19, 'S', false, NULL)"
        )
        con.execute("INSERT INTO quality.semester_calendars VALUES (101, 19, 7), (101, 20, 8)")
        con.execute("INSERT INTO marts.early_warning VALUES (101, 20), (101, 19)")
    log(published, "students", "2026-03-04 02:00", "ok", "101:20")
    log(published, "students", "2026-03-04 02:00", "ok")
    log(published, "students", "2026-01-04 02:00", "ok", "101:7")
    log(published, "students", "2026-03-04 02:00", "failed", "101:7")
    assert "Not up to date" not in said(of(published))
    assert of(published).name == "marts.marks_101_2026-03-04.xlsx"
    log(published, "students", "2026-03-04 03:00", "failed", "101:8")
    assert "Not known" in said(of(published)), "the other interface's id of the semester that is shown"


def test_segments_of_datasets_have_numbers_that_are_no_semesters(published: Path) -> None:
    with duckdb.connect(str(published)) as con:
        con.execute(
            "INSERT INTO core.dim_semester VALUES (101, 20, 'S', true, NULL), (101, 3, 'S', false, NULL)"
        )
        con.execute("INSERT INTO quality.semester_calendars VALUES (101, 3, 3), (101, 20, 20)")
        con.execute("INSERT INTO marts.early_warning VALUES (101, 20), (101, 3)")
        con.execute(STANDS.replace("students", "datasets.survey"))
    log(published, "datasets.survey", "2026-03-02 02:00", "ok", "101:2")
    log(published, "datasets.survey", "2026-03-01 02:00", "ok", "101:3")
    log(published, "datasets.survey", "2026-03-02 02:00", "failed", "101:3")
    assert of(published).name == "marts.marks_101_2026-03-01.xlsx"
    assert "Not up to date" in said(of(published))


def test_nights_that_changed_nothing_make_it_younger(published: Path) -> None:
    prove(published.parent, [standing(NIGHT)])
    assert of(published).name == "marts.marks_101_2026-03-03.xlsx"
    prove(published.parent, [standing(NIGHT, AFTERNOON)])
    path = of(published)
    assert path.name == "marts.marks_101_2026-03-03.xlsx"
    assert "at 2026-03-03 15:00" in str(said(path)["Not up to date"].value)
    # What was proven of one file says nothing of another.
    with duckdb.connect(str(published)) as con:
        con.execute("UPDATE quality.publication SET generation = 'the next'")
    assert of(published).name == "marts.marks_101_2026-03-01.xlsx"


def test_the_board_names_the_tiles_and_lists_concerned() -> None:
    """In plain words, what could not be loaded and which parts of the page stand on it."""
    loads = Loads(
        standings=(
            {
                "resource": "class_members",
                "slice": "101:1",
                "status": "failed",
                "finished_at": datetime(2026, 3, 2, 15),
                "requests": 1,
                "complete_at": None,
            },
        ),
        made_of={"marts.early_warning": frozenset({"class_members"})}
        | {
            table: frozenset({"scores"})
            for tables in (panel.tables for panel in BOARD.panels.values())
            for table in tables
            if "early" not in table
        },
        labels={"class_members": Words("Class members", "班级成员")},
    )
    origin = replace(ORIGIN, loads=loads, age=loads.age(()))
    panels = [(panel.title, panel.tables) for panel in BOARD.panels.values()]
    panels += [(data.name, data.tables) for data in BOARD.lists.values()]
    alarm = origin.alarm(
        BOARD.texts["failed"], dict.fromkeys(origin.age.failed, ()), BOARD.texts["affected"], panels
    )
    assert alarm and alarm.en.startswith("Could not be loaded at 2026-03-02 15:00: Class members.")
    assert "Students at risk, Warnings by class, Students to talk to" in alarm.en
    assert "Rolls" not in alarm.en and "failed of" not in alarm.en
