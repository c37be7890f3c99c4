"""What a tutor acts on: absences left, patterns of absence, growth, examinations beside coursework, and items
that differ by group. Each figure is worked out again by scipy, numpy or counting."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from itertools import product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.kits.models.builds import Build
from warehouse.publish.models.dbt_project import compiled

Row = dict[str, Any]
Make = Callable[..., duckdb.DuckDBPyConnection]

FIRST_DAY, WEEKS = date(2026, 3, 2), 12
LAST_DAY = FIRST_DAY + timedelta(7 * WEEKS - 3)
LOADED_ON = FIRST_DAY + timedelta(7 * 6 + 2)
#: Marts have four decimals, percentages two and chances six.
EXACT, PERCENT, CHANCE = 5.1e-5, 5.1e-3, 5.1e-7
ATTENDANCE = ("attendance_student_day", "attendance_student_semester", "attendance_student_pattern")
GRADES = ("grade_student_semester", "grade_student_growth")
ITEMS = ("score_item_analysis", "grade_class_exam_coursework", "score_item_group_difference")
SLOWLY = settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture(scope="module")
def school(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Makes a school of the given rows of core, and the named marts on it."""
    file = tmp_path_factory.mktemp("tutors") / "campus.duckdb"
    file.write_bytes(healthy.file.read_bytes())
    with duckdb.connect(str(file)) as connection:
        tables = "select table_name from duckdb_tables() where schema_name = 'core'"
        for (table,) in connection.execute(tables).fetchall():
            connection.execute(f"delete from core.{table}")
        connection.execute("begin")

        def make(marts: Sequence[str], **tables: list[Row]) -> duckdb.DuckDBPyConnection:
            connection.execute("rollback")
            connection.execute("begin")
            for name, rows in ({"dim_semester": [_semester()]} | tables).items():
                stamped = [{"school_id": 1} | row for row in rows]
                connection.register("rows", pl.DataFrame(stamped, infer_schema_length=None).to_arrow())
                connection.execute(f"insert into core.{name} by name from rows")
            for name in marts:
                query = compiled()["nodes"][f"model.campus.{name}"]["compiled_code"]
                connection.execute(f"create or replace table marts.{name} as {query}")
            return connection

        yield make


def _semester(**columns: Any) -> Row:
    semester = {
        "semester_id": 20,
        "first_day": FIRST_DAY,
        "last_day": LAST_DAY,
        "week_1_on": FIRST_DAY,
        "week_count": WEEKS,
        "is_over": False,
        "is_current": True,
        "is_deleted": False,
        "never_loaded": [],
        "loaded_on": LOADED_ON,
    }
    return semester | columns


def _rows(connection: duckdb.DuckDBPyConnection, mart: str, condition: str = "true") -> list[Row]:
    rows: list[Row] = connection.sql(f"select * from marts.{mart} where {condition}").pl().to_dicts()
    return rows


def _students(number: int, **columns: Callable[[int], Any]) -> list[Row]:
    return [
        {"student_id": n, "cohort_id": 1, "is_deleted": False}
        | {name: value(n) for name, value in columns.items()}
        for n in range(number)
    ]


# Attendance


def _record(student: int, day: date, lesson: int, is_absent: bool, course: int = 1) -> Row:
    return {
        "semester_id": 20,
        "course_class_id": course,
        "student_id": student,
        "date": day,
        "week": (day - FIRST_DAY).days // 7 + 1,
        "weekday": day.isoweekday(),
        "lesson": lesson,
        "is_present": not is_absent,
        "is_absent": is_absent,
        "is_late": False,
        "is_early_left": False,
        "is_leave": False,
        "counts_in_denominator": True,
    }


def _school_days(until: date = LOADED_ON) -> list[date]:
    days = (FIRST_DAY + timedelta(n) for n in range(7 * WEEKS))
    return [day for day in days if day.isoweekday() < 6 and day < until]


def _dates() -> list[Row]:
    return [
        {
            "semester_id": 20,
            "date": FIRST_DAY + timedelta(n),
            "week": n // 7 + 1,
            "weekday": n % 7 + 1,
            "is_teaching_day": n % 7 < 5,
        }
        for n in range((LAST_DAY - FIRST_DAY).days + 1)
    ]


