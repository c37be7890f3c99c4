"""The morning list and figures of classes beside the same by plain Python from the platform's own answers."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from statistics import median
from typing import Any

import pytest

from tests.kits.models.builds import Build, Builder
from tests.kits.models.morning_school import (
    CLASSES,
    GONE,
    GUARDIANS,
    LOG,
    MADE_UP,
    OVER,
    RECORDS,
    SEMESTERS,
    TABLES,
    V1_IDS,
)


@pytest.fixture(scope="module")
def school(build: Builder) -> Build:
    built = build("morning", TABLES)
    assert built.problems == {}
    return built


def _last_marks() -> Mapping[tuple[int, date, int, int], tuple[str, str]]:
    """The status and the label that count, by student, day, course class and lesson: those marked last."""
    ordered = sorted(RECORDS, key=lambda record: (record["created_date"], record["created_time"]))
    of_v1 = {v1_id: key for key, v1_id in V1_IDS.items()}
    return {
        (record["student_id"], date.fromisoformat(record["checked_at"]), key, record["lesson"]): (
            record["status"],
            record["absence_label"].strip(),
        )
        for record in ordered
        if SEMESTERS[key := of_v1[record["class_id"]]] != OVER
        and record["student_id"] != GONE
        and record["status"] != "on_errand"
    }


def _last_day() -> date:
    """The last day with the records of at least half of the usual number of students."""
    students = defaultdict[date, set[int]](set)
    for record in RECORDS:
        if record["class_id"] != V1_IDS[15] and record["status"] != "on_errand":
            students[date.fromisoformat(record["checked_at"])].add(record["student_id"])
    usual = median(map(len, students.values()))
    return max(day for day, present in students.items() if 2 * len(present) >= usual)


def _reason(missed: list[tuple[int, str]]) -> str:
    labels = {label for _, label in missed}
    if not missed:
        return "late"
    return "unexcused" if labels == {""} else "both" if "" in labels else "leave"


def _phones(student: int) -> str | None:
    phones = sorted(
        f"{guardian['name']} {guardian['phone']}"
        for guardian in GUARDIANS
        if guardian["student_id"] == student and str(guardian["phone"]).strip()
    )
    return ", ".join(phones) or None


def _talk(student: int) -> tuple[date | None, str | None, str | None]:
    """The latest row of the log: of a day with several the first kind by name."""
    rows = sorted((row for row in LOG if row["student_id"] == student), key=lambda row: str(row["kind"]))
    if not rows:
        return None, None, None
    latest: Mapping[str, Any] = max(rows, key=lambda row: str(row["date"]))
    return date.fromisoformat(latest["date"]), latest["kind"], latest.get("done_by")


def _class_of(student: int) -> int | None:
    return next((key for key, students in CLASSES.items() if student in students), None)


def test_the_morning_list_is_what_the_platform_answered(school: Build) -> None:
    last_day = _last_day()
    assert last_day == MADE_UP
    days = defaultdict[tuple[date, int], list[tuple[int, str, str]]](list)
    for (student, day, _, lesson), mark in _last_marks().items():
        if day >= last_day:
            days[day, student].append((lesson, *mark))
    expected = {}
    for (day, student), marks in days.items():
        missed = [(lesson, label) for lesson, status, label in marks if status.startswith("absent")]
        late = sum(status == "lated" for _, status, _ in marks)
        if missed or late:
            talk = _talk(student)
            expected[day, student] = (
                _class_of(student),
                day == last_day and len(missed) == len(marks),
                ", ".join(str(lesson) for lesson in sorted({lesson for lesson, _ in missed})) or None,
                late,
                _reason(missed),
                ", ".join(sorted({label for _, label in missed} - {""})) or None,
                _phones(student),
                *talk,
                talk[0] is not None and talk[0] >= day,
            )
    rows = school.rows(
        "select date, student_id, admin_class_id, is_away, lessons, late, reason, leave_label, phones,"
        " last_intervention_on, last_intervention, last_intervention_by, is_spoken_to from views.absence"
    )
    assert len(rows) == len(expected)
    assert {row[:2]: row[2:] for row in rows} == expected
    assert {row[6] for row in rows} == {"late", "leave", "unexcused", "both"}


def test_reasons_of_classes_are_what_the_platform_answered(school: Build) -> None:
    reasons, recorded = Counter[tuple[int, str]](), Counter[int]()
    for (student, *_), (status, label) in _last_marks().items():
        admin_class = _class_of(student)
        if admin_class is None:
            continue
        recorded[admin_class] += 1
        if status.startswith("absent"):
            reasons[admin_class, label or "unexcused"] += 1
    rows = school.rows("select admin_class_id, reason, lessons, recorded, percent from views.absence_reason")
    assert {row[:2]: row[2:4] for row in rows} == {
        (admin_class, reason): (lessons, recorded[admin_class])
        for (admin_class, reason), lessons in reasons.items()
    }
    assert all(abs(float(percent) - 100 * lessons / of) <= 0.05 for _, _, lessons, of, percent in rows)


def test_attendance_rates_of_classes_are_of_the_marks(school: Build) -> None:
    """Of all lessons of both current semesters, with two digits."""
    present, recorded = Counter[int | None](), Counter[int | None]()
    for (student, *_), (status, _) in _last_marks().items():
        recorded[_class_of(student)] += 1
        present[_class_of(student)] += not status.startswith("absent")
    rates = dict(
        school.rows(
            "select group_id, attendance_rate from views.group_standing where group_type = 'admin_class'"
        )
    )
    assert {key: float(rate) for key, rate in rates.items()} == pytest.approx(
        {key: 100 * present[key] / recorded[key] for key in CLASSES}, abs=0.005
    )


def test_students_with_a_level_are_counted_by_their_class(school: Build) -> None:
    """Of the current semesters: whom the list of a class names, with the level of marts.early_warning."""
    levels = school.rows(
        "select semester_id, student_id, level from marts.early_warning"
        f" where semester_id <> {OVER} and student_id <> {GONE}"
    )
    counts = Counter((semester, _class_of(student), level) for semester, student, level in levels)
    assert {level for _, _, level in counts} >= {"at_risk", "warning", "none"}
    rows = school.rows(
        "select semester_id, admin_class_id, at_risk, warning, watch, well, unknown"
        f" from views.early_warning_class where semester_id <> {OVER}"
    )
    listed = {
        (semester, admin_class, level): count
        for semester, admin_class, *values in rows
        for level, count in zip(("at_risk", "warning", "watch", "none", "unknown"), values, strict=True)
        if count
    }
    assert listed == counts
    for semester, admin_class, *values in school.rows(
        "select semester_id, admin_class_id, at_risk, warning, students from views.class_semester"
    ):
        of_class = {level: count for key, level, count in _of(counts, semester) if key == admin_class}
        assert values == [of_class.get("at_risk", 0), of_class.get("warning", 0), sum(of_class.values())]


def _of(
    counts: Mapping[tuple[int, int | None, str], int], semester: int
) -> Iterator[tuple[int | None, str, int]]:
    return ((key, level, count) for (of, key, level), count in counts.items() if of == semester)
