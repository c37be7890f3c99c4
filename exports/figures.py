"""Figures with their changes: the three figures of the board, and the figures of grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import duckdb

from exports import measures
from exports.source import joined, records
from exports.spreadsheet.sheets import Change, Figure, Words
from exports.workbooks.queries import MEAN, NOT_DELETED, SHOWN, of_schools, rate, shown_of
from exports.workbooks.terms import untranslated
from warehouse.rounding import percent

WEEK = timedelta(days=7)

#: Kind (school, cohort or class) and key of a group; of the school the key is empty.
Group = tuple[str, str]
WHOLE: Group = ("school", "")
Counts = Mapping[str, Any]

PRESENT = Words("Present on the last school day", "最近上课日出勤率")
AT_RISK = measures.label("at_risk_students")
NOT_TAKEN = Words("Rolls not taken in the last 7 days", "近7天未点名课节")
LAST_WEEK = Words("vs a week before", "较一周前")
LAST_TERM = Words("vs the same week last semester", "较上学期同周")
NOTHING, EMPTY = Words("no data", "暂无数据"), Words("", "")
NOT_KNOWN, NEVER = Words("not known", "未知"), Words("never loaded whole: {}", "尚未完整加载：{}")
TOO_LITTLE = Words("too little recorded to tell yet", "记录尚少，暂时无法判断")
#: The resources that a figure needs: of attendance, and of a level, as in marts.early_warning
#: (inputs_loaded).
ATTENDANCE = ("attendance_records", "attendance_sessions")
WARNINGS = (
    *("assessment_items", "assessments", "attendance_records", "class_members", "grades", "scores"),
    "students",
)
#: The resources, of some, that were never loaded for the semester that is shown of a school, or for any
#: semester of a school without such a semester.
NEVER_LOADED = """
    WITH {shown}
    SELECT DISTINCT
        school_id, resource, coalesce(label_en, resource) AS label_en,
        coalesce(label_zh, resource) AS label_zh
    FROM core.never_loaded
    LEFT JOIN shown USING (school_id, semester_id)
    LEFT JOIN quality.dictionary
        ON schema_name = 'raw' AND table_name = resource AND column_name IS NULL
    WHERE {schools} AND list_contains($resources, resource)
        AND (shown.school_id IS NOT NULL OR school_id NOT IN (SELECT school_id FROM shown))
    ORDER BY school_id, resource