#: Course class, weekday, lesson, first and last week, week type (1: odd weeks, 2: even ones).
TIMES = (
    (1, 1, 1, 1, None, 0),
    (1, 3, 2, 1, None, 1),
    (1, 5, 2, 1, 9, 2),
    (2, 1, 4, 8, None, 0),
    (2, 6, 1, 1, None, 0),  # a Saturday, no teaching day
    (3, 2, 1, 1, None, 0),  # of a class that the student has left
)


def _timetable() -> list[Row]:
    names = ("course_class_id", "weekday", "lesson", "first_week", "last_week", "week_type")
    return [{"semester_id": 20, **dict(zip(names, time, strict=True))} for time in TIMES]


def _planned(taken: Sequence[tuple[int, date, int]] = ()) -> list[tuple[int, date, int]]:
    """The lessons ahead of a student in classes 1 and 2, day by day."""
    ahead = []
    for day in (LOADED_ON + timedelta(n) for n in range((LAST_DAY - LOADED_ON).days + 1)):
        week = (day - FIRST_DAY).days // 7 + 1
        for course, weekday, lesson, first, last, kind in TIMES:
            is_week = first <= week <= (last or WEEKS) and (kind == 0 or week % 2 == kind % 2)
            is_here = course < 3 and weekday == day.isoweekday() < 6
            if is_week and is_here and (course, day, lesson) not in taken:
                ahead.append((course, day, lesson))
    return ahead


def _memberships(students: int) -> list[Row]:
    return [
        {
            "semester_id": 20,
            "course_class_id": course,
            "student_id": n,
            "is_expected": True,
            "attendance_records": 0,
            "left_on": FIRST_DAY if course == 3 else None,
        }
        for n in range(students)
        for course in (1, 2, 3)
    ]


def _taken(course: int, day: date, lesson: int) -> Row:
    return {
        "semester_id": 20,
        "course_class_id": course,
        "date": day,
        "lesson": lesson,
        "state": "recorded",
    }


