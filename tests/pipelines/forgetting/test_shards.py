"""Forgetting in a home that publishes shards: those of the school are made anew, and all files of before go.
In a folder, and with the lake and the shards in an object store."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import obstore
import pytest

from campus.push.message import Push, PushedEvent
from loading.pushes.inbox import inbox_path, open_inbox
from simulator.process import RunningSimulator, running
from tests.kits.leaks import leaks
from tests.kits.programs.command_line import campus
from tests.kits.programs.processes import environment_for
from tests.kits.servers.object_store import BUCKET, object_store
from warehouse.forgetting.forgotten import NAME as LIST
from warehouse.stores import store_of

pytestmark = pytest.mark.slow

NAME = "O'Bri\"en 😀"
GUARDIAN, TEACHER = "Mrs O'Bri\"en", "王 Zoë"
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

    def leaks(self, copies: Path, texts: set[str], numbers: set[int]) -> list[str]:
        """Where the home or the store names somebody. copies: a folder for the store's objects."""
        if self.bucket:
            for part in ("lake", "lake-published"):
                for name, content in self._objects(part).items():
                    if name != LIST:
                        target = copies / part / name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(content)
        return [leak for root in (self.home, copies) for leak in leaks(root, texts, numbers)]

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

        run = partial(_run, environment, tmp_path)
        run("sync")
        platform.update("students", student, status="archived")
        run("sync")
        before = place.published()
        of_other = {name for name in before if name.startswith("shards/0002/")}
        leaking = {leak.partition(" ")[0] for leak in place.leaks(tmp_path / "before", {NAME}, {student})}
        assert [name for name in leaking if "shards/0001/" in name]
        assert [name for name in leaking if "tables/core/dim_student/" in name]
        said = run("forget", "--school", str(school), "--student", str(student), "--yes")
        assert "nothing was found" in said
        assert place.leaks(tmp_path / "after", {NAME}, {student}) == []
        after = place.published()
        assert after & before and after & before <= of_other, "the other school's shard alone stays as it is"
        assert student not in _ids(run("sql", "SELECT student_id FROM core.dim_student", "--format", "csv"))
        run("forget", "--school", str(other), "--yes")
        schools = run("sql", "SELECT DISTINCT school_id FROM core.dim_student", "--format", "csv")
        assert _ids(schools) == {school}


@pytest.mark.parametrize("place", ["store"], indirect=True)
def test_a_teacher_a_guardian_alone_and_a_school_are_forgotten_with_waiting_pushes(
    place: Place, tmp_path: Path
) -> None:
    with running(schools=2, students=10, semesters=2, core_subjects=3, today="2025-03-10") as platform:
        environment = environment_for(place.home, platform, **place.environment)
        run = partial(_run, environment, tmp_path)
        school, other = sorted(entry["key"] for entry in platform.rows("schools", 0))
        users = [entry["row"] for entry in platform.rows("v1_users", school)]
        guardian = next(user for user in users if user.get("student_id") is not None)
        teacher = platform.rows("teachers", school)[0]["key"]
        platform.update("v1_users", guardian["id"], name=GUARDIAN)
        for resource in ("teachers", "v1_users"):
            platform.update(resource, teacher, name=TEACHER)
        run("sync")
        for kind, id, name in (("guardian", guardian["id"], GUARDIAN), ("teacher", teacher, TEACHER)):
            texts = {name, *_texts(platform, school, id)}
            pushed = {"guardian": "v1_users", "teacher": "teachers"}[kind]
            with open_inbox(place.home) as inbox:
                for pk in (id, {"id": id, "name": name}):
                    event = PushedEvent("updated", (pk,))
                    inbox.add(school, Push(str(uuid.uuid4()), pushed, datetime.now(UTC), (event,)), 1000)
            leaking = {
                leak.partition(" ")[0] for leak in place.leaks(tmp_path / f"{kind} before", texts, {id})
            }
            assert [name for name in leaking if inbox_path(place.home).name in name], leaking
            assert [name for name in leaking if "tables/" in name], leaking
            run("forget", "--school", str(school), f"--{kind}", str(id), "--yes")
            assert place.leaks(tmp_path / f"{kind} after", texts, {id}) == []
        students = run("sql", "SELECT student_id FROM core.dim_student", "--format", "csv")
        assert guardian["student_id"] in _ids(students), "the student stays"

        people = {user["name"] for user in users}
        people -= {entry["row"]["name"] for entry in platform.rows("v1_users", other)}
        with open_inbox(place.home) as inbox:
            for of in (school, other):
                event = PushedEvent("updated", ({"id": 7, "name": f"{of}号"},))
                inbox.add(of, Push(str(uuid.uuid4()), "teachers", datetime.now(UTC), (event,)), 1000)
        run("forget", "--school", str(school), "--yes")
        assert place.leaks(tmp_path / "school after", {f"{school}号", *sorted(people)[:5]}, set()) == []
        assert place.leaks(tmp_path / "other after", {f"{other}号"}, set()), "pushes of other schools wait"


def _texts(platform: RunningSimulator, school: int, id: int) -> set[str]:
    """What names a user of a school alone. Schools give the same staff numbers."""
    [row] = [entry["row"] for entry in platform.rows("v1_users", school) if entry["key"] == id]
    return {row[name] for name in ("outer_id", "phone", "email", "avatar_url") if row.get(name)}


def _run(environment: Mapping[str, str], folder: Path, *arguments: str) -> str:
    """Run a command that ends well; what it said."""
    done = campus(folder, *arguments, **environment)
    assert done.exit_code == 0, done.output
    return str(done.output)


def _ids(text: str) -> set[int]:
    return {int(line) for line in text.split() if line.lstrip("-").isdigit()}
