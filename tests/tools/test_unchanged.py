"""The comparison with an earlier version finds each kind of difference, and compares with the right code."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import duckdb
import openpyxl
import pytest

from tools.unchanged import tables
from tools.unchanged.__main__ import conclude, require_counts
from tools.unchanged.compare import compare_world, request_differences, text_differences
from tools.unchanged.contents import content_lines, file_lines
from tools.unchanged.record import MESSAGES, REQUESTS, listed_commands, write_lines
from tools.unchanged.steps import Campus, Step, World
from tools.unchanged.tables import database_differences
from tools.unchanged.versions import CannotCompare, Stopped, Version
from tools.worktree import ROOT

MARKS = """
    CREATE SCHEMA marts;
    CREATE TABLE marts.marks AS
    FROM (VALUES (101, 1, 0.12, TIMESTAMP '2025-05-17 10:00:05'), (101, 2, 0.5, NULL))
    AS t (school, student, rate, seen);
    COMMENT ON COLUMN marts.marks.rate IS 'Share of lessons';
    CREATE VIEW marts.low AS FROM marts.marks WHERE rate < 0.2;
    CREATE MACRO marts.twice(x) AS 2 * x;
"""
Differing = Callable[..., list[str]]


@pytest.fixture
def differing(tmp_path: Path) -> Differing:
    """Differences of a database from the same database after further statements."""

    def differences(*statements: str, **options: tuple[datetime, datetime]) -> list[str]:
        paths = tmp_path / "base.duckdb", tmp_path / "present.duckdb"
        for path, further in zip(paths, ((), statements), strict=True):
            path.unlink(missing_ok=True)
            with duckdb.connect(str(path)) as connection:
                for statement in (MARKS, *further):
                    connection.execute(statement)
        return list(database_differences(*paths, Counter(), **options))

    return differences


def test_equal_databases_have_no_differences(differing: Differing) -> None:
    assert differing() == []


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            "UPDATE marts.marks SET rate = 0.13 WHERE student = 1",
            "marts.marks: first: (school 101, student 1, ",
        ),
        (
            "UPDATE marts.marks SET rate = 0.13 WHERE student = 1",
            "marts.low: 1 rows of base and 1 of present",
        ),
        (
            "UPDATE marts.marks SET seen = NULL",
            "marts.marks: 1 rows of base and 1 of present differ, in seen",
        ),
        (
            "DELETE FROM marts.marks WHERE student = 2",
            "marts.marks: first row that is gone: school 101, student 2",
        ),
        ("INSERT INTO marts.marks FROM marts.marks", "marts.marks: 0 rows of base and 2 of present differ"),
        (
            "ALTER TABLE marts.marks ALTER student TYPE BIGINT",
            "marts.marks: column student: type INTEGER -> BIGINT",
        ),
        ("ALTER TABLE marts.marks ADD COLUMN level TEXT", "marts.marks: column level is new"),
        ("ALTER TABLE marts.marks RENAME seen TO seen_at", "marts.marks: column seen is gone"),
        ("ALTER TABLE marts.marks RENAME seen TO seen_at", "marts.low: not readable: Binder Error"),
        (
            "COMMENT ON COLUMN marts.marks.rate IS 'Rate'",
            "marts.marks: column rate: comment Share of lessons -> Rate",
        ),
        ("COMMENT ON TABLE marts.marks IS 'Marks'", "marts.marks: comment None -> Marks"),
        ("CREATE TABLE marts.new (x INT)", "marts.new: the table is new"),
        ("DROP VIEW marts.low", "marts.low: the view is gone"),
        ("CREATE OR REPLACE MACRO marts.twice(x) AS 3 * x", "marts.twice: definition (2 * x) -> (3 * x)"),
    ],
)
def test_each_difference_of_tables_is_named(differing: Differing, statement: str, line: str) -> None:
    assert any(text.startswith(line) for text in differing(statement)), differing(statement)


def test_excepted_columns_hide_no_other_columns(
    differing: Differing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tables, "EXCEPTED_COLUMNS", {("marts.*", "seen"): "NULL", ("marts.*", "rate"): "rate > 0.4"}
    )
    assert differing("UPDATE marts.marks SET seen = NULL, rate = 0.6 WHERE student = 2") == []
    lines = differing("UPDATE marts.marks SET seen = NULL, school = 102 WHERE student = 2")
    assert lines[0] == "marts.marks: 1 rows of base and 1 of present differ, in school"


def test_only_times_of_the_run_are_uncertain(differing: Differing) -> None:
    window = (datetime(2025, 5, 17, 10), datetime(2025, 5, 17, 12))
    moved = "UPDATE marts.marks SET seen = seen + INTERVAL '{}'"
    assert differing(moved.format("7 seconds"), uncertain=window) == []
    assert differing(moved.format("3 days"), uncertain=window) != []


def test_tables_rows_and_cells_are_counted(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "base.duckdb")) as connection:
        connection.execute(MARKS)
    counts = Counter[str]()
    list(database_differences(tmp_path / "base.duckdb", tmp_path / "base.duckdb", counts))
    assert counts == {"tables": 2, "rows": 3, "cells": 12, "macros": 1}


def test_requests_are_counted_whatever_their_order() -> None:
    base = ["GET /a: 200", "GET /b: 200", "GET /b: 200"]
    assert list(request_differences(base, [base[1], base[0], base[2]])) == []
    assert list(request_differences(base, ["GET /a: 200", "GET /a: 200", "GET /b: 200"])) == [
        "3 requests -> 3",
        "1 more: GET /a: 200",
        "1 fewer: GET /b: 200",
    ]


def test_changed_lines_of_texts_are_named() -> None:
    base = ["Usage: campus sync", "  --full  Read everything again.", "", "end"]
    present = ["Usage: campus sync", "  --full  Read all again.", "  --new", "", "end"]
    assert list(text_differences(base, present)) == [
        "line 2:   --full  Read everything again. ->   --full  Read all again.",
        "line 3: new:   --new",
    ]


def test_cells_and_formats_of_workbooks_are_compared(tmp_path: Path) -> None:
    lines = []
    for value, number_format in ((0.12, "0%"), (0.13, "0%"), (0.12, "0.0%")):
        workbook = openpyxl.Workbook()
        workbook.active["B2"] = value
        workbook.active["B2"].number_format = number_format
        workbook.save(tmp_path / "board.xlsx")
        lines.append([line for line in file_lines(tmp_path / "board.xlsx") if "!" in line])
    assert lines == [["Sheet!B2: 0.12 [0%]"], ["Sheet!B2: 0.13 [0%]"], ["Sheet!B2: 0.12 [0.0%]"]]


def test_only_variable_texts_are_replaced() -> None:
    text = (
        "<p>Loaded 12 rows in 3 s from http://127.0.0.1:4711/v3, run 0f8fad5b-d9cb-469f-a165-70867728950e</p>"
    )
    assert content_lines("index.html", text.encode()) == [
        "<p>Loaded 12 rows in N s from http://127.0.0.1:PORT/v3, run RUN-ID</p>"
    ]


def test_records_of_a_world_are_compared_file_by_file(tmp_path: Path) -> None:
    world = World("demo", (Step("after the night", "2025-05-17 10:00", (Campus("sync"),)),))
    for side, message in (("base", "1 row"), ("next", "2 rows")):
        write_lines(tmp_path / side / "1" / MESSAGES, [message])
        write_lines(tmp_path / side / "1" / REQUESTS, ["GET /a: 200"])
        write_lines(tmp_path / side / "1" / f"{side}.html", [])
    comparison = compare_world(world, tmp_path / "base", tmp_path / "next")
    assert [(finding.title, finding.lines) for finding in comparison.findings] == [
        ("demo, after the night, base.html", ["the file is gone"]),
        ("demo, after the night, messages.txt", ["line 1: 1 row -> 2 rows"]),
        ("demo, after the night, next.html", ["the file is new"]),
    ]
    assert conclude(comparison, tmp_path, 1.0) == 1
    assert "  line 1: 1 row -> 2 rows" in (tmp_path / "differences.txt").read_text(encoding="utf-8")


def test_empty_comparisons_are_refused() -> None:
    with pytest.raises(CannotCompare, match="no cells, requests to compare"):
        require_counts(Counter(tables=1, messages=1, files=1))


def test_commands_of_help_texts_are_listed() -> None:
    text = """Usage: campus [OPTIONS]

  Loads a school.

