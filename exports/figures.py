"""Figures with their change: the three of the board, against last week and the same week last term, and those
of grades."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import duckdb

from exports.sheets import Change, Figure, Words
from exports.source import records
from exports.workbooks.queries import SHOWN, STILL_THERE, rate
from exports.workbooks.terms import same

WEEK = timedelta(days=7)

PRESENT = Words("Present on the last school day", "最近上课日出勤率")
AT_RISK = Words("Students at risk", "高风险学生")
NOT_TAKEN = Words("Rolls not taken in the last 7 days", "近7天未点名课次")
LAST_WEEK = Words("a week before", "较一周前")
LAST_TERM = Words("same week last term", "较上学期同周")
NOTHING, EMPTY = Words("no data", "暂无数据"), Words("", "")
BEFORE = Words("the semester before", "较上一学期")

#: The last day on which as many students as on a usual one were recorded, by the rule of the marts, and the
#: day of the same week and weekday in the semester before.
DAYS = f"""
    WITH {SHOWN}, days AS (
        SELECT semester_id, date, any_value(week) AS week, any_value(weekday) AS weekday, count(*) AS students
        FROM marts.attendance_student_day JOIN shown USING (school_id, semester_id)
        WHERE recorded > 0 GROUP BY ALL
    ),
    usual AS (SELECT quantile_cont(students, 0.5) AS students FROM days),
    last AS (
        SELECT days.* FROM days, usual
        WHERE 100 * days.students >= usual.students * (
            SELECT any_value(value) FROM staging.stg_attendance_thresholds
            WHERE school_id = $school_id AND threshold = 'session_day_percent'
        )
        ORDER BY date DESC LIMIT 1
    ),
    before AS (
        SELECT dim_semester.semester_id FROM core.dim_semester, last
        WHERE school_id = $school_id AND first_day < (
            SELECT first_day FROM core.dim_semester
            WHERE school_id = $school_id AND semester_id = last.semester_id
        )
        ORDER BY first_day DESC LIMIT 1
    )
    SELECT last.date AS day, dim_date.date AS last_term
    FROM last
    LEFT JOIN before ON true
    LEFT JOIN core.dim_date
        ON dim_date.school_id = $school_id AND dim_date.semester_id = before.semester_id
        AND dim_date.week = last.week AND dim_date.weekday = last.weekday
"""
ATTENDED = f"""
    SELECT
        {rate("sum(present)", "sum(recorded)")}::DOUBLE AS rate, count(*) AS students,
        count_if(NOT is_absent_day) AS attended
    FROM marts.attendance_student_day
    WHERE school_id = $school_id AND date = DATE '{{day}}' AND recorded > 0
"""
#: Whose attendance up to a day is in a tier that means a warning or more.
LOW = """
    SELECT count(*) AS low FROM (
        SELECT student_id FROM marts.attendance_student_day
        WHERE school_id = $school_id AND date <= DATE '{day}' AND semester_id = (
            SELECT max(semester_id) FROM marts.attendance_student_day
            WHERE school_id = $school_id AND date = DATE '{day}'
        )
        GROUP BY student_id
        HAVING 100 * sum(present) <= sum(recorded) * (
            SELECT max(upper_percent) FROM staging.stg_attendance_tiers
            WHERE school_id = $school_id AND level IN ('at_risk', 'warning')
        ) AND sum(recorded) > 0
    )
"""
LEVELS = f"""
    WITH {SHOWN}
    SELECT
        count(*) AS students, count(*) FILTER (level = 'at_risk') AS at_risk,
        count(*) FILTER (level = 'warning') AS warning
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {STILL_THERE}
"""
ROLLS = """
    SELECT count_if(state = 'unrecorded') AS not_taken, count(*) AS due
    FROM marts.attendance_class_session
    WHERE school_id = $school_id AND state IN ('recorded', 'unrecorded')
        AND date BETWEEN DATE '{day}' - 6 AND DATE '{day}'
"""

#: Grades of the semester that is shown, and of the one before.
GRADES = f"""
    WITH {SHOWN}
    SELECT shown.school_id IS NOT NULL AS is_shown, mean, pass_rate, excellent_rate, scored, students
    FROM marts.grade_distribution
    JOIN core.dim_semester USING (school_id, semester_id)
    LEFT JOIN shown USING (school_id, semester_id)
    WHERE school_id = $school_id AND group_type = 'school' AND (is_shown OR first_day < (
        SELECT min(first_day) FROM core.dim_semester SEMI JOIN shown USING (school_id, semester_id)
    ))
    QUALIFY row_number() OVER (PARTITION BY is_shown ORDER BY first_day DESC) = 1
"""
GRADE_LABELS = {
    "mean": Words("Mean, of the full score", "平均分（占满分）"),
    "pass_rate": Words("Pass rate", "及格率"),
    "excellent_rate": Words("Excellent rate", "优秀率"),
}
POINTS = Words(" pp", " 个百分点")


def figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """The figures of a school; those without any data say so."""
    days = next(iter(records(con, DAYS, {"school_id": school_id})), None)
    return (
        _present(con, school_id, days),
        _at_risk(con, school_id, days),
        _not_taken(con, school_id, days),
    )


def grade_figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """Mean, pass rate and excellent rate of a school's grades."""
    found = {row["is_shown"]: row for row in records(con, GRADES, {"school_id": school_id})}
    return tuple(_of_grades(name, found.get(True, {}), found.get(False, {})) for name in GRADE_LABELS)


