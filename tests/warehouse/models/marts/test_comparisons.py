"""Comparisons of classes, teachers and groups, worked out again by numpy and scipy.

Intervals, shrunken figures and verdicts are also held against the truth of simulated schools."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.kits.models import marts
from tests.kits.models.builds import Build
from tests.kits.models.marts import insert, mart

Z = float(stats.norm.ppf(0.975))
#: Rates have two decimals. The quantile of t is an expansion.
PERCENT, OF_T = 0.0051, 3e-4
KEY = {"school_id": 1, "semester_id": 20}
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def school(
    healthy: Build, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., duckdb.DuckDBPyConnection]]:
    """Makes a school of one semester from rows by table."""
    # The compiled models name their database, which is called as its file.
    file = tmp_path_factory.mktemp("comparisons") / "campus.duckdb"
    file.write_bytes(healthy.file.read_bytes())
    with duckdb.connect(str(file)) as connection:
        query = "select schema_name, table_name from duckdb_tables() where schema_name in ('core', 'marts')"
        schemas = {table: schema for schema, table in connection.execute(query).fetchall()}
        for table, schema in schemas.items():
            if table != "dim_semester":
                connection.execute(f"delete from {schema}.{table}")
        connection.execute("begin")

        def make(**tables: Rows) -> duckdb.DuckDBPyConnection:
            connection.execute("rollback")
            connection.execute("begin")
            for table, rows in tables.items():
                insert(connection, table, rows, schemas[table])
            return connection

        yield make


def _wilson(share: float, observations: float) -> tuple[float, float]:
    """The shares, in percent, from which the share that was seen is Z of their standard errors away."""
    width = Z**2 / observations
    low, high = sorted(np.roots([1 + width, -(2 * share + width), share**2]).real)
    return 100 * float(low), 100 * float(high)


def _design_effect(groups: Sequence[np.ndarray]) -> float:
    """How much more students vary than with one count each; groups are columns of parts and of wholes."""
    clustered = independent = 0.0
    for part, whole in groups:
        share = part.sum() / whole.sum()
        clustered += ((part - share * whole) ** 2).sum()
        independent += whole.sum() * share * (1 - share)
    students = sum(len(part) for part, _ in groups)
    return max(clustered / independent if independent else sum(g[1].sum() for g in groups) / students, 1.0)


def _ratio(rows: np.ndarray) -> tuple[float, float]:
    """The ratio of sums in percent, and its variance by what each student adds."""
    part, whole = rows
    ratio = part.sum() / whole.sum()
    influence = (part - ratio * whole) / whole.sum()
    return 100 * ratio, 1e4 * len(part) * np.var(influence, ddof=1)


def _reliabilities(differences: Sequence[float], errors: Sequence[float]) -> np.ndarray:
    """The shares of differences that are no chance."""
    d, e = np.array(differences), np.array(errors)
    between = max(((d / e) ** 2).sum() - len(d), 0) / (1 / e**2).sum()
    return between / (between + e**2)


def _says(difference: float, error: float, reliability: float, fewest: int, quantile: float = Z) -> str:
    if fewest < 5:
        return "too few"
    ratio = abs(difference) * reliability**0.5 / error / quantile
    assert abs(ratio - 1) > 1e-3, "too near to the limit to tell by"
    if ratio < 1:
        return "not distinguishable"
    return "above" if difference > 0 else "below"


def _shares(groups: Sequence[np.ndarray], effect: float) -> tuple[list[float], list[float]]:
    """The differences of shares from those of all others, and their errors, in percentage points."""
    part, whole = (np.array([group[row].sum() for group in groups], dtype=float) for row in (0, 1))
    others, other_whole = part.sum() - part, whole.sum() - whole
    all_ = part.sum() / whole.sum()
    errors = 100 * np.sqrt(effect * all_ * (1 - all_) * (1 / whole + 1 / other_whole))
    return list(100 * (part / whole - others / other_whole)), list(errors)


def test_classes_of_a_week(school: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """Students differ, so that an interval of lessons is too narrow; one class is far below."""
    random = np.random.default_rng(3)
    records: Rows = []
    groups: dict[tuple[int, int], np.ndarray] = {}
    for week in (1, 2, 3):
        for number, size in enumerate((30, 30, 30, 30, 30, 30, 3)):
            level = 0.55 if number == 4 else 0.95
            # In week 3 nobody is absent.
            shares = np.ones(size) if week == 3 else random.beta(6 * level, 6 * (1 - level), size)
            wholes = random.integers(2, 6, size)
            parts = random.binomial(wholes, shares)
            groups[week, number] = np.array([parts, wholes])
            for student, (part, whole) in enumerate(zip(parts, wholes, strict=True)):
                records += [
                    KEY
                    | {"course_class_id": number, "week": week, "student_id": 100 * number + student}
                    | {"is_present": bool(n < part), "counts_in_denominator": True}
                    for n in range(whole)
                ]
    sessions = [
        KEY
        | {"course_class_id": number, "week": week, "state": "recorded", "recorded": int(rows[1].sum())}
        | {"present": int(rows[0].sum()), "absent": int((rows[1] - rows[0]).sum()), "late": 0}
        for (week, number), rows in groups.items()
    ]
    sessions.append(
        KEY | {"course_class_id": 9, "week": 1, "state": "unrecorded", "recorded": 0, "present": 0}
    )
    connection = school(fct_attendance=records, attendance_class_session=sessions)
    rows = {(row["week"], row["course_class_id"]): row for row in mart(connection, "attendance_class_week")}
    empty = rows.pop((1, 9))
    assert empty["recorded_students"] == 0
    assert empty["attendance_rate_low"] is empty["shrunken_rate"] is empty["verdict"] is None
    verdicts = set()
    for week in (1, 2, 3):
        of_week = [groups[week, number] for number in range(7)]
        effect = _design_effect(of_week)
        assert effect > 1.2
        differences, errors = _shares(of_week, effect)
        reliabilities = _reliabilities(differences, errors) if week < 3 else np.ones(7)
        for number, (part, whole) in enumerate(of_week):
            row = rows[week, number]
            assert row["recorded_students"] == len(part)
            low, high = _wilson(part.sum() / whole.sum(), whole.sum() / effect)
            assert float(row["attendance_rate_low"]) == pytest.approx(low, abs=PERCENT)
            assert float(row["attendance_rate_high"]) == pytest.approx(high, abs=PERCENT)
            shrunken = (1 - reliabilities[number]) * differences[number]
            rate = 100 * part.sum() / whole.sum()
            assert float(row["shrunken_rate"]) == pytest.approx(rate - shrunken, abs=PERCENT)
            expected = (
                _says(differences[number], errors[number], reliabilities[number], len(part))
                if week < 3
                else ("not distinguishable" if number < 6 else "too few")
            )
            assert row["verdict"] == expected
            verdicts.add((number, row["verdict"]))
    assert {(4, "below"), (6, "too few"), (0, "not distinguishable")} <= verdicts


def test_groups_beside_each_other(school: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """Boys miss more lessons than girls; boarders and day students are alike."""
    random = np.random.default_rng(8)
    people, attendance, grades = [], [], []
    for n in range(160):
        is_boy = n % 2 == 0
        key: dict[str, Any] = {"school_id": 1, "student_id": n}
        people.append(key | {"cohort_id": 1, "gender": "m" if is_boy else "f", "is_boarding": n % 5 < 2})
        recorded = int(random.integers(50, 90))
        present = int(random.binomial(recorded, random.beta(8, 2 if is_boy else 0.4)))
        attendance.append(
            KEY
            | {"student_id": n, "recorded": recorded, "present": present, "absent": recorded - present}
            | {"unexcused": 0, "late": 0, "is_chronic": bool(10 * present <= 9 * recorded)}
        )
        courses, failed = 8, int(random.binomial(8, random.beta(1, 9)))
        full = 100.0 * random.integers(6, 9)
        score = float(np.round(full * random.beta(16, 4 if is_boy else 3), 1))
        grades.append(
            KEY
            | {"student_id": n, "score_sum": score, "full_score_sum": full}
            | {"counted_courses": courses, "passed_courses": courses - failed, "failed_courses": failed}
        )
    connection = school(
        dim_student=people, attendance_student_semester=attendance, grade_student_semester=grades
    )
    table = pl.DataFrame(people)
    for rows_of in (attendance, grades):
        table = table.join(pl.DataFrame(rows_of).drop(*KEY), on="student_id")
    table = table.with_columns(
        students=pl.lit(1),
        kind=pl.when(pl.col("is_boarding")).then(pl.lit("boarding")).otherwise(pl.lit("day")),
        chronic=pl.col("is_chronic").cast(pl.Int64),
    )
    rows = {
        row["group_code"]: row
        for row in mart(connection, "outcome_by_group")
        if row["is_school"] and row["group_type"] != "all"
    }
    said = defaultdict(set)
    for column, codes in (("gender", ("m", "f")), ("kind", ("boarding", "day"))):
        for measure, (part, whole) in {
            "attendance": ("present", "recorded"),
            "chronic": ("chronic", "students"),
            "pass": ("passed_courses", "counted_courses"),
            "score": ("score_sum", "full_score_sum"),
        }.items():
            groups = [
                table.filter(pl.col(column) == code).select(part, whole).to_numpy().T.astype(float)
                for code in codes
            ]
            if measure == "score":
                ratios = [_ratio(group) for group in groups]
                difference = ratios[0][0] - ratios[1][0]
                differences = [difference, -difference]
                errors = [(ratios[0][1] + ratios[1][1]) ** 0.5] * 2
                quantiles = [stats.t.ppf(0.975, len(group[0]) - 1) for group in groups]
                limits = [
                    (ratio - q * variance**0.5, ratio + q * variance**0.5)
                    for (ratio, variance), q in zip(ratios, quantiles, strict=True)
                ]
            else:
                effect = 1.0 if measure == "chronic" else _design_effect(groups)
                differences, errors = _shares(groups, effect)
                limits = [_wilson(g[0].sum() / g[1].sum(), g[1].sum() / effect) for g in groups]
            reliabilities = _reliabilities(differences, errors)
            for place, code in enumerate(codes):
                row = rows[code]
                shown = float(row[f"{measure}_rate_low"]), float(row[f"{measure}_rate_high"])
                assert shown == pytest.approx(limits[place], abs=PERCENT)
                verdict = _says(
                    differences[place], errors[place], reliabilities[place], len(groups[place][0])
                )
                assert row[f"{measure}_verdict"] == verdict
                said[column].add(verdict)
    assert {"above", "below"} <= said["gender"] and said["kind"] == {"not distinguishable"}


def test_small_groups_have_no_verdict(school: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """Four boys are few, and what is hidden tells nothing."""
    people = [{"school_id": 1, "student_id": n, "gender": "m" if n < 4 else "f"} for n in range(40)]
    attendance = [
        KEY
        | {"student_id": n, "recorded": 40, "present": 20 if n < 4 else 40, "absent": 20 if n < 4 else 0}
        | {"is_chronic": n < 4}
        for n in range(40)
    ]
    connection = school(dim_student=people, attendance_student_semester=attendance)
    for row in mart(connection, "outcome_by_group"):
        assert row["is_suppressed"] is (row["group_type"] == "gender")
        assert row["attendance_verdict"] is row["pass_verdict"] is None


#: What a row of marts.outcome_by_group and rows of students both have.
SUMS = ("recorded", "absent", "unexcused", "late", "score_sum")


def test_sums_of_a_group_rebuild_no_trait(school: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """The gender of five students is not known, and one of the five has no record and no grade. Whoever has
    the rows of the students without their gender looks for the four students with these sums."""
    random = np.random.default_rng(29)
    people, attendance, grades = [], [], []
    for n in range(130):
        gender = None if n % 26 == 3 else "f" if n % 2 else "m"
        people.append({"school_id": 1, "student_id": n, "cohort_id": 1, "gender": gender})
        recorded = 0 if n == 3 else int(random.integers(50, 90))
        absent, late = (int(random.binomial(recorded, share)) for share in (0.1, 0.05))
        attendance.append(
            KEY
            | {"student_id": n, "recorded": recorded, "present": recorded - absent, "absent": absent}
            | {"unexcused": int(random.binomial(absent, 0.5)), "late": late, "is_chronic": False}
        )
        if recorded:
            grades.append(
                KEY
                | {"student_id": n, "score_sum": float(random.integers(300, 600)), "full_score_sum": 600.0}
                | {"counted_courses": 6, "passed_courses": 6, "failed_courses": 0}
            )
    connection = school(
        dim_student=people, attendance_student_semester=attendance, grade_student_semester=grades
    )
    rows = [row for row in mart(connection, "outcome_by_group") if row["group_type"] in ("all", "gender")]
    unknown = {row["student_id"] for row in people if row["gender"] is None} - {3}
    students = pl.DataFrame(attendance).join(pl.DataFrame(grades), on="student_id").to_dicts()
    assert _students_with(_sums_of_unknown(rows), students) == [unknown], "the attack works on hidden rows"
    assert _sums_of_unknown([row for row in rows if not row["is_suppressed"]]) is None
    hidden = {(row["is_school"], row["group_code"]) for row in rows if row["is_suppressed"]}
    assert {(True, "unknown"), (False, "unknown"), (False, "m"), (False, "f")} <= hidden
    assert (True, "all") not in hidden


def _sums_of_unknown(rows: Rows) -> tuple[int, ...] | None:
    """The sums of the students of unknown gender: those of a row, or what is left of the whole."""
    for is_school in (True, False):
        sums = {
            row["group_code"]: np.array([int(row[name]) for name in SUMS])
            for row in rows
            if row["is_school"] == is_school
        }
        if "unknown" in sums:
            return tuple(sums["unknown"].tolist())
        if {"all", "m", "f"} <= sums.keys():
            return tuple((sums["all"] - sums["m"] - sums["f"]).tolist())
    return None


def _students_with(sums: tuple[int, ...] | None, students: Rows) -> list[set[int]]:
    """The sets of four students with these sums, by pairs of pairs."""
    counts = {row["student_id"]: np.array([int(row[name]) for name in SUMS]) for row in students}
    pairs = defaultdict(list)
    for pair in combinations(counts, 2):
        pairs[tuple((counts[pair[0]] + counts[pair[1]]).tolist())].append(set(pair))
    fours: list[set[int]] = []
    for first, sets in pairs.items():
        for two, two_others in product(sets, pairs.get(tuple(np.subtract(sums, first).tolist()), ())):
            if not two & two_others and two | two_others not in fours:
                fours.append(two | two_others)
    return fours


@pytest.mark.parametrize("seed", range(12))
def test_shown_groups_give_no_small_group(
    school: Callable[..., duckdb.DuckDBPyConnection], seed: int
) -> None:
    """No sum or difference of the rows that files show is a row in which few students count."""
    random = np.random.default_rng(seed)
    people: Rows = []
    attendance: Rows = []
    # Rows and records by cohort and group.
    counts = defaultdict[tuple[int, str], list[int]](lambda: [0, 0])
    for cohort in range(int(random.integers(2, 5))):
        for gender, mean in (("f", 12), ("m", 12), (None, 3)):
            for _ in range(int(random.poisson(mean))):
                has_records = bool(random.random() < 0.8)
                key: dict[str, Any] = {"school_id": 1, "student_id": len(people)}
                people.append(key | {"cohort_id": cohort, "gender": gender})
                attendance.append(KEY | key | {"recorded": 10 * has_records, "present": 9 * has_records})
                counts[cohort, gender or "unknown"][0] += 1
                counts[cohort, gender or "unknown"][1] += has_records
    cells = list(counts)
    rows = [
        row
        for row in mart(
            school(dim_student=people, attendance_student_semester=attendance), "outcome_by_group"
        )
        if row["group_type"] != "boarding"
    ]
    sums, is_few = [], []
    for row in rows:
        of_row = [
            (row["is_school"] or cohort == row["cohort_id"]) and row["group_code"] in ("all", group)
            for cohort, group in cells
        ]
        sums.append(np.array(of_row, dtype=float))
        of_counts = (
            sum(counts[cell][n] for cell, is_in in zip(cells, of_row, strict=True) if is_in) for n in (0, 1)
        )
        is_few.append(any(0 < count < 5 for count in of_counts))
    visible = np.array([row_sum for row_sum, row in zip(sums, rows, strict=True) if not row["is_suppressed"]])
    rank = np.linalg.matrix_rank(visible)
    for row_sum, few in zip(sums, is_few, strict=True):
        assert not few or np.linalg.matrix_rank(np.vstack([visible, row_sum])) > rank


def test_teachers_beside_those_who_score_the_same(school: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """Teacher 3 gives less than the others; teacher 5 has three students; teacher 6 scores alone."""
    random = np.random.default_rng(21)
    scores: Rows = []
    groups: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for teacher, course, size in (
        (1, 0, 30),
        (2, 0, 25),
        (3, 0, 30),
        (1, 1, 20),
        (4, 1, 28),
        (5, 1, 3),
        (6, 2, 30),
    ):
        for student in range(size):
            level = random.normal(6 if teacher == 3 else 7.5, 1)
            points = np.clip(np.round(2 * (level + random.normal(0, 0.7, 4))) / 2, 0, 10)
            items = random.integers(1, 5)
            groups[teacher, course].append((points[:items].sum(), 10.0 * items))
            scores += [
                {
                    "school_id": 1,
                    "assessment_item_id": 10 * course + item,
                    "student_id": 100 * teacher + student,
                }
                | {
                    "evaluator_id": teacher,
                    "score": float(points[item]),
                    "is_valid": True,
                    "score_source": "raw",
                }
                for item in range(items)
            ]
    grades = [
        KEY
        | {
            "source": "class",
            "course_class_id": 1,
            "student_id": n,
            "suggest_score": 80.0,
            "full_score": 100.0,
        }
        | {"score": 85.0 if n < 7 else 80.0}
        for n in range(40)
    ]
    connection = school(
        fct_item_score=scores,
        fct_grade=grades,
        dim_assessment_item=[
            {"school_id": 1, "assessment_item_id": 10 * c + n, "assessment_id": c, "full_score": 10.0}
            for c in range(3)
            for n in range(4)
        ],
        dim_assessment=[KEY | {"assessment_id": c, "course_class_id": c} for c in range(3)],
        dim_course_class=[{"school_id": 1, "course_class_id": c, "course_name": f"c{c}"} for c in range(3)],
        bridge_class_teacher=[{"school_id": 1, "course_class_id": 1, "teacher_id": 4, "is_current": True}],
    )
    rows = {row["teacher_id"]: row for row in mart(connection, "grading_behaviour")}
    own, others = {}, {}
    for teacher in range(1, 6):
        courses = [course for key, course in groups if key == teacher]
        own[teacher] = np.array([row for c in courses for row in groups[teacher, c]]).T
        others[teacher] = np.array(
            [row for (key, c), part in groups.items() if c in courses and key != teacher for row in part]
        ).T
    ratios = {t: (_ratio(own[t]), _ratio(others[t])) for t in own}
    differences = [mine[0] - theirs[0] for mine, theirs in ratios.values()]
    errors = [(mine[1] + theirs[1]) ** 0.5 for mine, theirs in ratios.values()]
    said = {}
    for place, (teacher, ((_, variance), (_, other_variance))) in enumerate(ratios.items()):
        row, sizes = rows[teacher], (own[teacher].shape[1], others[teacher].shape[1])
        degrees = errors[place] ** 4 / (variance**2 / (sizes[0] - 1) + other_variance**2 / (sizes[1] - 1))
        quantile = stats.t.ppf(0.975, degrees)
        assert row["shared_students"] == sizes[0]
        limits = float(row["leniency_low"]), float(row["leniency_high"])
        expected = [differences[place] + sign * quantile * errors[place] for sign in (-1, 1)]
        assert limits == pytest.approx(expected, rel=3e-3 if degrees < 4 else OF_T, abs=PERCENT)
        reliability = _reliabilities(differences, errors)[place]
        assert float(row["shrunken_leniency"]) == pytest.approx(differences[place] * reliability, abs=PERCENT)
        said[teacher] = _says(differences[place], errors[place], reliability, min(sizes), quantile)
        assert row["verdict"] == said[teacher]
    assert said[3] == "below" and said[5] == "too few"
    assert rows[6]["verdict"] is rows[6]["leniency_low"] is rows[6]["shrunken_leniency"] is None
    assert rows[6]["shared_students"] == 0
    wilson = stats.binomtest(7, 40).proportion_ci(method="wilson")
    limits = float(rows[4]["override_rate_low"]), float(rows[4]["override_rate_high"])
    assert limits == pytest.approx((100 * wilson.low, 100 * wilson.high), abs=PERCENT)


def test_rolls_of_teachers(school: Callable[..., duckdb.DuckDBPyConnection]) -> None:
    """Teacher 0 takes half of the rolls, teacher 3 has had four sessions, teacher 4 none."""
    counts = {0: (40, 20), 1: (60, 57), 2: (50, 48), 3: (4, 1), 5: (55, 53)}
    sessions = [
        {**KEY, "course_class_id": teacher, "state": "recorded" if n < taken else "unrecorded"}
        for teacher, (due, taken) in counts.items()
        for n in range(due)
    ]
    teachers = [KEY | {"course_class_id": t, "teacher_id": t, "is_current": True} for t in (*counts, 4)]
    connection = school(fct_class_session=sessions, bridge_class_teacher=teachers)
    rows = {row["teacher_id"]: row for row in mart(connection, "teacher_load")}
    groups = [np.array([[taken], [due]]) for due, taken in counts.values()]
    differences, errors = _shares(groups, 1)
    reliabilities = _reliabilities(differences, errors)
    for place, (teacher, (due, taken)) in enumerate(counts.items()):
        row = rows[teacher]
        wilson = stats.binomtest(taken, due).proportion_ci(method="wilson")
        limits = float(row["held_rate_low"]), float(row["held_rate_high"])
        assert limits == pytest.approx((100 * wilson.low, 100 * wilson.high), abs=PERCENT)
        shrunken = 100 * taken / due - (1 - reliabilities[place]) * differences[place]
        assert float(row["shrunken_held_rate"]) == pytest.approx(shrunken, abs=PERCENT)
        assert row["verdict"] == _says(differences[place], errors[place], reliabilities[place], due)
    assert (rows[0]["verdict"], rows[3]["verdict"], rows[4]["verdict"]) == ("below", "too few", None)
    assert rows[4]["held_rate"] is None and rows[4]["held_rate_low"] is None


def test_distributions_count_students_and_not_grades(
    school: Callable[..., duckdb.DuckDBPyConnection],
) -> None:
    """Who is good in one course is good in the next, so that ten grades of a student are no ten students."""
    random = np.random.default_rng(4)
    ability = random.normal(70, 12, 60)
    grades = []
    for student, level in enumerate(ability):
        for course in range(int(random.integers(2, 8))):
            percent = float(np.round(np.clip(random.normal(level, 4), 0, 100), 1))
            grades.append(
                KEY
                | {
                    "student_id": student,
                    "course_class_id": course,
                    "source": "class",
                    "score_percent": percent,
                }
                | {"is_passed": percent >= 60, "counts_in_statistics": True, "real_score": percent}
                | {"full_score": 100.0}
            )
    connection = school(
        fct_grade=grades,
        dim_student=[{"school_id": 1, "student_id": n, "cohort_id": n % 2} for n in range(60)],
        dim_course_class=[{"school_id": 1, "course_class_id": c, "course_name": f"c{c}"} for c in range(7)],
    )
    table = pl.DataFrame(grades).with_columns(cohort=pl.col("student_id") % 2, all=pl.lit(""))
    rows = {(row["group_type"], row["group_key"]): row for row in mart(connection, "grade_distribution")}
    for kind, column in (("school", "all"), ("cohort", "cohort"), ("course_class", "course_class_id")):
        groups = {
            str(key): part.group_by("student_id").agg(
                points=pl.col("score_percent").sum(), passed=pl.col("is_passed").sum(), grades=pl.len()
            )
            for (key,), part in table.group_by(column)
        }
        effect = _design_effect([part.select("passed", "grades").to_numpy().T for part in groups.values()])
        assert (effect > 2) == (kind != "course_class")
        for key, part in groups.items():
            row = rows[kind, key]
            mean, variance = _ratio(part.select("points", "grades").to_numpy().T)
            half = stats.t.ppf(0.975, len(part) - 1) * variance**0.5
            limits = float(row["mean_low"]), float(row["mean_high"])
            assert limits == pytest.approx(((mean - half) / 100, (mean + half) / 100), abs=4e-5 * half)
            passed, count = part["passed"].sum(), part["grades"].sum()
            shown = float(row["pass_rate_low"]), float(row["pass_rate_high"])
            assert shown == pytest.approx(_wilson(passed / count, count / effect), abs=PERCENT)


@pytest.fixture(scope="module")
def macros() -> Any:
    return marts.macros("numbers", "intervals")


def _sql(query: str, **tables: pl.DataFrame) -> pl.DataFrame:
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table.to_arrow())
        return connection.sql(query).pl()


COMPARED = """
    with compared as (
        select *, {reliability} as reliability from (select *, {error} as error from simulated)
        window of_world as (partition by world)
    )
    select *, {verdict} as verdict from compared
