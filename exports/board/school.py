"""The board of one school: figures, charts and lists of the school, of each cohort and of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from exports.board.charts import ChartRows, chart_section, render_board
from exports.board.data import BOARD, ListData, terms_of
from exports.figures import WHOLE, Group, figures_by_group
from exports.library import back_test
from exports.library.view_rows import read_rows
from exports.library.words import untranslated
from exports.markdown import text
from exports.pages.cells import Links, table_of
from exports.pages.render import EMPTY, PageSection, by_language, crumb
from exports.pages.sections import Pages, Row, layout_of
from exports.source import Origin, School, distinct_names
from exports.spreadsheet.sheets import Figure, Language, Words

#: The levels in charts.
LEVELS = ("at_risk", "warning")
#: The text of an empty list whose figure is known.
NOBODY = {
    "present": BOARD.texts["nobody_absent"],
    "at_risk": BOARD.texts["nobody_at_risk"],
    "rolls": BOARD.texts["all_rolls_taken"],
}
WIDE = "wide-section"


def write_board(
    con: duckdb.DuckDBPyConnection,
    origin: Origin,
    target: Path,
    language: Language,
    cache_folder: Path,
    *,
    names: bool,
    pages: Pages | None = None,
) -> tuple[dict[str, int], str]:
    """Write the page of the school of `origin`, which opens in `language`.

    Args:
        cache_folder: Caches the script of the charts.
        names: Names students and teachers.
        pages: The pages beside this page, by kind: names link to their pages.

    Returns:
        The number of rows by chart and list, and the figures as Markdown without names of persons."""
    school = origin.school
    rows = chart_rows(con, school)
    groups = rows["all_groups"]
    by_group = figures_by_group(con, school.id, [(group["kind"], group["key"]) for group in groups])
    figures = {figure.name: figure for figure in by_group[WHOLE]}
    classes = {row["key"]: row["name"] for row in rows["groups"]}
    lists = {
        name: _list_section(con, origin, name, data, figures[data.figure], classes, pages, names=names)
        for name, data in BOARD.lists.items()
    }
    charts = {
        name: chart_section(name, panel, rows[name], _not_known(origin, panel.tables))
        for name, panel in BOARD.charts().items()
    }
    came_true = back_test.came_true(con, school.id, names=names)
    answers = PageSection(
        "came_true",
        back_test.TITLE,
        style=WIDE,
        answers=[(answer.question, answer.sentences) for answer in came_true],
    )
    panels = {name: panel.terms for name, panel in (BOARD.panels | BOARD.lists).items()}
    variables = {
        "title": untranslated(school.name),
        "semester": " · ".join(dict.fromkeys(row["semester_name"] for row in rows["semesters"])),
        "figures": by_group[WHOLE],
        "lists": {data.figure: name for name, data in BOARD.lists.items()},
        "sections": [
            *(section for section, _ in lists.values() if not section.style),
            *charts.values(),
            *[answers] * bool(came_true),
            *(section for section, _ in lists.values() if section.style),
        ],
        "terms": terms_of(con, school.id, panels, BOARD.definitions) | {"came_true": [back_test.MEANING]},
        "picks": {
            "cohorts": {row["key"]: row["name"] for row in rows["cohorts"]},
            "groups": classes,
            "label": BOARD.texts["pick"],
        },
        "link": pages and crumb(BOARD.texts["pages"], "index.html"),
    }
    data = {
        "figures": _figures_for_script(by_group),
        "pages": {kind: sorted(keys) for kind, keys in (pages or {}).items() if kind in ("cohort", "class")},
    }
    render_board(origin, variables, data, groups, rows, "school", target, language, cache_folder)
    counts = {name: len(rows[name]) for name in charts} | {name: count for name, (_, count) in lists.items()}
    return counts, _preview(by_group[WHOLE], language)


def _not_known(origin: Origin, tables: Sequence[str]) -> Words | None:
    never = origin.not_loaded(tables)
    return never and BOARD.texts["not_known"].format(never)


def _preview(figures: Sequence[Figure], language: Language) -> str:
    return "\n".join(
        f"- {text(figure.label.in_language(language))}: **{text(figure.value.in_language(language))}** "
        f"({text(figure.detail.in_language(language))})"
        for figure in figures
    )


def _list_section(
    con: duckdb.DuckDBPyConnection,
    origin: Origin,
    name: str,
    data: ListData,
    figure: Figure,
    classes: Mapping[str, str],
    pages: Pages | None,
    *,
    names: bool,
) -> tuple[PageSection, int]:
    """A list of the page, and its number of rows. `classes`: their names by key, as charts have them."""
    school_id = str(origin.school.id)
    layout = layout_of(con, name, data, origin, [school_id], kind="board")
    rows = layout.rows(con, [school_id]).get(school_id, [])
    hints, answers = [data.about], []
    if name == "talks":
        # Levels of some students are known, though not all that they are made from.
        if rows and figure.number is None and figure.detail.en:
            hints.append(BOARD.texts["not_all"].format(figure.detail))
        if proven := back_test.reasons_proven(con, origin.school.id):
            answers.append((back_test.REASONS_PROVEN, proven))
    if "class_title" in data.links:
        rows = [
            {**row, "class_title": classes.get(row["_admin_class_id"], row["class_title"])} for row in rows
        ]
    visible = rows if names else _without_names(data, rows)
    unknown = {name: BOARD.texts[text] for name, text in data.unknown.items()}
    visible = [{**row, **{name: row[name] or text for name, text in unknown.items()}} for row in visible]
    section = PageSection(
        name,
        data.name,
        tuple(hints),
        "" if data.is_first else WIDE,
        None if rows else nothing_of(figure),
        table=table_of(layout, visible, Links(pages or {}, ""), data.most) if rows else None,
        figure=data.figure,
        answers=answers,
    )
    return section, len(rows)


def _without_names(data: ListData, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows with numbers in the place of persons, the same number for each row of a person."""
    for name, person in data.persons.items():
        key = f"_{data.links[name][1]}" if name in data.links else name
        numbers = {id: number for number, id in enumerate(dict.fromkeys(row[key] for row in rows), 1)}
        texts = {id: id and BOARD.texts[person].format(number) for id, number in numbers.items()}
        rows = [{**row, name: texts[row[key]]} for row in rows]
    return rows


