"""The page of several schools. It names no student and hides small numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import Markup

from exports.board.charts import ChartRows, chart_section, render_board
from exports.board.comparison import (
    NAMES,
    OF_ALL,
    Facts,
    Reason,
    facts_of,
    is_small,
    judged_shares,
    level_rows,
    reasons_by_school,
    spread,
    together,
    urgency,
    with_quartiles,
    without_small_subjects,
)
from exports.board.data import BOARD, SCHOOLS, PageOfCharts, Panel, abridged, terms_of
from exports.figures import data as figures_data
from exports.library.view_rows import read_rows
from exports.library.words import labels, untranslated
from exports.pages.render import EMPTY, PageSection, Table, bilingual, time_text
from exports.source import Origin, School, distinct_names
from exports.spreadsheet.sheets import Language, Words
from warehouse.age import STALE
from warehouse.privacy import SMALL_GROUP

TEXTS = SCHOOLS.texts
#: The columns of the figures in the table of schools.
FIGURES = ("present", "at_risk", "rolls")
#: The charts with all schools together beside each school: the columns of a bar, and that with its length.
TOGETHER = {
    "bands": (("subject", "band", "place"), "grades"),
    "tiers": (("tier", "last_tier", "place"), "students"),
    "reasons": (("reason_en", "reason_zh", "place"), "lessons"),
}


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
    page: PageOfCharts = "many_schools" if len(schools) > SCHOOLS.most else "few_schools"
    charts = SCHOOLS.pages[page].charts
    facts = facts_of(con, [school.id for school in schools])
    groups = [OF_ALL] + [
        {"kind": "class", "key": str(school.id), "cohort": "", "name": school.name, "order": order}
        for order, school in enumerate(schools)
    ]
    rows = _rows(con, schools, facts, groups, are_many=page == "many_schools")
    loaded = sorted((origin.age.as_of, index) for index, origin in enumerate(origins) if origin.age.as_of)
    oldest, newest = (loaded[0][0], loaded[-1][0]) if loaded else (None, None)
    reasons = reasons_by_school(origins, facts, newest, spread(facts) if page == "many_schools" else {})
    terms = {name: panel.terms for name, panel in charts.items()} | {"schools": SCHOOLS.pages[page].terms}
    variables = {
        "title": TEXTS["all"],
        "oldest": time_text(oldest) if time_text(oldest) != time_text(newest) else "",
        "sections": [
            _schools_section(origins, facts, reasons, newest),
            *(
                _chart_section(name, panel, rows[name], _not_known(name, schools, facts, rows[name]))
                for name, panel in charts.items()
            ),
        ],
        "terms": terms_of(con, schools[0].id, terms, SCHOOLS.definitions | BOARD.definitions),
        "picks": {
            "cohorts": {},
            "groups": {str(school.id): school.name for school in schools},
            "label": BOARD.texts["school"],
        },
    }
    latest = origins[loaded[-1][1] if loaded else 0]
    render_board(latest, variables, {}, groups, rows, page, target, language, cache_folder)
    return {name: len(rows[name]) for name in charts}


def _schools_section(
    origins: Iterable[Origin],
    facts: Mapping[int, Facts],
    reasons: Mapping[int, Sequence[Reason]],
    newest: datetime | None,
) -> PageSection:
    """The table of schools, those with the most reasons first, below how many have each reason."""
    fine = sum(not of_school for of_school in reasons.values())
    counts = Counter(reason.name for of_school in reasons.values() for reason in of_school)
    labels_of_columns = {
        "school": BOARD.texts["school"],
        "reason": TEXTS["reason"],
        "as_of": TEXTS["as_of"],
        **{figure: figures_data().labels[figure] for figure in FIGURES},
    }
    rows = [
        _school_row(origin, facts[origin.school.id], reasons[origin.school.id], newest)
        for origin in sorted(origins, key=lambda origin: urgency(reasons[origin.school.id]))
    ]
    return PageSection(
        "schools",
        BOARD.texts["schools"],
        (BOARD.texts["schools_hint"],),
        "wide-section",
        table=Table(
            [(name, words, "") for name, words in labels_of_columns.items()],
            Markup("\n").join(rows),
            is_searched=True,
            most=SCHOOLS.most,
        ),
        lead=TEXTS["fine"].format(fine, len(reasons)),
        reasons=[(name, _counted(counts[name], _reason(name, newest))) for name in NAMES if counts[name]],
    )


def _school_row(origin: Origin, facts: Facts, reasons: Sequence[Reason], newest: datetime | None) -> Markup:
    key, names = origin.school.id, " ".join(reason.name for reason in reasons)
    head = Markup(
        '<tr data-key="{}" data-reasons="{}"><td><button type="button" class="link" data-pick="class" '
        'data-key="{}">{}</button></td>'
    ).format(key, names, key, origin.school.name)
    words = Markup().join(
        Markup('<span class="reason">{}</span>').format(
            bilingual(_reason(reason.name, newest, reason.detail))
        )
        for reason in reasons
    )
    return Markup("{}<td>{}</td>{}</tr>").format(head, words or "—", Markup().join(_cells(origin, facts)))


def _cells(origin: Origin, facts: Facts) -> list[Markup]:
    """The age of a school's data, and its figures, which are sorted by their numbers."""
    as_of = untranslated(time_text(origin.age.as_of) or "—")
    for pattern, resources in (
        ("never_loaded", origin.age.never),
        ("not_loaded", dict.fromkeys(origin.age.older, ())),
    ):
        if resources:
            as_of = TEXTS[pattern].format(as_of, origin.loads.named(resources))
    alarm = Markup(' class="alarm"') if origin.age.failed else ""
    cells = [Markup("<td{}>{}</td>").format(alarm, bilingual(as_of))]
    for figure in facts.figures:
        number = figure.number
        hidden = figure.name == "at_risk" and number is not None and is_small(number)
        words = untranslated(f"< {SMALL_GROUP}") if hidden else figure.value
        # Hidden numbers are sorted as one.
        sort = Markup(' data-sort="{}"').format(1 if hidden else number) if number is not None else ""
        cells.append(Markup("<td{}>{}</td>").format(sort, bilingual(words)))
    return cells


