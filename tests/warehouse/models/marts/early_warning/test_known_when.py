"""What happens after a week changes none of its flags, or the row says that it is assumed.

A platform is a timeline of each row. A warehouse that reads it each night stores what it sees, as loads do.
The models judge the same school twice: with and without an event after the week."""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from tests.kits.models.raw_tables import create_raw
from tests.kits.models.simulated_school import fill
from warehouse.publish.models.compiled_models import Project, read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import Built, run

FIRST_DAY, WEEKS, STUDENTS, ITEMS, LESSONS = date(2025, 9, 1), 6, 5, 7, 3
LAST_DAY = FIRST_DAY + timedelta(days=7 * WEEKS - 3)
CLASSES = {11: 7, 12: 8}
#: Of the semester before: its id, class and assessment. A guest has marks and a grade, and no membership.
EARLIER, EARLIER_CLASS, EARLIER_ASSESSMENT, GUEST = 10, 13, 9, STUDENTS + 1
WEEK = "core.early_warning_week"
TABLES = (
    *("classes", "class_members", "assessments", "assessment_items"),
    *("scores", "grades", "attendance_records"),
)
#: The last has no rule, so that it counts in no rate.
STATUSES = ("absent", "normal", "lated", "unheard of")
#: Tables of which the warehouse keeps earlier rows, and those whose changes it logs.
PAST, LOGGED = ("attendance_records", "class_members", "scores", "grades"), ("scores", "grades")
Values = dict[str, Any]


@dataclass
class Timeline:
    """A row of the platform: its key, and its values from a moment on; None: it is gone."""

    table: str
    key: Values
    states: list[tuple[datetime, Values | None]] = field(default_factory=list)

    def at(self, moment: datetime) -> Values | None:
        return next((values for since, values in reversed(self.states) if since <= moment), None)

    def change(self, moment: datetime, **values: Any) -> None:
        """Change values from a moment on, in later states too."""
        before = self.at(moment)
        assert before is not None
        self.states = [(since, state) for since, state in self.states if since <= moment]
        self.states.append((moment, before | values))

    def end(self, moment: datetime) -> None:
        self.states = [(since, state) for since, state in self.states if since <= moment]
        self.states.append((moment, None))


Platform = dict[tuple[str, int], Timeline]


def _day(number: int, hour: int = 10) -> datetime:
    return datetime.combine(FIRST_DAY + timedelta(days=number), time(hour))


def _week_ends(week: int) -> datetime:
    return datetime.combine(min(FIRST_DAY + timedelta(days=7 * week - 1), LAST_DAY), time(23))


def _platform(random: Random) -> Platform:
    """A school in which marks are made late, and scores are filled, exempted and changed later."""
    rows: Platform = {}

    def add(table: str, number: int, since: datetime, **values: Any) -> Timeline:
        row = rows[table, number] = Timeline(table, {} if table == "class_members" else {"id": number})
        row.states.append((since, values))
        return row

    for course_class, assessment in CLASSES.items():
        add("classes", course_class, _day(-20), semester_id=20, csin=f"C{course_class}", name="课")
        add("assessments", assessment, _day(-20), class_id=course_class, semester_id=20, full_score="100")
        for student in range(1, STUDENTS + 1):
            number = 10 * course_class + student
            values = {"class_id": course_class, "reflection_id": student, "type": "student", "membership": 1}
            member = add("class_members", number, _day(-20), created_at=_day(-20), deleted_at=None, **values)
            if random.random() < 0.1:
                left = _day(random.randrange(7, 40))
                member.change(left, deleted_at=left)
            created = _day(random.randrange(3, 38))
            grade = add(
                "grades", number, created, source="class", source_id=assessment, owner_id=student,
                semester_id=20, full_score="100", score=str(random.randrange(30, 100)), credit="2",
                status="published", published_at=created, updated_at=created,
            )  # fmt: skip
            if random.random() < 0.4:
                _regrade(random, grade, created + timedelta(days=random.randrange(1, 20)))
        for item in range(10 * assessment, 10 * assessment + ITEMS):
            begun = random.randrange(0, 38)
            add(
                "assessment_items", item, _day(-20), assessment_id=assessment, pid=0, type="item",
                full_score="10", scoring_type="score", name="题", published_at=None,
            )  # fmt: skip
            for student in range(1, STUDENTS + 1):
                _add_score(random, add, item, student, begun)
    earlier = {"semester_id": EARLIER, "full_score": "100"}
    add("classes", EARLIER_CLASS, _day(-90), csin="C13", name="课", semester_id=EARLIER)
    add("assessments", EARLIER_ASSESSMENT, _day(-90), class_id=EARLIER_CLASS, **earlier)
    for student in range(1, STUDENTS + 1):
        add(
            "grades", 10 * EARLIER_CLASS + student, _day(-60), source="class", source_id=EARLIER_ASSESSMENT,
            owner_id=student, score=str(random.randrange(30, 100)), credit="2", status="published",
            published_at=_day(-60), updated_at=_day(-60), **earlier,
        )  # fmt: skip
    add(
        "grades", 10 * 12 + GUEST, _day(2), source="class", source_id=CLASSES[12], owner_id=GUEST, score="95",
        semester_id=20, full_score="100", credit="2", status="published", published_at=_day(2),
        updated_at=_day(2),
    )  # fmt: skip
    for day in range(14, 7 * WEEKS - 2, 7):
        _add_mark(random, add, day, GUEST, 1)
    for day in range(7 * WEEKS - 2):
        if day % 7 < 5:
            for number in range(STUDENTS * LESSONS):
                student, lesson = number // LESSONS + 1, number % LESSONS + 1
                _add_mark(random, add, day, student, lesson)
    return rows