"""
BEFORE = Words("vs the semester before", "较上一学期")


def last_day_of(schools: str) -> str:
    """SQL for `last`: the last school day of each school by the rule of the marts, with its semester.

    `schools`: a condition on `school_id`."""
    return f"""{shown_of(schools)},
    days AS (
        SELECT
            school_id, semester_id, date, any_value(week) AS week, any_value(weekday) AS weekday,
            count(*) AS students
        FROM marts.attendance_student_day JOIN shown USING (school_id, semester_id)
        WHERE recorded > 0 GROUP BY ALL
    ),
    usual AS (SELECT school_id, quantile_cont(students, 0.5) AS students FROM days GROUP BY ALL),
    limits AS (
        SELECT school_id, any_value(value) AS percent FROM staging.stg_attendance_thresholds
        WHERE {schools} AND threshold = 'session_day_percent' GROUP BY ALL
    ),
    last AS (
        SELECT days.* FROM days JOIN usual USING (school_id) JOIN limits USING (school_id)
        WHERE 100 * days.students >= usual.students * limits.percent
        QUALIFY row_number() OVER (PARTITION BY school_id ORDER BY date DESC) = 1
    )"""


#: The last school day of a school, and the same weekday of the same week last semester.
DAYS = f"""
    WITH {last_day_of("school_id = $school_id")},
    before AS (
        SELECT dim_semester.semester_id FROM core.dim_semester, last
        WHERE dim_semester.school_id = $school_id AND first_day < (
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
#: The group of a row. Rows count for the school, the cohort and the class.
GROUP = """
    CASE WHEN grouping(admin_class_id) = 0 THEN 'class' WHEN grouping(cohort_id) = 0 THEN 'cohort'
        ELSE 'school' END AS kind,
    coalesce(admin_class_id, cohort_id)::VARCHAR AS key
"""
BY_GROUP = "GROUP BY GROUPING SETS ((), (cohort_id), (admin_class_id))"
#: The counts of each figure.
ATTENDED_COUNTS = f"""
    {rate("sum(present)", "sum(recorded)")} AS rate, count(*) AS students,
    count_if(NOT is_absent_day) AS attended
"""
LEVEL_COUNTS = """
    bool_and(inputs_loaded) AS is_known, count(*) AS students,
    count(*) FILTER (level = 'at_risk') AS at_risk, count(*) FILTER (level = 'warning') AS warning,
    count(*) FILTER (level = 'unknown') AS unknown, students - unknown AS judged
"""
ROLL_COUNTS = "count_if(state = 'unrecorded') AS not_taken, count(*) AS due"
ATTENDED = f"""
    WITH {PLACED}
    SELECT {GROUP}, {ATTENDED_COUNTS}
    FROM marts.attendance_student_day LEFT JOIN placed USING (school_id, semester_id, student_id)
    WHERE school_id = $school_id AND date = DATE '{{day}}' AND recorded > 0
    {BY_GROUP}
"""
LEVELS = f"""
    WITH {SHOWN}
    SELECT {GROUP}, {LEVEL_COUNTS}
    FROM marts.early_warning JOIN shown USING (school_id, semester_id) {NOT_DELETED}
    {BY_GROUP}
"""
#: Lessons of the seven days up to a day with a roll to take.
IS_DUE = "state IN ('recorded', 'unrecorded') AND date BETWEEN {day} - 6 AND {day}"
#: Rolls due in the seven days up to a day, with the groups of the class's members on the day. A roll counts
#: for each of these groups.
DUE = f"""
    {PLACED},
    sessions AS (
        SELECT *
        FROM marts.attendance_class_session
        WHERE school_id = $school_id AND {IS_DUE.format(day="DATE '{day}'")}
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
    SELECT kind, key, {ROLL_COUNTS} FROM grouped GROUP BY ALL
"""

#: Grades of the semester that is shown, and of the semester before.
GRADES = f"""
    WITH {SHOWN}
    SELECT shown.school_id IS NOT NULL AS is_shown, {MEAN}, pass_rate, excellent_rate, scored, students
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
    **{name: measures.label(name) for name in ("pass_rate", "excellent_rate")},
}
POINTS = Words(" pp", " 个百分点")


def figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """The figures of a school. A figure without data says so."""
    return figures_by_group(con, school_id)[WHOLE]


def figures_by_group(
    con: duckdb.DuckDBPyConnection, school_id: int, others: Iterable[Group] = ()
) -> dict[Group, tuple[Figure, ...]]:
    """The figures of a school, of each of its cohorts and of each of its administrative classes.

    `others`: groups that may have no data, whose figures then say so."""
    days = last_days(con, school_id)
    levels = _by_group(con, LEVELS, school_id)
    compared = _compared(days) if days else ()
    attended = [_of_day(con, ATTENDED, school_id, day) for day in compared]
    rolls = [_of_day(con, ROLLS, school_id, day) for day in compared]
    unattended, unjudged = (never_loaded(con, school_id, of) for of in (ATTENDANCE, WARNINGS))
    groups = {group for rows in (levels, *attended, *rolls, others) for group in rows} - {WHOLE}
    return {
        group: (
            present_figure([rows.get(group) for rows in attended], days, unattended),
            at_risk_figure(levels.get(group), unjudged),
            rolls_figure([rows.get(group) for rows in rolls], unattended),
        )
        for group in (WHOLE, *sorted(groups))
    }


def last_days(con: duckdb.DuckDBPyConnection, school_id: int) -> Mapping[str, Any] | None:
    """The last school day, and the same weekday of the same week last term. None: no attendance is known."""
    return next(iter(records(con, DAYS, {"school_id": school_id})), None)


def never_loaded(con: duckdb.DuckDBPyConnection, school_id: int, resources: Sequence[str]) -> Words | None:
    """The resources, of some, that were never loaded for a school. None: there are none."""
    return never_words(never_loaded_of(con, [school_id], resources).get(school_id, {}), resources)


def never_loaded_of(
    con: duckdb.DuckDBPyConnection, school_ids: Sequence[int], resources: Iterable[str]
) -> dict[int, dict[str, Words]]:
    """The names of the resources, of some, that were never loaded, by school and resource."""
    schools = of_schools(school_ids)
    query = NEVER_LOADED.format(shown=shown_of(schools), schools=schools)
    missing: dict[int, dict[str, Words]] = {}
    for row in records(con, query, {"resources": sorted(resources)}):
        name = Words(row["label_en"], row["label_zh"])
        missing.setdefault(row["school_id"], {})[row["resource"]] = name
    return missing


def never_words(missing: Mapping[str, Words], resources: Sequence[str]) -> Words | None:
    """The text for those of some resources that were never loaded. None: there are none."""
    never = joined(name for resource, name in missing.items() if resource in resources)
    return Words(NEVER.en.format(never.en), NEVER.zh.format(never.zh)) if never.en else None


def _without(name: str, label: Words, never: Words | None) -> Figure:
    """A figure without a value: not known where its resources were never loaded."""
    return Figure(name, label, NOT_KNOWN if never else NOTHING, never or EMPTY, ())


def grade_figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """Mean, pass rate and excellent rate of a school's grades."""
    by_shown = {row["is_shown"]: row for row in records(con, GRADES, {"school_id": school_id})}
    never = never_loaded(con, school_id, ("grades",))
    return tuple(
        _of_grades(name, by_shown.get(True, {}), by_shown.get(False, {}))
        if by_shown.get(True, {}).get(name) is not None
        else _without(name, label, never)
        for name, label in GRADE_LABELS.items()
    )


def _of_grades(name: str, now: Mapping[str, Any], before: Mapping[str, Any]) -> Figure:
    label, value = GRADE_LABELS[name], now[name]
    detail = Words(
        f"{now['scored']:,} grades of {now['students']:,} students",
        f"{now['students']:,}名学生，{now['scored']:,}个成绩",
    )
    change = _change(BEFORE, value, before.get(name), POINTS, less=False)
    return Figure(name, label, untranslated(f"{value}%"), detail, (change,), float(value))


def present_figure(
    by_day: Sequence[Counts | None], days: Mapping[str, Any] | None, never: Words | None
) -> Figure:
    """The attendance of the last school day.

    Args:
        by_day: The counts of that day, a week before and last semester. Empty: no day is known.
        days: The row of DAYS.
        never: The resources that were never loaded."""
    now, *others = by_day or [None]
    if days is None or now is None or now["rate"] is None:
        return _without("present", PRESENT, never)
    day = days["day"]
    detail = Words(
        f"{day:%a %d %b %Y} · by lessons · {now['attended']:,} of {now['students']:,} students attended",
        f"{day:%Y-%m-%d} · 按节次；按人数：出勤{now['attended']:,}人／有考勤{now['students']:,}人",
    )
    changes = _changes(
        now["rate"], [other["rate"] if other else None for other in others], " pp", " 个百分点"
    )
    value = untranslated(f"{now['rate']}%")
    return Figure("present", PRESENT, value, detail, changes, float(now["rate"]))


def at_risk_figure(levels: Counts | None, never: Words | None) -> Figure:
    """The students at risk, without a change: early warnings of earlier days are not stored."""
    if levels is None or not levels["students"] or not levels["is_known"]:
        return _without("at_risk", AT_RISK, never)
    judged, unknown = levels["judged"], levels["unknown"]
    if not judged:
        return Figure("at_risk", AT_RISK, NOT_KNOWN, TOO_LITTLE, ())
    share = percent(levels["at_risk"], judged)
    detail = Words(
        f"{share}% of {judged:,} · plus {levels['warning']:,} with a warning"
        + (f" · {unknown:,} not known" if unknown else ""),
        f"占{judged:,}人的{share}% · 另有{levels['warning']:,}人预警"
        + (f" · {unknown:,}人无法判断" if unknown else ""),
    )
    value = f"{levels['at_risk']:,}"
    return Figure("at_risk", AT_RISK, Words(value, f"{value}人"), detail, (), levels["at_risk"])


def rolls_figure(by_day: Sequence[Counts | None], never: Words | None) -> Figure:
    """The rolls that were not taken, with arguments as of `present_figure`."""
    now, *others = by_day or [None]
    if now is None or not now["due"]:
        return _without("rolls", NOT_TAKEN, never)
    share = percent(now["not_taken"], now["due"])
    detail = Words(f"{share}% of {now['due']:,} lessons", f"占应点名{now['due']:,}节的{share}%")
    past = [other["not_taken"] if other and other["due"] else None for other in others]
    value = f"{now['not_taken']:,}"
    changes = _changes(now["not_taken"], past, "", "节", less=True)
    return Figure("rolls", NOT_TAKEN, Words(value, f"{value}节"), detail, changes, now["not_taken"])


def _compared(days: Mapping[str, Any]) -> tuple[date, date, date | None]:
    return days["day"], days["day"] - WEEK, days["last_term"]


def _of_day(
    con: duckdb.DuckDBPyConnection, query: str, school_id: int, day: date | None
) -> dict[Group, Counts]:
    """The rows of a query about a day, by group. Empty where there is no such day."""
    return {} if day is None else _by_group(con, query.format(day=day), school_id)


def _by_group(con: duckdb.DuckDBPyConnection, query: str, school_id: int) -> dict[Group, Counts]:
    """The rows of a query by group. A student without class or cohort counts in the larger groups."""
    rows = records(con, query, {"school_id": school_id})
    return {(row["kind"], row["key"] or ""): row for row in rows if row["kind"] == "school" or row["key"]}


def _changes(
    now: int | Decimal | None, before: Sequence[int | Decimal | None], en: str, zh: str, *, less: bool = False
) -> tuple[Change, ...]:
    """The changes since last week and last term. `less`: less is better."""
    return tuple(
        _change(since, now, other, Words(en, zh), less=less)
        for since, other in zip((LAST_WEEK, LAST_TERM), before, strict=True)
    )


def _change(
    since: Words, now: int | Decimal | None, other: int | Decimal | None, unit: Words, *, less: bool
) -> Change:
    """The difference of two figures as they are shown."""
    if now is None or other is None:
        return Change(since, NOTHING)
    moved = now - other
    number = f"{abs(moved):,}"
    if not moved:
        return Change(since, Words("no change", "持平"))
    arrow, good = "▲" if moved > 0 else "▼", (moved < 0) == less
    en, zh = ("better", "好转") if good else ("worse", "变差")
    return Change(
        since,
        Words(f"{arrow} {number}{unit.en} ({en})", f"{arrow} {number}{unit.zh}（{zh}）"),
        good,
    )