def _of_grades(name: str, now: Mapping[str, Any], before: Mapping[str, Any]) -> Figure:
    label, value = GRADE_LABELS[name], now.get(name)
    if value is None:
        return Figure(name, label, NOTHING, EMPTY, ())
    told = Words(
        f"{now['scored']:,} grades of {now['students']:,} students",
        f"{now['students']:,}人的{now['scored']:,}个成绩",
    )
    other = before.get(name)
    change = _change(BEFORE, float(value), other and float(other), POINTS, less=False)
    return Figure(name, label, same(f"{value:.1f}%"), told, (change,), float(value))


def _present(con: duckdb.DuckDBPyConnection, school_id: int, days: Mapping[str, Any] | None) -> Figure:
    if days is None:
        return Figure("present", PRESENT, NOTHING, EMPTY, ())
    now, *others = (_of_day(con, ATTENDED, school_id, day) for day in _compared(days))
    day = days["day"]
    told = Words(
        f"{day:%a %d %b %Y} · {now['attended']:,} of {now['students']:,} students",
        f"{day:%Y-%m-%d} · 出勤{now['attended']:,}人／有考勤{now['students']:,}人",
    )
    changes = _changes(now["rate"], [other and other["rate"] for other in others], " pp", " 个百分点")
    value = f"{now['rate']:.1f}%"
    return Figure("present", PRESENT, Words(value, value), told, changes, now["rate"])


def _at_risk(con: duckdb.DuckDBPyConnection, school_id: int, days: Mapping[str, Any] | None) -> Figure:
    [levels] = records(con, LEVELS, {"school_id": school_id})
    if not levels["students"]:
        return Figure("at_risk", AT_RISK, NOTHING, EMPTY, ())
    share = 100 * levels["at_risk"] / levels["students"]
    told = Words(
        f"{share:.1f}% of {levels['students']:,} · besides {levels['warning']:,} with a warning",
        f"占{levels['students']:,}人的{share:.1f}% · 另有预警{levels['warning']:,}人",
    )
    changes: tuple[Change, ...] = ()
    if days is not None:
        now, *others = (_of_day(con, LOW, school_id, day) for day in _compared(days))
        told = Words(
            f"{told.en} · low attendance: {now['low']:,}, which the change is of",
            f"{told.zh} · 出勤过低{now['low']:,}人（变化按此计算）",
        )
        changes = _changes(now["low"], [other and other["low"] for other in others], "", "人", less=True)
    value = f"{levels['at_risk']:,}"
    return Figure("at_risk", AT_RISK, Words(value, f"{value}人"), told, changes, levels["at_risk"])


def _not_taken(con: duckdb.DuckDBPyConnection, school_id: int, days: Mapping[str, Any] | None) -> Figure:
    if days is None:
        return Figure("rolls", NOT_TAKEN, NOTHING, EMPTY, ())
    now, *others = (_of_day(con, ROLLS, school_id, day) for day in _compared(days))
    if not now["due"]:
        return Figure("rolls", NOT_TAKEN, NOTHING, EMPTY, ())
    share = 100 * now["not_taken"] / now["due"]
    told = Words(f"{share:.1f}% of {now['due']:,} lessons", f"占应点名{now['due']:,}课次的{share:.1f}%")
    past = [other["not_taken"] if other and other["due"] else None for other in others]
    value = f"{now['not_taken']:,}"
    changes = _changes(now["not_taken"], past, "", "次", less=True)
    return Figure("rolls", NOT_TAKEN, Words(value, f"{value}次"), told, changes, now["not_taken"])


def _compared(days: Mapping[str, Any]) -> tuple[date, date, date | None]:
    return days["day"], days["day"] - WEEK, days["last_term"]


def _of_day(con: duckdb.DuckDBPyConnection, query: str, school_id: int, day: date | None) -> Any:
    """The only row of a query about a day; None: there is no such day."""
    return None if day is None else records(con, query.format(day=day), {"school_id": school_id})[0]


def _changes(
    now: float | None, before: list[float | None], en: str, zh: str, *, less: bool = False
) -> tuple[Change, ...]:
    """`less`: less is better. A rate is told with one digit behind the point, a count with none."""
    return tuple(
        _change(since, now, other, Words(en, zh), less=less)
        for since, other in zip((LAST_WEEK, LAST_TERM), before, strict=True)
    )


def _change(since: Words, now: float | None, other: float | None, unit: Words, *, less: bool) -> Change:
    if now is None or other is None:
        return Change(since, NOTHING)
    moved = round(now - other, 1)
    number = f"{abs(moved):.1f}" if isinstance(now, float) else f"{abs(moved):,}"
    if not moved:
        return Change(since, Words("no change", "持平"))
    arrow, good = "▲" if moved > 0 else "▼", (moved < 0) == less
    en, zh = ("better", "好转") if good else ("worse", "变差")
    return Change(
        since,
        Words(f"{arrow} {number}{unit.en} ({en})", f"{arrow} {number}{unit.zh}（{zh}）"),
        good,
    )