Options:
  --version  Show the version.

First steps:
  demo         Show everything
               on the simulator.
  push-receiver
               Receive pushes.

  Example:
    campus demo
"""
    assert list(listed_commands(text)) == ["demo", "push-receiver"]


def version(folder: Path, code: str) -> Version:
    """A version of the project whose command is this code."""
    package = folder / "checkout" / "pipelines"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "program.py").write_text(code, encoding="utf-8")
    project = '[project]\nscripts = {campus = "pipelines.program:main"}\n'
    (folder / "checkout" / "pyproject.toml").write_text(project, encoding="utf-8")
    return Version.of("base", folder / "checkout", folder)


def test_a_version_runs_its_own_code_and_the_installed_packages(tmp_path: Path) -> None:
    code = "import sys, duckdb\ndef main():\n    print('base', sys.argv[1:], input())\n    sys.exit(3)\n"
    base = version(tmp_path, code)
    completed = base.campus(["sync", "--full"], {"PYTHONPATH": str(ROOT)}, tmp_path, "a card\n")
    output = "base ['sync', '--full'] a card\n"
    assert (completed.returncode, completed.stdout) == (3, output), completed.stderr


def test_a_version_with_shadowed_packages_is_refused(tmp_path: Path) -> None:
    """Python finds its own package `json` before that of the checkout."""
    (tmp_path / "checkout" / "json").mkdir(parents=True)
    (tmp_path / "checkout" / "json" / "__init__.py").touch()
    with pytest.raises(CannotCompare, match=r"base would not run its own code: .*json"):
        version(tmp_path, "def main():\n    pass\n")


def test_stopped_commands_start_no_process(tmp_path: Path) -> None:
    base = version(tmp_path, "def main():\n    import time; time.sleep(60)\n")
    base.server.stop()
    with pytest.raises(Stopped):
        base.campus(["sync"], {}, tmp_path)
