"""The words of the models (warehouse/dbt/macros/words.sql) are those of sheets and pages (words.yml)."""

import ast
from pathlib import Path

import pytest

from exports.library.words import labels

MACRO = Path(__file__).parents[3] / "warehouse" / "dbt" / "macros" / "words.sql"
#: The kinds of codes that both name, as words.yml and as the macro call them.
SHARED = {
    "levels": "level",
    "grades": "grade",
    "interventions": "intervention",
    "discrimination": "discrimination_label",
    "verdicts": "verdict",
    "weekdays": "weekday",
}


@pytest.mark.parametrize(("kind", "of_models"), SHARED.items())
def test_codes_have_the_words_of_the_models(kind: str, of_models: str) -> None:
    """In the same order, since models rank levels and name grades by the order."""
    macro = MACRO.read_text(encoding="utf-8").partition("return(")[2].partition(") }}")[0]
    named = [(code, words.en, words.zh) for code, words in labels(kind).items() if code]
    assert named == [(code, *names) for code, names in ast.literal_eval(macro)[of_models].items()]
