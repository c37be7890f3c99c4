"""The catalogue of measures."""

import os
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from warehouse.metrics import FILE, Catalogue, catalogue
from warehouse.publish.models.dbt_project import compiled

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def test_each_place_takes_its_words_from_the_catalogue() -> None:
    """No description or label of a measure is written a second time."""
    copies = []
    for (_, table, column), name in catalogue().shown_in.items():
        node = compiled()["nodes"][f"model.campus.{table}"]["columns"][column]
        words = catalogue().metrics[name].definitions()[0]
        if node["description"] != words or node["config"]["meta"].keys() & {"label_zh", "unit"}:
            copies.append(f"{table}.{column}")
    assert copies == []


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("metrics", {"gpa": {"colour": "red"}}, "Extra inputs are not permitted"),
        ("metrics", {"gpa": {"base": "nothing"}}, "gpa: there is no base nothing"),
        ("metrics", {"gpa": {"privacy": "secret"}}, "no privacy class secret"),
        ("metrics", {"gpa": {"decimals": "4"}}, "Input should be a valid integer"),
    ],
)
def test_a_wrong_measure_is_refused(part: str, change: dict[str, dict[str, str]], message: str) -> None:
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for name, values in change.items():
        content[part][name] |= values
    with pytest.raises(ValidationError, match=message):
        Catalogue.model_validate(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {"attendance_rate": "pass_rate", "lateness_rate": "lateness_rate"}}, "of a single base"),
        ({"columns": {"attendance_rate": "attendence_rate"}}, "not measures of a single base"),
        ({"by": {"planet": "school_id"}}, "the base lacks planet"),
    ],
)
def test_a_wrong_place_is_refused(change: dict[str, dict[str, str]], message: str) -> None:
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    content["places"][0] |= change
    with pytest.raises(ValidationError, match=message):
        Catalogue.model_validate(content)


def test_a_definition_has_the_limits_of_the_school() -> None:
    metric = catalogue().metrics["pass_rate"]
    assert "a limit of 55% of the full score" in metric.definitions({"pass_percent": "55"})[0]
    neutral, neutral_zh = metric.definitions()
    assert neutral.endswith("a limit of pass_percent% of the full score. (seeds.grade_thresholds)")
    assert neutral_zh.endswith("为及格线。（seeds.grade_thresholds）")


def test_a_measure_is_split_by_what_its_rows_have() -> None:
    assert "week" in catalogue().dimensions_of("attendance_rate")
    assert "week" not in catalogue().dimensions_of("pass_rate")
    assert "teacher" in catalogue().dimensions_of("unrecorded_rate")


def test_the_page_of_measures_is_current() -> None:
    if os.environ.get("CAMPUS_WRITE_METRICS"):
        PAGE.write_text(_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == _page(), "run: make metrics-page"


def _page() -> str:
    lines = [
        "# Measures",
        "",
        "The catalogue of measures (`warehouse/dbt/metrics.yml`); `make metrics-page` writes this page.",
        "Marts, workbooks, the board and `quality.metrics` take names and definitions from the catalogue.",
        "A check compares each place that shows a measure with the measure itself.",
        "[A guide for analysts](../how-to/analysts.md#measures) shows how to ask for a measure.",
        "",
        "## Dimensions",
        "",
        "| dimension | | columns |",
        "|---|---|---|",
    ]
    for name, dimension in catalogue().dimensions.items():
        label = f"{dimension.label}, {dimension.label_zh}" + "; names people" * dimension.is_personal
        lines.append(f"| `{name}` | {label} | {', '.join(f'`{column}`' for column in dimension.columns)} |")
    lines += ["", "## All measures"]
    for name, metric in catalogue().metrics.items():
        base = catalogue().bases[metric.base]
        shown = [".".join(place) for place, measure in catalogue().shown_in.items() if measure == name]
        lines += [
            "",
            f"### `{name}`",
            "",
            f"**{metric.label}, {metric.label_zh}.** {metric.definitions()[0]}",
            "",
        ]
        lines += [metric.definitions()[1], "", "| | |", "|---|---|"]
        rows = {
            "expression": f"`{metric.expression}`",
            "row": f"{base.grain} (`{base.tables[0]}`)",
            "split by": ", ".join(f"`{key}`" for key in catalogue().dimensions_of(name)),
            "days": f"`{base.time_column}`" if base.time_column else "",
            "unit": metric.unit or "",
            "profile": f"`{metric.profile}` of `seeds.attendance_profiles`" if metric.profile else "",
            "shown in": ", ".join(f"`{place}`" for place in shown),
        }
        lines += [f"| {title} | {text} |" for title, text in rows.items() if text]
    return "\n".join(lines) + "\n"
