"""The pages of the board. Each page is self-contained and sends no requests."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import Markup

from exports.board.age import OLD_DAYS, alarms
from exports.board.bundle import bundle
from exports.board.charts import Page, specs
from exports.board.rows import Rows, chart_rows
from exports.board.words import BOARD, TEXTS, Panel, terms_of
from exports.figures import EMPTY, WHOLE, Group, figures_by_group, never_loaded
from exports.library import back_test
from exports.library.words import label_of, labels, untranslated
from exports.markdown import text
from exports.site.sections import PageKind, Pages
from exports.source import Origin, joined
from exports.spreadsheet.sheets import LANGUAGES, Figure, Language, Words
from exports.templates import page_template

HERE = Path(__file__).parent


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
        The number of rows by chart, and the figures as Markdown without names of persons."""
    rows = chart_rows(con, origin.school)
    charts = BOARD.charts()
    classes = {group["key"]: group["name"] for group in rows["groups"]}
    cohorts = {cohort["key"]: cohort["name"] for cohort in rows["cohorts"]}
    can_be_picked = [*(("class", key) for key in classes), *(("cohort", key) for key in cohorts)]
    by_group = figures_by_group(con, origin.school.id, can_be_picked)
    figures = by_group[WHOLE]
    semesters = dict.fromkeys(row["semester_name"] for row in rows["semesters"] if row["semester_name"])
    panels = {name: panel.terms for name, panel in BOARD.panels.items()}
    content = {
        "name": origin.school.name,
        "title": titles(untranslated(origin.school.name)),
        "semester": " · ".join(semesters),
        "alarms": alarms(origin),
        "figures": figures,
        "charts": [
            chart(name, panel, rows[name], _not_known(origin, panel)) for name, panel in charts.items()
        ],
        "cohorts": rows["cohorts"],
        "groups": rows["groups"],
        "talks_not_known": never_loaded(con, origin.school.id, "levels"),
        "talks": [
            {
                **_talk(row, classes, cohorts),
                "name": untranslated(row["name"]) if names else TEXTS["student"].format(number),
                "href": _href("student", row["student"], pages),
                "of_href": _href("class", row["key"], pages) or _href("cohort", row["cohort"], pages),
            }
            for number, row in enumerate(rows["talks"], 1)
        ],
        "untaken": _untaken(rows["untaken"], cohorts, pages, names=names),
        "nothing": {figure.name: _nothing(figure) for figure in figures},
        "terms": terms_of(con, origin.school.id, panels, BOARD.definitions)
        | {"came_true": [back_test.MEANING]},
        "came_true": back_test.came_true(con, origin.school.id, names=names),
        "reasons_proven": back_test.reasons_proven(con, origin.school.id),
        "by_group": _figures_by_group(by_group),
        "pages": pages
        and {kind: sorted(keys) for kind, keys in pages.items() if kind in ("cohort", "class")},
    }
    render(origin, content, rows, "school", target, language, cache_folder)
    return {name: len(rows[name]) for name in (*charts, "talks")}, _preview(figures, language)


#: The text of an empty list whose figure is known.
NOBODY = {"at_risk": TEXTS["nobody_at_risk"], "rolls": TEXTS["all_rolls_taken"]}


def _not_known(origin: Origin, panel: Panel) -> Words | None:
    never = origin.not_loaded(panel.tables)
    return never and TEXTS["not_known"].format(never)


def _preview(figures: Sequence[Figure], language: Language) -> str:
    return "\n".join(
        f"- {text(figure.label.in_language(language))}: **{text(figure.value.in_language(language))}** "
        f"({text(figure.detail.in_language(language))})"
        for figure in figures
    )


def render(
    origin: Origin,
    content: Mapping[str, Any],
    rows: Mapping[str, Rows],
    page: Page,
    target: Path,
    language: Language,
    cache_folder: Path,
) -> None:
    """Write a page.

    Args:
        content: The variables of the template.
        rows: The rows of the charts by name.
        page: The charts of the page."""
    charts = {code: specs(code, page) for code in LANGUAGES}
    scripts = [bundle(cache_folder), (HERE / "page.js").read_text(encoding="utf-8")]
    as_of = origin.age.as_of
    data = {
        "specs": charts,
        "cohorts": content["cohorts"],
        "groups": rows["groups"],
        "rows": {name: _columns(own) for name, own in rows.items() if name in charts[language]},
        "words": {name: _both(text) for name, text in BOARD.script.items()} | {"title": content["title"]},
        "figures": content.get("by_group", {}),
        "pages": content.get("pages") or {},
        "most": BOARD.most,
        "age": {"as_of": f"{as_of:%Y-%m-%dT%H:%M}+08:00" if as_of else None, "old_days": OLD_DAYS},
    }
    template = page_template(HERE)
    variables = {
        "oldest": "",
        "figures": (),
        "schools": (),
        "talks": None,
        "talks_not_known": None,
        "untaken": None,
        "came_true": (),
        "reasons_proven": (),
        "semester": "",
        "pages": None,
    } | dict(content)
    html = template.render(
        t=TEXTS,
        panels=BOARD.panels,
        back_test=(back_test.TITLE, back_test.REASONS_PROVEN),
        language=language,
        as_of=f"{as_of:%Y-%m-%d %H:%M}" if as_of else "",
        published_at=f"{origin.published_at:%Y-%m-%d %H:%M}",
        generation=origin.generation,
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script_hashes=Markup(" ".join(map(_hash, scripts))),
        scripts=[Markup(script) for script in scripts],
        data=_json(data),
        **variables,
    )
    target.write_text(html, encoding="utf-8")


