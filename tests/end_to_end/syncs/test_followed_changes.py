"""A night follows what it has noticed: after many changes of all kinds the tables equal the platform."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from itertools import cycle
from typing import Any

import duckdb
import pytest

from campus.plan.units import SliceQuery
from loading import load_school
from loading.freshness import freshness_rows
from loading.slices.load_slice import SliceJob
from loading.slices.loader import Loader
from pipelines.settings.options import AttendanceOptions
from tests.kits.truth.attendance_truth import held, truth
from tests.kits.worlds.world import Load, World, differences
from warehouse.load.logs.writer import standing_rows

BASE, V1, ATTENDANCE = 'group:"base_data"', 'group:"v1"', 'group:"attendance"'
LOADED = f"{BASE} or {V1} or {ATTENDANCE}"
SCHOOL, OVER, CURRENT = 101, 10101, 10102
RECORDS, SESSIONS = "attendance_records", "attendance_sessions"
Entry = dict[str, Any]


class Hand:
    """Changes a platform as a school does, and counts the changes."""

    def __init__(self, world: World) -> None:
        self.platform, self.changes = world.platform, Counter[str]()
        self.records: dict[tuple[int, int], list[Entry]] = defaultdict(list)
        self.sessions: dict[int, list[Entry]] = defaultdict(list)
        self.members: dict[int, list[Entry]] = defaultdict(list)
        for entry in self.alive(RECORDS):
            self.records[entry["row"]["class_id"], entry["row"]["student_id"]].append(entry)
        for entry in self.alive(SESSIONS):
            self.sessions[entry["parent"]].append(entry)
        for entry in self.alive("class_members"):
            if entry["row"]["type"] == "student":
                self.members[entry["parent"]].append(entry)

    def alive(self, resource: str, semester: int | None = None) -> list[Entry]:
        rows = self.platform.rows(resource, SCHOOL, semester_id=semester)
        return [entry for entry in rows if not entry["trashed"]]

    def classes(self, semester: int) -> list[int]:
        return [entry["key"] for entry in self.alive("classes", semester)]

    def leave(self, member: Entry, *, for_good: bool = False) -> None:
        """Somebody leaves a class. The platform hides the attendance there, and lists the class anew."""
        class_id, student = member["parent"], member["row"]["reflection_id"]
        (self.platform.destroy if for_good else self.platform.delete)("class_members", member["key"])
        for record in self.records.pop((class_id, student), ()):
            self.platform.destroy(RECORDS, record["key"])
        self.members[class_id].remove(member)
        self._list_members(class_id)
        self.changes["leave"] += 1

    def join(self, class_id: int, student: int) -> None:
        """Somebody joins a class. The platform shows attendance of its past sessions."""
        values = {"type": "student", "reflection_id": student, "deleted_at": None}
        self.members[class_id].append(self.platform.insert("class_members", class_id, **values))
        for session in self.sessions[class_id]:
            made = self.platform.insert(RECORDS, session["key"], student_id=student, status="normal")
            self.records[class_id, student].append(made)
        self._list_members(class_id)
        self.changes["join"] += 1

    def change(self, resource: str, key: int, **values: Any) -> None:
        self.platform.update(resource, key, **values)
        self.changes[resource] += 1

    def destroy(self, resource: str, key: int) -> None:
        self.platform.destroy(resource, key)
        self.changes[resource] += 1

    def _list_members(self, class_id: int) -> None:
        students = [member["row"]["reflection_id"] for member in self.members[class_id]]
        self.platform.update("classes", class_id, touch=False, students=students)


@pytest.fixture(scope="module")
def school(load_world: Callable[..., World]) -> World:
    """A school of two semesters that was loaded once. What a test changes, the next one finds changed."""
    return load_world("two_semesters", select=LOADED, students=16)


def night(world: World, **options: Any) -> Load:
    world.platform.clear_log()
    return world.load(**{"select": LOADED, **options})


def attendance_requests(world: World) -> Counter[str]:
    """How many students and how many classes attendance was asked of."""
    paths = [entry["path"] for entry in world.platform.log() if entry["path"].endswith("/attendances")]
    return Counter(path.split("/")[3] for path in paths)


def untrue(world: World) -> dict[str, Any]:
    """Where the tables are not what the platform has."""
    true, stored = truth(world), held(world)
    keys = [key for key in true.keys() | stored.keys() if true.get(key) != stored.get(key)]
    false_rows = {
        RECORDS: [(true.get(key), stored.get(key)) for key in keys],
        SESSIONS: false_sessions(world),
    }
    return differences(world) | {name: rows[:3] for name, rows in false_rows.items() if rows}


def false_sessions(world: World) -> list[tuple[Any, ...]]:
    """Sessions that are not held, or whose statistics are others than the platform's. They may be null."""
    names = ("normal", "late", "absent")
    rows = {(row["class_id"], row["date"], row["lesson"]): row for row in world.held(SESSIONS)}
    false_rows = []
    for entry in world.platform.rows(SESSIONS, SCHOOL):
        true = entry["row"]
        key = (entry["parent"], date.fromisoformat(true["date"]), true["lesson"])
        stored = rows.get(key)
        if stored is None or any(stored[name] not in (None, true["statistics"][name]) for name in names):
            false_rows.append((key, stored, true))
    return false_rows


