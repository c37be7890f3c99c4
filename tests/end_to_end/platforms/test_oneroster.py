"""The zips of two nights, of the demo's platform and of an awkward one, break no rule of OneRoster."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exports.export import Options, Written, export
from exports.names import Version
from exports.oneroster.write import Content
from tests.kits.exports.oneroster_reader import ABSENT, diagnostics
from tests.kits.exports.oneroster_standard import Row, findings, read
from tests.kits.platforms.awkward import AWKWARD
from tests.kits.worlds.world import World

SCHOOL = 101
SMALL = {"schools": 1, "students": 12, "semesters": 2, "core_subjects": 4, "datasets": False}
PLATFORMS: dict[str, dict[str, Any]] = {"demo": {}, "awkward": AWKWARD}
VERSIONS: tuple[Version, ...] = ("1.1", "1.2")

#: The zips of each night by version.
Zips = list[dict[Version, Path]]


@pytest.fixture(scope="module", params=PLATFORMS)
def nights(request: pytest.FixtureRequest, make_world: Callable[..., World]) -> Iterator[Zips]:
    world = make_world("demo", **SMALL | PLATFORMS[request.param])
    first = night(world, "first")
    change(world, read(first["1.2"]))
    yield [first, night(world, "second")]


def night(world: World, name: str) -> dict[Version, Path]:
    assert world.load(select=None).problems == []
    assert world.publish().problem is None
    zips = {}
    for version in VERSIONS:
        options = Options(
            world.home / name / version,
            oneroster=Content(version=version, demographics=True, email="platform"),
        )
        [end] = export(world.settings.published, ["oneroster"], None, options)
        assert isinstance(end, Written), end
        zips[version] = end.path
    return zips


def leaver(files: dict[str, list[Row]]) -> tuple[str, str]:
    """A class of the last semester and a student with marks in it, by their ids in the zip."""
    semesters = [row for row in files["academicSessions"] if row["type"] == "semester"]
    last = max(semesters, key=lambda row: row["startDate"])["sourcedId"]
    current = {row["sourcedId"] for row in files["classes"] if row["termSourcedIds"] == last}
    marks = {(row["classSourcedId"], row["studentSourcedId"]) for row in files["results"]}
    return max(mark for mark in marks if mark[0] in current)


def change(world: World, files: dict[str, list[Row]]) -> None:
    """A student leaves a class, another one the school; names become those of formulas."""
    platform = world.platform
    class_id, student_id = (int(id.rpartition("-")[2]) for id in leaver(files))
    [member] = [
        entry
        for entry in platform.rows("class_members", SCHOOL)
        if entry["parent"] == class_id and entry["row"]["reflection_id"] == student_id
    ]
    platform.delete("class_members", member["key"])
    first, second, third, *_ = platform.rows("students", SCHOOL)
    platform.update("students", first["key"], name="=1+2")
    platform.update("students", second["key"], name="\ufeff@王;二")
    platform.delete("students", third["key"])


@pytest.mark.parametrize("version", VERSIONS)
def test_no_night_breaks_the_standard(nights: Zips, version: Version) -> None:
    assert [findings(zips[version], version) for zips in nights] == [[], []]


def test_a_student_who_leaves_a_class_takes_the_marks_along(nights: Zips) -> None:
    first, second = (read(zips["1.2"]) for zips in nights)
    class_id, student_id = leaver(first)
    assert class_id in {row["sourcedId"] for row in second["classes"]}
    assert student_id in {row["sourcedId"] for row in second["users"]}
    for file, column in (("enrollments", "userSourcedId"), ("results", "studentSourcedId")):
        counts = [
            sum((row["classSourcedId"], row[column]) == (class_id, student_id) for row in files[file])
            for files in (first, second)
        ]
        assert counts[0] > 0 and counts[1] == 0, file


def test_there_are_marks_of_two_nights(nights: Zips) -> None:
    first, second = (read(zips["1.2"]) for zips in nights)
    assert len(first["users"]) > len(second["users"]) > 5
    assert len(first["enrollments"]) > len(second["enrollments"]) > 20
    assert len(first["results"]) > len(second["results"]) > 20
    assert any(user["email"] for user in first["users"])


@pytest.mark.skipif(bool(ABSENT), reason=f"another reader is left out: {ABSENT}")
def test_another_reader_takes_both_nights(nights: Zips) -> None:
    assert diagnostics([zips["1.2"] for zips in nights]) == [[], []]
