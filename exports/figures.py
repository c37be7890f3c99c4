"""Figures with their changes: the three figures of the board, and the figures of grades."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb

from exports.library.view_rows import Data, ViewRows, read_rows
from exports.library.words import Phrase, content_of
from exports.source import joined, resource_labels
from exports.spreadsheet.sheets import Change, Figure, Words
from warehouse.published.contents import read_tables
from warehouse.rounding import percent

#: Kind (school, cohort or class) and key of a group; of the school the key is empty.
Group = tuple[str, str]
WHOLE: Group = ("school", "")
Counts = Mapping[str, Any]

EMPTY = Words("", "")
#: The figures of grades, by their columns.
OF_GRADES = ("mean", "pass_rate", "excellent_rate")


class FiguresData(Data):
    """The file figures.yml."""

    rows: dict[str, ViewRows]
    #: The resources without which figures are not known.
    resources: dict[str, tuple[str, ...]]
    labels: dict[str, Phrase]
    texts: dict[str, Phrase]


@cache
def data() -> FiguresData:
    """The rows and texts of the figures."""
    return FiguresData.model_validate(content_of("figures"))


def figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """The figures of a school. A figure without data says so."""
    return figures_by_group(con, school_id)[WHOLE]


def figures_by_group(
    con: duckdb.DuckDBPyConnection, school_id: int, besides: Iterable[Group] = ()
) -> dict[Group, tuple[Figure, ...]]:
    """The figures of a school, of each of its cohorts and of each of its administrative classes.

    `besides`: groups that may have no data, whose figures then say so."""
    days, rolls, levels = (counts_by_group(con, name, school_id) for name in ("days", "rolls", "levels"))
    missing = never_loaded_of(con, [school_id]).get(school_id, {})
    unattended, unjudged = (never_words(missing, name) for name in ("attendance", "levels"))
    return {
        group: (
            present_figure(days.get(group, {}), unattended),
            at_risk_figure(levels.get(group, {}).get("last"), unjudged),
            rolls_figure(rolls.get(group, {}), unattended),
        )
        for group in (WHOLE, *sorted({*days, *rolls, *levels, *besides} - {WHOLE}))
    }


def counts_by_group(
    con: duckdb.DuckDBPyConnection, name: str, school_id: int
) -> dict[Group, dict[str, Counts]]:
    """The rows of figures by group, then by period; levels have no period but the last."""
    rows = defaultdict[Group, dict[str, Counts]](dict)
    for row in read_rows(con, data().rows[name], [school_id]):
        rows[group_of(row)][row.get("period", "last")] = row
    return dict(rows)


def group_of(row: Mapping[str, Any]) -> Group:
    """The group of a row of a view: an administrative class is a class."""
    return row["group_type"].removeprefix("admin_"), row["group_key"]


def never_loaded(con: duckdb.DuckDBPyConnection, school_id: int, name: str) -> Words | None:
    """The resources that were never loaded, of those that a figure needs. None: there are none."""
    return never_words(never_loaded_of(con, [school_id]).get(school_id, {}), name)


def never_loaded_of(con: duckdb.DuckDBPyConnection, school_ids: Sequence[int]) -> dict[int, dict[str, Words]]:
    """The labels of the resources that were never loaded, by school and resource."""
    missing = defaultdict[int, dict[str, Words]](dict)
    if rows := read_rows(con, data().rows["never_loaded"], school_ids):
        labels = resource_labels(read_tables(con))
        for row in rows:
            resource = row["resource"]
            missing[row["school_id"]][resource] = labels.get(resource, Words(resource, resource))
    return missing


def never_words(missing: Mapping[str, Words], name: str) -> Words | None:
    """The text for the missing resources that a figure needs. None: it lacks none."""
    lacking = [label for resource, label in missing.items() if resource in data().resources[name]]
    return data().texts["never"].format(joined(lacking)) if lacking else None


def _without(name: str, never: Words | None) -> Figure:
    """A figure without a value: not known where its resources were never loaded."""
    value = data().texts["not_known" if never else "nothing"]
    return Figure(name, data().labels[name], value, never or EMPTY, ())


def grade_figures(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Figure, ...]:
    """Mean, pass rate and excellent rate of a school's grades, beside those of the semester before."""
    semesters = read_rows(con, data().rows["grades"], [school_id])
    are_shown = [row for row in semesters if row["is_shown"]]
    first_day = min((row["first_day"] for row in are_shown if row["first_day"]), default=None)
    before = [row for row in semesters if first_day and row["first_day"] and row["first_day"] < first_day]
    now, earlier = (next(iter(rows), {}) for rows in (are_shown, before))
    never = never_loaded(con, school_id, "grades")
    return tuple(
        _without(name, never) if now.get(name) is None else _of_grades(name, now, earlier.get(name))
        for name in OF_GRADES
    )


