"""The charts of the board as Vega-Lite specifications: charts.yml, with texts and expressions filled in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from string import Template
from typing import Any, Literal

from exports.library.words import content_of, labels, to_words
from exports.spreadsheet.sheets import Language

Page = Literal["school", "few_schools", "many_schools"]


@cache
def specs(language: Language, page: Page) -> dict[str, dict[str, Any]]:
    """The charts of a page by name, without rows. On pages of schools, a school takes a class's place."""
    content = content_of("charts")
    texts = {name: to_words(text) for name, text in content["texts"].items()} | labels("levels")
    values = {name: text.in_language(language) for name, text in texts.items()} | {"language": language}
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