def test_absences_left_by_the_timetable_by_hand(school: Make) -> None:
    """30 lessons, two missed; of those ahead, one of the day of the load was taken and is recorded."""
    records = [_record(0, day, 1, n < 2) for n, day in enumerate(_school_days()[:30])]
    taken = (1, LOADED_ON, 2)
    assert taken in _planned()
    connection = school(
        ATTENDANCE[:2],
        dim_student=_students(1),
        dim_date=_dates(),
        fct_timetable=_timetable(),
        bridge_class_student=_memberships(1),
        fct_class_session=[_taken(*taken)],
        fct_attendance=records,
    )
    [row] = _rows(connection, "attendance_student_semester")
    ahead = len(_planned([taken]))
    assert (row["absences_left_by"], row["planned_lessons"]) == ("planned", ahead)
    assert row["absences_left"] == -(-(30 + ahead) // 10) - 2
    [row] = _rows(
        school(ATTENDANCE[:2], dim_student=_students(1), fct_attendance=records),
        "attendance_student_semester",
    )
    # (2 + 2) / (30 + 2) = 12.5 %, (2 + 1) / (30 + 1) = 9.7 %.
    assert (row["absences_left"], row["absences_left_by"], row["planned_lessons"]) == (2, "recorded", None)


@pytest.mark.parametrize(
    ("days", "semester", "students"),
    [
        (9, {}, _students(1)),
        (20, {"is_over": True}, _students(1)),
        (20, {"never_loaded": ["students"]}, []),
    ],
    ids=["too few days", "over", "unknown students"],
)
def test_absences_left_are_not_known(school: Make, days: int, semester: Row, students: list[Row]) -> None:
    tables = {"dim_student": students} if students else {}
    connection = school(
        ATTENDANCE[:2],
        dim_semester=[_semester(**semester)],
        fct_attendance=[_record(0, day, 1, False) for day in _school_days()[:days]],
        **tables,
    )
    [row] = _rows(connection, "attendance_student_semester")
    assert row["recorded"] == days
    assert row["absences_left"] is row["absences_left_by"] is row["planned_lessons"] is None


STUDENTS = 12


def _random_records(random: np.random.Generator) -> list[Row]:
    return [
        _record(student, day, lesson, bool(random.random() < student / 80))
        for student in range(STUDENTS)
        for day in _school_days()[: 12 + student]
        for lesson in (1, 2)
    ]


@SLOWLY
@given(seed=st.integers(0, 2**32 - 1), with_timetable=st.booleans())
def test_so_many_absences_reach_the_limit_and_no_fewer(school: Make, seed: int, with_timetable: bool) -> None:
    records = _random_records(np.random.default_rng(seed))
    tables: dict[str, list[Row]] = {"dim_student": _students(STUDENTS)}
    if with_timetable:
        tables |= {
            "dim_date": _dates(),
            "fct_timetable": _timetable(),
            "bridge_class_student": _memberships(STUDENTS),
        }

    def semesters(rows: list[Row]) -> dict[int, Row]:
        connection = school(ATTENDANCE[:2], **tables, fct_attendance=rows)
        return {row["student_id"]: row for row in _rows(connection, "attendance_student_semester")}

    before = semesters(records)
    ahead = _planned()
    for fewer in (0, 1):
        later = list(records)
        for student, row in before.items():
            further = max(row["absences_left"] - fewer, 0)
            if with_timetable:
                # The first ones are missed, the others attended.
                later += [
                    _record(student, day, lesson, n < further, course)
                    for n, (course, day, lesson) in enumerate(ahead)
                ]
            else:
                day = _school_days()[0]
                later += [_record(student, day, 100 + n, True, 2) for n in range(further)]
        after = semesters(later)
        for student, row in before.items():
            is_within_reach = not with_timetable or row["absences_left"] <= len(ahead)
            if row["absences_left"] >= fewer:
                assert after[student]["is_chronic"] == (fewer == 0 and is_within_reach)


def _class_records(
    random: np.random.Generator, students: int, misses: Callable[[int, date], float]
) -> list[Row]:
    """Four lessons a day, of three courses in turn; some miss a day, or now and then a lesson."""
    records = []
    for student, day in product(range(students), _school_days()):
        is_away = random.random() < misses(student, day)
        for lesson in range(1, 5):
            is_absent = bool(is_away or random.random() < 0.03)
            records.append(_record(student, day, lesson, is_absent, 1 + (day.toordinal() + lesson) % 3))
    return records


def _in_classes(students: int) -> list[Row]:
    return [
        {"semester_id": 20, "student_id": n, "admin_class_id": 501 + n % 2, "is_inferred": False}
        for n in range(students)
    ]


def _patterns(school: Make, records: list[Row], students: int) -> list[Row]:
    connection = school(
        ATTENDANCE,
        dim_student=_students(students),
        bridge_student_admin_class=_in_classes(students),
        fct_attendance=records,
    )
    return _rows(connection, "attendance_student_pattern")


def _cells(records: list[Row]) -> dict[tuple[str, int, int], tuple[int, int]]:
    """Recorded and absent by kind, cell and student, counted one by one."""
    by_day: dict[tuple[int, date], list[Row]] = {}
    for row in records:
        by_day.setdefault((row["student_id"], row["date"]), []).append(row)
    cells: dict[tuple[str, int, int], tuple[int, int]] = {}

    def count(kind: str, cell: int, student: int, is_absent: bool) -> None:
        recorded, absent = cells.get((kind, cell, student), (0, 0))
        cells[kind, cell, student] = (recorded + 1, absent + is_absent)

    for (student, day), rows in by_day.items():
        missed = [row["is_absent"] for row in rows]
        is_absent_day = 2 * sum(missed) >= len(missed)
        count("weekday", day.isoweekday(), student, is_absent_day)
        if is_absent_day:
            continue
        for row in rows:
            count("lesson", row["lesson"], student, row["is_absent"])
        for course in {row["course_class_id"] for row in rows}:
            of_course = [row["is_absent"] for row in rows if row["course_class_id"] == course]
            count("course", course, student, 2 * sum(of_course) >= len(of_course))
    return cells


def _chance(cells: dict[tuple[str, int, int], tuple[int, int]], kind: str, cell: int, student: int) -> float:
    """By scipy: Fisher's noncentral hypergeometric distribution."""
    others = [
        other
        for of_kind, of_cell, other in cells
        if (of_kind, of_cell) == (kind, cell)
        and other != student
        and (kind == "course" or other % 2 == student % 2)
    ]

    def everywhere(people: Sequence[int]) -> np.ndarray:
        counts = np.array([cells[key] for key in cells if key[0] == kind and key[2] in people])
        sums: np.ndarray = counts.sum(axis=0)
        return sums

    recorded, absent = cells[kind, cell, student]
    others_recorded, others_absent = np.sum([cells[kind, cell, other] for other in others], axis=0)
    all_recorded, all_absent = everywhere([student])
    others_all_recorded, others_all_absent = everywhere(others)
    odds = (recorded * (others_all_recorded - others_recorded)) / (
        (all_recorded - recorded) * others_recorded
    )
    distribution = stats.nchypergeom_fisher(
        all_absent + others_all_absent, absent + others_absent, all_absent, odds
    )
    return float(distribution.sf(absent - 1))


def _holm(chances: list[float]) -> list[float]:
    order = np.argsort(chances)
    adjusted, greatest = np.zeros(len(chances)), 0.0
    for place, index in enumerate(order):
        greatest = max(greatest, (len(chances) - place) * chances[index])
        adjusted[index] = min(greatest, 1)
    return list(adjusted)


def test_chances_of_patterns_against_scipy(school: Make) -> None:
    random = np.random.default_rng(11)
    records = _class_records(
        random, 10, lambda student, day: 0.02 + student / 60 + 0.1 * (day.isoweekday() == 5)
    )
    # Who came late into the class has fewer days, and another share of each cell.
    records = [row for row in records if row["student_id"] != 3 or row["date"].day % 3]
    cells = _cells(records)
    rows = _patterns(school, records, 10)
    assert len(rows) == len(cells)
    for student in range(10):
        of_student = [row for row in rows if row["student_id"] == student]
        for row in of_student:
            recorded, absent = cells[row["pattern_type"], row["pattern_key"], student]
            assert (row["recorded"], row["absent"]) == (recorded, absent)
            assert row["cells_compared"] == len(of_student) == 5 + 4 + 3
        chances = [_chance(cells, row["pattern_type"], row["pattern_key"], student) for row in of_student]
        assert [float(row["p_value"]) for row in of_student] == pytest.approx(chances, abs=CHANCE)
        adjusted = [float(row["p_value_adjusted"]) for row in of_student]
        assert adjusted == pytest.approx(_holm(chances), abs=CHANCE)
        assert [row["is_pattern"] for row in of_student] == [chance <= 0.05 for chance in _holm(chances)]


def test_who_stays_away_on_mondays_is_seen(school: Make) -> None:
    """Six of seven Mondays, and one other day; the class misses one day in twenty."""
    random = np.random.default_rng(12)
    mondays = [day for day in _school_days() if day.isoweekday() == 1]
    away = {*mondays[:6], _school_days()[3]}
    records = _class_records(random, 60, lambda student, day: float(day in away) if student == 4 else 0.05)
    [pattern] = [row for row in _patterns(school, records, 60) if row["is_pattern"]]
    assert (pattern["student_id"], pattern["pattern_en"], pattern["pattern_zh"]) == (4, "Mondays", "星期一")
    assert (pattern["recorded"], pattern["absent"]) == (7, 6)


def test_a_day_that_everybody_misses_is_no_pattern(school: Make) -> None:
    random = np.random.default_rng(13)
    records = _class_records(random, 20, lambda _, day: 0.5 if day.isoweekday() == 5 else 0.02)
    assert not [row for row in _patterns(school, records, 20) if row["is_pattern"]]


def test_without_a_pattern_few_are_seen(school: Make) -> None:
    """At most one student in twenty is marked, and at most so many chances are small as they say."""
    random = np.random.default_rng(14)
    rows = _patterns(school, _class_records(random, 120, lambda student, _: 0.02 + student / 900), 120)
    marked = {row["student_id"] for row in rows if row["is_pattern"]}
    assert stats.binomtest(len(marked), 120, 0.05, alternative="greater").pvalue > 0.001
    for level in (0.01, 0.05, 0.2):
        share = np.mean([float(row["p_value"]) <= level for row in rows])
        assert share < level * 1.3


def test_without_others_there_is_no_chance(school: Make) -> None:
    rows = _patterns(school, _class_records(np.random.default_rng(15), 1, lambda *_: 0.1), 1)
    assert {row["p_value"] for row in rows} == {row["is_pattern"] for row in rows} == {None}


# Growth


def _grades(random: np.random.Generator, students: int, drift: np.ndarray, spread: float) -> list[Row]:
    """Two earlier semesters and one now, six courses each; a student's level drifts by so much at last."""
    ability = random.normal(75, 8, students)
    return [
        {
            "semester_id": semester,
            "grade_id": 1000 * semester + 10 * student + course,
            "source": "class",
            "course_class_id": course,
            "course_name": f"course {course}",
            "student_id": student,
            "full_score": 100.0,
            "real_score": percent,
            "score_percent": percent,
            "weight": 1.0,
            "is_passed": percent >= 60,
            "counts_in_statistics": True,
        }
        for semester, student, course in product((18, 19, 20), range(students), range(6))
        if semester != 18 or student % 3
        for percent in [
            float(
                np.round(
                    ability[student]
                    + 2 * course
                    + (drift[student] if semester == 20 else 0)
                    + random.normal(0, spread),
                    2,
                )
            )
        ]
    ]


SEMESTERS = [
    _semester(),
    _semester(semester_id=19, first_day=date(2025, 9, 1), is_over=True),
    _semester(semester_id=18, first_day=date(2025, 3, 1), is_over=True),
]


def _growth(school: Make, grades: list[Row], students: int, cohorts: int = 1) -> list[Row]:
    connection = school(
        GRADES,
        dim_semester=SEMESTERS,
        dim_student=_students(students, cohort_id=lambda n: 1 + n % cohorts),
        fct_grade=grades,
    )
    return _rows(connection, "grade_student_growth", "semester_id = 20")


def test_growth_against_numpy(school: Make) -> None:
    random = np.random.default_rng(21)
    grades = _grades(random, 80, random.normal(0, 4, 80), 6)
    rows = _growth(school, grades, 80, cohorts=2)
    frame = pl.DataFrame(grades).with_columns(cohort=pl.col("student_id") % 2 + 1)
    means = pl.col("score_percent").mean().over("semester_id", "cohort", "course_name")
    frame = frame.with_columns(deviation=pl.col("score_percent") - means)
    for cohort in (1, 2):
        of_cohort = {row["student_id"]: row for row in rows if row["cohort_id"] == cohort}
        assert len(of_cohort) == 40
        variances = (
            frame.filter(pl.col("cohort") == cohort)
            .group_by("semester_id", "student_id")
            .agg(variance=pl.col("deviation").var() / 6, rate=pl.col("score_percent").mean())
        )
        usual = dict(variances.group_by("semester_id").agg(pl.col("variance").mean()).iter_rows())
        now, before, error_now, error_before, past = {}, {}, {}, {}, {}
        for student in of_cohort:
            values = {
                semester: (rate, variance)
                for semester, rate, variance in variances.filter(pl.col("student_id") == student)
                .select("semester_id", "rate", "variance")
                .iter_rows()
            }
            now[student], error_now[student] = values.pop(20)
            past[student] = list(values)
            before[student] = np.mean([rate for rate, _ in values.values()])
            error_before[student] = sum(error for _, error in values.values()) / len(values) ** 2
            assert of_cohort[student]["earlier_semesters"] == len(values)
        rates = np.array(list(before.values()))
        reliability = 1 - np.mean(list(error_before.values())) / rates.var(ddof=1)
        slope = stats.linregress(rates, list(now.values())).slope / reliability
        means_of = np.mean(list(now.values())) - slope * rates.mean()
        growth = {n: now[n] - means_of - slope * before[n] for n in of_cohort}
        chances = {}
        for student, row in of_cohort.items():
            error = (error_now[student] + slope**2 * error_before[student]) ** 0.5
            parts = [
                usual[20],
                *(slope**2 * usual[earlier] / len(past[student]) ** 2 for earlier in past[student]),
            ]
            degrees = sum(parts) ** 2 / sum(part**2 / 5 for part in parts)
            assert float(row["earlier_reliability"]) == pytest.approx(reliability, abs=EXACT)
            assert float(row["growth"]) == pytest.approx(growth[student], abs=2 * EXACT)
            assert float(row["growth_se"]) == pytest.approx(error, abs=2 * EXACT)
            assert row["growth_students"] == 40
            chances[student] = 2 * stats.t.sf(abs(growth[student]) / error, degrees)
            reach = stats.t.ppf(0.975, degrees) * error
            ends = [
                stats.percentileofscore(list(growth.values()), growth[student] + sign * reach, "weak")
                for sign in (-1, 1)
            ]
            median = stats.percentileofscore(list(growth.values()), growth[student], kind="mean")
            names = ("growth_percentile", "growth_percentile_low", "growth_percentile_high")
            assert [float(row[name]) for name in names] == pytest.approx([median, *ends], abs=PERCENT)
        adjusted = stats.false_discovery_control(list(chances.values()))
        for student, chance in zip(chances, adjusted, strict=True):
            row = of_cohort[student]
            assert float(row["p_value_adjusted"]) == pytest.approx(chance, rel=2e-3, abs=1e-6)
            assert row["is_distinguishable"] == (row["p_value_adjusted"] <= 0.05)


@SLOWLY
@given(seed=st.integers(0, 2**32 - 1))
def test_growth_of_nobody_is_chance(school: Make, seed: int) -> None:
    """Where nobody grows, percentiles are uniform at every level, and few are distinguishable."""
    random = np.random.default_rng(seed)
    rows = _growth(school, _grades(random, 100, np.zeros(100), 6), 100)
    percentiles = np.array([float(row["growth_percentile"]) for row in rows])
    assert stats.kstest(percentiles / 100, "uniform").pvalue > 0.9
    assert sum(row["is_distinguishable"] for row in rows) <= 3


def test_growth_does_not_go_with_ability(school: Make) -> None:
    """With a slope that chance has made too flat, it goes with ability by 0.3."""
    random = np.random.default_rng(24)
    correlations = []
    for _ in range(8):
        grades = [row for row in _grades(random, 100, np.zeros(100), 10) if row["semester_id"] != 18]
        # A second paper, which no rate has seen, shows what each student knows.
        ability = pl.DataFrame(grades).filter(
            pl.col("course_name").is_in(["course 0", "course 1", "course 2"])
        )
        seen = [row for row in grades if row["course_class_id"] > 2]
        levels = dict(ability.group_by("student_id").agg(pl.col("score_percent").mean()).iter_rows())
        rows = _growth(school, seen, 100)
        growth = [float(row["growth"]) for row in rows]
        correlations.append(stats.pearsonr(growth, [levels[row["student_id"]] for row in rows]).statistic)
    assert abs(np.mean(correlations)) < 0.1, "eight times a hundred: a standard error of 0.035"


def test_growth_is_not_known_where_earlier_rates_are_chance(school: Make) -> None:
    random = np.random.default_rng(25)
    rows = _growth(school, _grades(random, 60, np.zeros(60), 60), 60)
    assert {row["earlier_reliability"] < 0.5 for row in rows} == {True}
    assert {row["growth"] for row in rows} == {row["is_distinguishable"] for row in rows} == {None}


def test_who_grows_is_seen(school: Make) -> None:
    random = np.random.default_rng(22)
    drift = np.where(np.arange(60) == 7, 15.0, 0.0)
    rows = {row["student_id"]: row for row in _growth(school, _grades(random, 60, drift, 3), 60)}
    assert rows[7]["growth_percentile"] > 98
    assert rows[7]["is_distinguishable"]


def test_growth_of_few_is_not_known(school: Make) -> None:
    random = np.random.default_rng(23)
    rows = _growth(school, _grades(random, 29, np.zeros(29), 6), 29)
    assert {row["growth_students"] for row in rows} == {29}
    for name in ("expected_score_rate", "growth", "growth_se", "growth_percentile", "is_distinguishable"):
        assert {row[name] for row in rows} == {None}


# Items


NAMES = ("期中考试", "期末考试", "作业", "笔记", "发言")


def _items_of(scores: list[Row], classes: int) -> dict[str, list[Row]]:
    grouped = pl.DataFrame(scores).group_by("assessment_id", "assessment_item_id")
    sums = grouped.agg(valid_scores=pl.len(), score_sum=pl.col("score").sum()).to_dicts()
    items = [
        row
        | {
            "semester_id": 20,
            "course_class_id": row["assessment_id"],
            "item_name": NAMES[row["assessment_item_id"] % 10],
            "full_score": 10.0,
        }
        for row in sums
    ]
    tree = [
        {"assessment_item_id": row["assessment_item_id"], "level_1_name": row["item_name"]} for row in items
    ]
    courses = [{"course_class_id": n, "course_name": f"course {n % 2}"} for n in range(classes)]
    return {
        "fct_item_score": scores,
        "fct_assessment_item": items,
        "dim_assessment_item": tree,
        "dim_course_class": courses,
    }


def _item_scores(
    random: np.random.Generator, sizes: Sequence[int], gap: Callable[[int, int], float], gaps: float = 0.0
) -> list[Row]:
    """Marks of ten by ability and luck in classes of these sizes; a student of class 2 is 2000 or more."""
    scores = []
    for number, size in enumerate(sizes):
        for place in range(size):
            student, ability = 1000 * number + place, random.normal(0, 1)
            for item in range(len(NAMES)):
                if size > 20 and random.random() < gaps:
                    continue
                mark = 6 + 1.3 * ability + random.normal(0, 1.5) + gap(student, item)
                scores.append(
                    {
                        "assessment_id": number,
                        "assessment_item_id": 10 * number + item,
                        "student_id": student,
                        "is_valid": True,
                        "score": float(np.clip(np.round(2 * mark) / 2, 0, 10)),
                    }
                )
    return scores


def _people(scores: list[Row], is_girl: Callable[[int], bool]) -> list[Row]:
    return [
        {"student_id": n, "gender": "f" if is_girl(n) else "m", "cohort_id": 1, "is_deleted": False}
        for n in sorted({row["student_id"] for row in scores})
    ]


def test_examinations_beside_coursework_against_scipy(school: Make) -> None:
    random = np.random.default_rng(31)
    sizes = (40, 25, 8, 4)
    scores = _item_scores(
        random, sizes, lambda student, item: -0.8 * (item < 2) * (student < 1000), gaps=0.04
    )
    rows = {
        row["assessment_id"]: row
        for row in _rows(school(ITEMS, **_items_of(scores, 4)), "grade_class_exam_coursework")
    }
    differences = {}
    for (assessment,), part in pl.DataFrame(scores).group_by("assessment_id"):
        wide = part.pivot(on="assessment_item_id", index="student_id", values="score").drop_nulls()
        marks = wide.select(sorted(name for name in wide.columns if name != "student_id")).to_numpy()
        examinations, coursework = 5 * marks[:, :2].sum(axis=1), 10 / 3 * marks[:, 2:].sum(axis=1)
        differences[assessment] = examinations - coursework
        row = rows[assessment]
        assert (row["students"], row["examination_items"], row["coursework_items"]) == (len(marks), 2, 3)
        rates = [float(row[name]) for name in ("examination_rate", "coursework_rate")]
        assert rates == pytest.approx([examinations.mean(), coursework.mean()], abs=PERCENT)
        if len(marks) < 5:
            assert row["difference"] is row["difference_low"] is row["is_distinguishable"] is None
            continue
        paired = stats.ttest_rel(examinations, coursework)
        interval = paired.confidence_interval(0.95)
        measured = [float(row[f"difference{end}"]) for end in ("", "_low", "_high")]
        expected = [differences[assessment].mean(), interval.low, interval.high]
        assert measured == pytest.approx(expected, abs=2 * PERCENT)
        assert row["is_distinguishable"] == (paired.pvalue < 0.05)
    assert rows[0]["is_distinguishable"]
    assert rows[3]["difference"] is None
    for own, other in ((0, 2), (2, 0), (1, 3), (3, 1)):
        assert rows[own]["others_students"] == len(differences[other])
        assert float(rows[own]["others_difference"]) == pytest.approx(differences[other].mean(), abs=PERCENT)


def _mantel_haenszel(scores: list[Row], is_girl: Callable[[int], bool], course: int, item: int) -> Row:
    """Odds ratio and interval of an item over the classes of a course, stratum by stratum."""
    tables: list[np.ndarray] = []
    for assessment in {row["assessment_id"] for row in scores if row["assessment_id"] % 2 == course}:
        marks: dict[int, dict[int, float]] = {}
        for row in scores:
            if row["assessment_id"] == assessment:
                marks.setdefault(row["student_id"], {})[row["assessment_item_id"] % 10] = row["score"]
        complete = {n: own for n, own in marks.items() if len(own) == len(NAMES)}
        totals = {n: sum(own.values()) for n, own in complete.items()}
        mean = np.mean([own[item] for own in complete.values()])
        strata: dict[int, np.ndarray] = {}
        for student, own in complete.items():
            lower = sum(total < totals[student] for total in totals.values())
            table = strata.setdefault(5 * lower // len(totals), np.zeros((2, 2)))
            table[int(not is_girl(student)), int(own[item] < mean - 1e-9)] += 1
        tables += strata.values()
    r = s = pr = ps_qr = qs = 0.0
    for (a, b), (c, d) in tables:
        size = a + b + c + d
        of_r, of_s, p, q = a * d / size, b * c / size, (a + d) / size, (b + c) / size
        r, s = r + of_r, s + of_s
        pr, ps_qr, qs = pr + p * of_r, ps_qr + p * of_s + q * of_r, qs + q * of_s
    error = (pr / (2 * r * r) + ps_qr / (2 * r * s) + qs / (2 * s * s)) ** 0.5
    ends = [float(np.log(r / s) + sign * 1.959964 * error) for sign in (0, -1, 1)]
    girls = int(sum(table[0].sum() for table in tables))
    return {"ends": [float(np.exp(end)) for end in ends], "girls": girls, "error": error}


def _is_girl(student: int) -> bool:
    return student % 2 == 0


def _group_differences(school: Make, scores: list[Row], is_girl: Callable[[int], bool]) -> list[Row]:
    tables = _items_of(scores, 4) | {"dim_student": _people(scores, is_girl)}
    return _rows(school(ITEMS, **tables), "score_item_group_difference", "group_type = 'gender'")


def test_items_that_differ_by_group_by_hand(school: Make) -> None:
    random = np.random.default_rng(32)
    # The last item of course 0 is easier for girls.
    scores = _item_scores(
        random,
        (60, 50, 70, 20),
        lambda student, item: 1.8 * (item == 4 and _is_girl(student) and student // 1000 != 1),
    )
    rows = {
        (row["course_name"], row["item_path"]): row for row in _group_differences(school, scores, _is_girl)
    }
    assert len(rows) == 2 * len(NAMES)
    for course, item in product((0, 1), range(len(NAMES))):
        row = rows[f"course {course}", NAMES[item]]
        expected = _mantel_haenszel(scores, _is_girl, course, item)
        assert (row["students"], row["classes"], row["group_code"]) == (expected["girls"], 2, "f")
        measured = [float(row[f"odds_ratio{end}"]) for end in ("", "_low", "_high")]
        assert measured == pytest.approx(expected["ends"], rel=1e-4, abs=EXACT)
        delta = 2.35 * np.log(expected["ends"][0])
        assert float(row["mh_delta"]) == pytest.approx(delta, abs=EXACT)
        if abs(delta) < 1 or expected["ends"][1] <= 1 <= expected["ends"][2]:
            assert row["ets_class"] == "A"
        else:
            is_large = abs(delta) >= 1.5 and abs(delta) - 1.644854 * 2.35 * expected["error"] > 1
            assert row["ets_class"] == ("C" if is_large else "B")
    assert rows["course 0", "发言"]["ets_class"] == "C"
    assert rows["course 0", "发言"]["odds_ratio_low"] > 1


@SLOWLY
@given(seed=st.integers(0, 2**32 - 1))
def test_groups_dealt_at_random_differ_by_chance_alone(school: Make, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = _item_scores(random, (60, 60, 60, 60), lambda *_: 0.0)
    girls = set(random.permutation(sorted({row["student_id"] for row in scores}))[:120])
    for row in _group_differences(school, scores, lambda student: student in girls):
        low, ratio, high = (np.log(float(row[f"odds_ratio{end}"])) for end in ("_low", "", "_high"))
        # Five standard errors: one in a million.
        assert abs(ratio) < 5 * (high - low) / 3.92


@pytest.mark.parametrize(("girls", "is_suppressed"), [(4, True), (29, False)])
def test_items_of_few_are_not_judged(school: Make, girls: int, is_suppressed: bool) -> None:
    scores = _item_scores(np.random.default_rng(33), (80,), lambda *_: 0.0)
    rows = _group_differences(school, scores, lambda student: student < girls)
    assert {row["students"] for row in rows} == {girls}
    assert {row["is_suppressed"] for row in rows} == {is_suppressed}
    for name in ("odds_ratio", "odds_ratio_low", "odds_ratio_high", "mh_delta", "ets_class"):
        assert {row[name] for row in rows} == {None}
