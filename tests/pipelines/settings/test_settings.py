"""Settings that make no sense stop with exit status 2 and one line for each mistake."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from campus.datasets.selection import Selection, TableSelection
from campus.reports.selection import ReportSelection
from loading.reports.tables import selections_of
from pipelines.resources import wanted_reports
from pipelines.settings.options import DatasetOptions, Options, ReportOptions, Section
from pipelines.settings.settings import SETTINGS, Settings, SettingsError, load_settings
from tests.kits.programs.command_line import campus

ROOT = Path(__file__).parents[3]
SECRET = "sk-do-not-tell"
PLATFORM = {
    "CAMPUS_BASE_URL": "https://school.example",
    "CAMPUS_CLIENT_ID": "warehouse",
    "CAMPUS_CLIENT_SECRET": SECRET,
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("CAMPUS_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def problems(
    monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str], yaml_text: str = ""
) -> list[str]:
    """What is said of these settings, with campus.yaml in the default home."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Path("data").mkdir()
    Path("data/campus.yaml").write_text(yaml_text, encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        load_settings()
    return error.value.problems


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        (
            {"CAMPUS_SCHOOL_IDS": "101;102"},
            "CAMPUS_SCHOOL_IDS: expected school ids, numbers separated by commas",
        ),
        ({"CAMPUS_SCHOOL_IDS": "-1"}, "CAMPUS_SCHOOL_IDS: expected school ids"),
        ({"CAMPUS_BASE_URL": "school.example"}, "CAMPUS_BASE_URL: expected an address that starts with http"),
        ({**PLATFORM, "CAMPUS_CLIENT_SECRET": ""}, "CAMPUS_CLIENT_SECRET is not set"),
        ({**PLATFORM, "CAMPUS_CLIENT_ID": ""}, "CAMPUS_CLIENT_ID is not set"),
        (
            {"CAMPUS_SCHOOLIDS": "101"},
            "CAMPUS_SCHOOLIDS: there is no such setting; did you mean CAMPUS_SCHOOL_",
        ),
        (
            {"campus_scool_ids": "101"},
            "campus_scool_ids: there is no such setting; did you mean CAMPUS_SCHOOL_",
        ),
        ({"CAMPUS_OPTIONS": "{}"}, "CAMPUS_OPTIONS: there is no such setting"),
        ({"CAMPUS_READ_FROM": "x"}, "CAMPUS_READ_FROM: there is no such setting"),
        (
            {"CAMPUS_LAKE": "s3://lake"},
            "CAMPUS_LAKE: expected s3://bucket/prefix",
        ),
        ({"CAMPUS_LAKE": "s3://lake/la ke"}, "CAMPUS_LAKE: expected s3://bucket/prefix"),
        ({"CAMPUS_LAKE": "gs://lake/x"}, "CAMPUS_LAKE: expected a folder, or s3://bucket/prefix"),
        ({"CAMPUS_LAKE": "s3://key:secret@lake/x"}, "CAMPUS_LAKE: expected s3://bucket/prefix"),
        ({"CAMPUS_ALLOW_WRITES": "perhaps"}, "CAMPUS_ALLOW_WRITES: Input should be a valid boolean"),
        ({"CAMPUS_CONFIG": "/no/such.yaml"}, "CAMPUS_CONFIG names /no/such.yaml, which does not exist"),
    ],
)
def test_a_mistake_in_the_environment_is_one_line(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], line: str
) -> None:
    [problem] = problems(monkeypatch, environment)
    assert problem.startswith(line) and "\n" not in problem and SECRET not in problem


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("platform: {concurency: 4}", "platform.concurency: there is no such key; did you mean concurrency?"),
        ("platform: {concurrency: many}", "platform.concurrency: Input should be a valid integer"),
        ("platform: {concurrency: 0}", "platform.concurrency: Input should be greater than or equal to 1"),
        ("publish: {memory_limit: lots}", "publish.memory_limit: String should match pattern"),
        ("publish: {to: shards}", "publish.to: expected the absolute path of a folder"),
        ("writes: {inbox: {folder: inbox}}", "writes.inbox.folder: expected the absolute path of a folder"),
        ("schedule: {nightly: at two}", "schedule.nightly: expected a cron expression"),
        ("datasets: {limit: 20000}", "datasets.limit: Input should be less than or equal to 10000"),
        (
            "datasets: {tables: {scores: {filters: {level_in: {a: 1}}}}}",
            "datasets.tables.scores.filters.level_in: expected text, a number",
        ),
        (
            "datasets: {tables: {scores: {feilds: [a]}}}",
            "datasets.tables.scores.feilds: there is no such key; did you mean fields?",
        ),
        ("dataset: {}", "dataset: there is no such key; did you mean datasets?"),
        (
            "datasets: {tables: {scores: {filters: {day_egt: 2025-02-30}}}}",
            "is not valid YAML: it has a date",
        ),
        ("[1, 2]", "campus.yaml: expected keys with their values"),
        ("platform", "campus.yaml: expected keys with their values"),
        ("[[platform, {}]]", "campus.yaml: expected keys with their values"),
        ("Platform: {}", "Platform: there is no such key; did you mean platform?"),
        ("1: {}", "Keys should be strings"),
        ("reports: [{queries: [1]}]", "reports.0.report: Field required"),
        ("reports: [ranks]", "reports.0: expected keys with their values"),
        ("reports: {report: ranks}", "reports: expected a list, such as [a, b]"),
        (
            "reports: [{report: a, querys: [1]}]",
            "reports.0.querys: there is no such key; did you mean queries?",
        ),
        ("reports: [{report: true}]", "reports.0.report: expected a name or an id"),
        ("reports: [{report: a}, {report: b, matrix: {s: {x: 1}}}]", "reports.1.matrix.s: expected a list"),
        (
            "reports: [{report: a, parameters: {s: {x: 1}}}]",
            "reports.0.parameters.s: expected text, a number",
        ),
        (
            "reports: [{report: a, schools: [1]}, {report: a}]",
            "reports: a is there twice for the same school",
        ),
        (
            "exports: {workbooks: [marks]}",
            "exports.workbooks: there is no workbook 'marks'; there are: board",
        ),
        ("exports: {tables: [raw.scores]}", "exports.tables.0: String should match pattern '^(marts|core"),
        ("exports: {schedule: nightly}", "exports.schedule: expected a cron expression of five fields"),
        ("a: [", "is not valid YAML: line 1, column 5: expected keys"),
    ],
)
def test_a_mistake_in_campus_yaml_is_one_line_that_names_file_and_key(
    monkeypatch: pytest.MonkeyPatch, text: str, line: str
) -> None:
    [problem] = problems(monkeypatch, {}, text)
    assert "data/campus.yaml" in problem and line in problem and "\n" not in problem


