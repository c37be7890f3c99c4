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
from exports.board.rows import TALKS, TEACHERS, Rows, chart_rows
from exports.board.words import (
    BAND,
    CHARTS,
    FAILED,
    LAST_DAY,
    LESSON,
    MOVED,
    NEVER,
    NO_TEACHER,
    NOT_KNOWN,
    ROLLS,
    SCRIPT,
    STUDENT,
    TEACHER,
    TEXTS,
)
from exports.figures import (
    AT_RISK,
    EMPTY,
    NOT_TAKEN,
    WARNINGS,
    WHOLE,
    Group,
    figures_by_group,
    never_loaded,
)
from exports.figures import PRESENT as PRESENT_NOW
from exports.markdown import text
from exports.sheets import Figure, Language, Words
from exports.source import Origin
from exports.workbooks.definitions import PRESENT, warning_definitions
from exports.workbooks.queries import SHOWN
from exports.workbooks.terms import LEVELS, in_words, same

HERE = Path(__file__).parent
#: From so many days on the page says that it is old, by the reader's clock.
OLD_DAYS = 2
#: What each part of a page is called, and what it stands on.
PARTS: Mapping[str, tuple[Words, tuple[str, ...]]] = {
    "present": (PRESENT_NOW, ("marts.attendance_student_day",)),
    "at_risk": (AT_RISK, ("marts.early_warning",)),
    "rolls": (NOT_TAKEN, ("marts.attendance_class_session",)),
    "weeks": (CHARTS["weeks"][0], ("marts.attendance_group_week",)),
    "lessons": (CHARTS["lessons"][0], ("marts.attendance_heatmap",)),
    "levels": (CHARTS["levels"][0], ("marts.early_warning",)),
    "bands": (CHARTS["bands"][0], ("marts.grade_distribution_band",)),
    "moved": (CHARTS["moved"][0], ("marts.attendance_student_semester",)),
    "untaken": (TEXTS["untaken"], ("marts.attendance_class_session",)),
    "talks": (TEXTS["talks"], ("marts.early_warning",)),
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
    talks, untaken, flagged = (drawn.pop(name) for name in ("talks", "untaken", "flagged"))
    by_group = figures_by_group(con, origin.school.id)
    told = by_group[WHOLE]
    classes = {group["key"]: group["name"] for group in drawn["groups"]}
    cohorts = _cohorts(drawn["groups"])
    warnings = (*warning_definitions(con, origin.school.id),)
    alarms = (
        origin.alarm(NEVER, origin.age.never, PARTS.values()),
        origin.alarm(FAILED, dict.fromkeys(origin.age.older, ()), PARTS.values()),
    )
    content = {
        "name": origin.school.name,
        "title": titles(origin.school.name),
        "semester": " · ".join(dict.fromkeys(_semesters(con, origin.school.id))),
        "alarms": [alarm for alarm in alarms if alarm],
        "figures": told,
        "charts": [chart(name, *CHARTS[name], drawn[name], _not_known(origin, name)) for name in CHARTS],
        "cohorts": [{"key": key, "name": name} for key, name in cohorts.items()],
        "groups": drawn["groups"],
        "talks_not_known": never_loaded(con, origin.school.id, WARNINGS),
        "talks": [_talk(row, classes, cohorts, names=names) for row in talks],
        "untaken": _untaken(untaken, cohorts, names=names),
        "nothing": {figure.name: _nothing(figure) for figure in told},
        "terms": {
            "present": [PRESENT, LAST_DAY],
            "at_risk": warnings,
            "rolls": [ROLLS],
            "weeks": [PRESENT],
            "lessons": [PRESENT],
            "levels": warnings,
            "bands": [BAND],
            "moved": [MOVED, PRESENT],
            "untaken": [ROLLS],
            "talks": warnings,
        },
        "by_group": _said_by_group(by_group),
        "flagged": {f"{row['kind']} {row['key'] or ''}": row["students"] for row in flagged},
    }
    render(origin, content, drawn, {code: specs(code) for code in LANGUAGES}, target, language, kept)
    return {name: len(drawn[name]) for name in CHARTS} | {"talks": len(talks)}, _preview(told, language)


LANGUAGES: tuple[Language, ...] = ("zh", "en")
#: What an empty list says where its figure is known.
NOBODY = {"at_risk": TEXTS["nobody"], "rolls": TEXTS["all_taken"]}


def _not_known(origin: Origin, part: str) -> Words | None:
    never = origin.not_loaded(PARTS[part][1])
    return never and Words(NOT_KNOWN.en.format(never.en), NOT_KNOWN.zh.format(never.zh))


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
        "figures": content.get("by_group", {}),
        "flagged": content.get("flagged", {}),
        "most": {"talks": TALKS, "untaken": TEACHERS},
        "age": {"as_of": f"{as_of:%Y-%m-%dT%H:%M}+08:00" if as_of else None, "old_days": OLD_DAYS},
    }
    page = _templates().get_template("page.html.j2")
    given = {
        "figures": (),
        "schools": (),
        "columns": (),
        "talks": None,
        "talks_not_known": None,
        "untaken": None,
        "semester": "",
    } | dict(content)
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