def _add_score(random: Random, add: Callable[..., Timeline], item: int, student: int, begun: int) -> None:
    created = _day(begun + random.randrange(3))
    given, is_exempt = random.random() < 0.6, random.random() < 0.1
    score = add(
        "scores", 10 * item + student, created, assessment_id=item // 10, item_id=item, owner_id=student,
        type="item_score", valid=not is_exempt, score="7" if given else None,
        created_at=created, updated_at=created,
    )  # fmt: skip
    changed = created + timedelta(days=random.randrange(1, 15))
    if random.random() < 0.3:
        score.change(changed, updated_at=changed, **random.choice(SCORE_CHANGES))


SCORE_CHANGES: tuple[Values, ...] = ({"score": "5"}, {"score": None}, {"valid": False}, {"valid": True})


def _regrade(random: Random, grade: Timeline, moment: datetime) -> None:
    grade.change(moment, score=str(random.randrange(30, 100)), updated_at=moment)


def _add_mark(random: Random, add: Callable[..., Timeline], day: int, student: int, lesson: int) -> None:
    luck, delay = random.random(), random.choice([0] * 8 + [1, 9])
    if luck < 0.03:
        return
    status = STATUSES[-1] if luck > 0.9 else "absent" if luck < 0.06 * student else "normal"
    made = _day(day + delay)
    mark = add(
        "attendance_records", 1000 * (day + 1) + 10 * student + lesson, made, class_id=11, student_id=student,
        checked_at=_day(day).date(), lesson=lesson, status=status,
        created_date=made.date(), created_time="10:00",
    )  # fmt: skip
    if random.random() < 0.1:
        mark.change(
            made + timedelta(days=random.randrange(1, 15)),
            status=random.choice(STATUSES),
        )


