"""Whether the warnings came true: the back-test as the answers of the board to a head.

A rule is held against outcomes alone that it does not contain. A share needs ten students, a verdict thirty.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from exports.library.sentences import Passage
from exports.library.words import content_of, to_words
from exports.spreadsheet.sheets import Definition, Words

_CONTENT = content_of("back_test")
TITLE: Words = to_words(_CONTENT["title"])
REASONS_PROVEN: Words = to_words(_CONTENT["title_of_reasons"])
MEANING = Definition(TITLE, to_words(_CONTENT["meaning"]))


@dataclass(frozen=True)
class Answer:
    """What the data say to a question of a head."""

    question: Words
    sentences: tuple[Words, ...]


def came_true(con: duckdb.DuckDBPyConnection, school_id: int, *, names: bool) -> tuple[Answer, ...]:
    """The answers of the back-test of a school: how many talks were right, whom the list missed, whether
    groups are treated alike, and what cannot be known. `names`: the page names students."""
    answers = (
        Answer(
            to_words(data["question"]),
            tuple(
                sentence
                for passage in data["passages"]
                for sentence in Passage.model_validate(passage).read(
                    con, school_id, _CONTENT["codes"], names=names
                )
            ),
        )
        for data in _CONTENT["answers"]
    )
    return tuple(answer for answer in answers if answer.sentences)


def reasons_proven(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Words, ...]:
    """How each reason of today's list did in finished semesters, a sentence a reason."""
    return Passage.model_validate(_CONTENT["reasons"]).read(con, school_id, _CONTENT["codes"])


def definitions_of_back_test(con: duckdb.DuckDBPyConnection, school_id: int) -> tuple[Definition, ...]:
    """What the back-test means, and how each reason of today's list did."""
    proven = (Definition(REASONS_PROVEN, sentence) for sentence in reasons_proven(con, school_id))
    return (MEANING, *proven)
