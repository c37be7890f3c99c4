"""Sentences as data: a file of this folder names a view, and what each of its rows says.

{name} in a text is a column of the row: its value, or the label of its code, in the language of the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
from pydantic import Field

from exports.library.view_rows import Data, ViewRows, read_rows
from exports.library.words import Phrase, label_of
from exports.source import joined
from exports.spreadsheet.sheets import Words

#: Kinds of codes in words.yml, by the column that has the codes.
Codes = Mapping[str, str]
Row = Mapping[str, Any]


class SentenceData(Data):
    """A sentence on a row. Without a text, the row says nothing."""

    text: Phrase | None = None
    #: The column whose code chooses the text.
    choose: str | None = None
    texts: dict[str, Phrase] = Field(default_factory=dict)
    #: Only for rows in which these columns have a value other than 0 and false.
    has: tuple[str, ...] = ()
    #: Only for rows in which they have none.
    lacks: tuple[str, ...] = ()

    def text_on(self, row: Row) -> Words | None:
        """The text for a row; None: the row says nothing."""
        if all(row[name] for name in self.has) and not any(row[name] for name in self.lacks):
            return self.texts.get(row[self.choose]) if self.choose else self.text
        return None


class Passage(ViewRows):
    """What the rows of a view say."""

    #: SQL for the rows that a page may show that does not name persons.
    condition_without_names: str = "true"
    sentences: tuple[SentenceData, ...]
    #: Said where the rows say nothing.
    otherwise: Phrase | None = None
    #: Said at the end.
    last: Phrase | None = None

    def read(
        self, con: duckdb.DuckDBPyConnection, school_id: int, codes: Codes, *, names: bool = True
    ) -> tuple[Words, ...]:
        """The sentences on a school. `names`: the page names persons."""
        condition = "true" if names else self.condition_without_names
        rows = read_rows(con, self, [school_id], condition)
        sentences = [text for row in rows for text in sentences_on(self.sentences, row, codes)]
        if not sentences and self.otherwise:
            sentences = [self.otherwise]
        return (*sentences, *([self.last] if self.last else []))


def sentences_on(sentences: Sequence[SentenceData], row: Row, codes: Codes) -> Iterator[Words]:
    """The sentences on a row."""
    for sentence in sentences:
        text = sentence.text_on(row)
        if text is not None:
            yield fill(text, row, codes)


def fill(text: Words, row: Row, codes: Codes) -> Words:
    """A text with the values of a row. A pair of columns x_en and x_zh is {x}."""
    values = {name: _value(value, codes.get(name)) for name, value in row.items()}
    pairs = {name.removesuffix("_en") for name in row if name.endswith("_en")}
    values |= {name: Words(row[f"{name}_en"], row[f"{name}_zh"]) for name in pairs}
    return text.format(**values)


def _value(value: Any, kind: str | None) -> Any:
    """The label of a code, or the labels of a list of codes; the value where it is no code."""
    if kind is None or value is None:
        return value
    if isinstance(value, list):
        return joined(_value(code, kind) for code in value)
    return label_of(value, kind)