def _make_event(random: Random, rows: Platform, name: str, week: int, moment: datetime) -> None:
    """Let something happen at a moment after the week, to a row that has to do with the week."""
    course_class = random.choice(list(CLASSES))
    alive = {key: row for key, row in rows.items() if row.at(moment) is not None}

    def pick(table: str, condition: Callable[[Values], bool] = lambda values: True) -> Timeline | None:
        chosen = [row for key, row in alive.items() if key[0] == table and condition(row.at(moment) or {})]
        return random.choice(chosen) if chosen else None

    def drop(*tables: str, condition: Callable[[Values], bool]) -> None:
        for key, row in alive.items():
            if key[0] in tables and condition(row.key | (row.at(moment) or {})):
                row.end(moment)

    in_week = lambda values: datetime.combine(values["checked_at"], time()) <= _week_ends(week)  # noqa: E731
    match name:
        case "mark made":
            mark = pick("attendance_records", in_week)
            if mark is not None:
                values = mark.at(moment) or {}
                copy = Timeline("attendance_records", {"id": 10**6})
                made = {
                    "lesson": 9,
                    "status": "absent",
                    "created_date": moment.date(),
                    "created_time": "10:00",
                }
                copy.states.append((moment, values | made))
                rows["attendance_records", 10**6] = copy
        case "mark changed" | "mark deleted" | "mark repeated":
            mark = pick("attendance_records", in_week)
            if mark is not None and name == "mark changed":
                moved = {"created_date": moment.date()} if random.random() < 0.5 else {}
                mark.change(moment, status=random.choice(STATUSES), **moved)
            elif mark is not None and name == "mark deleted":
                mark.end(moment)
            elif mark is not None:
                again = Timeline("attendance_records", {"id": 10**6 + 1})
                made = {"status": "absent", "created_date": moment.date(), "created_time": "10:00"}
                again.states.append((moment, (mark.at(moment) or {}) | made))
                rows["attendance_records", 10**6 + 1] = again
        case "score filled":
            score = pick("scores", lambda values: values["score"] is None)
            if score is not None:
                score.change(moment, score="9", updated_at=moment)
        case "score emptied":
            score = pick("scores", lambda values: values["score"] is not None)
            if score is not None:
                score.change(moment, score=None, updated_at=moment)
        case "score exempted":
            score = pick("scores", lambda values: values["valid"])
            if score is not None:
                score.change(moment, valid=False, updated_at=moment)
        case "score deleted":
            score = pick("scores")
            if score is not None:
                score.end(moment)
        case "item deleted":
            item = random.choice(range(10 * CLASSES[course_class], 10 * CLASSES[course_class] + ITEMS))
            drop("assessment_items", condition=lambda values: values["id"] == item)
            drop("scores", condition=lambda values: values["item_id"] == item)
        case "class left" | "class left without a time":
            member = pick("class_members", lambda values: values["deleted_at"] is None)
            if member is not None and name == "class left":
                member.change(moment, deleted_at=moment)
            elif member is not None:
                member.end(moment)
        case "class deleted":
            assessment = CLASSES[course_class]
            drop("classes", condition=lambda values: values["id"] == course_class)
            drop("class_members", "assessments", condition=lambda values: values["class_id"] == course_class)
            drop("assessment_items", "scores", condition=lambda values: values["assessment_id"] == assessment)
            drop("grades", condition=lambda values: values["source_id"] == assessment)
        case "item added" | "item gets parts":
            assessment = CLASSES[course_class]
            leaf = rows["assessment_items", 10 * assessment + random.randrange(ITEMS)]
            parent = leaf.key["id"] if name == "item gets parts" else 0
            part = Timeline("assessment_items", {"id": 10 * assessment + 9})
            part.states.append((moment, (leaf.at(moment) or {}) | {"pid": parent, "full_score": "60"}))
            rows["assessment_items", part.key["id"]] = part
        case "full score changed":
            changed = pick("assessment_items")
            if changed is not None:
                changed.change(moment, full_score=random.choice(("1", "90")))
        case "guest joins" | "guest joins without a time":
            joined = moment if name == "guest joins" else None
            member = Timeline("class_members", {})
            values = {"class_id": 12, "reflection_id": GUEST, "type": "student", "membership": 1}
            member.states.append((moment, values | {"created_at": joined, "deleted_at": None}))
            rows["class_members", 10**6] = member
        case "grade deleted" | "grade changed" | "earlier grade deleted" | "earlier grade changed":
            is_earlier = name.startswith("earlier")
            grade = pick("grades", lambda values: (values["semester_id"] == EARLIER) == is_earlier)
            if grade is not None and name.endswith("deleted"):
                grade.end(moment)
            elif grade is not None:
                _regrade(random, grade, moment)


LOGGED_EVENTS = (
    *(
        "mark made",
        "mark changed",
        "mark deleted",
        "mark repeated",
        "score filled",
        "score emptied",
        "score exempted",
    ),
    *(
        "score deleted",
        "item deleted",
        "class left",
        "class left without a time",
        "class deleted",
        "grade deleted",
    ),
    *("grade changed", "earlier grade changed", "earlier grade deleted"),
    *("item added", "item gets parts", "full score changed", "guest joins", "guest joins without a time"),
)
#: What happened before the first load leaves only the platform's own times.
DATED_EVENTS = (
    "mark made",
    "mark repeated",
    "score filled",
    "score exempted",
    "class left",
    "grade changed",
    "earlier grade changed",
    "item added",
    "item gets parts",
    "guest joins",
    "guest joins without a time",
)


