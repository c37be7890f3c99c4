"""The page of all schools together: no student is named on it, and small numbers are not told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from exports.board.charts import specs
from exports.board.page import LANGUAGES, chart, render, titles
from exports.board.rows import BANDS, WEEKS, Rows, rows
from exports.board.words import (
    BAND,
    LAST_DAY,
    NEVER_LOADED,
    NOT_KNOWN_OF,
    NOT_LOADED,
    OF_SCHOOLS,
    ROLLS,
    SMALL,
    TEXTS,
)
from exports.figures import AT_RISK, LEVELS, NOT_KNOWN, NOT_TAKEN, PRESENT, figures, grade_figures
from exports.sheets import Figure, Language, Words
from exports.source import Origin, School, in_a_row, told_apart
from exports.workbooks.definitions import PRESENT as RATE
from exports.workbooks.definitions import warning_definitions
from exports.workbooks.terms import same

ALL = Words("All schools", "所有学校")
#: Fewer than so many students are not told.
SMALLEST = 5


def write_board_of_all(
    con: duckdb.DuckDBPyConnection, origins: Sequence[Origin], target: Path, language: Language, kept: Path
) -> dict[str, int]:
    """Write the page of these schools. `kept`: as of `write_board`. The rows by chart."""
    names = told_apart({str(one.school.id): one.school.name for one in origins})
    origins = [replace(one, school=School(one.school.id, names[str(one.school.id)])) for one in origins]
    told = {origin.school.id: figures(con, origin.school.id) for origin in origins}
    drawn: dict[str, list[dict[str, Any]]] = {"weeks": [], "levels": [], "bands": []}
    unknown: dict[str, list[Words]] = {name: [] for name in drawn}
    for order, origin in enumerate(origins):
        by_name = {figure.name: figure for figure in told[origin.school.id]}
        [of_grades, *_] = grade_figures(con, origin.school.id)
        of_charts = {"weeks": by_name["present"], "levels": by_name["at_risk"], "bands": of_grades}
        for name, own in _rows(con, origin.school).items():
            drawn[name] += [{**row, "order": order} for row in own]
            if not own and of_charts[name].value == NOT_KNOWN:
                unknown[name].append(same(origin.school.name))
    groups = [
        {"key": str(one.school.id), "name": one.school.name, "cohort": "", "cohort_name": ""}
        for one in origins
    ]
    warnings = warning_definitions(con, origins[0].school.id)
    oldest = min(origins, key=lambda one: one.day)
    content = {
        "name": ALL.in_language(language),
        "title": {code: titles(ALL.in_language(code))[code] for code in LANGUAGES},
        "alarms": [],
        "schools": [
            {"key": str(one.school.id), "name": one.school.name, "cells": _cells(one, told[one.school.id])}
            for one in origins
        ],
        "columns": [TEXTS["as_of"], PRESENT, AT_RISK, NOT_TAKEN],
        "charts": [_chart(name, drawn[name], unknown[name]) for name in drawn],
        "cohorts": [],
        "groups": groups,
        "terms": {
            "schools": [RATE, LAST_DAY, *warnings, ROLLS, SMALL],
            "weeks": [RATE],
            "levels": [*warnings, SMALL],
            "bands": [BAND, SMALL],
        },
    }
    everything: dict[str, Any] = {
        code: {name: specs(code, together=True)[name] for name in drawn} for code in LANGUAGES
    }
    page_of = replace(oldest, age=min((one.age for one in origins), key=lambda age: str(age.as_of)))
    render(page_of, content, {**drawn, "groups": groups}, everything, target, language, kept)
    return {name: len(own) for name, own in drawn.items()}


def _chart(name: str, own: Rows, unknown: Sequence[Words]) -> dict[str, Any]:
    """A chart of all schools. It names the schools that have no part in it because theirs is not known."""
    title, hint = OF_SCHOOLS[name]
    if not unknown:
        return chart(name, title, hint, own)
    schools = in_a_row(unknown)
    not_known = Words(NOT_KNOWN_OF.en.format(schools.en), NOT_KNOWN_OF.zh.format(schools.zh))
    if own:
        hint = Words(f"{hint.en} {not_known.en}", f"{hint.zh}{not_known.zh}")
    return chart(name, title, hint, own, not_known)


def _rows(con: duckdb.DuckDBPyConnection, school: School) -> Mapping[str, list[dict[str, Any]]]:
    """The rows of a school as a whole, as if it were a class."""
    placed = {"kind": "class", "key": str(school.id), "cohort": "", "name": school.name}

    def whole(found: Rows) -> list[dict[str, Any]]:
        return [{**row, **placed} for row in found if row["kind"] == "school"]

    return {
        "weeks": whole(rows(con, WEEKS, school.id)),
        "levels": [{**placed, **level} for level in _levels(con, school.id)],
        "bands": of_many(whole(rows(con, BANDS, school.id))),
    }


def of_many(bands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bands of subjects in which so many have a grade that none of them can be told from it."""
    graded: Counter[str] = Counter()
    for row in bands:
        graded[row["subject"]] += row["grades"]
    return [row for row in bands if graded[row["subject"]] >= SMALLEST]


def _levels(con: duckdb.DuckDBPyConnection, school_id: int) -> list[dict[str, Any]]:
    """Of a hundred students whose level is known; small numbers are left out."""
    [counted] = [row for row in rows(con, LEVELS, school_id) if row["kind"] == "school"]
    return [
        {"level": level, "students": round(100 * counted[level] / counted["judged"], 1)}
        for level in ("at_risk", "warning")
        if counted["is_known"] and counted[level] >= SMALLEST
    ]


def _cells(origin: Origin, told: Sequence[Figure]) -> list[dict[str, Any]]:
    """How old the data of a school are, and its figures."""
    as_of = same(f"{origin.age.as_of:%Y-%m-%d %H:%M}" if origin.age.as_of else "—")
    for words, resources in (
        (NEVER_LOADED, origin.age.never),
        (NOT_LOADED, dict.fromkeys(origin.age.older, ())),
    ):
        if resources:
            of = origin.loads.named(resources)
            as_of = Words(words.en.format(as_of.en, of.en), words.zh.format(as_of.zh, of.zh))
    cells = [{"words": as_of, "alarm": bool(origin.age.failed)}]
    for figure in told:
        is_small = figure.name == "at_risk" and figure.number is not None and 0 < figure.number < SMALLEST
        cells.append({"words": same(f"< {SMALLEST}") if is_small else figure.value, "alarm": False})
    return cells
