"""Renders boards. Charts are Vega-Lite specifications of charts.yml, and show the rows of groups: the school,
its cohorts and its classes. On pages of several schools, a school takes a class's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from exports.board.data import BOARD, PageOfCharts, Panel, alarms
from exports.library.words import content_of, labels, to_words
from exports.pages.render import EMPTY, PageSection, age_of_page, by_language, render_alone, time_text
from exports.source import Origin
from exports.spreadsheet.sheets import LANGUAGES, Language, Words

ChartRows = Sequence[Mapping[str, Any]]
#: The columns of a chart's row that are those of its group.
GROUP = ("kind", "key", "name", "cohort", "order")
#: The columns of charts whose range their text alternatives have.
RANGED = ("rate", "change", "students", "grades")


def render_board(
    origin: Origin,
    variables: Mapping[str, Any],
    data: Mapping[str, Any],
    groups: ChartRows,
    rows: Mapping[str, ChartRows],
    page: PageOfCharts,
    target: Path,
    language: Language,
    cache_folder: Path,
) -> None:
    """Write a board.

    Args:
        variables: Those of the template.
        data: For the script of the page.
        groups: Those of the rows of charts.
        rows: The rows of the charts by name.
        page: The charts of the page.
        cache_folder: Caches the script that draws charts."""
    charts = {code: specs(code, page) for code in LANGUAGES}
    is_of_schools = page != "school"
    for_script = {
        "specs": charts,
        "groups": groups,
        "rows": {name: _numbered(groups, rows[name]) for name in charts[language]},
        "texts": {name: by_language(text) for name, text in BOARD.script.items()},
        "is_of_schools": is_of_schools,
        "figures": {},
        "pages": {},
        "age": age_of_page(origin),
    }
    for_template = {
        "suffix": BOARD.texts["board"],
        "kind": BOARD.texts["board"],
        "as_of": time_text(origin.age.as_of),
        "alarms": () if is_of_schools else alarms(origin),
        "published": f"{origin.published_at:%Y-%m-%d %H:%M}",
        "generation": origin.generation,
        "footer": BOARD.texts["footer"],
    }
    html = render_alone(language, for_template | dict(variables), for_script | dict(data), cache_folder)
    target.write_text(html, encoding="utf-8")


def _numbered(groups: ChartRows, rows: ChartRows) -> dict[str, Any]:
    """The rows of a chart, each with the number of its group and its values."""
    numbers = {(group["kind"], group["key"]): number for number, group in enumerate(groups)}
    names = [name for name in rows[0] if name not in GROUP] if rows else []
    values = [[numbers[row["kind"], row["key"]], *(row[name] for name in names)] for row in rows]
    return {"names": names, "values": values}


def chart_section(
    name: str, panel: Panel, rows: ChartRows, not_known: Words | None, alt: Words = EMPTY
) -> PageSection:
    """A chart of a page.

    Args:
        not_known: The reason for missing rows.
        alt: Follows the title and the hint in the text alternative. Empty: the range of the values."""
    words = BOARD.texts["alternative"].format(panel.title, panel.hint) + (alt if alt.en else _range(rows))
    return PageSection(
        name,
        panel.title,
        (panel.hint,),
        "drawn wide-section" if panel.is_wide else "drawn",
        None if rows else not_known or BOARD.texts["nothing"],
        words,
    )


def _range(rows: ChartRows) -> Words:
    rows = [row for row in rows if row["name"]]
    value = next((name for name in RANGED if rows and name in rows[0]), None)
    if value is None:
        return EMPTY
    ends = (end(rows, key=lambda row: row[value]) for end in (min, max))
    return BOARD.texts["range"].format(*(text for row in ends for text in (row[value], row["name"])))


@cache
def specs(language: Language, page: PageOfCharts) -> dict[str, dict[str, Any]]:
    """The charts of a page by name, without rows, with texts and expressions filled in."""
    content = content_of("charts")
    texts = {name: to_words(text) for name, text in content["texts"].items()}
    texts |= labels("levels") | {f"tier_{tier}": words for tier, words in labels("tiers").items()}
    values = {name: text.in_language(language) for name, text in texts.items()} | {"language": language}
    for kind in ("weekdays", "grades"):
        values[kind] = ", ".join(repr(label.in_language(language)) for label in labels(kind).values())
    chosen = content["pages"][page]
    for name, expression in (content["expressions"] | chosen["expressions"]).items():
        values[name] = _filled(expression, values)
    charts: dict[str, dict[str, Any]] = _filled(
        {name: content["base"] | chart for name, chart in chosen["charts"].items()}, values
    )
    return charts


def _filled(data: Any, values: Mapping[str, str]) -> Any:
    """Data with the fields of its texts filled in."""
    if isinstance(data, str):
        return Template(data).substitute(values)
    if isinstance(data, Mapping):
        return {name: _filled(value, values) for name, value in data.items()}
    return [_filled(value, values) for value in data] if isinstance(data, list) else data
