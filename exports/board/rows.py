"""The rows of the board's charts and lists, for the school, each cohort and each administrative class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from exports.board.words import BOARD, TEXTS
from exports.figures import Group
from exports.library.view_rows import read_rows
from exports.library.words import label_of, labels
from exports.source import School, distinct_names
from exports.spreadsheet.sheets import Words

Rows = Sequence[Mapping[str, Any]]

#: The levels in charts.
LEVELS = ("at_risk", "warning")


def chart_rows(con: duckdb.DuckDBPyConnection, school: School) -> dict[str, Rows]:
    """The rows of each chart by its name. Each row has its group: `kind`, `key`, `cohort`, `name`, and
    `order` (the school, then its cohorts, then its classes)."""
    rows = {name: read_rows(con, data, [school.id]) for name, data in BOARD.rows.items()}
    cohorts = distinct_names({row["key"]: row["name"] for row in rows["cohorts"]})
    groups = _groups(rows["groups"], cohorts)
    places = _places(school, cohorts, groups)
    rows["lessons"] = [row | _weekday(row["weekday"]) for row in rows["lessons"]]
    rows["weeks"] = [row | _last_year(row.pop("grade_level")) for row in rows["weeks"]]
    rows["levels"] = [_level(row, level) for row in rows["levels"] for level in LEVELS if row[level]]
    return (
        rows
        | {name: _drawn(rows[name], places) for name in BOARD.charts()}
        | {"cohorts": [{"key": key, "name": name} for key, name in cohorts.items()], "groups": groups}
    )


def _groups(rows: Rows, cohorts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Classes with distinct names: a chart draws equal names as one group."""
    placed = [{**group, "cohort_name": cohorts.get(group["cohort"], "")} for group in rows]
    names = distinct_names(
        {group["key"]: f"{group['cohort_name']} {group['name']}".strip() for group in placed}
    )
    return [{**group, "name": names[group["key"]]} for group in placed]


def _places(school: School, cohorts: Mapping[str, str], groups: Rows) -> dict[Group, dict[str, Any]]:
    """The name, cohort and order of each group."""
    named = {("school", ""): (school.name, "")}
    named |= {("cohort", key): (name, key) for key, name in cohorts.items()}
    named |= {("class", group["key"]): (group["name"], group["cohort"]) for group in groups}
    return {
        group: {"name": name, "cohort": cohort, "order": order}
        for order, (group, (name, cohort)) in enumerate(named.items())
    }


def _drawn(rows: Rows, places: Mapping[Group, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of groups that have a place."""
    return [
        {"kind": kind, **values, **places[kind, values["key"]]}
        for row in rows
        for kind, values in [_kind(row)]
        if (kind, values["key"]) in places
    ]


def _kind(row: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of group of a row of a view, and its other columns."""
    values = dict(row)
    return values.pop("group_type").removeprefix("admin_"), values


def _level(row: Mapping[str, Any], level: str) -> dict[str, Any]:
    return {"group_type": row["group_type"], "key": row["key"], "level": level, "students": row[level]}


def _weekday(number: int) -> dict[str, str]:
    day = label_of(str(number), "weekdays")
    return {"weekday_zh": day.zh, "weekday_en": day.en[:3]}


def _last_year(grade_level: int | None) -> dict[str, str | None]:
    """The name of the line of a cohort's grade in the year before."""
    if grade_level is None:
        return {"last_year_zh": None, "last_year_en": None}
    grade = labels("grades").get(f"grade {grade_level}", TEXTS["grade"].format(grade_level))
    line: Words = TEXTS["a_year_before"].format(grade)
    return {"last_year_zh": line.zh, "last_year_en": line.en}
