"""Figures with their change: the three of the board, against last week and the same week last term, and those
of grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import duckdb

from exports.columns import english
from exports.sheets import Change, Figure, Words
from exports.source import in_a_row, records
from exports.workbooks.queries import SHOWN, STILL_THERE, rate
from exports.workbooks.terms import same

WEEK = timedelta(days=7)

#: Kind (school, cohort or class) and key of a group; of the school the key is empty.
Group = tuple[str, str]
WHOLE: Group = ("school", "")
Counts = Mapping[str, Any]

PRESENT = Words("Present on the last school day", "最近上课日出勤率")
AT_RISK = Words("Students at risk", "高风险学生")
NOT_TAKEN = Words("Rolls not taken in the last 7 days", "近7天未点名课次")
LAST_WEEK = Words("a week before", "较一周前")
LAST_TERM = Words("same week last term", "较上学期同周")
NOTHING, EMPTY = Words("no data", "暂无数据"), Words("", "")
NOT_KNOWN, NEVER = Words("not known", "未知"), Words("never loaded whole: {}", "尚未完整加载：{}")
TOO_LITTLE = Words("too little recorded to tell yet", "记录尚少，暂无法判断")
#: The resources without which a figure is not known: those of attendance, and those of a level, as
#: marts.early_warning has them (inputs_loaded).
ATTENDANCE = ("attendance_records", "attendance_sessions")
WARNINGS = (
    *("assessment_items", "assessments", "attendance_records", "class_members", "grades", "scores"),
    "students",
)
#: Of some resources those of which nothing was ever loaded of the semester that is shown, else of any.
NEVER_LOADED = f"""
    WITH {SHOWN}
    SELECT DISTINCT resource, coalesce(label_zh, resource) AS label_zh
    FROM core.never_loaded
    LEFT JOIN shown USING (school_id, semester_id)
    LEFT JOIN quality.dictionary
        ON schema_name = 'raw' AND table_name = resource AND column_name IS NULL
    WHERE school_id = $school_id AND list_contains($resources, resource)
        AND (shown.school_id IS NOT NULL OR NOT EXISTS (FROM shown))
    ORDER BY resource
"""
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
#: Each student's cohort and administrative class, semester by semester.
PLACED = """
    placed AS (
        SELECT school_id, semester_id, student_id, cohort_id, admin_class_id
        FROM marts.early_warning WHERE school_id = $school_id
    )
"""
#: The group of a row, and the groups that rows are counted in: the school, each cohort, each class.
GROUP = """
    CASE WHEN grouping(admin_class_id) = 0 THEN 'class' WHEN grouping(cohort_id) = 0 THEN 'cohort'
        ELSE 'school' END AS kind,
    coalesce(admin_class_id, cohort_id)::VARCHAR AS key
"""
BY_GROUP = "GROUP BY GROUPING SETS ((), (cohort_id), (admin_class_id))"
ATTENDED = f"""
    WITH {PLACED}
    SELECT
        {GROUP}, {rate("sum(present)", "sum(recorded)")}::DOUBLE AS rate, count(*) AS students,
        count_if(NOT is_absent_day) AS attended
    FROM marts.attendance_student_day LEFT JOIN placed USING (school_id, semester_id, student_id)
    WHERE school_id = $school_id AND date = DATE '{{day}}' AND recorded > 0
    {BY_GROUP}
"""
LEVELS = f"""
    WITH {SHOWN}
    SELECT
        {GROUP}, bool_and(inputs_loaded) AS is_known, count(*) AS students,
        count(*) FILTER (level = 'at_risk') AS at_risk, count(*) FILTER (level = 'warning') AS warning,
        count(*) FILTER (level = 'unknown') AS unknown, students - unknown AS judged
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {STILL_THERE}
    {BY_GROUP}