def _seen(row: Timeline, nights: Sequence[datetime]) -> list[tuple[datetime, Values | None]]:
    """What these nights saw of a row, each with the first night that saw it."""
    seen: list[tuple[datetime, Values | None]] = []
    for night in nights:
        values = row.at(night)
        if values != (seen[-1][1] if seen else None):
            seen.append((night, values))
    return seen


def _nights(first_load: datetime) -> list[datetime]:
    return [first_load + timedelta(days=day) for day in range((_day(7 * WEEKS + 60) - first_load).days)]


def _warehouse(rows: Platform, first_load: datetime) -> dict[str, list[Values]]:
    """What a warehouse has that has read the platform each night since its first load."""
    nights = _nights(first_load)
    tables: dict[str, list[Values]] = {name: [] for name in (*TABLES, "past_rows", "changes")}
    for row in rows.values():
        seen = _seen(row, nights)
        if not seen:
            continue
        last = next(values for _, values in reversed(seen) if values is not None)
        gone = {"_deleted_at": seen[-1][0]} if seen[-1][1] is None else {}
        tables[row.table].append(row.key | last | gone | {"_synced_at": seen[-1][0]})
        for (since, values), (until, after) in pairwise(seen):
            if row.table in PAST:
                stored = (
                    row.key
                    | (values or {})
                    | {"_synced_at": since}
                    | ({} if values else {"_deleted_at": since})
                )
                text = {name: None if value is None else str(value) for name, value in stored.items()}
                tables["past_rows"].append(
                    {"resource": row.table, "row": json.dumps(text), "known_from": since, "known_to": until}
                )
            if row.table in LOGGED:
                tables["changes"] += _changes(row, values, after, until)
        if row.table in LOGGED and seen[0][0] > first_load:
            tables["changes"] += _changes(row, None, seen[0][1], seen[0][0], op="created")
    for name in LOGGED:
        for slice_ in ("1:20", f"1:{EARLIER}"):
            log = {"resource": name, "op": "loaded", "seen_at": first_load, "slice_version": 1}
            tables["changes"].append(log | {"slice": slice_})
    return tables


def _changes(
    row: Timeline, before: Values | None, after: Values | None, night: datetime, op: str = ""
) -> list[Values]:
    log = {
        "resource": row.table,
        "key": str(row.key["id"]),
        "seen_at": night,
        "slice_version": night.toordinal(),
        "slice": f"1:{(before or after or {}).get('semester_id', 20)}",
    }
    if before is None or after is None:
        return [log | {"op": op or ("deleted" if after is None else "returned")}]
    return [
        log | {"op": "updated", "field": name, "before": _text(before[name]), "after": _text(after[name])}
        for name in before
        if before[name] != after[name] and name != "updated_at"
    ]


