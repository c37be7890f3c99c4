"""The pages of the board: everything that they need is in them, and nothing leaves them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from exports.board.bundle import bundle
from exports.board.charts import specs
from exports.board.rows import Rows, chart_rows
from exports.board.words import (
    BAND,
    CHARTS,
    FAILED,
    LAST_DAY,
    LOW,
    MOVED,
    ROLLS,
    SCRIPT,
    STUDENT,
    TEXTS,
)
from exports.figures import figures
from exports.markdown import text
from exports.sheets import Figure, Language, Words
from exports.source import Origin
from exports.workbooks.definitions import PRESENT, warning_definitions
from exports.workbooks.queries import SHOWN
from exports.workbooks.terms import LEVELS, in_words, same

HERE = Path(__file__).parent
#: From so many days on the page says that it is old, by the reader's clock.
OLD_DAYS = 2
#: What each part of a page stands on.
PARTS: Mapping[str, tuple[str, ...]] = {
    "weeks": ("marts.attendance_group_week",),
    "lessons": ("marts.attendance_heatmap",),
    "levels": ("marts.early_warning",),
    "bands": ("marts.grade_distribution_band",),
    "moved": ("marts.attendance_student_semester",),
}


def write_board(
    con: duckdb.DuckDBPyConnection,
    origin: Origin,
    target: Path,
    language: Language,
    kept: Path,
    *,
    names: bool,
) -> tuple[dict[str, int], str]:
    """Write the page of the school of `origin`, which opens in `language`. `kept`: the folder that keeps the
    script of its charts; `names`: whether students are named. The rows by chart, and the figures as Markdown,
    in which no person is named."""
    drawn = chart_rows(con, origin.school)
    talks = drawn.pop("talks")
    told = figures(con, origin.school.id)
    warnings = (*warning_definitions(con, origin.school.id),)
    alarm = origin.alarm(FAILED, ((CHARTS[name][0], tables) for name, tables in PARTS.items()))
    content = {
        "name": origin.school.name,
        "title": titles(origin.school.name),
        "semester": " · ".join(dict.fromkeys(_semesters(con, origin.school.id))),
        "alarms": [alarm] if alarm else [],
        "figures": told,
        "charts": [chart(name, *CHARTS[name], drawn[name]) for name in CHARTS],
        "cohorts": _cohorts(drawn["groups"]),
        "groups": drawn["groups"],
        "talks": [_talk(number, row, names=names) for number, row in enumerate(talks, 1)],
        "terms": {
            "present": [PRESENT, LAST_DAY],
            "at_risk": [*warnings, LOW],
            "rolls": [ROLLS],
            "weeks": [PRESENT],
            "lessons": [PRESENT],
            "levels": warnings,
            "bands": [BAND],
            "moved": [MOVED, PRESENT],
            "talks": warnings,
        },
    }
    render(origin, content, drawn, {code: specs(code) for code in LANGUAGES}, target, language, kept)
    return {name: len(drawn[name]) for name in CHARTS} | {"talks": len(talks)}, _preview(told, language)


LANGUAGES: tuple[Language, ...] = ("zh", "en")


def _preview(told: Sequence[Figure], language: Language) -> str:
    return "\n".join(
        f"- {text(figure.label.in_language(language))}: **{text(figure.value.in_language(language))}** "
        f"({text(figure.told.in_language(language))})"
        for figure in told
    )


def render(
    origin: Origin,
    content: Mapping[str, Any],
    rows: Mapping[str, Rows],
    drawn: Mapping[str, Any],
    target: Path,
    language: Language,
    kept: Path,
) -> None:
    """Write a page: `content` is what the template shows, `rows` and `drawn` what its charts are made of."""
    scripts = [bundle(kept), (HERE / "page.js").read_text(encoding="utf-8")]
    as_of = origin.age.as_of
    data = {
        "specs": drawn,
        "groups": rows["groups"],
        "rows": {name: _columns(own) for name, own in rows.items() if name in drawn[language]},
        "words": {name: _both(words) for name, words in SCRIPT.items()} | {"title": content["title"]},
        "age": {"as_of": f"{as_of:%Y-%m-%dT%H:%M}+08:00" if as_of else None, "old_days": OLD_DAYS},
    }
    page = _templates().get_template("page.html.j2")
    given = {"figures": (), "schools": (), "columns": (), "talks": None, "semester": ""} | dict(content)
    text = page.render(
        t=TEXTS,
        language=language,
        as_of=f"{as_of:%Y-%m-%d %H:%M}" if as_of else "",
        published_at=f"{origin.published_at:%Y-%m-%d %H:%M}",
        generation=origin.generation,
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script_hashes=Markup(" ".join(map(_hash, scripts))),
        scripts=[Markup(script) for script in scripts],
        data=_json(data),
        **given,
    )
    target.write_text(text, encoding="utf-8")


def titles(name: str) -> dict[str, str]:
    """What a page is called in its window."""
    return {code: f"{name} · {TEXTS['board'].in_language(code)}" for code in LANGUAGES}


def _semesters(con: duckdb.DuckDBPyConnection, school_id: int) -> list[str]:
    found = con.execute(
        f"WITH {SHOWN} SELECT DISTINCT semester_name FROM shown", {"school_id": school_id}
    ).fetchall()
    return [name for (name,) in found if name]


def chart(name: str, title: Words, hint: Words, rows: Rows) -> dict[str, Any]:
    """A chart as the template shows it."""
    return {"name": name, "title": title, "hint": hint, "empty": not rows, "alt": _alt(title, hint, rows)}


def _alt(title: Words, hint: Words, rows: Rows) -> Words:
    """What a chart is, and between which values it runs, for who cannot see it."""
    value = next(
        (name for name in ("rate", "change", "students", "grades") if rows and name in rows[0]), None
    )
    if value is None:
        return Words(f"{title.en}. {hint.en}", f"{title.zh}。{hint.zh}")
    least, greatest = (end(rows, key=lambda row: row[value]) for end in (min, max))
    return Words(
        f"{title.en}. {hint.en} From {least[value]} ({least['name']}) to "
        f"{greatest[value]} ({greatest['name']}).",
        f"{title.zh}。{hint.zh}最低{least[value]}（{least['name']}），"
        f"最高{greatest[value]}（{greatest['name']}）。",
    )


def _cohorts(groups: Rows) -> list[dict[str, str]]:
    found = {group["cohort"]: group["cohort_name"] for group in groups if group["cohort"]}
    return [{"key": key, "name": name or key} for key, name in found.items()]


def _talk(number: int, row: Mapping[str, Any], *, names: bool) -> dict[str, Any]:
    anonymous = Words(STUDENT.en.format(number), STUDENT.zh.format(number))
    return {
        **{name: row[name] for name in ("key", "cohort", "class_name", "level")},
        "name": same(row["name"]) if names else anonymous,
        "word": in_words(row["level"], LEVELS),
        "reasons": Words(row["reasons_en"] or "", row["reasons_zh"] or ""),
    }


def _columns(rows: Rows) -> dict[str, Any]:
    """Rows as columns, which say their names once; what each says of its group is told once a group."""
    of_group = ("kind", "key", "name", "cohort", "order")
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        groups.setdefault((row["kind"], row["key"]), {name: row[name] for name in of_group})
    places = {where: place for place, where in enumerate(groups)}
    own = [name for name in rows[0] if name not in of_group] if rows else []
    return {
        "groups": list(groups.values()),
        "group": [places[row["kind"], row["key"]] for row in rows],
        "values": {name: [row[name] for row in rows] for name in own},
    }


def _both(words: Words) -> dict[str, str]:
    return {"zh": words.zh, "en": words.en}


def _json(data: Any) -> Markup:
    """JSON that no browser takes for markup, whatever a name may be."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