def nothing_of(figure: Figure) -> Words:
    """The text of a figure's empty list: nobody belongs there, or the reason why that is not known."""
    if figure.number is not None:
        return NOBODY[figure.name]
    return BOARD.texts["nothing"] if figure.detail == EMPTY else figure.detail


def _figures_for_script(by_group: Mapping[Group, Sequence[Figure]]) -> dict[str, Any]:
    """The figures of each group for the page's script, by kind and key, then by name."""
    return {
        " ".join(group): {
            figure.name: {
                "value": by_language(figure.value),
                "detail": by_language(figure.detail),
                "nothing": by_language(nothing_of(figure)),
                "changes": [
                    {
                        "since": by_language(change.since),
                        "text": by_language(change.text),
                        "good": change.good,
                    }
                    for change in figure.changes
                ],
            }
            for figure in figures
        }
        for group, figures in by_group.items()
    }


def chart_rows(con: duckdb.DuckDBPyConnection, school: School) -> dict[str, ChartRows]:
    """The rows of each chart by its name. Each row has its group: `kind`, `key`, `cohort`, `name`, and
    `order` (the school, then its cohorts, then its classes). `all_groups` are these."""
    rows = {name: read_rows(con, data, [school.id]) for name, data in BOARD.rows.items()}
    cohorts = distinct_names({row["key"]: row["name"] for row in rows["cohorts"]})
    classes = _classes(rows["groups"], cohorts)
    groups = [
        {"kind": kind, "key": key, "name": name, "cohort": cohort, "order": order}
        for order, (kind, key, name, cohort) in enumerate(
            [
                ("school", "", school.name, ""),
                *(("cohort", key, name, key) for key, name in cohorts.items()),
                *(("class", row["key"], row["name"], row["cohort"]) for row in classes),
            ]
        )
    ]
    by_group = {(group["kind"], group["key"]): group for group in groups}
    rows["levels"] = [
        {"group_type": row["group_type"], "key": row["key"], "level": level, "students": row[level]}
        for row in rows["levels"]
        for level in LEVELS
        if row[level]
    ]
    drawn: dict[str, ChartRows] = {name: _drawn(rows[name], by_group) for name in BOARD.charts()}
    choices = {
        "cohorts": [{"key": key, "name": name} for key, name in cohorts.items()],
        "groups": classes,
        "all_groups": groups,
    }
    return {**rows, **drawn, **choices}


def _classes(rows: ChartRows, cohorts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Classes with distinct names: a chart draws equal names as one group."""
    classes = [{**row, "cohort_name": cohorts.get(row["cohort"], "")} for row in rows]
    names = distinct_names({row["key"]: f"{row['cohort_name']} {row['name']}".strip() for row in classes})
    return [{**row, "name": names[row["key"]]} for row in classes]


def _drawn(rows: ChartRows, by_group: Mapping[Group, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of groups that the page has."""
    grouped = [((row["group_type"].removeprefix("admin_"), row["key"]), row) for row in rows]
    return [
        {name: value for name, value in row.items() if name != "group_type"} | dict(by_group[group])
        for group, row in grouped
        if group in by_group
    ]
