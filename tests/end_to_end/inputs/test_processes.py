"""Talks and measures by real `campus` processes: from a file to the published file, to the workbook and the
board, and out of the home again."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.process import running
from tests.kits.leaks import leaks
from tests.kits.programs import processes
from tests.kits.programs.processes import environment_for

SCHOOL = 101
PEOPLE = """
    SELECT student_id, student_number, student_name, level FROM marts.early_warning
    JOIN core.dim_semester USING (school_id, semester_id) WHERE dim_semester.is_current
    ORDER BY level = 'at_risk' DESC, level = 'warning' DESC, student_id
"""
CLOSED = """
    SELECT student_id, ends_on::VARCHAR AS ends_on FROM core.early_warning_week
    WHERE week = 6 AND level <> 'unknown' ORDER BY student_id LIMIT 3
"""


@pytest.mark.slow
def test_a_log_goes_from_a_file_to_the_board_and_is_forgotten(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(schools=1, students=60, semesters=2, today="2025-04-25") as platform:
        environment = environment_for(home, platform, HOME=str(tmp_path))

        def run(*arguments: str, status: int = 0) -> str:
            done = processes.run(["campus", *arguments], environment, tmp_path)
            assert done.returncode == status, (arguments, done.stdout, done.stderr)
            return done.stdout + done.stderr

        def query(sql: str) -> list[dict[str, Any]]:
            rows: list[dict[str, Any]] = json.loads(run("sql", sql, "--format", "json"))
            return rows

        assert "interventions" not in run("sync")
        assert query("FROM core.fct_intervention") == query("FROM marts.intervention_outcome") == []
        people, closed = query(PEOPLE), query(CLOSED)
        assert people[0]["level"] in ("at_risk", "warning") and len(closed) == 3

        (tmp_path / "secret.csv").write_text("hunter2,20230101\n")
        links = [home / "inputs" / str(SCHOOL) / "interventions.csv", home / "thresholds" / "grade_bands.csv"]
        for link in links:
            link.parent.mkdir(parents=True)
        links[0].symlink_to(tmp_path / "secret.csv")
        output = run("sync", status=1) + run("inputs", "check", status=1)
        links[1].symlink_to(tmp_path / "secret.csv")
        output += run("thresholds", status=2) + run("build", status=1) + run("status", status=1)
        links[1].unlink()
        output += run("build") + run("sql", "FROM quality.load_log", "--format", "csv")
        assert "hunter2" not in output and leaks(home, ["hunter2"], [20230101], skip=links) == []
        # `campus status` wraps its lines, also within a long path.
        unwrapped = "".join(output.split())
        assert all(unwrapped.count("".join(f"{link} is not read".split())) > 2 for link in links)
        links[0].unlink()

        run("inputs", "template", str(tmp_path / "interventions.csv"), "--language", "zh")
        heading, example = (tmp_path / "interventions.csv").read_text("utf-8-sig").splitlines()
        text = io.StringIO()
        writer = csv.writer(text)
        spoken_to = people[0]
        writer.writerow(
            [spoken_to["student_number"], spoken_to["student_name"], "2025-04-10", "谈话", "李老师"]
        )
        lines = [heading, example, text.getvalue().strip()]
        numbers = {row["student_id"]: row["student_number"] for row in query("FROM core.dim_student")}
        lines += [f"{numbers[row['student_id']]},,{row['ends_on']},plan,,,SECRET" for row in closed]
        file = links[0]
        file.write_text("\n".join([*lines, "X,,2025-04-10,谈话"]), encoding="utf-8")

        said = run("sync", status=1)
        assert "interventions.csv, line 7: no student of the school has this usin" in said
        assert "SECRET" not in said and spoken_to["student_name"] not in said
        run("inputs", "check", status=1)
        file.write_text("\n".join(lines), encoding="utf-8")
        assert "lines that load: 4; refused: 0" in run("inputs", "check")
        run("sync")
        outcomes = query("FROM marts.intervention_outcome ORDER BY date DESC")
        assert [row["kind"] for row in outcomes] == ["talk", "plan", "plan", "plan"]
        assert outcomes[0]["comparison"] == "level not known" and outcomes[0]["attendance_rate_before"]
        assert all(row["level_before"] and row["matched_students"] is not None for row in outcomes[1:])

        run("export", "early_warning", "board", "--to", str(tmp_path / "exports"))
        [book] = (tmp_path / "exports").glob("*early_warning*.xlsx")
        cells = {
            cell.value
            for sheet in openpyxl.load_workbook(book)
            for row in sheet
            for cell in row
            if cell.value
        }
        assert "最近谈话或帮扶" in cells and "谈话与帮扶" in openpyxl.load_workbook(book).sheetnames
        pages = [page.read_text("utf-8") for page in (tmp_path / "exports").glob("board_101*.html")]
        assert len(pages) == 1 and "2025-04-10" in pages[0]
        run("extract", "--pseudonymous", "--to", str(tmp_path / "study.duckdb"))
        assert b"SECRET" not in (tmp_path / "study.duckdb").read_bytes()

        student = str(closed[0]["student_id"])
        forget = ("forget", "--school", str(SCHOOL), "--student", student, "--yes")
        said = run(*forget, status=1)
        assert f"names them, or cannot be read: {file}" in said
        file.write_text("\n".join([*lines[:3], *lines[4:]]), encoding="utf-8")
        assert "nothing was found" in run(*forget)
        left = query("SELECT student_id, note FROM core.fct_intervention WHERE kind = 'plan'")
        assert sorted(row["note"] or "" for row in left) == ["", "SECRET", "SECRET"]
        assert int(student) not in {row["student_id"] for row in left}