def chart(name: str, title: Words, hint: Words, rows: Rows, not_known: Words | None = None) -> dict[str, Any]:
    """A chart as the template shows it. `not_known`: why it has no rows, where it has none."""
    nothing = None if rows else not_known or TEXTS["nothing"]
    return {"name": name, "title": title, "hint": hint, "nothing": nothing, "alt": _alt(title, hint, rows)}


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


def _cohorts(groups: Rows) -> dict[str, str]:
    """What cohorts are called, by key."""
    return {group["cohort"]: group["cohort_name"] for group in groups if group["cohort"]}


def _talk(
    row: Mapping[str, Any], classes: Mapping[str, str], cohorts: Mapping[str, str], *, names: bool
) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("key", "cohort", "level")},
        "name": same(row["name"]) if names else _numbered(STUDENT, row["place"]),
        "of": classes.get(row["key"]) or cohorts.get(row["cohort"], ""),
        "word": in_words(row["level"], LEVELS),
        "reasons": Words(row["reasons_en"] or "", row["reasons_zh"] or ""),
    }


def _untaken(found: Rows, cohorts: Mapping[str, str], *, names: bool) -> list[dict[str, Any]]:
    """Who has to take rolls, the most first, with the classes and lessons."""
    by_teacher: dict[str, list[Mapping[str, Any]]] = {}
    for row in found:
        by_teacher.setdefault(row["teacher_names"] or "", []).append(row)
    most_first = sorted(by_teacher.items(), key=lambda item: -sum(len(row["lessons"]) for row in item[1]))
    return [
        {
            "name": (same(teacher) if names else _numbered(TEACHER, number)) if teacher else NO_TEACHER,
            "classes": [_untaken_class(row, cohorts) for row in own],
        }
        for number, (teacher, own) in enumerate(most_first, 1)
    ]


def _untaken_class(row: Mapping[str, Any], cohorts: Mapping[str, str]) -> dict[str, Any]:
    own = [cohorts[key] for key in row["cohorts"] or () if key in cohorts]
    name = " ".join([", ".join(own), row["name"]]).strip()
    lessons = [(lesson["date"], lesson["lesson"]) for lesson in row["lessons"]]
    return {
        "classes": row["classes"] or (),
        "cohorts": row["cohorts"] or (),
        "words": Words(
            f"{name}: {', '.join(LESSON.en.format(*lesson) for lesson in lessons)}",
            f"{name}：{'、'.join(LESSON.zh.format(*lesson) for lesson in lessons)}",
        ),
    }


def _numbered(words: Words, number: int) -> Words:
    return Words(words.en.format(number), words.zh.format(number))


def _said_by_group(by_group: Mapping[Group, Sequence[Figure]]) -> dict[str, Any]:
    """The figures of each group, for the page's script: by kind and key, then by name."""
    return {
        " ".join(group): {
            figure.name: {
                "value": _both(figure.value),
                "told": _both(figure.told),
                "nothing": _both(_nothing(figure)),
                "changes": [
                    {"since": _both(change.since), "text": _both(change.text), "good": change.good}
                    for change in figure.changes
                ],
            }
            for figure in told
        }
        for group, told in by_group.items()
    }


def _nothing(figure: Figure) -> Words:
    """What the list of a figure says where it is empty: that there is nobody, or why that is not known."""
    if figure.number is not None:
        return NOBODY.get(figure.name, EMPTY)
    return TEXTS["nothing"] if figure.told == EMPTY else figure.told


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
