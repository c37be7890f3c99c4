"""The charts of the board are valid Vega-Lite specifications in both languages."""

import json
from typing import get_args

import altair
import pytest

from exports.board.charts import chart_section, specs
from exports.board.comparison import OF_ALL
from exports.board.data import SCHOOLS, PageOfCharts
from exports.spreadsheet.sheets import LANGUAGES, Language


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", get_args(PageOfCharts))
def test_charts_are_valid_with_all_texts_filled_in(page: PageOfCharts, language: Language) -> None:
    """Altair raises for a specification that is not of Vega-Lite's schema."""
    for spec in specs(language, page).values():
        altair.Chart.from_dict(spec)
        assert "${" not in json.dumps(spec)


def test_only_charts_of_all_groups_squeeze_their_rows() -> None:
    """Charts of ten classes, or of all schools together, have room for each row."""
    squeezed = {
        page: {name for name, spec in specs("zh", page).items() if spec.get("usermeta")}
        for page in get_args(PageOfCharts)
    }
    assert squeezed == {
        "school": {"levels"},
        "few_schools": {"levels", "tiers", "reasons"},
        "many_schools": set(),
    }


def test_the_range_of_a_chart_names_no_row_of_all_schools() -> None:
    schools = [
        {**OF_ALL, "name": name, "students": students} for name, students in (("一中", 7), ("二中", 9))
    ]
    panel = SCHOOLS.pages["few_schools"].charts["tiers"]
    alternative = chart_section("tiers", panel, [{**OF_ALL, "students": 16}, *schools], None).drawing
    assert alternative and alternative.zh.endswith("最低7（一中），最高9（二中）。")
