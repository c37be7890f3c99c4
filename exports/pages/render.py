"""Renders a page: a self-contained file, as a board, or a page of a site that loads its style and script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from exports.library.words import labels, untranslated
from exports.pages.sections import PAGE_TEXTS, TEXTS
from exports.source import Origin
from exports.spreadsheet.sheets import LANGUAGES, Language, Words
from warehouse.files import write_text

HERE = Path(__file__).parent
EMPTY = Words("", "")
#: Texts whose HTML is remembered: pages repeat the same labels, names and reasons.
SAME_TEXTS = 10_000
#: The age in days, by the reader's clock, at which a page warns that it is old.
OLD_DAYS = 2
#: The variables of pages without a value of their own.
DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("facts", "figures", "crumbs", "sections", "scripts", "alarms"), ()),
    **dict.fromkeys(
        ("root", "address", "semester", "oldest", "as_of", "published", "generation", "data"), ""
    ),
    **dict.fromkeys(("picks", "link"), None),
    "terms": {},
    "glossary": {},
}


@dataclass(frozen=True)
class Table:
    """A table, whose rows are HTML."""

    #: The columns: name, label, and the class of the cells in page.css.
    labels: Sequence[tuple[str, Words, str]]
    body: Markup
    #: The headings above the labels, each with its number of columns.
    headings: Sequence[tuple[Words, int]] = ()
    is_searched: bool = False
    is_newest_last: bool = False
    has_wide: bool = False
    #: The rows that are shown before a reader asks for all. 0: all.
    most: int = 0
    #: A workbook beside the page has the table, too.
    is_in_workbook: bool = False


@dataclass(frozen=True)
class PageSection:
    """A section of a page."""

    name: str
    title: Words
    hints: tuple[Words, ...] = ()
    #: Classes in page.css.
    style: str = ""
    #: Said in the place of the drawings and the table. None: they have rows.
    nothing: Words | None = None
    #: The text alternative of a chart that the script of boards draws.
    drawing: Words | None = None
    #: Those of cells.py.
    line_chart: Mapping[str, Any] | None = None
    calendar: Mapping[str, Any] | None = None
    table: Table | None = None
    #: The figure of the board whose text stands where no row is of what is picked.
    figure: str = ""
    #: A sentence above, and the buttons below it, which show the rows with a reason.
    lead: Words = EMPTY
    reasons: Sequence[tuple[str, Words]] = ()
    #: Questions with sentences as answers.
    answers: Sequence[tuple[Words, Sequence[Words]]] = ()
    #: Links to definitions.
    terms: Sequence[Mapping[str, Any]] = ()


@lru_cache(SAME_TEXTS)
def bilingual(words: Words) -> Markup:
    """A text in both languages as HTML, of which the page shows one."""
    if words.en == words.zh:
        return escape(words.en)
    zh, en = escape(words.zh), escape(words.en)
    return Markup(f'<span class="zh" lang="zh">{zh}</span><span class="en" lang="en">{en}</span>')


def by_language(words: Words) -> dict[str, str]:
    """A text for the script of a page."""
    return {language: words.in_language(language) for language in LANGUAGES}


def crumb(words: Words | str, href: str = "") -> dict[str, Any]:
    """A step of the path to a page."""
    return {"words": untranslated(words) if isinstance(words, str) else words, "href": href}


def age_of_page(origin: Origin) -> dict[str, Any]:
    """What the script of a page needs to say how many days old the page's data are."""
    as_of = origin.age.as_of
    moment = f"{as_of:%Y-%m-%dT%H:%M}+08:00" if as_of else None
    return {"moment": moment, "old_days": OLD_DAYS, "old": by_language(TEXTS["old"])}


def time_text(moment: datetime | None) -> str:
    """A time in the words of a page. Empty: there is none."""
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


def render(language: Language, variables: Mapping[str, Any]) -> str:
    """A page of a site. `variables`: those of the template."""
    policies = {"script_policy": "'self'", "style_policy": "'self'", "inline": False}
    return _template().render(t=TEXTS, language=language, **{**DEFAULTS, **policies, **variables})


def render_alone(
    language: Language, variables: Mapping[str, Any], data: Mapping[str, Any], cache_folder: Path
) -> str:
    """A page with charts that needs no other file, and sends no requests.

    Args:
        variables: Those of the template.
        data: For the scripts of the page.
        cache_folder: Caches the script that draws charts."""
    scripts = [bundle(cache_folder), *(read_shared(name) for name in ("page.js", "charts.js"))]
    alone = {
        "inline": True,
        "script_policy": Markup(" ".join(map(_hash, scripts))),
        "style_policy": "'unsafe-inline'",
        "style": Markup(read_shared("page.css")),
        "scripts": [Markup(script) for script in scripts],
        "data": _json(data),
    }
    return render(language, {**alone, **variables})


def read_shared(name: str) -> str:
    """The stylesheet or a script."""
    return (HERE / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    """The template. It escapes all text, and refuses unknown variables."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    signs = {
        mark: Markup('<b class="{style}">{sign}</b>' if sign["style"] else "{sign}").format(**sign)
        for mark, sign in PAGE_TEXTS.signs.items()
    }
    environment.globals |= {
        "bilingual": bilingual,
        "signs": signs,
        "marks": labels("marks"),
        "weekdays": labels("weekdays"),
    }
    return environment.get_template("page.html.j2")


def _json(data: Any) -> Markup:
    """JSON that no browser reads as markup, whatever the names are."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def bundle(folder: Path) -> str:
    """Vega, Vega-Lite and vega-embed as one script, which each version of vl-convert bundles once.

    `folder`: caches the script."""
    path = folder / f"vega-{version('vl-convert-python')}.js"
    if not path.exists():
        # A reader without write access to the home, or to its disk, bundles it each time.
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            write_text(path, _bundle())
            for old in set(folder.glob("vega-*.js")) - {path}:
                old.unlink()
        return _bundle()
    return path.read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    # A page of a site needs no charts, and loading the library takes memory that its rows need.
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script
