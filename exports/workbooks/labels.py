"""The labels of the columns of a matrix, in order: weeks, cohorts, tiers, bands."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from exports.spreadsheet.sheets import Words
from exports.workbooks.queries import BAND, GRADES_LAST_YEAR, LAST_YEAR, SHOWN, rows
from exports.workbooks.terms import NO_NAME, TIERS, WEEKDAYS, WHOLE_SCHOOL, grade_name, label_of, untranslated

#: Labels by the key that `queries.pivot` takes.
Labels = Mapping[str, Words]


def weeks(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Teaching weeks with lessons. An unfinished week is labelled "(so far)"."""
    query = f"""
        WITH {SHOWN}
        SELECT week, bool_and(is_complete) FROM marts.attendance_class_week
        JOIN shown USING (school_id, semester_id)
        WHERE week IS NOT NULL GROUP BY week ORDER BY week
    """
    return {
        str(week): untranslated(week) if is_over else Words(f"{week} (so far)", f"{week}（未结束）")
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
    return {str(key): untranslated(name) for key, name in rows(con, school_id, query)}


def cohorts_after_another(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """Cohorts whose grade has attendance of the year before, by id. The label has the grade."""
    query = f"""
        WITH {SHOWN}, {LAST_YEAR}
        SELECT group_id, max(grade_level) FROM last_year GROUP BY group_id
    """
    levels = {str(key): level for key, level in rows(con, school_id, query)}
    return {
        key: Words(f"{name.en} ({grade.en})", f"{name.zh}（{grade.zh}）")
        for key, name in cohorts(con, school_id).items()
        if key in levels
        for grade in [grade_name(levels[key])]
    }


def has_grades_of_last_year(con: duckdb.DuckDBPyConnection, school_id: int) -> bool:
    """Whether a cohort's grade level has grades of the year before."""
    return bool(rows(con, school_id, f"WITH {SHOWN}, {GRADES_LAST_YEAR} FROM last_year LIMIT 1"))


def graded_groups(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """The school and its cohorts with grades, by kind and key of the group."""
    query = f"""
        WITH {SHOWN}
        SELECT DISTINCT group_type, group_key, group_name FROM marts.grade_distribution
        JOIN shown USING (school_id, semester_id)
        WHERE group_type IN ('school', 'cohort') ORDER BY group_type DESC, group_name, group_key
    """
    return {f"{kind} {key}": _group_label(kind, name) for kind, key, name in rows(con, school_id, query)}


def _group_label(kind: str, name: str | None) -> Words:
    if kind == "school":
        return WHOLE_SCHOOL
    return untranslated(name) if name else NO_NAME[""]


def tiers(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """The valid tiers of attendance, the lowest first."""
    query = (
        "SELECT tier FROM staging.stg_attendance_tiers WHERE school_id = $school_id ORDER BY upper_percent"
    )
    codes = [code for (code,) in rows(con, school_id, query)]
    return {code: label_of(code, TIERS) for code in (*codes, "unrecorded")}


def band_labels(con: duckdb.DuckDBPyConnection, school_id: int) -> Labels:
    """The valid grade bands, the best first. A band is its own label, such as 80-90."""
    query = f"""
        SELECT {BAND} FROM staging.stg_grade_bands WHERE school_id = $school_id
        ORDER BY lower_percent DESC NULLS LAST
    """
    return {band: untranslated(band) for (band,) in rows(con, school_id, query)}
