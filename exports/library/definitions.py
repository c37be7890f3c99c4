"""The terms of workbooks, board and pages, with the thresholds in force: definitions.yml."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import duckdb

from exports.library.sentences import Codes, SentenceData, fill, sentences_on
from exports.library.view_rows import ViewRows, read_rows
from exports.library.words import Phrase, content_of, definition
from exports.spreadsheet.sheets import Definition, Words


class DefinitionData(ViewRows):
    """A definition for each row of a view, or that of a measure."""

    view: str = "threshold"
    measure: str | None = None
    term: Phrase = Words("", "")
    #: The meaning.
    sentences: tuple[SentenceData, ...] = ()
    between: Phrase = Words(" ", "")
    end: Phrase = Words("", "")

    def read(self, con: duckdb.DuckDBPyConnection, school_id: int, codes: Codes) -> Iterator[Definition]:
        """The definitions of a school."""
        for row in read_rows(con, self, [school_id]):
            if self.measure:
                yield definition(self.measure, row)
            else:
                parts = list(sentences_on(self.sentences, row, codes))
                en = self.between.en.join(part.en for part in parts) + self.end.en
                zh = self.between.zh.join(part.zh for part in parts) + self.end.zh
                yield Definition(fill(self.term, row, codes), Words(en, zh))


@cache
def _definitions() -> dict[str, DefinitionData]:
    return {
        name: DefinitionData.model_validate(data)
        for name, data in content_of("definitions")["definitions"].items()
    }


def definitions_of(con: duckdb.DuckDBPyConnection, school_id: int, topic: str) -> tuple[Definition, ...]:
    """The definitions of a list, with the thresholds of a school. Raises KeyError."""
    content = content_of("definitions")
    return tuple(
        entry
        for name in content["lists"][topic]
        for entry in _definitions()[name].read(con, school_id, content["codes"])
    )


def all_definitions(con: duckdb.DuckDBPyConnection, school_id: int) -> dict[str, Definition]:
    """The definitions of all workbooks, by their English terms."""
    lists = content_of("definitions")["lists"]
    return {entry.term.en: entry for topic in lists for entry in definitions_of(con, school_id, topic)}
