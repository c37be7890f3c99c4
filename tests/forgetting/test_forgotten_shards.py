"""Forgetting in a home that publishes shards: those of the school are made anew, and all files of before
go."""

from pathlib import Path

import pytest
from command_line import campus
from compiled_home import give_compiled
from leaks import leaks

from simulator.process import running
from warehouse.publish.dbt_project import Build

pytestmark = pytest.mark.slow

NAME = "O'Bri\"en 😀"
OPTIONS = """
publish: {schools_per_shard: 1, freeze_after_days: 1, keep_generations: 3}
datasets: {include: []}
"""


def test_shards_and_frozen_files_name_nobody(tmp_path: Path, compiled_models: Build) -> None:
    home = tmp_path / "home"
    home.mkdir()
    give_compiled(home, compiled_models)
    (home / "campus.yaml").write_text(OPTIONS)
    with running(schools=2, students=10, semesters=2, core_subjects=3, today="2025-03-10") as platform:
        environment = {
            "CAMPUS_HOME": str(home),
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": platform.client_secret,
            "DAGSTER_HOME": str(home / "dagster"),
            "HOME": str(tmp_path),
        }
        school, other = sorted(entry["key"] for entry in platform.rows("schools", 0))
        student = platform.rows("students", school)[0]["key"]
        for resource in ("students", "reflections", "v1_users"):
            platform.update(resource, student, name=NAME)

        def run(*arguments: str) -> str:
            done = campus(tmp_path, *arguments, **environment)
            assert done.exit_code == 0, done.output
            return str(done.output)

        run("sync")
        platform.update("students", student, status="archived")
        run("sync")
        shards = home / "published" / "shards"
        before = {path.name: path.stat().st_mtime_ns for path in shards.rglob("*.duckdb")}
        assert [leak for leak in leaks(home, {NAME}, {student}) if leak.startswith("published/shards/")]
        of_other = {path.name for path in (shards / "0002").iterdir()}
        run("forget", "--school", str(school), "--student", str(student), "--yes")
        assert leaks(home, {NAME}, {student}) == []
        after = {path.name: path.stat().st_mtime_ns for path in shards.rglob("*.duckdb")}
        assert after and not after.keys() & (before.keys() - of_other)
        assert of_other & after.keys(), "the other school's shard is left as it is"
        assert student not in _students(
            run("sql", "SELECT student_id FROM core.dim_student", "--format", "csv")
        )
        run("forget", "--school", str(other), "--yes")
        assert set(
            _schools(run("sql", "SELECT DISTINCT school_id FROM core.dim_student", "--format", "csv"))
        ) == {school}


def _students(text: str) -> set[int]:
    return {int(line) for line in text.split() if line.lstrip("-").isdigit()}


_schools = _students
