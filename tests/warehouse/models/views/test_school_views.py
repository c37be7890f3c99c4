"""The views of several schools tell about no few students, whatever the page shows beside them."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations, product

import duckdb
import pytest

from warehouse.privacy import SMALL_GROUP
from warehouse.publish.models.dbt_project import compiled

TIERS = ("severe", "chronic", "watch", "satisfactory", "unrecorded")
#: The largest school: two tiers of enough students, and one of few.
STUDENTS = 3 * SMALL_GROUP - 1
Counts = tuple[int, ...]
TierRow = tuple[str, str, int]


@pytest.fixture(scope="module")
def schools() -> list[Counts]:
    """The students in each tier of each school: all small numbers. The id of a school is its position."""
    numbers = range(STUDENTS + 1)
    return [counts for counts in product(numbers, repeat=len(TIERS)) if 0 < sum(counts) <= STUDENTS]


@pytest.fixture(scope="module")
def rows(schools: list[Counts]) -> list[tuple[TierRow, ...]]:
    """The rows of the view of each school."""
    query = compiled()["nodes"]["model.campus.school_tier"]["compiled_code"].replace('"campus".', "")
    lists = {"counts": [list(counts) for counts in schools], "tiers": list(TIERS)}
    with closing(duckdb.connect()) as con:
        con.execute("CREATE SCHEMA views")
        con.execute(
            "CREATE TABLE views.attendance_tier AS SELECT school - 1 AS school_id, $tiers[place] AS tier, "
            "place AS tier_order, $counts[school][place] AS tier_students, "
            "true AS is_school, true AS is_shown "
            "FROM range(1, len($counts) + 1) schools (school), range(1, len($tiers) + 1) places (place)",
            lists,
        )
        of_school = defaultdict[int, list[TierRow]](list)
        for id, *row in con.execute(
            f"SELECT school_id, tier, last_tier, students FROM ({query}) ORDER BY school_id, tier_order"
        ).fetchall():
            of_school[id].append((row[0], row[1], row[2]))
    return [tuple(of_school[id]) for id in range(len(schools))]


def test_rows_of_tiers_have_all_students(schools: list[Counts], rows: list[tuple[TierRow, ...]]) -> None:
    """A school of enough students has all of them in rows of enough students."""
    for counts, of_school in zip(schools, rows, strict=True):
        students = [number for *_, number in of_school]
        assert sum(students) == (sum(counts) if sum(counts) >= SMALL_GROUP else 0)
        assert all(number >= SMALL_GROUP for number in students)


def test_tiers_of_enough_students_stand_alone(schools: list[Counts], rows: list[tuple[TierRow, ...]]) -> None:
    for counts, of_school in zip(schools, rows, strict=True):
        if sum(counts) >= SMALL_GROUP and all(number >= SMALL_GROUP for number in counts if number):
            assert of_school == tuple(
                (tier, tier, number) for tier, number in zip(TIERS, counts, strict=True) if number
            )


def test_no_few_students_follow_from_tiers(schools: list[Counts], rows: list[tuple[TierRow, ...]]) -> None:
    """The page has these rows, and by the students at risk and their share the number of all students. All
    schools of which that is so differ in the number of students of each set of tiers that has few."""
    alike = defaultdict[tuple[int, tuple[TierRow, ...]], list[Counts]](list)
    for counts, of_school in zip(schools, rows, strict=True):
        alike[sum(counts), of_school].append(counts)
    revealed = [
        (of_page, tiers)
        for of_page, possible in alike.items()
        for tiers in _sets_of_tiers()
        if len(sums := {sum(counts[tier] for tier in tiers) for counts in possible}) == 1
        and 0 < next(iter(sums)) < SMALL_GROUP
    ]
    assert revealed == []


def _sets_of_tiers() -> Iterator[tuple[int, ...]]:
    """The sets of some tiers, by their positions."""
    for size in range(1, len(TIERS)):
        yield from combinations(range(len(TIERS)), size)