def titles(name: Words) -> dict[str, str]:
    """The title of a page by language."""
    return _both(TEXTS["title"].format(name))


def chart(name: str, panel: Panel, rows: Rows, not_known: Words | None = None) -> dict[str, Any]:
    """A chart as the template shows it. `not_known`: the reason for missing rows."""
    nothing = None if rows else not_known or TEXTS["nothing"]
    alt = TEXTS["alternative"].format(panel.title, panel.hint) + _range(rows)
    return {"name": name, "title": panel.title, "hint": panel.hint, "nothing": nothing, "alt": alt}


def _range(rows: Rows) -> Words:
    """The range of a chart's values, for its text alternative."""
    columns = ("rate", "change", "students", "grades")
    value = next((name for name in columns if rows and name in rows[0]), None)
    if value is None:
        return EMPTY
    ends = (end(rows, key=lambda row: row[value]) for end in (min, max))
    return TEXTS["range"].format(*(text for row in ends for text in (row[value], row["name"])))


def _href(kind: PageKind, key: str | None, pages: Pages | None) -> str:
    """The address of the page of a kind; empty: there is none."""
    return f"{kind}/{key}.html" if pages and key in pages.get(kind, ()) else ""


def _talk(row: Mapping[str, Any], classes: Mapping[str, str], cohorts: Mapping[str, str]) -> dict[str, Any]:
    since = Words(row["since_en"] or "", row["since_zh"] or "")
    return {
        **{name: row[name] for name in ("key", "cohort", "level")},
        "of": classes.get(row["key"]) or cohorts.get(row["cohort"], ""),
        "word": label_of(row["level"], "levels"),
        "new": labels("new_this_week").get(row["new_this_week"]),
        "since": TEXTS["since"].format(since) if since.en else None,
        "reasons": Words(row["reasons_en"] or "", row["reasons_zh"] or ""),
        "done_on": row["last_intervention_on"],
    }


def _untaken(
    rows: Rows, cohorts: Mapping[str, str], pages: Pages | None, *, names: bool
) -> list[dict[str, Any]]:
    """The teachers with rolls to take, most lessons first, with the classes and lessons."""
    by_teacher: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_teacher.setdefault(row["teacher_names"] or "", []).append(row)
    most_first = sorted(by_teacher.items(), key=lambda item: -sum(len(row["lessons"]) for row in item[1]))
    return [
        {
            "name": (untranslated(teacher) if names else TEXTS["teacher"].format(number))
            if teacher
            else TEXTS["no_teacher"],
            "classes": [
                {**_untaken_class(row, cohorts), "href": _href("course", row["course"], pages)} for row in own
            ],
        }
        for number, (teacher, own) in enumerate(most_first, 1)
    ]


def _untaken_class(row: Mapping[str, Any], cohorts: Mapping[str, str]) -> dict[str, Any]:
    own = [cohorts[key] for key in row["cohorts"] or () if key in cohorts]
    lessons = joined(TEXTS["lesson"].format(lesson["date"], lesson["lesson"]) for lesson in row["lessons"])
    return {
        "classes": row["classes"] or (),
        "cohorts": row["cohorts"] or (),
        "name": " ".join([", ".join(own), row["name"]]).strip(),
        "lessons": TEXTS["lessons"].format(lessons),
    }


def _figures_by_group(by_group: Mapping[Group, Sequence[Figure]]) -> dict[str, Any]:
    """The figures of each group for the page's script, by kind and key, then by name."""
    return {
        " ".join(group): {
            figure.name: {
                "value": _both(figure.value),
                "detail": _both(figure.detail),
                "nothing": _both(_nothing(figure)),
                "changes": [
                    {"since": _both(change.since), "text": _both(change.text), "good": change.good}
                    for change in figure.changes
                ],
            }
            for figure in figures
        }
        for group, figures in by_group.items()
    }


def _nothing(figure: Figure) -> Words:
    """The text of a figure's empty list: nobody belongs there, or the reason why that is not known."""
    if figure.number is not None:
        return NOBODY.get(figure.name, EMPTY)
    return TEXTS["nothing"] if figure.detail == EMPTY else figure.detail


def _columns(rows: Rows) -> dict[str, Any]:
    """Rows as columns, with the values of each group stored once."""
    of_group = ("kind", "key", "name", "cohort", "order")
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["key"]), {name: row[name] for name in of_group})
    places = {group: place for place, group in enumerate(groups)}
    own = [name for name in rows[0] if name not in of_group] if rows else []
    return {
        "groups": list(groups.values()),
        "group": [places[row["kind"], row["key"]] for row in rows],
        "values": {name: _column([row[name] for row in rows]) for name in own},
    }


def _column(values: list[Any]) -> Any:
    """The values of a column: texts as places in a list of the distinct texts, others without nulls at the
    end."""
    if values and all(isinstance(value, str) for value in values):
        places = {text: place for place, text in enumerate(dict.fromkeys(values))}
        return {"texts": list(places), "places": [places[value] for value in values]}
    while values and values[-1] is None:
        values.pop()
    return values


def _both(words: Words) -> dict[str, str]:
    return {"zh": words.zh, "en": words.en}


def _json(data: Any) -> Markup:
    """JSON that no browser reads as markup, whatever the names are."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