"""
#: Rolls of the seven days up to a day that were to be taken, and the groups with a member in the class on the
#: day: a roll counts for each of these.
DUE = f"""
    {PLACED},
    sessions AS (
        SELECT *
        FROM marts.attendance_class_session
        WHERE school_id = $school_id AND state IN ('recorded', 'unrecorded')
            AND date BETWEEN DATE '{{day}}' - 6 AND DATE '{{day}}'
    ),
    placed_sessions AS (
        SELECT DISTINCT course_class_id, date, lesson, state, cohort_id, admin_class_id
        FROM sessions
        JOIN core.bridge_class_student AS members USING (school_id, course_class_id)
        JOIN placed
            ON placed.school_id = sessions.school_id
            AND placed.semester_id = sessions.semester_id
            AND placed.student_id = members.student_id
        WHERE coalesce(members.joined_on <= sessions.date, true)
            AND coalesce(members.left_on > sessions.date, true)
    )
"""
ROLLS = f"""
    WITH {DUE},
    grouped AS (
        SELECT 'school' AS kind, NULL AS key, course_class_id, date, lesson, state FROM sessions
        UNION ALL
        SELECT DISTINCT 'cohort', cohort_id::VARCHAR, course_class_id, date, lesson, state
        FROM placed_sessions
        UNION ALL
        SELECT DISTINCT 'class', admin_class_id::VARCHAR, course_class_id, date, lesson, state
        FROM placed_sessions
    )
    SELECT kind, key, count_if(state = 'unrecorded') AS not_taken, count(*) AS due FROM grouped GROUP BY ALL
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
    return figures_by_group(con, school_id)[WHOLE]


