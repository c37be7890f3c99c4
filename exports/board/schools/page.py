"""The page of all schools. It names no student and hides small numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from exports.board.charts import Page
from exports.board.page import chart, render, titles
from exports.board.rows import LEVELS, Rows
from exports.board.schools.facts import (
    SMALLEST,
    Facts,
    facts_of,
    is_small,
    level_rows,
    share_of_level,
    without_small_subjects,
)
from exports.board.schools.reasons import (
    FAR,
    NAMES,
    Quartiles,
    Reason,
    quartiles,
    reasons_of_data,
    reasons_of_figures,
    urgency,
)
from exports.board.schools.words import SCHOOLS, TEXTS, listed
from exports.board.words import BOARD, Panel, terms_of
from exports.figures import data as figures_data
from exports.library.view_rows import read_rows
from exports.library.words import labels, untranslated
from exports.source import Origin, School, distinct_names
from exports.spreadsheet.sheets import Language, Words
from warehouse.age import STALE

#: The group of all schools in charts.
OF_ALL: Mapping[str, Any] = {"kind": "school", "key": "", "cohort": "", "name": "", "order": 0}


def write_board_of_all(
    con: duckdb.DuckDBPyConnection,
    origins: Sequence[Origin],
    target: Path,
    language: Language,
    cache_folder: Path,
) -> dict[str, int]:
    """Write the page of these schools. Returns the number of rows by chart. `cache_folder`: caches the script
    of the charts."""
    names = distinct_names({str(origin.school.id): origin.school.name for origin in origins})
    origins = [
        replace(origin, school=School(origin.school.id, names[str(origin.school.id)])) for origin in origins
    ]
    schools = [origin.school for origin in origins]
    page: Page = "many_schools" if len(schools) > BOARD.most["schools"] else "few_schools"
    facts = facts_of(con, [school.id for school in schools])
    rows = _rows(con, schools, facts, are_many=page == "many_schools")
    loaded = sorted((origin.age.as_of, place) for place, origin in enumerate(origins) if origin.age.as_of)
    oldest, newest = (loaded[0][0], loaded[-1][0]) if loaded else (None, None)
    reasons = reasons_by_school(origins, facts, newest, spread(facts) if page == "many_schools" else {})
    groups = [
        {"key": str(school.id), "name": school.name, "cohort": "", "cohort_name": ""} for school in schools
    ]
    charts, figure_labels = SCHOOLS.pages[page].charts, figures_data().labels
    terms = {name: panel.terms for name, panel in charts.items()} | {"schools": SCHOOLS.pages[page].terms}
    content = {
        "name": TEXTS["all"].in_language(language),
        "title": titles(TEXTS["all"]),
        "oldest": _time(oldest) if oldest != newest else "",
        "alarms": [],
        "schools": _table(origins, facts, reasons, newest),
        **_summary(reasons, newest),
        "columns": [
            *(TEXTS["reason"], BOARD.texts["as_of"]),
            *(figure_labels[figure] for figure in ("present", "at_risk", "rolls")),
        ],
        "charts": [
            _chart(name, panel, rows[name], _not_known(name, schools, facts, rows[name]))
            for name, panel in charts.items()
        ],
        "cohorts": [],
        "groups": groups,
        "terms": terms_of(con, schools[0].id, terms, SCHOOLS.definitions | BOARD.definitions),
    }
    latest = origins[loaded[-1][1] if loaded else 0]
    render(latest, content, {**rows, "groups": groups}, page, target, language, cache_folder)
    return {name: len(rows[name]) for name in charts}


def spread(facts: Mapping[int, Facts]) -> dict[str, Quartiles]:
    """The quartiles of the percentages that are compared, by the name of the figure."""
    values = {name: [own.shares[name] for own in facts.values() if name in own.shares] for name in FAR}
    values["at_risk"] = [row["students"] for row in _judged(facts) if row["level"] == "at_risk"]
    return {name: quartile for name, own in values.items() if (quartile := quartiles(own))}


def reasons_by_school(
    origins: Iterable[Origin],
    facts: Mapping[int, Facts],
    newest: datetime | None,
    usual: Mapping[str, Quartiles],
) -> dict[int, tuple[Reason, ...]]:
    """The reasons to look at schools, by school id.

    Args:
        newest: When the data of any school were loaded last.
        usual: The quartiles of the schools by the name of the figure. Empty: schools are not compared."""
    return {
        origin.school.id: (
            *reasons_of_data(origin.age, newest),
            *reasons_of_figures(facts[origin.school.id].figures, facts[origin.school.id].shares, usual),
        )
        for origin in origins
    }


def _table(
    origins: Iterable[Origin],
    facts: Mapping[int, Facts],
    reasons: Mapping[int, Sequence[Reason]],
    newest: datetime | None,
) -> list[dict[str, Any]]:
    """The rows of the table, the schools with the most reasons first."""
    return [
        {
            "key": str(origin.school.id),
            "name": origin.school.name,
            "reasons": [
                {"name": reason.name, "words": _reason(reason.name, newest, reason.detail)}
                for reason in reasons[origin.school.id]
            ],
            "cells": _cells(origin, facts[origin.school.id]),
        }
        for origin in sorted(origins, key=lambda origin: urgency(reasons[origin.school.id]))
    ]


def _summary(reasons: Mapping[int, Sequence[Reason]], newest: datetime | None) -> dict[str, Any]:
    """How many schools are fine, and how many have each reason."""
    fine = sum(not own for own in reasons.values())
    counts = Counter(reason.name for own in reasons.values() for reason in own)
    return {
        "fine": TEXTS["fine"].format(fine, len(reasons)),
        "reasons": [
            {"name": name, "words": _counted(counts[name], _reason(name, newest))}
            for name in NAMES
            if counts[name]
        ],
    }


def _counted(schools: int, reason: Words) -> Words:
    return TEXTS["reason_of_one" if schools == 1 else "reason_of_many"].format(schools, reason)


def _reason(name: str, newest: datetime | None, detail: Words | None = None) -> Words:
    reason = SCHOOLS.reasons[name].format(since=_time(newest - STALE) if newest else "")
    return reason if detail is None else TEXTS["reason_with_detail"].format(reason, detail)


def _cells(origin: Origin, facts: Facts) -> list[dict[str, Any]]:
    """The age of a school's data, and its figures."""
    as_of = untranslated(_time(origin.age.as_of) or "—")
    for pattern, resources in (
        ("never_loaded", origin.age.never),
        ("not_loaded", dict.fromkeys(origin.age.older, ())),
    ):
        if resources:
            as_of = TEXTS[pattern].format(as_of, origin.loads.named(resources))
    cells = [{"words": as_of, "alarm": bool(origin.age.failed)}]
    for figure in facts.figures:
        hidden = figure.name == "at_risk" and figure.number is not None and is_small(figure.number)
        cells.append({"words": untranslated(f"< {SMALLEST}") if hidden else figure.value, "alarm": False})
    return cells


