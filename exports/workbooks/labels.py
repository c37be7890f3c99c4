"""Which columns a matrix has, in order, and what they are called: weeks, cohorts, tiers, bands."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from exports.sheets import Words
from exports.workbooks.queries import BAND, SHOWN, rows
from exports.workbooks.terms import NAMELESS, TIERS, WEEKDAYS, WHOLE_SCHOOL, in_words, same

#: By the key that `queries.spread` takes.
Labels = Mapping[str, Words]


def weeks(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Teaching weeks with lessons; the one that is not over says so."""
    query = f"""
        WITH {SHOWN}
        SELECT week, bool_and(is_complete) FROM marts.attendance_class_week
        JOIN shown USING (school_id, semester_id)
        WHERE week IS NOT NULL GROUP BY week ORDER BY week
    """
    return {
        str(week): same(week) if is_over else Words(f"{week} (so far)", f"{week}（未结束）")
        for week, is_over in rows(con, school_id, query)
    }


def weekdays(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Days of the week with lessons."""
    query = f"""
        WITH {SHOWN}
        SELECT DISTINCT weekday FROM marts.attendance_heatmap
        JOIN shown USING (school_id, semester_id) ORDER BY weekday
    """
    return {str(day): WEEKDAYS[day] for (day,) in rows(con, school_id, query)}


def cohorts(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Cohorts with attendance, by id."""
    query = f"""
        WITH {SHOWN}
        SELECT DISTINCT group_id, group_name FROM marts.attendance_group_week
        JOIN shown USING (school_id, semester_id)
        WHERE group_type = 'cohort' ORDER BY group_name, group_id
    """
    return {str(key): same(name) for key, name in rows(con, school_id, query)}


def graded_groups(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """The school and its cohorts with grades, by kind and key of the group."""
    query = f"""
        WITH {SHOWN}
        SELECT DISTINCT group_type, group_key, group_name FROM marts.grade_distribution
        JOIN shown USING (school_id, semester_id)
        WHERE group_type IN ('school', 'cohort') ORDER BY group_type DESC, group_name, group_key
    """
    return {
        f"{kind} {key}": WHOLE_SCHOOL if kind == "school" else same(name) if name else NAMELESS[""]
        for kind, key, name in rows(con, school_id, query)
    }


def tiers(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Tiers of attendance in force, the lowest first."""
    query = (
        "SELECT tier FROM staging.stg_attendance_tiers WHERE school_id = $school_id ORDER BY upper_percent"
    )
    codes = [code for (code,) in rows(con, school_id, query)]
    return {code: in_words(code, TIERS) for code in (*codes, "unrecorded")}


def band_labels(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Bands of the percentage of the full score in force, by what they are called, the best first."""
    query = f"""
        SELECT {BAND} FROM staging.stg_grade_bands WHERE school_id = $school_id
        ORDER BY lower_percent DESC NULLS LAST
    """
    return {band: same(band) for (band,) in rows(con, school_id, query)}
