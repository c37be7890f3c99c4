"""A measure shows neither small groups, nor groups that would reveal them with the total of the rest."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing

import duckdb
import pytest

from pipelines.measures import Filter, Unanswerable, measured

SMALL, REVEALING = "fewer than 5 students", "would reveal a group of fewer than 5 students"
#: School, cohort, class, week, students.
GROUPS = (
    (1, "2028", "1", 1, 4),
    (1, "2028", "2", 1, 30),
    (1, "2028", "3", 1, 40),
    (1, "2029", "4", 1, 12),
    (2, "2028", "5", 1, 6),
    (2, "2028", "6", 1, 50),
)


COLUMNS = {
    "school": ["school_id", "school_name"],
    "cohort": ["school_id", "school_name", "cohort_id", "cohort_name"],
    "class": ["school_id", "school_name", "cohort_name", "admin_class_id", "admin_class_name"],
    "week": ["week"],
}


def query_of(name: str, by: str, conditions: Sequence[str]) -> str:
    """The measure of GROUPS: 90 everywhere."""
    columns = dict.fromkeys(column for key in COLUMNS if f"'{key}'" in by for column in COLUMNS[key])
    return f"""
        SELECT '{name}' AS metric, {"".join(f"{column}, " for column in columns)} 90 AS value,
            CAST(sum(students) AS BIGINT) AS students, 9.0 AS numerator, 10.0 AS denominator
        FROM (
            SELECT *, 'school ' || school_id AS school_name, 'class ' || admin_class_id AS admin_class_name
                , cohort_name AS cohort_id
            FROM (VALUES {", ".join(map(str, GROUPS))})
                AS groups (school_id, cohort_name, admin_class_id, week, students)
        )
        WHERE {" AND ".join(conditions) or "true"}
        GROUP BY ALL
        ORDER BY ALL
    """


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    monkeypatch.setattr("pipelines.measures.query_of", query_of)
    with closing(duckdb.connect()) as con:
        con.execute("CREATE SCHEMA marts; CREATE SCHEMA quality; CREATE SCHEMA staging")
        con.execute(
            "CREATE TABLE staging.stg_attendance_thresholds AS "
            "SELECT 'small_group_students' AS threshold, 5 AS value"
        )
        con.execute(
            "CREATE TABLE quality.metrics AS SELECT 'attendance_rate' AS metric, "
            "['school', 'cohort', 'class', 'week'] AS dimensions, 'date' AS time_column"
        )
        # A file has measures if it has their macros.
        con.execute("CREATE MACRO marts.metric_attendance_rate() AS TABLE SELECT 1")
        yield con


def test_a_small_class_goes_with_the_next_of_its_cohort(con: duckdb.DuckDBPyConnection) -> None:
    """Not with the next of the school: the cohort without its other classes would tell."""
    columns, rows = measured(con, "attendance_rate", ["class"], {}, (), personal=False)
    assert columns[-5:] == ["attendance_rate", "numerator", "denominator", "students", "note"]
    assert {row[4]: row[-5:] for row in rows} == {
        "class 1": (None, None, None, None, SMALL),
        "class 2": (None, None, None, None, REVEALING),
        "class 3": (90, 9, 10, 40, ""),
        "class 4": (90, 9, 10, 12, ""),
        "class 5": (90, 9, 10, 6, ""),
        "class 6": (90, 9, 10, 50, ""),
    }


def test_a_measure_of_semesters_is_split_by_them(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("INSERT INTO quality.metrics VALUES ('at_risk_students', ['school', 'semester'], NULL)")
    con.execute("CREATE MACRO marts.metric_at_risk_students() AS TABLE SELECT 1")
    message = "at_risk_students counts anew in each semester: split it by semester too"
    with pytest.raises(Unanswerable, match=message):
        measured(con, "at_risk_students", ["school"], {}, (), personal=False)


def test_filters_do_not_reveal_what_they_leave_out(con: duckdb.DuckDBPyConnection) -> None:
    """A cohort without its class of four, and the school with it, would tell about the class."""

    def notes(*values: str, column: str = "admin_class_name", by: Sequence[str] = ()) -> list[str]:
        filters = [Filter(column, values), Filter("school_id", ("1",))]
        _, rows = measured(con, "attendance_rate", by, {}, [1], filters, personal=False)
        return [row[-1] for row in rows]

    without_the_small = ("class 2", "class 3", "class 4")
    assert notes(*without_the_small) == notes(*without_the_small, by=["school"]) == [REVEALING]
    # The answer by class shows of each class what it shows without a filter on classes.
    assert notes(*without_the_small, by=["class"]) == [REVEALING, "", ""]
    assert notes("class 2", "class 3") == [REVEALING]
    assert notes("class 1", "class 2") == notes("class 4") == [""]
    assert notes("class 1") == [SMALL]
    # The only class of its cohort in the answer is what the total of the answer leaves.
    assert notes("class 1", "class 4", by=["class"]) == [SMALL, REVEALING]
    assert notes("2029", column="cohort_name") == [""]
    # What the answer leaves of its cohort are 44 students: 40 of them are in the answer by class.
    assert (
        notes("class 2") == notes("class 2", by=["class"]) == notes("class 2", by=["cohort"]) == [REVEALING]
    )
    assert notes("2028", column="cohort_name", by=["class"]) == [SMALL, REVEALING, ""]


@pytest.mark.parametrize("by", [[], ["cohort"], ["class"], ["week"]])
def test_a_filter_does_not_reveal_by_the_cohort(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, by: list[str]
) -> None:
    """A cohort has a class of twenty and a class of three: 23 less 20 would tell about the three."""
    groups = (
        (1, "2028", "1", 1, 20),
        (1, "2028", "2", 1, 3),
        (1, "2029", "3", 1, 20),
        (1, "2029", "4", 1, 20),
    )
    monkeypatch.setattr(sys.modules[__name__], "GROUPS", groups)

    def notes(*classes: str) -> list[str]:
        filters = [Filter("admin_class_id", classes)]
        _, rows = measured(con, "attendance_rate", by, {}, (), filters, personal=False)
        return [row[-1] for row in rows]

    assert notes("1") == [REVEALING]
    assert notes("3") == [""]
    assert set(notes("3", "4")) == {""}