def _rows(
    con: duckdb.DuckDBPyConnection, schools: Sequence[School], facts: Mapping[int, Facts], *, are_many: bool
) -> dict[str, list[dict[str, Any]]]:
    """The rows of each chart. A school takes the place of a class."""
    ids = [school.id for school in schools]
    places = {
        school.id: {"kind": "class", "key": str(school.id), "cohort": "", "name": school.name, "order": order}
        for order, school in enumerate(schools)
    }

    def placed(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {**places[row["school_id"]], **{name: row[name] for name in row if name != "school_id"}}
            for row in rows
        ]

    weeks, all_bands = (read_rows(con, SCHOOLS.rows[name], ids) for name in ("weeks", "bands"))
    weeks, bands = placed(weeks), placed(without_small_subjects(all_bands))
    levels = placed(level_rows(facts))
    together = [*bands_together(bands), *bands]
    if not are_many:
        return {"weeks": weeks, "levels": levels, "bands": together}
    return {
        "weeks": with_quartiles(weeks, weeks, "week", "rate"),
        "quartiles": with_quartiles(levels, _judged(facts), "level", "students"),
        "bands": together,
    }


def _judged(facts: Mapping[int, Facts]) -> list[dict[str, Any]]:
    """The percentage of each level at each school where it is known."""
    return [
        {"level": level, "students": share}
        for level in LEVELS
        for own in facts.values()
        if (share := share_of_level(own.levels, level)) is not None
    ]


