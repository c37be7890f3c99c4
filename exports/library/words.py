"""The words of sheets and pages in both languages: words.yml, and the catalogue of measures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator

from exports.spreadsheet.sheets import Definition, Words
from warehouse.metrics import catalogue

HERE = Path(__file__).parent


@cache
def content_of(name: str, folder: Path = HERE) -> Mapping[str, Any]:
    """The content of a YAML file of this folder, or of another folder, read once."""
    text = (folder / f"{name}.yml").read_text(encoding="utf-8")
    # The loader in C takes a tenth of the time.
    content: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return content


def to_words(value: Any) -> Any:
    """The words of a file: {en: ..., zh: ...}, a text without a language, or the name of a phrase."""
    if isinstance(value, str):
        return phrase(value)
    return Words(**value) if isinstance(value, Mapping) else value


#: In a file: {en: ..., zh: ...}, or the name of a phrase or of a measure.
Phrase = Annotated[Words, BeforeValidator(to_words)]


@cache
def phrase(name: str) -> Words:
    """A phrase of words.yml, or the name of a measure. Raises KeyError."""
    phrases = content_of("words")["phrases"]
    if name in phrases:
        return Words(**phrases[name])
    metric = catalogue().metrics[name]
    return Words(metric.label, metric.label_zh)


@cache
def labels(kind: str) -> dict[str, Words]:
    """The labels of a kind of codes, in the order of the codes. Raises KeyError."""
    return {str(code): to_words(words) for code, words in content_of("words")["codes"][kind].items()}


def untranslated(text: object) -> Words:
    """A text that is the same in both languages, such as a name or a number."""
    return Words(str(text), str(text))


def label_of(code: str, kind: str) -> Words:
    """The label of a code, or the code itself where it has no label."""
    return labels(kind).get(code, untranslated(code))


def definition(measure: str, thresholds: Mapping[str, str] | None = None) -> Definition:
    """The name of a measure and its definition. `thresholds`: those of the school, by name."""
    meanings = catalogue().metrics[measure].definitions(thresholds)
    return Definition(phrase(measure), Words(*meanings))


@cache
def colour(name: str) -> str:
    """A colour as #RRGGBB. Raises KeyError."""
    return str(content_of("words")["colours"][name])


@cache
def texts(file: str, group: str = "texts") -> dict[str, Words]:
    """The texts of a file of this folder, by name."""
    return {name: to_words(words) for name, words in content_of(file)[group].items()}