def _of_grades(name: str, now: Counts, before: Decimal | None) -> Figure:
    texts = data().texts
    value, detail = texts["percentage"].format(now[name]), texts["grades"].format(**now)
    change = _change("semester_before", now[name], before, "points", less=False)
    return Figure(name, data().labels[name], value, detail, (change,), float(now[name]))


def present_figure(by_period: Mapping[str, Counts], never: Words | None) -> Figure:
    """The attendance of the last school day, by the rows of views.group_day.

    `never`: the resources that were never loaded."""
    now = by_period.get("last")
    if now is None or now["attendance_rate"] is None:
        return _without("present", never)
    texts, rate = data().texts, now["attendance_rate"]
    changes = _changes("attendance_rate", by_period, "points", less=False)
    value, detail = texts["percentage"].format(rate), texts["present"].format(**now)
    return Figure("present", data().labels["present"], value, detail, changes, float(rate))


def at_risk_figure(levels: Counts | None, never: Words | None) -> Figure:
    """The students at risk, without a change: early warnings of earlier days are not stored.

    `levels`: the row of views.group_level."""
    if levels is None or not levels["inputs_loaded"]:
        return _without("at_risk", never)
    texts, label, at_risk = data().texts, data().labels["at_risk"], levels["at_risk"]
    if not levels["judged"]:
        return Figure("at_risk", label, texts["not_known"], texts["too_little"], ())
    detail = texts["at_risk"].format(share=percent(at_risk, levels["judged"]), **levels)
    if levels["unknown"]:
        detail += texts["unknown"].format(**levels)
    return Figure("at_risk", label, texts["number_of_students"].format(at_risk), detail, (), at_risk)


def rolls_figure(by_period: Mapping[str, Counts], never: Words | None) -> Figure:
    """The rolls that were not taken, by the rows of views.group_roll.

    `never`: the resources that were never loaded."""
    now = by_period.get("last")
    if now is None:
        return _without("rolls", never)
    texts, not_taken = data().texts, now["not_taken"]
    detail = texts["rolls"].format(share=percent(not_taken, now["due"]), **now)
    changes = _changes("not_taken", by_period, "lessons", less=True)
    value = texts["number_of_lessons"].format(not_taken)
    return Figure("rolls", data().labels["rolls"], value, detail, changes, not_taken)


def _changes(name: str, by_period: Mapping[str, Counts], unit: str, *, less: bool) -> tuple[Change, ...]:
    """The changes since last week and last semester. `less`: less is better."""
    now = by_period["last"][name]
    return tuple(
        _change(period, now, by_period.get(period, {}).get(name), unit, less=less)
        for period in ("week_before", "last_semester")
    )


def _change(since: str, now: int | Decimal, before: int | Decimal | None, unit: str, *, less: bool) -> Change:
    """The difference of two figures as they are shown."""
    texts = data().texts
    if before is None:
        return Change(texts[since], texts["nothing"])
    moved = now - before
    if not moved:
        return Change(texts[since], texts["no_change"])
    is_better = (moved < 0) == less
    text = texts["better" if is_better else "worse"]
    return Change(texts[since], text.format("▲" if moved > 0 else "▼", abs(moved), texts[unit]), is_better)
