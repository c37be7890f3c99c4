"""Forgetting in a home that publishes shards: those of the school are made anew, and all files of before go.
In a folder, and with the lake and the shards in an object store."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import obstore
import pytest

from simulator.process import running
from tests.kits.leaks import leaks
from tests.kits.programs.command_line import campus
from tests.kits.programs.processes import environment_for
from tests.kits.servers.object_store import BUCKET, object_store
from warehouse.forgetting.forgotten import NAME as LIST
from warehouse.stores import store_of

pytestmark = pytest.mark.slow

NAME = "O'Bri\"en 😀"
OPTIONS = """
publish: {schools_per_shard: 1, freeze_after_days: 1, keep_generations: 3, tables: delta}
datasets: {include: []}
"""


@dataclass
class Place:
    """A home, and where its lake and shards are."""

    home: Path
    #: Of the object store; empty: they are in the home.
    bucket: str
    environment: dict[str, str]

    def published(self) -> set[str]:
        """The DuckDB files of shards."""
        if not self.bucket:
            root = self.home / "published"
            return {str(path.relative_to(root)) for path in (root / "shards").rglob("*.duckdb")}
        return {name for name in self._objects("lake-published") if name.endswith(".duckdb")}

    def leaks(self, student: int, copies: Path) -> list[str]:
        """Where the home or the store names the student."""
        if self.bucket:
            for part in ("lake", "lake-published"):
                for name, content in self._objects(part).items():
                    if name != LIST:
                        target = copies / part / name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(content)
        return [leak for root in (self.home, copies) for leak in leaks(root, {NAME}, {student})]

    def _objects(self, part: str) -> dict[str, bytes]:
        store = store_of(f"{self.bucket}/{part}", 10)
        names = [entry["path"] for page in obstore.list(store) for entry in page]
        return {name: bytes(obstore.get(store, name).bytes()) for name in names}


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A home whose lake and shards are in it, or in an object store."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "campus.yaml").write_text(OPTIONS)
    environment = {"CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster"), "HOME": str(tmp_path)}
    if request.param == "folder":
        yield Place(home, "", environment)
        return
    with object_store() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        bucket = f"s3://{BUCKET}/{uuid.uuid4()}"
        yield Place(home, bucket, {**environment, **server.environment, "CAMPUS_LAKE": f"{bucket}/lake"})


def test_shards_and_frozen_files_name_nobody(place: Place, tmp_path: Path) -> None:
    with running(schools=2, students=10, semesters=2, core_subjects=3, today="2025-03-10") as platform:
        environment = environment_for(place.home, platform, **place.environment)
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
        before = place.published()
        of_other = {name for name in before if name.startswith("shards/0002/")}
        leaking = {leak.partition(" ")[0] for leak in place.leaks(student, tmp_path / "before")}
        assert [name for name in leaking if "shards/0001/" in name]
        assert [name for name in leaking if "tables/core/dim_student/" in name]
        said = run("forget", "--school", str(school), "--student", str(student), "--yes")
        assert "nothing was found" in said
        assert place.leaks(student, tmp_path / "after") == []
        after = place.published()
        assert after & before and after & before <= of_other, "the other school's shard alone stays as it is"
        assert student not in _ids(run("sql", "SELECT student_id FROM core.dim_student", "--format", "csv"))
        run("forget", "--school", str(other), "--yes")
        schools = run("sql", "SELECT DISTINCT school_id FROM core.dim_student", "--format", "csv")
        assert _ids(schools) == {school}


def _ids(text: str) -> set[int]:
    return {int(line) for line in text.split() if line.lstrip("-").isdigit()}