def _text(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


Judge = Callable[[Platform, datetime, bool], list[Values]]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Makes core.early_warning_week of a platform and a first load, with one cohort, or one a student."""
    file = tmp_path_factory.mktemp("known when") / "campus.duckdb"
    people = range(1, GUEST + 1)
    terms = [
        {"id": n, "type": "system.graduates_in", "name": f"202{n}", "label": f"202{n}届", "parent_id": 0}
        for n in people
    ]
    end = LAST_DAY.isoformat()
    create_raw(
        file,
        {
            "schools": [{"id": 1, "name": "一中"}],
            "terms": terms,
            "semesters": [
                {"id": 20, "name": "秋季", "is_current": False, "start_at": FIRST_DAY, "end_at": LAST_DAY},
                {
                    "id": EARLIER,
                    "name": "春季",
                    "is_current": False,
                    "start_at": FIRST_DAY - timedelta(days=150),
                    "end_at": FIRST_DAY - timedelta(days=50),
                },
            ],
            "v1_semesters": [
                {
                    "id": 20,
                    "name": "秋季",
                    "start_at": FIRST_DAY,
                    "end_in": end,
                    "lesson_days": "[1, 2, 3, 4, 5]",
                }
            ],
            "students": [
                {"id": n, "name": f"生{n}", "role": "student", "usin": f"{n}", "graduates_in_id": 1}
                for n in people
            ],
            "reflections": [{"id": n, "role": "student"} for n in people],
            "v1_users": [{"id": n, "role": 1, "usin": f"{n}"} for n in people],
            "v1_classes": [{"id": n, "semester_id": 20, "csin": f"C{n}", "name": "课"} for n in CLASSES],
        },
    )
    with duckdb.connect(str(file)) as connection:
        connection.execute("update quality.load_log set platform_day = date '2026-03-01'")
    models = {model.name: model for model in read_project(compiled()).models}
    needed = {WEEK}
    for name in reversed(list(models)):
        if name in needed:
            needed.update(models[name].inputs)
    project = Project(tuple(model for name, model in models.items() if name in needed), ())

    def make(rows: Platform, first_load: datetime, is_one_cohort: bool) -> list[Values]:
        tables = _warehouse(rows, first_load)
        logs = {name: tables.pop(name) for name in ("past_rows", "changes")}
        plain = json.loads(json.dumps(tables, default=str))
        with duckdb.connect(str(file)) as connection:
            for name in tables:
                connection.execute(f"delete from raw.{name}")
            cohort = "1" if is_one_cohort else "id"
            connection.execute(f"update raw.students set graduates_in_id = {cohort}")
            for name, some in logs.items():
                connection.execute(f"delete from quality.{name}")
                for row in some:
                    full = {"_school_id": 1, "slice": "1:20"} | row
                    marks = ", ".join("?" for _ in full)
                    connection.execute(
                        f"insert into quality.{name} ({', '.join(full)}) values ({marks})",
                        list(full.values()),
                    )
        fill(file, 1, plain)
        with duckdb.connect(str(file)) as connection:
            changed = {
                *(f"raw.{name}" for name in (*tables, "students")),
                *(f"quality.{name}" for name in logs),
            }
            problems = [done.problem for done in run(connection, project, changed) if isinstance(done, Built)]
            assert set(problems) == {None}, [problem for problem in problems if problem]
            rows_made: list[Values] = (
                connection.sql(f"from {WEEK} where semester_id = 20 order by week, student_id")
                .pl()
                .to_dicts()
            )
            return rows_made

    yield make


def _differences(
    before: list[Values], after: list[Values], week: int
) -> list[tuple[str, Values | None, Values | None]]:
    """The known rows up to this week that differ, but for known_when, and are not assumed."""
    sides = [
        {
            (row["week"], row["student_id"]): row
            for row in rows
            if row["week"] <= week and row["known_when"] is not None
        }
        for rows in (before, after)
    ]
    assert sides[0]
    differences = []
    for key in sides[0].keys() | sides[1].keys():
        pair = sides[0].get(key), sides[1].get(key)
        whens = {row["known_when"] for row in pair if row is not None}
        flags = [row and {name: value for name, value in row.items() if name != "known_when"} for row in pair]
        if flags[0] != flags[1] and "assumed" not in whens:
            names = [name for name in flags[0] or {} if (flags[0] or {})[name] != (flags[1] or {}).get(name)]
            differences.append((f"week {key[0]}, student {key[1]}: {names}", *pair))
    return differences


#: Each example builds two schools, so that shrinking would take minutes.
EXAMPLES = settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
FIRST_LOAD = _day(-8, 2)


@EXAMPLES
@given(seed=st.integers(0, 2**32 - 1), week=st.integers(1, WEEKS - 1))
def test_rates_are_those_of_what_was_stored(judge: Judge, seed: int, week: int) -> None:
    """Rates from the nights up to the end of the week, and marks that were made by then."""
    rows = _platform(Random(seed))
    nights = _nights(FIRST_LOAD)
    judged = {(row["week"], row["student_id"]): row for row in judge(rows, FIRST_LOAD, True)}
    night = datetime.combine(_week_ends(week).date(), time(2))
    stored = {key: _stored(row, nights, night) for key, row in rows.items()}
    for student in range(1, STUDENTS + 1):
        memberships = [rows["class_members", 10 * n + student].at(_day(60)) or {} for n in CLASSES]
        if any(values["deleted_at"] for values in memberships):
            continue
        row = judged[week, student]
        marks = [
            values["status"]
            for (table, _), values in stored.items()
            if table == "attendance_records"
            and values is not None
            and values["student_id"] == student
            and values["status"] in STATUSES[:3]
        ]
        assert row["attendance_rate"] == _percent(sum(mark != "absent" for mark in marks), len(marks))
        begun = {key[1] // 10 for key in rows if key[0] == "scores" and _has_begun(rows[key], nights, night)}
        scores = [stored["scores", 10 * item + student] for item in begun]
        missing = sum(values is None or (values["score"] is None and values["valid"]) for values in scores)
        assert row["missing_rate"] == _percent(missing, len(scores))


def _stored(row: Timeline, nights: Sequence[datetime], night: datetime) -> Values | None:
    """The row as of a night; a mark that was made by that day, as the next night sees it."""
    seen = _seen(row, nights)
    if row.table == "attendance_records" and seen and seen[0][0] > night:
        values = seen[0][1]
        return values if values is not None and values["created_date"] <= night.date() else None
    return next((values for since, values in reversed(seen) if since <= night), None)


def _has_begun(row: Timeline, nights: Sequence[datetime], night: datetime) -> bool:
    return any(
        since <= night and values and values["score"] is not None for since, values in _seen(row, nights)
    )


def _percent(numerator: int, denominator: int) -> Decimal | None:
    if not denominator:
        return None
    return (Decimal(100 * numerator) / denominator).quantize(Decimal("0.01"), ROUND_HALF_UP)


@EXAMPLES
@given(seed=st.integers(0, 2**32 - 1), week=st.integers(1, WEEKS - 1))
def test_the_other_weeks_of_a_semester_change_no_flag(judge: Judge, seed: int, week: int) -> None:
    """The school as it is, and as if nothing had happened in it after the week."""
    rows = _platform(Random(seed))
    ends = _week_ends(week)
    ended = {
        key: Timeline(row.table, row.key, [state for state in row.states if state[0] <= ends])
        for key, row in rows.items()
        if row.at(ends) is not None
    }
    before, after = (judge(world, FIRST_LOAD, True) for world in (ended, rows))
    assert {row["known_when"] for row in after} <= {"recorded", "dated", None}
    assert _differences(before, after, week) == []


@EXAMPLES
# What rests on others: the worst tenth, and the mean of the cohort.
@example(seed=27, event="mark repeated", week=4)
@example(seed=5007, event="class deleted", week=5)
@example(seed=1, event="guest joins without a time", week=2)
@given(seed=st.integers(0, 2**32 - 1), event=st.sampled_from(LOGGED_EVENTS), week=st.integers(1, WEEKS - 1))
def test_what_is_logged_later_changes_no_flag(judge: Judge, seed: int, event: str, week: int) -> None:
    """Of a warehouse that has read the school since before the semester."""
    random = Random(seed)
    rows = _platform(random)
    later = deepcopy(rows)
    moment = _week_ends(week) + timedelta(days=random.randrange(1, 12), hours=random.randrange(1, 20))
    _make_event(random, later, event, week, moment)
    before, after = (judge(world, FIRST_LOAD, True) for world in (rows, later))
    assert {row["known_when"] for row in before} <= {"recorded", "dated", None}
    assert _differences(before, after, week) == []


@EXAMPLES
@given(seed=st.integers(0, 2**32 - 1), event=st.sampled_from(LOGGED_EVENTS), week=st.integers(1, WEEKS - 1))
def test_what_happened_before_the_first_load_is_dated_or_assumed(
    judge: Judge, seed: int, event: str, week: int
) -> None:
    random = Random(seed)
    rows = _platform(random)
    moment = _week_ends(week) + timedelta(days=random.randrange(1, 12), hours=random.randrange(1, 20))
    is_logged = random.random() < 0.6 or event not in DATED_EVENTS
    first_load = moment + timedelta(days=-1 if is_logged else random.randrange(1, 40))
    first_load = datetime.combine(first_load.date(), time(2))
    later = deepcopy(rows)
    _make_event(random, later, event, week, moment)
    before, after = (judge(world, first_load, False) for world in (rows, later))
    early = [row for row in before if row["ends_on"] < first_load.date()]
    assert "recorded" not in {row["known_when"] for row in early}
    assert _differences(before, after, week) == []
