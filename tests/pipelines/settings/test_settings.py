"""What settings become. The transcripts of the command line have the mistakes in them."""

import os
import re
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from campus.datasets.selection import Selection, TableSelection
from campus.reports.selection import ReportSelection
from loading.reports.tables import selections_of
from pipelines.platform import open_platform, wanted_reports
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.options import DatasetOptions, Options, ReportOptions, Section
from pipelines.settings.settings import SETTINGS, Settings, SettingsError, load_settings

ROOT = Path(__file__).parents[3]
SECRET = "sk-do-not-tell"
PLATFORM = {
    "CAMPUS_BASE_URL": "https://school.example",
    "CAMPUS_CLIENT_ID": "warehouse",
    "CAMPUS_CLIENT_SECRET": SECRET,
}

DOTENVS = {
    "home/.env": "CAMPUS_SCHOOL_IDS=101\nCAMPUS_REPORTS=ranks\nOTHERS=1",
    ".env": "CAMPUS_HOME=home\nCAMPUS_SCHOOL_IDS=102\nCAMPUS_ALLOW_WRITES=false",
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("CAMPUS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def _fields(section: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys of campus.yaml, down to the deepest sections."""
    for name, field in section.model_fields.items():
        yield (*path, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _fields(field.annotation, (*path, name))


@pytest.mark.parametrize("value", ["x y", "", -1, 0.5, 10**30, [], [{}], {}, {1: 1}, {"a": {}}, True])
def test_wrong_values_are_named_in_plain_words(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """pydantic's sentences begin with a word of Python, such as `Input should be a valid integer`."""
    monkeypatch.setenv("CAMPUS_CONFIG", "campus.yaml")
    for path in _fields(Options):
        content: Any = value
        for key in reversed(path):
            content = {key: content}
        Path("campus.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        try:
            load_settings()
        except SettingsError as error:
            for line in error.problems:
                assert not re.search(r": (Input|String|Field|Keys|Tuple|List|Value|Data|Unable) ", line), line


@pytest.mark.parametrize(
    ("files", "environment", "values"),
    [
        ({}, {}, {"embedded": False}),
        ({}, {"CAMPUS_BASE_URL": "simulator"}, {"embedded": True}),
        # The .env where the command runs comes before the .env of the home.
        (DOTENVS, {}, {"home": Path("home"), "school_ids": (102,), "reports": ("ranks",)}),
        (DOTENVS, {}, {"read_from": (Path("home/.env"), Path(".env"))}),
        # The environment comes before both.
        (DOTENVS, {"CAMPUS_SCHOOL_IDS": "103"}, {"school_ids": (103,)}),
        (
            {"mine.yaml": "terms: {extra_types: [course.attribute]}"},
            {**PLATFORM, "CAMPUS_SCHOOL_IDS": " 102, 101 ,102", "CAMPUS_CONFIG": "mine.yaml"},
            {"school_ids": (102, 101), "options.terms.extra_types": ("course.attribute",)},
        ),
        ({}, {**PLATFORM, "CAMPUS_HOME": "elsewhere"}, {"home": Path("elsewhere"), "embedded": False}),
    ],
)
def test_good_settings_are_read(
    files: Mapping[str, str],
    environment: Mapping[str, str],
    values: Mapping[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Paths of `files` and `values` are relative to the folder where the command runs."""
    for path, text in files.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert {name: _relative(attrgetter(name)(settings)) for name in values} == values
    assert SECRET not in repr(settings)


def _relative(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_relative, value))
    return value.relative_to(Path.cwd()) if isinstance(value, Path) else value


def test_an_empty_address_of_postgres_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**PLATFORM, POSTGRES_URL: ""}.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.postgres_address is None
    with open_platform(settings) as config:
        assert config.shared is None


def test_a_home_may_have_a_hash_in_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB cannot write into a folder with a question mark."""
    monkeypatch.setenv("CAMPUS_HOME", "school#1")
    assert load_settings().home == Path.cwd() / "school#1"
    monkeypatch.setenv("CAMPUS_HOME", "school?")
    with pytest.raises(SettingsError, match="CAMPUS_HOME: expected a path without"):
        load_settings()


def test_what_is_selected_of_datasets_is_handed_on() -> None:
    text = """
    include: [course_*]
    exclude: [course_drafts]
    extra_operators: [gt]
    tables:
      course_scores:
        fields: [student_id]
        expand: [student]
        filters: {level_in: [优秀, 1], exam_date_egt: 2025-02-01, at_elt: 2025-02-01 10:00:00, score_gt: 59.5}
    """
    options = DatasetOptions.model_validate(yaml.safe_load(text))
    filters = {
        "level_in": ("优秀", 1),
        "exam_date_egt": "2025-02-01",
        "at_elt": "2025-02-01 10:00:00",
        "score_gt": 59.5,
    }
    assert options.selection == Selection(
        include=("course_*",),
        exclude=("course_drafts",),
        tables={"course_scores": TableSelection(("student_id",), ("student",), filters)},
        extra_operators=("gt",),
    )


def test_reports_are_handed_on_with_dates_as_text() -> None:
    text = """
    report: 12
    queries: [501, 成绩]
    parameters: {grade: 7, period: [2025-09-01, 2026-01-31]}
    matrix: {semester: [20, 21]}
    """
    selection = ReportOptions.model_validate(yaml.safe_load(text)).selection
    assert selection == ReportSelection(
        "12", ("501", "成绩"), {"grade": 7, "period": ("2025-09-01", "2026-01-31")}, {"semester": (20, 21)}
    )


def test_a_report_of_the_environment_yields_to_that_of_campus_yaml() -> None:
    entries = [
        {"report": "ranks", "schools": [101], "queries": [1]},
        {"report": "ranks", "schools": [102], "queries": [2]},
        {"report": "12", "queries": [3]},
    ]
    options = Options.model_validate({"reports": entries})
    wanted = wanted_reports(Settings(reports=("marks", "12", "ranks"), options=options))
    of_all = {"marks": (), "12": ("3",)}
    for school_id, queries in ((101, ("1",)), (102, ("2",)), (103, ())):
        queries_by_report = {
            report: selection.queries for report, selection in selections_of(wanted, school_id).items()
        }
        assert queries_by_report == of_all | {"ranks": queries}


def test_every_report_is_asked_with_dates_as_the_platform_wants_them() -> None:
    options = Options.model_validate({"reports": [{"report": "12"}], "platform": {"date_ranges": "text"}})
    wanted = wanted_reports(Settings(reports=("marks",), options=options))
    assert [report.selection.date_ranges for report in wanted] == ["text", "text"]


def test_the_page_for_operators_names_each_setting_of_the_environment() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert {name for name in SETTINGS if f"`{name}`" not in page} == set()


def test_the_annotated_sample_is_whole_and_shows_the_defaults() -> None:
    sample = yaml.safe_load((ROOT / "docs" / "campus.yaml").read_text(encoding="utf-8"))
    assert Options.model_validate(sample) == Options()
    assert sorted(_keys(sample)) == sorted(_keys(Options().model_dump()))
    sections = [type(section) for _, section in Options() if isinstance(section, Section)]
    kinds: list[type[BaseModel]] = [*sections, ReportOptions]
    assert all(field.description for kind in kinds for field in kind.model_fields.values()), (
        "each key says what it is"
    )


def _keys(options: Mapping[str, Any]) -> Iterator[str]:
    for section, values in options.items():
        yield section
        yield from (f"{section}.{key}" for key in values)