"""


def _worlds(
    macros: Any, random: np.random.Generator, groups: int, spread: float, worlds: int
) -> pl.DataFrame:
    """Verdicts on groups of 30 students, sd 12, whose true means differ by this spread."""
    truth = random.normal(0, 1, (worlds, groups)) * spread
    means = truth + random.normal(0, 12 / 30**0.5, truth.shape)
    scale = groups / (groups - 1)
    true_difference = scale * (truth - truth.mean(axis=1, keepdims=True))
    difference = scale * (means - means.mean(axis=1, keepdims=True))
    simulated = pl.DataFrame(
        {
            "world": np.repeat(np.arange(worlds), groups),
            "truth": true_difference.ravel(),
            "difference": difference.ravel(),
        }
    )
    error = (144 / 30 * scale) ** 0.5
    query = COMPARED.format(
        error=error,
        reliability=macros.reliability("error", macros.between_variance("difference", "error", "of_world")),
        verdict=macros.verdict("difference", "error", "reliability", "30", "5"),
    )
    return _sql(query, simulated=simulated)


@pytest.mark.parametrize("groups", [2, 3, 6, 20, 60])
def test_verdicts_where_nothing_differs(macros: Any, groups: int) -> None:
    """One course in twenty has a class that seems to differ, however many classes it has."""
    said = _worlds(macros, np.random.default_rng(11), groups, 0, 4000)
    by_world = said.group_by("world").agg(is_wrong=(pl.col("verdict") != "not distinguishable").any())
    assert by_world["is_wrong"].mean() < 0.06


@pytest.mark.parametrize("groups", [2, 6, 40])
def test_shrunken_differences_are_nearer_to_the_truth(macros: Any, groups: int) -> None:
    """And what is called above is hardly ever below."""
    said = _worlds(macros, np.random.default_rng(12), groups, 3, 2000).with_columns(
        raw=(pl.col("difference") - pl.col("truth")) ** 2,
        shrunken=(pl.col("difference") * pl.col("reliability") - pl.col("truth")) ** 2,
    )
    assert said["shrunken"].mean() < 0.95 * said["raw"].mean()
    named = said.filter(pl.col("verdict") != "not distinguishable")
    assert len(named) > 100
    is_wrong = (named["difference"] > 0) != (named["truth"] > 0)
    assert is_wrong.mean() < 0.05


def test_intervals_of_clustered_shares_hold_the_truth(macros: Any) -> None:
    """Of classes of 30 students with 5 lessons each, who differ; by lessons alone far fewer would."""
    random = np.random.default_rng(13)
    classes, truth = 3000, 0.9
    parts = random.binomial(5, random.beta(truth * 2, (1 - truth) * 2, (classes, 30)))
    simulated = pl.DataFrame(
        {
            "week": np.repeat(np.arange(classes // 50), 50),
            "part": parts.sum(axis=1),
            "whole": np.full(classes, 150),
            "s_clusters": np.full(classes, 30),
            "s_part_squares": (parts**2).sum(axis=1).astype(float),
            "s_products": (parts * 5).sum(axis=1).astype(float),
            "s_whole_squares": np.full(classes, 750.0),
        }
    )
    limits = ", ".join(
        f"{macros.wilson_limit(f'(part / {effect})', f'(whole / {effect})', end)} as {end}{number}"
        for number, effect in enumerate(("effect", "1"))
        for end in ("low", "high")
    )
    query = f"""
        select {limits} from (
            select *, {macros.design_effect("s", "part", "whole", "of_week")} as effect
            from simulated window of_week as (partition by week)
        )
    """
    ends = _sql(query, simulated=simulated).cast(pl.Float64)
    covered = [
        ends.select((pl.col(f"low{n}") <= 100 * truth) & (pl.col(f"high{n}") >= 100 * truth))
        .to_series()
        .mean()
        for n in (0, 1)
    ]
    assert 0.935 < covered[0] < 0.97
    assert covered[1] < 0.85


def test_intervals_of_means_and_alphas_hold_the_truth(macros: Any) -> None:
    random = np.random.default_rng(14)
    worlds, students, items = 3000, 25, 6
    # Items of equal variance and covariance: alpha = k r / (1 + (k - 1) r), with r = 0.5.
    truth = items * 0.5 / (1 + (items - 1) * 0.5)
    marks = random.normal(0, 1, (worlds, students, 1)) + random.normal(0, 1, (worlds, students, items))
    variance = marks.sum(axis=2).var(axis=1, ddof=1)
    alphas = items / (items - 1) * (1 - marks.var(axis=1, ddof=1).sum(axis=1) / variance)
    sums = random.gamma(2, 1, (worlds, students))
    simulated = pl.DataFrame(
        {
            "alpha": alphas,
            "mean_clusters": np.full(worlds, students),
            "mean_part_squares": (sums**2).sum(axis=1),
            "mean_products": sums.sum(axis=1),
            "mean_whole_squares": np.full(worlds, float(students)),
            "part": sums.sum(axis=1),
            "whole": np.full(worlds, students),
        }
    )
    variance_sql = macros.ratio_variance("mean", "part", "whole")
    query = "select " + ", ".join(
        f"{macros.alpha_limit('alpha', str(items), str(students), end)} as alpha_{end},"
        f" {macros.t_limit('part / whole', variance_sql, 'mean_clusters - 1', end)} as mean_{end}"
        for end in ("low", "high")
    )
    limits = _sql(query + " from simulated", simulated=simulated).cast(pl.Float64)
    for name, value in (("alpha", truth), ("mean", 2.0)):
        is_inside = (limits[f"{name}_low"] <= value) & (limits[f"{name}_high"] >= value)
        assert 0.925 < is_inside.mean() < 0.97


def test_quantiles_of_t(macros: Any) -> None:
    for degrees, tolerance in (
        (1, 1e-6),
        (1.5, 7e-3),
        (2, 3e-3),
        (3, 7e-4),
        (4, 2e-4),
        (10, 1e-5),
        (200, 1e-6),
    ):
        [(quantile,)] = _sql(f"select {macros.t_quantile(degrees)}").rows()
        assert float(quantile) == pytest.approx(stats.t.ppf(0.975, degrees), rel=tolerance)


@settings(max_examples=60, deadline=None)
@given(deviate=st.floats(0, 12), degrees=st.floats(3, 300))
def test_chances_of_t(macros: Any, deviate: float, degrees: float) -> None:
    [(chance,)] = _sql(f"select {macros.normal_p_value(macros.t_as_normal(deviate, degrees))}").rows()
    expected = 2 * stats.t.sf(deviate, degrees)
    assert float(chance) == pytest.approx(expected, rel=5e-3 if degrees > 4 else 0.05, abs=2e-7)


@settings(max_examples=60, deadline=None)
@given(counts=st.tuples(*[st.integers(0, 400)] * 4))
def test_chances_of_tables(macros: Any, counts: tuple[int, int, int, int]) -> None:
    """Of any two shares, by Fisher's exact test."""
    hits, misses, hits_elsewhere, misses_elsewhere = counts
    weights = macros.table_weights(hits, hits + misses, hits_elsewhere, hits_elsewhere + misses_elsewhere)
    query = "select list_sum(list_filter(w, lambda x: x <= 1.0000001)) / list_sum(w)"
    query += f" from (select {weights} as w)"
    [(chance,)] = _sql(query).rows()
    expected = stats.fisher_exact([[hits, misses], [hits_elsewhere, misses_elsewhere]]).pvalue
    assert float(chance) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: (min(pair), max(pair))), max_size=8
    )
)
def test_intervals_hold_the_figure_and_shrinking_goes_towards_the_others(
    macros: Any, pairs: list[tuple[int, int]]
) -> None:
    """Of any shares; without counts, or without others, there is neither."""
    simulated = pl.DataFrame(
        {"part": [part for part, _ in pairs], "whole": [whole for _, whole in pairs]},
        schema={"part": pl.Int64, "whole": pl.Int64},
    )
    between = macros.between_variance("difference", "error", "()")
    verdict = macros.verdict("difference", "error", "reliability", "least(whole, other_whole)", "5")
    query = f"""
        with others as (
            select *,
                sum(part) over () - part as other_part,
                sum(whole) over () - whole as other_whole,
                100 * (part / nullif(whole, 0) - other_part / nullif(other_whole, 0)) as difference,
                {macros.share_error("part", "whole", "other_part", "other_whole")} as error
            from simulated
        ),
        compared as (
            select *, {macros.reliability("error", between)} as reliability from others
        )
        select *,
            {macros.rate("part", "whole")} as rate,
            {macros.wilson_limit("part", "whole", "low")} as low,
            {macros.wilson_limit("part", "whole", "high")} as high,
            {verdict} as verdict
        from compared
    """
    for row in _sql(query, simulated=simulated).to_dicts():
        if row["whole"] == 0:
            assert row["low"] is row["high"] is row["difference"] is row["verdict"] is None
            continue
        assert 0 <= row["low"] <= row["rate"] <= row["high"] <= 100
        if row["other_whole"] == 0:
            assert row["difference"] is row["verdict"] is None
            continue
        assert 0 <= row["reliability"] <= 1
        if min(row["whole"], row["other_whole"]) < 5:
            assert row["verdict"] == "too few"
        elif row["verdict"] != "not distinguishable":
            assert row["verdict"] == ("above" if row["difference"] > 0 else "below")
            assert row["difference"] ** 2 > Z**2 * row["error"] ** 2


@pytest.mark.parametrize("students", [0, 1, 2])
def test_few_students(school: Callable[..., duckdb.DuckDBPyConnection], students: int) -> None:
    """One student shows no variance, two do, and none have no row."""
    grades = [
        KEY
        | {"student_id": n, "course_class_id": 1, "source": "class", "score_percent": 60.0 + 20 * n}
        | {"is_passed": True, "counts_in_statistics": True}
        for n in range(students)
    ]
    connection = (
        school(
            fct_grade=grades,
            dim_course_class=[{"school_id": 1, "course_class_id": 1, "course_name": "c"}],
        )
        if grades
        else school()
    )
    rows = [row for row in mart(connection, "grade_distribution") if row["group_type"] == "school"]
    assert len(rows) == (students > 0)
    for row in rows:
        limits = row["mean_low"], row["mean_high"]
        assert (
            limits == (None, None)
            if students == 1
            else [float(x) for x in limits] == pytest.approx([70 - 12.7062 * 10, 70 + 12.7062 * 10], abs=1e-3)
        )
        assert 0 < row["pass_rate_low"] < 100 == row["pass_rate_high"]
