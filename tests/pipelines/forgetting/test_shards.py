"""Forgetting in a home that publishes shards: those of the school are made anew, and all files of before go.
In a folder, and with the lake and the shards in an object store."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import obstore
import pytest

from loading.pushes.inbox import inbox_path
from simulator.process import running
from tests.kits.leaks import leaks
from tests.kits.programs.command_line import output_of
from tests.kits.programs.processes import environment_for
from tests.kits.pushes.receiving import leave_push
from tests.kits.servers.object_store import BUCKET, ObjectStore, object_store
from warehouse.forgetting.forgotten import NAME as LIST
from warehouse.stores import store_of

pytestmark = pytest.mark.slow

NAME = "O'Bri\"en 😀"
GUARDIAN, TEACHER = "Mrs Zoë", "王建国第二"
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


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    """One for all tests of this process, which keeps its connection."""
    with object_store() as server:
        yield server


@pytest.fixture(params=["folder", "store"])
def place(
    request: pytest.FixtureRequest, server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Place:
    """A home whose lake and shards are in it, or in an object store."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "campus.yaml").write_text(OPTIONS)
    environment = {"CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster"), "HOME": str(tmp_path)}
    if request.param == "folder":
        return Place(home, "", environment)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"s3://{BUCKET}/{uuid.uuid4()}"
    return Place(home, bucket, {**environment, **server.environment, "CAMPUS_LAKE": f"{bucket}/lake"})


def test_shards_and_frozen_files_name_nobody(place: Place, tmp_path: Path) -> None:
    with running(schools=2, students=10, semesters=2, core_subjects=3, today="2025-03-10") as platform:
        run = partial(output_of, tmp_path, **environment_for(place.home, platform, **place.environment))
        school, other = sorted(entry["key"] for entry in platform.rows("schools", 0))
        student = platform.rows("students", school)[0]["key"]
        for resource in ("students", "reflections", "v1_users"):
            platform.update(resource, student, name=NAME)

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
def test_waiting_pushes_lose_whoever_is_forgotten(place: Place, tmp_path: Path) -> None:
    """A guardian alone, then a teacher, then the whole school."""
    with running(schools=2, students=6, semesters=1, core_subjects=2, today="2025-03-10") as platform:
        run = partial(output_of, tmp_path, **environment_for(place.home, platform, **place.environment))
        school, next_school = sorted(entry["key"] for entry in platform.rows("schools", 0))
        users = {entry["key"]: entry["row"] for entry in platform.rows("v1_users", school)}
        guardian = next(user for user in users.values() if user.get("student_id") is not None)
        teacher = users[platform.rows("teachers", school)[0]["key"]]
        student = users[guardian["student_id"]]
        platform.update("v1_users", guardian["id"], name=GUARDIAN)
        for resource in ("teachers", "v1_users"):
            platform.update(resource, teacher["id"], name=TEACHER)
        run("sync")
        for resource, user, name in (("v1_users", guardian, GUARDIAN), ("teachers", teacher, TEACHER)):
            leave_push(place.home, school, resource, user["id"], {"id": user["id"], "name": name})
        for receiver in (school, next_school):
            leave_push(place.home, receiver, "teachers", {"id": 7, "name": f"{receiver}-pushed"})

        # Schools give the same staff numbers.
        fields = ("outer_id", "phone", "email", "avatar_url")
        texts = {GUARDIAN, TEACHER, *(user[field] for user in (guardian, teacher) for field in fields)}
        persons, ids = {text for text in texts if text}, {guardian["id"], teacher["id"]}
        of_school = {f"{school}-pushed", student["outer_id"]}
        before = "\n".join(place.leaks(tmp_path / "before", persons | of_school, ids))
        assert [text for text in persons | of_school if text not in before] == []
        assert inbox_path(place.home).name in before and "tables/" in before

        run("forget", "--school", str(school), "--guardian", str(guardian["id"]), "--yes")
        run("forget", "--school", str(school), "--teacher", str(teacher["id"]), "--yes")
        after = place.leaks(tmp_path / "after", persons | of_school, ids)
        assert not [leak for leak in after if not any(text in leak for text in of_school)]
        assert any(student["outer_id"] in leak for leak in after), "the guardian's student stays"
        run("forget", "--school", str(school), "--yes")
        waiting = place.leaks(tmp_path / "at last", persons | of_school | {f"{next_school}-pushed"}, ids)
        assert waiting and all(f"{next_school}-pushed" in leak for leak in waiting), (
            "pushes of the other school"
        )


def _ids(text: str) -> set[int]:
    return {int(line) for line in text.split() if line.lstrip("-").isdigit()}