def unseen(world: World) -> dict[tuple[str, str], str]:
    """What may be old by quality.freshness, by resource and slice."""
    rows = freshness_rows(standing_rows(world.lake))
    return {(row["resource"], row["slice"]): row["unseen"] for row in rows if row["unseen"]}


def test_who_leaves_and_joins_has_attendance_of_the_semester_read_again(school: World) -> None:
    hand = Hand(school)
    for semester in (OVER, CURRENT):
        first, second, *_ = hand.classes(semester)
        hand.leave(hand.members[first][0])
        hand.leave(hand.members[second][1], for_good=True)
    gone = hand.members[first][0]
    hand.leave(gone, for_good=True)
    hand.join(first, gone["row"]["reflection_id"])
    assert night(school).problems == []
    assert untrue(school) == {}
    # Two students of the semester that is over: one question for all its weeks each.
    students = {
        entry["path"]
        for entry in school.platform.log()
        if "/students/" in entry["path"] and entry["query"].get("semester_id") == str(OVER)
    }
    assert len(students) == 2


def test_what_was_followed_is_not_asked_for_again(school: World) -> None:
    versions = school.versions()
    assert night(school).problems == []
    first = attendance_requests(school)
    assert night(school).problems == []
    assert attendance_requests(school) == first
    assert school.versions() == versions
    by_ids = [entry for entry in school.platform.log() if "id_in" in entry["query"]]
    assert not [entry for entry in by_ids if entry["path"].endswith("/klass/classes")]