def with_quartiles(
    rows: Sequence[dict[str, Any]], compared: Iterable[Mapping[str, Any]], key: str, value: str
) -> list[dict[str, Any]]:
    """The rows of schools after a row of all schools for each value of a column, with the quartiles.

    Args:
        compared: The rows with the values of the quartiles.
        key: The column of the groups. A week is complete once it is complete at each school.
        value: The column with the values; of all schools it is the median."""
    groups = defaultdict[Any, list[Mapping[str, Any]]](list)
    for row in compared:
        groups[row[key]].append(row)
    spreads = {group: quartiles([row[value] for row in own]) for group, own in sorted(groups.items())}
    of_all = [
        {
            **OF_ALL,
            key: group,
            "is_complete": all(row.get("is_complete", True) for row in groups[group]),
            value: quartile.median,
            "low": quartile.low,
            "high": quartile.high,
            "schools": quartile.schools,
        }
        for group, quartile in spreads.items()
        if quartile
    ]
    nothing = {"is_complete": True, "low": None, "high": None, "schools": None}
    return [*of_all, *({**nothing, **row} for row in rows)] if of_all else []


def bands_together(bands: Rows) -> list[dict[str, Any]]:
    """The bands of all schools. `bands`: those that are shown of each school, so that no difference shows
    hidden grades."""
    grades, places = Counter[tuple[str, str]](), dict[tuple[str, str], int]()
    for row in bands:
        band = row["subject"], row["band"]
        grades[band] += row["grades"]
        places[band] = min(row["place"], places.get(band, row["place"]))
    return [
        {**OF_ALL, "subject": subject, "band": band, "place": places[subject, band], "grades": number}
        for (subject, band), number in grades.items()
    ]


def _not_known(name: str, schools: Sequence[School], facts: Mapping[int, Facts], rows: Rows) -> Words | None:
    """The schools whose data for a chart are not known. None: there are none."""
    with_rows = {row["key"] for row in rows}
    unknown = [
        school.name
        for school in schools
        if str(school.id) not in with_rows and _lacks(name, facts[school.id])
    ]
    if not unknown:
        return None
    return TEXTS["without_data"].format(listed(unknown))


def _lacks(name: str, facts: Facts) -> bool:
    if name == "bands":
        return facts.lacks_grades
    present, at_risk, _ = facts.figures
    return (present if name == "weeks" else at_risk).value == figures_data().texts["not_known"]


def _chart(name: str, panel: Panel, rows: Rows, not_known: Words | None) -> dict[str, Any]:
    """A chart with the names of the schools without data for it. Its text alternative has the quartiles."""
    if rows and not_known:
        panel = panel.model_copy(update={"hint": TEXTS["with_hint"].format(panel.hint, not_known)})
    drawn = chart(name, panel, rows, not_known)
    of_all = [row for row in rows if row["kind"] == "school" and "low" in row]
    if not of_all:
        return drawn
    alt = BOARD.texts["alternative"].format(panel.title, panel.hint)
    for row in of_all[-1:] if name == "weeks" else of_all:
        alt = TEXTS["with_hint"].format(alt, _quartiles(row))
    return {**drawn, "alt": alt}


def _quartiles(row: Mapping[str, Any]) -> Words:
    if "level" in row:
        group, median = labels("levels")[row["level"]], row["students"]
    else:
        group, median = TEXTS["week"].format(row["week"]), row["rate"]
    return TEXTS["quartiles"].format(group, median, row["low"], row["high"])


def _time(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