def _counted(schools: int, reason: Words) -> Words:
    return TEXTS["reason_of_one" if schools == 1 else "reason_of_many"].format(schools, reason)


def _reason(name: str, newest: datetime | None, detail: Words | None = None) -> Words:
    reason = SCHOOLS.reasons[name].format(since=time_text(newest - STALE) if newest else "")
    return reason if detail is None else TEXTS["reason_with_detail"].format(reason, detail)


def _rows(
    con: duckdb.DuckDBPyConnection,
    schools: Sequence[School],
    facts: Mapping[int, Facts],
    groups: ChartRows,
    *,
    are_many: bool,
) -> dict[str, list[dict[str, Any]]]:
    """The rows of each chart. A school takes the place of a class."""
    ids, by_key = [school.id for school in schools], {group["key"]: group for group in groups}
    read = {name: read_rows(con, SCHOOLS.rows[name], ids) for name in ("weeks", *TOGETHER)}
    read |= {"levels": level_rows(facts), "bands": without_small_subjects(read["bands"])}
    rows = {
        name: [
            {
                **{column: row[column] for column in row if column != "school_id"},
                **by_key[str(row["school_id"])],
            }
            for row in of_chart
        ]
        for name, of_chart in read.items()
    }
    for name, (columns, value) in TOGETHER.items():
        rows[name] = [*together(rows[name], columns, value), *rows[name]]
    if are_many:
        rows["weeks"] = with_quartiles(rows["weeks"], rows["weeks"], "week", "rate")
        rows["quartiles"] = with_quartiles(rows["levels"], judged_shares(facts), "level", "students")
    return rows


def _not_known(
    name: str, schools: Sequence[School], facts: Mapping[int, Facts], rows: ChartRows
) -> Words | None:
    """The schools whose data for a chart are not known. None: there are none."""
    with_rows = {row["key"] for row in rows}
    unknown = [
        school.name
        for school in schools
        if str(school.id) not in with_rows and _lacks(name, facts[school.id])
    ]
    return TEXTS["without_data"].format(abridged(unknown)) if unknown else None


def _lacks(name: str, facts: Facts) -> bool:
    if name == "bands":
        return facts.lacks_grades
    present, at_risk, _ = facts.figures
    of_levels = name in ("levels", "quartiles")
    return (at_risk if of_levels else present).value == figures_data().texts["not_known"]


def _chart_section(name: str, panel: Panel, rows: ChartRows, not_known: Words | None) -> PageSection:
    """A chart with the names of the schools without data for it. Its text alternative has the quartiles."""
    of_all = [row for row in rows if row["kind"] == "school" and "low" in row]
    alt = EMPTY
    for row in of_all[-1:] if name == "weeks" else of_all:
        alt += TEXTS["with_hint"].format(EMPTY, _quartiles(row))
    section = chart_section(name, panel, rows, not_known, alt)
    return replace(section, hints=(panel.hint, not_known)) if rows and not_known else section


def _quartiles(row: Mapping[str, Any]) -> Words:
    if "level" in row:
        group, median = labels("levels")[row["level"]], row["students"]
    else:
        group, median = TEXTS["week"].format(row["week"]), row["rate"]
    return TEXTS["quartiles"].format(group, median, row["low"], row["high"])
