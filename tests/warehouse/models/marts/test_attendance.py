"""Attendance marts on a school made by chance, beside the same numbers by polars and scipy from the raw rows.

Nothing is shared with the models but the platform's rows and the definitions of seeds' defaults.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

import polars as pl
import pytest
from scipy import stats

from tests.kits.models.builds import Build, Builder
from tests.kits.models.raw_tables import Rows

FIRST_DAY = date(2026, 3, 2)  # a Monday
DAYS = [FIRST_DAY + timedelta(7 * week + day) for week in range(9) for day in range(5)]
HOLIDAY = FIRST_DAY + timedelta(15)
PARTIAL_DAY = FIRST_DAY + timedelta(9)
RECORDED_THEN = 8  # students, of 23
CLASSES = {11: (1, 2), 12: (3,), 13: (4,)}  # its lessons, each day
STUDENTS = range(1, 25)
MOVED_ON = FIRST_DAY + timedelta(23)
LEFT, LEFT_ON = 22, FIRST_DAY + timedelta(44)  # the school, though no membership says so
GONE = 25  # has left as well, with all records
STATUSES = ("normal", "lated", "early_left", "absent", "absent_from_duty")
PRESENT = ["normal", "lated", "early_left"]


def _members() -> Iterator[tuple[int, int, date | None, date | None]]:
    """Class, student, first day, day of leaving: everybody is in class 11; some go from 12 to 13."""
    for student in STUDENTS:
        yield 11, student, None, None
        if student % 5 == 0:
            yield 12, student, None, MOVED_ON
            yield 13, student, MOVED_ON, None
        else:
            yield 12 + student % 2, student, None, None


def _is_there(student: int, day: date, joined: date | None, left: date | None) -> bool:
    """Whether a member of a class belongs to it on a day, and to the school."""
    return (joined or date.min) <= day < (left or date.max) and (student != LEFT or day < LEFT_ON)


def _records(luck: Random) -> Iterator[dict[str, object]]:
    """Students differ in how often they miss a day; one session in twelve is recorded of nobody, and one
    record in fifteen is left out; on one day most are."""
    for day in DAYS:
        missing = {student for student in STUDENTS if luck.random() < (student % 8) ** 2 / 110}
        for class_id, lessons in CLASSES.items():
            for lesson in lessons:
                if day == HOLIDAY or luck.random() < 1 / 12:
                    continue
                for member, student, joined, left in _members():
                    is_member = member == class_id and _is_there(student, day, joined, left)
                    if not is_member or luck.random() < 1 / 15 or student == 23:
                        continue
                    if day == PARTIAL_DAY and student > RECORDED_THEN:
                        continue
                    status = "absent" if student in missing else luck.choices(STATUSES, (85, 8, 4, 2, 1))[0]
                    yield {
                        "id": luck.getrandbits(60),
                        "class_id": class_id,
                        "student_id": student,
                        "checked_at": day,
                        "lesson": lesson,
                        "status": status,
                        "absence_label": luck.choice(["病假", ""]) if status == "absent" else "",
                        "_synced_at": "2026-07-06 02:00:00",
                    }


RECORDS = list(_records(Random(5)))
# Points of 100: who misses more has fewer, more or less.
SCORES = {student: 92 - 3 * (student % 8) - Random(student).randint(0, 20) for student in STUDENTS}
SESSIONS = [(class_id, day, lesson) for day in DAYS for class_id in CLASSES for lesson in CLASSES[class_id]]


@pytest.fixture(scope="module")
def by_chance(build: Builder) -> Build:
    """The attendance marts of such a school."""
    school: dict[str, Rows] = {
        "schools": [{"id": 1}],
        "semesters": [{"id": 20}],
        "v1_semesters": [{"id": 20, "start_at": FIRST_DAY, "end_in": "2026-07-05"}],
        "students": [
            *({"id": student, "deleted_at": LEFT_ON if student == LEFT else None} for student in STUDENTS),
            {"id": GONE, "deleted_at": LEFT_ON},
        ],
        "classes": [{"id": class_id, "semester_id": 20} for class_id in CLASSES],
        "v1_classes": [{"id": class_id, "semester_id": 20} for class_id in CLASSES],
        "class_members": [
            {
                "class_id": class_id,
                "type": "student",
                "reflection_id": student,
                "created_at": joined,
                "deleted_at": left,
            }
            for class_id, student, joined, left in (*_members(), (11, GONE, None, None))
        ],
        "attendance_sessions": [
            {
                "class_id": class_id,
                "date": day,
                "lesson": lesson,
                "scheduled": True,
                "_synced_at": "2026-07-06 02:00:00",
            }
            for class_id, day, lesson in SESSIONS
        ],
        "attendance_records": RECORDS,
        "assessments": [{"id": 7, "class_id": 11, "semester_id": 20, "full_score": "100"}],
        "grades": [
            {
                "id": student,
                "semester_id": 20,
                "source": "class",
                "source_id": 7,
                "owner_id": student,
                "full_score": "100",
                "score": str(score),
                "status": "published",
            }
            for student, score in SCORES.items()
        ],
    }
    built = build("by chance", school)
    assert built.problems == {}
    return built


@pytest.fixture(scope="module")
def counted() -> pl.DataFrame:
    """One row a student and day with a record."""
    return (
        pl.DataFrame(RECORDS)
        .with_columns(
            present=pl.col("status").is_in(PRESENT),
            late=pl.col("status") == "lated",
            week=(pl.col("checked_at") - FIRST_DAY).dt.total_days() // 7 + 1,
        )
        .group_by("student_id", "checked_at", "week")
        .agg(recorded=pl.len(), present=pl.col("present").sum(), late=pl.col("late").sum())
        .with_columns(missed=(pl.col("recorded") - pl.col("present")) * 2 >= pl.col("recorded"))
        .sort("student_id", "checked_at")
    )


def _mart(by_chance: Build, query: str) -> list[tuple[object, ...]]:
    rows = by_chance.rows(query)
    assert rows
    return rows


def test_rates_and_tiers(by_chance: Build, counted: pl.DataFrame) -> None:
    sums = counted.group_by("student_id").agg(pl.col("recorded", "present", "late").sum())
    rate = 100 * pl.col("present") / pl.col("recorded")
    expected = sums.with_columns(
        rate=rate,
        lateness=100 * pl.col("late") / pl.col("present"),
        tier=pl.when(rate <= 80)
        .then(pl.lit("severe"))
        .when(rate <= 90)
        .then(pl.lit("chronic"))
        .when(rate <= 95)
        .then(pl.lit("watch"))
        .otherwise(pl.lit("satisfactory")),
    ).sort("student_id")
    assert expected["tier"].n_unique() == 4
    shown = _mart(
        by_chance,
        "select student_id, recorded, present, late, attendance_rate::double, lateness_rate::double, tier"
        " from marts.attendance_student_semester where recorded > 0 order by all",
    )
    for row, wanted in zip(shown, expected.rows(), strict=True):
        assert row[:4] == wanted[:4]
        assert row[4:6] == pytest.approx(wanted[4:6], abs=0.005001)
        assert row[6] == wanted[6]


def test_streaks_are_runs_of_absent_days(by_chance: Build, counted: pl.DataFrame) -> None:
    runs = (
        counted.group_by("student_id", maintain_order=True)
        .agg(pl.col("missed").rle())
        .explode("missed")
        .unnest("missed")
    )
    absent = pl.when("value").then("len").otherwise(0)
    expected = runs.group_by("student_id").agg(longest=absent.max(), current=absent.last()).sort("student_id")
    assert expected["longest"].max() > 3
    assert expected["current"].max() > 0
    assert (
        _mart(
            by_chance,
            "select student_id, longest_absence_streak, current_absence_streak"
            " from marts.attendance_student_semester where recorded > 0 order by all",
        )
        == expected.rows()
    )


def test_the_trend_is_the_last_four_weeks_against_those_before(
    by_chance: Build, counted: pl.DataFrame
) -> None:
    recent = pl.col("week") > 9 - 4
    rate = 100 * pl.col("present").sum() / pl.col("recorded").sum()
    late, early = (
        counted.filter(part).group_by("student_id").agg(rate=rate.round(2, mode="half_away_from_zero"))
        for part in (recent, ~recent)
    )
    expected = early.join(late, on="student_id", suffix="_recent").sort("student_id")
    shown = _mart(
        by_chance,
        "select student_id, earlier_attendance_rate::double, recent_attendance_rate::double,"
        " attendance_rate_change::double"
        " from marts.attendance_student_semester where recorded > 0 order by all",
    )
    for (student, before, now, change), wanted in zip(shown, expected.rows(), strict=True):
        assert (student, before, now) == pytest.approx(wanted, abs=0.005001)
        assert change == pytest.approx(wanted[2] - wanted[1], abs=0.0100001)


def test_chronic_absence_by_each_profile(by_chance: Build, counted: pl.DataFrame) -> None:
    sums = counted.group_by("student_id").agg(pl.col("recorded", "present").sum(), days=pl.len())
    missed, days = 1 - pl.col("present") / pl.col("recorded") + 1e-9, pl.col("days")
    profiles = {
        "chronic_10_days": (missed >= 0.1) & (days >= 10),
        "chronic_20_days": (missed >= 0.1) & (days >= 20),
        "chronic_45_days": (missed >= 0.1) & (days >= 45),
        "uk_persistent": missed >= 0.1,
        "uk_severe": missed >= 0.5,
    }
    expected = sums.with_columns(**profiles).sort("student_id")
    shown = _mart(
        by_chance,
        "select chronic_profiles, is_chronic from marts.attendance_student_semester"
        " where recorded > 0 order by student_id",
    )
    for (names, is_chronic), wanted in zip(shown, expected.to_dicts(), strict=True):
        assert names == [name for name in profiles if wanted[name]]
        assert is_chronic == wanted["chronic_10_days"]


def test_unrecorded_sessions_are_those_of_a_member_without_a_record(by_chance: Build) -> None:
    recorded = {(row["class_id"], row["checked_at"], row["lesson"]) for row in RECORDS}
    school_days = {day for _, day, _ in recorded}
    due = [session for session in SESSIONS if session[1] in school_days]
    own = {(row["student_id"], row["class_id"], row["checked_at"], row["lesson"]) for row in RECORDS}
    expected = []
    for student in STUDENTS:
        sessions = [
            session
            for class_id, member, joined, left in _members()
            for session in due
            if (member, class_id) == (student, session[0]) and _is_there(student, session[1], joined, left)
        ]
        unrecorded = [session for session in sessions if (student, *session) not in own]
        expected.append((student, len(sessions), len(unrecorded)))
    assert (
        _mart(
            by_chance,
            "select student_id, expected, unrecorded from marts.attendance_student_semester order by all",
        )
        == expected
    )


def test_average_daily_attendance_is_a_headcount_of_attended_days(
    by_chance: Build, counted: pl.DataFrame
) -> None:
    """A day on which fewer than half of the usual number were recorded is none of them."""
    days = counted.group_by("week", "checked_at").agg(students=pl.len(), attended=(~pl.col("missed")).sum())
    whole = pl.col("students") >= days["students"].median() / 2
    assert days.filter(~whole)["checked_at"].to_list() == [PARTIAL_DAY]
    expected = (
        days.group_by("week")
        .agg(pl.col("attended").filter(whole).mean(), (~whole).sum().alias("partial"))
        .sort("week")
    )
    shown = _mart(
        by_chance,
        "select week, average_daily_attendance::double, partial_days from marts.attendance_group_week"
        " where group_type = 'school' order by all",
    )
    assert len(shown) == 9
    for row, wanted in zip(shown, expected.rows(), strict=True):
        assert row == pytest.approx(wanted, abs=0.005001)


def test_attendance_and_grades_go_together_as_scipy_finds(by_chance: Build, counted: pl.DataFrame) -> None:
    sums = counted.group_by("student_id").agg(pl.col("recorded", "present").sum())
    shares = {student: present / recorded for student, recorded, present in sums.rows()}
    expected = stats.pearsonr(list(shares.values()), [SCORES[student] for student in shares]).statistic
    assert 0.3 < expected < 0.95
    ((correlation, students, cells),) = _mart(
        by_chance,
        "select any_value(correlation)::double, sum(students), count(*) from marts.attendance_and_grades",
    )
    assert correlation == pytest.approx(expected, abs=0.00005001)
    assert students == len(STUDENTS)
    assert cells > 5