def test_changes_that_were_noticed_wait_until_they_are_followed(
    school: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night that ends between the two, or fails to ask, leaves them to the next."""
    hand = Hand(school)
    first, *_ = hand.classes(OVER)
    student = hand.members[first][0]["row"]["reflection_id"]
    hand.leave(hand.members[first][0])

    follow = load_school.plan_outdated_classes

    def killed(loader: Loader, query: SliceQuery) -> Any:
        if query.semester_id == OVER:
            raise MemoryError("the machine stops here")
        return follow(loader, query)

    with monkeypatch.context() as patch:
        patch.setattr(load_school, "plan_outdated_classes", killed)
        assert night(school, select=BASE).problems
    assert differences(school, ["class_members"]) == {}
    assert differences(school, ["classes"]) != {}
    assert night(school, select=f"{BASE} or {V1}").problems == []
    assert differences(school) == {}
    assert held(school) != truth(school)

    path = f"/api/v1/students/{student}/attendances"
    school.platform.set_faults({"kind": "status", "status": 403, "path": path})
    [problem] = night(school, select=ATTENDANCE).problems
    assert f"student {student}" in problem and held(school) != truth(school)
    school.platform.set_faults()
    assert night(school, select=ATTENDANCE).problems == []
    assert untrue(school) == {}


@pytest.mark.parametrize("ahead", [0, -7200])
def test_change_between_classes_and_members_is_followed(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """One load reads the classes, somebody joins one and somebody leaves another for good, and then it reads
    the members. All of it has the same stamp. `ahead`: seconds of the platform's clock."""
    world = make_world("two_semesters", clock_ahead=ahead)
    assert night(world, select=BASE).problems == []
    hand = Hand(world)
    load = SliceJob.load

    async def changed(job: SliceJob, loader: Loader) -> Any:
        slices = [(context.spec.name, context.slice.semester_id) for context in job.contexts]
        if slices == [("class_members", OVER)]:
            first, second, *_ = hand.classes(OVER)
            hand.join(first, world.platform.insert("students", SCHOOL, name="新同学")["key"])
            hand.leave(hand.members[second][0], for_good=True)
        return await load(job, loader)

    with monkeypatch.context() as patch:
        patch.setattr(SliceJob, "load", changed)
        assert night(world, select=BASE, full=True).problems == []
    assert differences(world, ["classes", "class_members"]) == {}
    assert night(world, select=BASE).problems == []
    assert differences(world) == {}
    by_ids = [entry for entry in world.platform.log() if "id_in" in entry["query"]]
    assert not [entry for entry in by_ids if entry["path"].endswith("/klass/classes")]


def test_new_student_whose_own_row_failed_is_followed_later(school: World) -> None:
    """The night that learns of the membership follows other changes, and must not count as having followed
    this one. A member of nobody whom the platform ever lists is waited for one more night only."""
    hand, platform = Hand(school), school.platform
    first, second, *_ = hand.classes(OVER)
    new = platform.insert("students", SCHOOL, name="新同学")["key"]
    hand.join(first, new)
    hand.leave(hand.members[second][0])
    platform.set_faults(
        {"kind": "status", "status": 403, "path": "/api/v3/reflection/students"},
        {"kind": "status", "status": 403, "path": "/api/v1/classes/*/students"},
    )
    assert night(school).problems
    platform.set_faults()
    assert differences(school, ["class_members"]) == {}
    assert night(school).problems == []
    assert untrue(school) == {}
    platform.insert("class_members", first, type="student", reflection_id=987654, deleted_at=None)
    hand.leave(hand.members[second][0])
    for _ in range(2):
        assert night(school).problems == []
    first_night = attendance_requests(school)
    assert night(school).problems == []
    assert attendance_requests(school) < first_night
    second_night = attendance_requests(school)
    assert night(school).problems == []
    assert attendance_requests(school) == second_night


def test_a_class_that_many_have_left_is_read_by_its_sessions(make_world: Callable[..., World]) -> None:
    """It has met fewer times than students have left it."""
    world = make_world("new_term")
    window = AttendanceOptions(window_days=0)
    options = world.settings.options.model_copy(update={"attendance": window})
    assert night(world, options=options).problems == []
    hand = Hand(world)
    class_id = min(hand.classes(10101), key=lambda candidate: len(hand.sessions[candidate]))
    assert len(hand.sessions[class_id]) < 10
    for member in hand.members[class_id][1:]:
        hand.leave(member)
    assert night(world, options=options, accept_vanished=True).problems == []
    assert untrue(world) == {}
    students = attendance_requests(world)["students"]
    # Those who show whether there were other sessions, of all classes and of this one.
    assert 0 < students < 8


@pytest.mark.parametrize("reading", [{"ignored": ["id_in"]}, {"unlisted": "422"}])
def test_a_platform_without_the_filter_by_id_is_asked_for_all_classes(
    make_world: Callable[..., World], reading: dict[str, Any]
) -> None:
    world = make_world("small", unknown_ids="404", **reading)
    assert world.load().problems == []
    hand = Hand(world)
    first, *_ = hand.classes(10101)
    hand.leave(hand.members[first][0])
    load = world.load()
    assert load.problems == []
    assert differences(world) == {}
    statuses = [row["status"] for row in load.log if row["resource"] == "classes"]
    assert statuses and set(statuses) == {"ok"}


@pytest.mark.slow
def test_three_hundred_changes_of_all_kinds_leave_nothing_that_is_not_named(
    make_world: Callable[..., World],
) -> None:
    world = make_world("two_semesters", students=60)
    assert world.load(select=LOADED).problems == []
    assert untrue(world) == {}
    assert unseen(world) == {}
    hand = Hand(world)
    for semester in (OVER, CURRENT):
        left = []
        for class_id, for_good in zip(hand.classes(semester), cycle([True, False]), strict=False):
            for member in list(hand.members[class_id])[::6]:
                left.append((class_id, member["row"]["reflection_id"]))
                hand.leave(member, for_good=for_good)
        for class_id, student in left[::2]:
            hand.join(class_id, student)
        scores, items, grades = (
            hand.alive(name, semester) for name in ("scores", "assessment_items", "grades")
        )
        for score, grade in zip(scores[::30], grades[::7], strict=False):
            hand.change("scores", score["key"], score="3")
            graded = [
                entry["key"]
                for entry in grades
                if entry["row"]["source_id"] == score["row"]["assessment_id"]
                and entry["row"]["owner_id"] == score["row"]["owner_id"]
            ]
            for key in graded:
                hand.change("grades", key, suggest_score="3")
            hand.change("grades", grade["key"], review="改")
        for item in items[1::9]:
            hand.change("assessment_items", item["key"], weight=3)
        hand.destroy("assessment_items", items[-1]["key"])
        hand.destroy("grades", grades[-1]["key"])
    assert sum(hand.changes.values()) >= 300
    before = len(truth(world).keys() ^ held(world).keys())
    assert before > 1000
    load = night(world)
    assert load.problems == []
    assert untrue(world) == {}

    # What leaves no trace in what a night reads. The scores of a class that somebody has joined a moment ago
    # are read again.
    class_id, record = hand.classes(OVER)[0], next(iter(truth(world).values()))
    quiet = hand.alive("scores", OVER)[-1]
    world.platform.update("scores", quiet["key"], review="补记")
    world.platform.update("classes", class_id, touch=False, grade_ids=[])
    world.platform.update(RECORDS, record["id"], status="lated")
    world.platform.update("grades", hand.alive("grades", CURRENT)[0]["key"], touch=False, level="Z")
    assert night(world).problems == []
    week = next(row["_week"] for row in world.held(RECORDS) if row["id"] == record["id"])
    differing = {
        *((name, f"{SCHOOL}:{CURRENT if name == 'grades' else OVER}") for name in differences(world)),
        (RECORDS, f"{SCHOOL}:{OVER}:{week}"),
    }
    assert {name for name, _ in differing} == {"scores", "classes", "grades", RECORDS}
    assert held(world) != truth(world)
    assert differing <= unseen(world).keys()
    assert not world.publish().problem
    query = "SELECT resource, slice, unseen FROM quality.freshness WHERE unseen IS NOT NULL"
    with duckdb.connect(str(world.settings.published), read_only=True) as con:
        shown = {(resource, slice): words for resource, slice, words in con.execute(query).fetchall()}
    assert shown == unseen(world)

    assert night(world, full=True).problems == []
    assert untrue(world) == {}
    assert unseen(world) == {}