def figures_by_group(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[Group, tuple[Figure, ...]]:
    """The figures of a school, of each of its cohorts and of each of its administrative classes."""
    days = last_days(con, school_id)
    levels = _by_group(con, LEVELS, school_id)
    compared = _compared(days) if days else ()
    attended = [_of_day(con, ATTENDED, school_id, day) for day in compared]
    rolls = [_of_day(con, ROLLS, school_id, day) for day in compared]
    unattended, unjudged = (never_loaded(con, school_id, of) for of in (ATTENDANCE, WARNINGS))
    groups = {WHOLE: None} | dict.fromkeys(group for rows in (levels, *attended, *rolls) for group in rows)
    return {
        group: (
            _present([rows.get(group) for rows in attended], days, unattended),
            _at_risk(levels.get(group), unjudged),
            _not_taken([rows.get(group) for rows in rolls], unattended),
        )
        for group in groups
    }


def last_days(con: duckdb.DuckDBPyConnection, school_id: int) -> Mapping[str, Any] | None:
    """The last school day, and that of the same week and weekday last term; None: no attendance is known."""
    return next(iter(records(con, DAYS, {"school_id": school_id})), None)


def never_loaded(con: duckdb.DuckDBPyConnection, school_id: int, resources: Sequence[str]) -> Words | None:
    """Those of some resources that a school's file knows nothing of; None: there are none."""
    found = records(con, NEVER_LOADED, {"school_id": school_id, "resources": list(resources)})
    never = in_a_row(Words(english(row["resource"]), row["label_zh"]) for row in found)
    return Words(NEVER.en.format(never.en), NEVER.zh.format(never.zh)) if found else None


def _without(name: str, label: Words, never: Words | None) -> Figure:
    """A figure without a value: not known where its resources were never loaded."""
    return Figure(name, label, NOT_KNOWN if never else NOTHING, never or EMPTY, ())


def grade_figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """Mean, pass rate and excellent rate of a school's grades."""
    found = {row["is_shown"]: row for row in records(con, GRADES, {"school_id": school_id})}
    never = never_loaded(con, school_id, ("grades",))
    return tuple(
        _of_grades(name, found.get(True, {}), found.get(False, {}))
        if found.get(True, {}).get(name) is not None
        else _without(name, label, never)
        for name, label in GRADE_LABELS.items()
    )


def _of_grades(name: str, now: Mapping[str, Any], before: Mapping[str, Any]) -> Figure:
    label, value = GRADE_LABELS[name], now[name]
    told = Words(
        f"{now['scored']:,} grades of {now['students']:,} students",
        f"{now['students']:,}人的{now['scored']:,}个成绩",
    )
    other = before.get(name)
    change = _change(BEFORE, float(value), other and float(other), POINTS, less=False)
    return Figure(name, label, same(f"{value:.1f}%"), told, (change,), float(value))


def _present(by_day: Sequence[Counts | None], days: Mapping[str, Any] | None, never: Words | None) -> Figure:
    now, *others = by_day or [None]
    if days is None or now is None or now["rate"] is None:
        return _without("present", PRESENT, never)
    day = days["day"]
    told = Words(
        f"{day:%a %d %b %Y} · {now['attended']:,} of {now['students']:,} students",
        f"{day:%Y-%m-%d} · 出勤{now['attended']:,}人／有考勤{now['students']:,}人",
    )
    changes = _changes(
        now["rate"], [other["rate"] if other else None for other in others], " pp", " 个百分点"
    )
    value = f"{now['rate']:.1f}%"
    return Figure("present", PRESENT, Words(value, value), told, changes, now["rate"])


def _at_risk(levels: Counts | None, never: Words | None) -> Figure:
    """Early warnings of earlier days are not kept, so this figure has no change."""
    if levels is None or not levels["students"] or not levels["is_known"]:
        return _without("at_risk", AT_RISK, never)
    judged, unknown = levels["judged"], levels["unknown"]
    if not judged:
        return Figure("at_risk", AT_RISK, NOT_KNOWN, TOO_LITTLE, ())
    share = 100 * levels["at_risk"] / judged
    told = Words(
        f"{share:.1f}% of {judged:,} · besides {levels['warning']:,} with a warning"
        + (f" · {unknown:,} not known" if unknown else ""),
        f"占{judged:,}人的{share:.1f}% · 另有预警{levels['warning']:,}人"
        + (f" · {unknown:,}人未知" if unknown else ""),
    )
    value = f"{levels['at_risk']:,}"
    return Figure("at_risk", AT_RISK, Words(value, f"{value}人"), told, (), levels["at_risk"])


def _not_taken(by_day: Sequence[Counts | None], never: Words | None) -> Figure:
    now, *others = by_day or [None]
    if now is None or not now["due"]:
        return _without("rolls", NOT_TAKEN, never)
    share = 100 * now["not_taken"] / now["due"]
    told = Words(f"{share:.1f}% of {now['due']:,} lessons", f"占应点名{now['due']:,}课次的{share:.1f}%")
    past = [other["not_taken"] if other and other["due"] else None for other in others]
    value = f"{now['not_taken']:,}"
    changes = _changes(now["not_taken"], past, "", "次", less=True)
    return Figure("rolls", NOT_TAKEN, Words(value, f"{value}次"), told, changes, now["not_taken"])


def _compared(days: Mapping[str, Any]) -> tuple[date, date, date | None]:
    return days["day"], days["day"] - WEEK, days["last_term"]


def _of_day(
    con: duckdb.DuckDBPyConnection, query: str, school_id: int, day: date | None
) -> dict[Group, Counts]:
    """What a query says of a day, by group; nothing, if there is no such day."""
    return {} if day is None else _by_group(con, query.format(day=day), school_id)


def _by_group(con: duckdb.DuckDBPyConnection, query: str, school_id: int) -> dict[Group, Counts]:
    """The rows of a query by group; who is in no class or cohort is in the groups above it."""
    found = records(con, query, {"school_id": school_id})
    return {(row["kind"], row["key"] or ""): row for row in found if row["kind"] == "school" or row["key"]}


def _changes(
    now: float | None, before: Sequence[float | None], en: str, zh: str, *, less: bool = False
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