def test_all_mistakes_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"CAMPUS_SCHOOL_IDS": "x", "CAMPUS_BASE_URL": "ftp://school.example"}
    assert len(problems(monkeypatch, environment)) == 2


@pytest.mark.parametrize("command", [["sync"], ["build"], ["demo"], ["sql", "SELECT 1"]])
def test_the_command_line_ends_with_status_2(command: list[str], tmp_path: Path) -> None:
    given = PLATFORM | {"CAMPUS_SCHOOL_IDS": "one", "CAMPUS_HOME": str(tmp_path)}
    done = campus(tmp_path, *command, **given)
    assert done.exit_code == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("campus: CAMPUS_SCHOOL_IDS: expected school ids")
    assert SECRET not in done.stderr


@pytest.mark.parametrize("command", [["sync"], ["doctor"]])
def test_without_a_platform_the_two_ways_out_are_told(command: list[str], tmp_path: Path) -> None:
    done = campus(tmp_path, *command, CAMPUS_HOME=str(tmp_path))
    assert done.exit_code == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("campus: CAMPUS_BASE_URL is not set: set it to the platform's address")
    assert "CAMPUS_BASE_URL=simulator for made-up schools" in line
    assert not (tmp_path / "loaded_from").exists()


def test_a_dotenv_is_read_where_the_command_runs_and_in_the_home_the_first_holding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".env").write_text("CAMPUS_SCHOOL_IDS=101\nCAMPUS_REPORTS=ranks\nOTHERS=1")
    (tmp_path / ".env").write_text(f"CAMPUS_HOME={home}\nCAMPUS_SCHOOL_IDS=102\nCAMPUS_ALLOW_WRITES=false")
    settings = load_settings()
    assert (settings.home, settings.school_ids, settings.reports) == (home, (102,), ("ranks",))
    assert settings.read_from == (home / ".env", tmp_path / ".env")

    monkeypatch.setenv("CAMPUS_SCHOOL_IDS", "103")
    assert load_settings().school_ids == (103,), "the environment holds over both"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("CAMPUS_SCHOL_IDS=101", "CAMPUS_SCHOL_IDS (in {home}/.env): there is no such setting; did you mean"),
        ("CAMPUS_HOME=/elsewhere", "CAMPUS_HOME in {home}/.env names another folder"),
    ],
)
def test_a_mistake_in_a_dotenv_names_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, line: str
) -> None:
    Path("data").mkdir()
    Path("data/.env").write_text(text)
    with pytest.raises(SettingsError) as error:
        load_settings()
    [problem] = error.value.problems
    assert problem.startswith(line.format(home=tmp_path / "data"))


def test_made_up_schools_are_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_settings().embedded
    monkeypatch.setenv("CAMPUS_BASE_URL", "simulator")
    assert load_settings().embedded


def test_good_settings_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("terms: {extra_types: [course.attribute]}", encoding="utf-8")
    given = {"CAMPUS_SCHOOL_IDS": " 102, 101 ,102", "CAMPUS_CONFIG": str(config), "CAMPUS_HOME": "elsewhere"}
    for name, value in {**PLATFORM, **given}.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.school_ids == (102, 101)
    assert settings.options.terms.extra_types == ("course.attribute",)
    assert settings.home == tmp_path / "elsewhere" and not settings.embedded
    assert SECRET not in repr(settings)


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


def test_a_report_of_the_environment_shares_no_table_with_one_of_campus_yaml(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [problem] = problems(monkeypatch, {"CAMPUS_REPORTS": "Ranks, 51"}, "reports: [{report: ranks}]")
    assert problem.startswith("the reports 'ranks' and 'Ranks' would have the same tables")


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
