"""The charts of the board are valid Vega-Lite specifications in both languages."""

import json
from typing import get_args

import altair
import pytest

from exports.board.charts import specs
from exports.board.data import PageOfCharts
from exports.spreadsheet.sheets import LANGUAGES, Language


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", get_args(PageOfCharts))
def test_charts_are_valid_with_all_texts_filled_in(page: PageOfCharts, language: Language) -> None:
    """Altair raises for a specification that is not of Vega-Lite's schema."""
    for spec in specs(language, page).values():
        altair.Chart.from_dict(spec)
        assert "${" not in json.dumps(spec)
