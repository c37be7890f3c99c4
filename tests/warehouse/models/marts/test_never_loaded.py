"""What was never loaded is null in the marts, and not zero."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pytest

from campus.registry import ATTENDANCE, BASE_DATA, RESOURCES, SEMESTERS, V1_DATA, V1_SEMESTERS
from exports.figures import figures, grade_figures
from tests.kits.exports.published_file import exported
from tests.kits.exports.spreadsheets import read_book
from tests.kits.models import worlds
from tests.kits.models.builds import Build, Builder
from tests.kits.models.publishing import SCHOOL, publish_strictly
from tests.kits.models.raw_tables import loads
from warehouse.publish.models.dbt_project import PROJECT, compiled

#: What a refused scope keeps from a first load, by its name.
REFUSED: Mapping[str, Sequence[str]] = {
    "class.read": ("classes", "class_members", "assessments", "assessment_items", "scores", "grades"),
    "grades": ("grades",),
    "scores": ("scores",),
    "class_members": ("class_members",),
    "student.read": ("students",),
    "teacher.read": ("teachers",),
    "admin_class.read": ("admin_classes",),
    "attendance": ("attendance_sessions", "attendance_records"),
    "user.read": tuple(spec.name for spec in (*V1_DATA, *ATTENDANCE) if spec is not V1_SEMESTERS),
}
CALENDARS = [
    {"_school_id": school, "semester_id": 20, "v1_semester_id": 20 if school == 1 else None}
    for school in (1, 2)
]
#: Columns that say of this file how much it knows, and of rows why they are there.
OF_THE_FILE = {"indicators_known", "inputs_loaded", "is_told", "chronic_profiles"}


@pytest.fixture(scope="module", params=REFUSED)
def refused(request: pytest.FixtureRequest, build: Builder) -> Build:
    """The healthy schools, of which some resources were never loaded."""
    return _without(build, request.param)


@pytest.fixture(scope="module")
def without_classes(build: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is published where class.read is refused."""
    return publish_strictly(_without(build, "class.read"), tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def ended(build: Builder) -> Build:
    """The healthy schools after their semester, when another student has left."""
    return build("ended", worlds.ENDED)


def _without(build: Builder, scope: str) -> Build:
    return build(f"refused_{scope}", _refused(worlds.HEALTHY, scope))


def _refused(world: Mapping[str, Any], scope: str) -> dict[str, Any]:
    """What a first load has of a world where a scope is refused."""
    without = REFUSED[scope]
    rows = {name: table_rows for name, table_rows in world.items() if name not in without}
    return rows | {"load_log": loads(CALENDARS, without)}


def test_the_board_says_not_known(without_classes: Path) -> None:
    with closing(duckdb.connect(str(without_classes), read_only=True)) as con:
        [_, at_risk, _] = figures(con, SCHOOL)
        of_grades = grade_figures(con, SCHOOL)
    assert (at_risk.value.en, at_risk.value.zh, at_risk.number) == ("not known", "未知", None)
    assert at_risk.detail.en.startswith(
        "never loaded whole: Assessment items, Assessments, Class members, Grades"
    )
    assert {figure.value.en for figure in of_grades} == {"not known"}
    [page] = exported(without_classes, "board", schools=[SCHOOL], folder=without_classes.parent / "pages")
    text = " ".join(page.path.read_text(encoding="utf-8").split())
    sections = dict(re.findall(r'<section id="section-(\w+)"(.*?)</section>', text))
    assert "never loaded whole: " in sections["talks"] and "who can be judged" not in sections["talks"]
    alarm = re.search(r'<p class="alarm".*?</p>', text)
    assert alarm and "Never loaded whole so far" in alarm[0] and "What is shown of these is older" not in text
    assert all(name in alarm[0] for name in ("Students at risk", "Students to talk to", "Grades by subject"))
    assert "Not known: never loaded whole: " in sections["levels"]


def test_a_workbook_leaves_what_is_not_known_empty(without_classes: Path) -> None:
    [file] = exported(
        without_classes,
        "early_warning",
        schools=[SCHOOL],
        folder=without_classes.parent / "out",
        language="en",
    )
    book = openpyxl.load_workbook(file.path)
    about = {str(term): value for term, value in book["About"].iter_rows(max_col=2, values_only=True)}
    assert "Students" in about["Not known"] and "Not up to date" not in about
    [overview] = [row for row in book["Overview"].iter_rows(values_only=True) if row[0] == "秋季"]
    assert not any(isinstance(cell, int | float) for cell in overview), overview


def test_ranks_without_students_are_not_known(build: Builder, tmp_path: Path) -> None:
    """Their cohorts were never read, which is not that there are none."""
    file = publish_strictly(_without(build, "student.read"), tmp_path)
    [book] = exported(file, "grades", schools=[SCHOOL], folder=tmp_path / "out", language="en")
    tabs = read_book(book.path)
    assert tabs["Students"].common("Why no rank") == "Not known"
    assert tabs["Classes"].common("Class against the others", "Rank") == "Not known"


def test_checks_hold_and_nothing_is_published_wrong(refused: Build) -> None:
    assert refused.problems == {}


def test_no_number_of_a_mart_is_a_false_zero(refused: Build, healthy: Build) -> None:
    """Beside the same row of a file that is whole: equal, or another count of what was looked at, or null."""
    false = {
        f"{table}.{column}": zeros
        for table, key, columns in _marts(healthy)
        for column in columns
        if (zeros := _false_zeros(refused, healthy, table, key, column))
    }
    assert false == {}


def test_another_school_is_as_in_a_whole_file(build: Builder, healthy: Build) -> None:
    """Of two schools one refuses its classes: of the other nothing is other."""
    without = REFUSED["class.read"]
    rows: dict[str, Any] = {
        name: [row for row in table_rows if name not in without or row.get("_school_id") == 2]
        for name, table_rows in worlds.HEALTHY.items()
    }
    log = [*loads(CALENDARS[:1], without), *loads(CALENDARS[1:])]
    refused = build("refused_of_one_school", rows | {"load_log": log})
    for table, _, _ in _marts(healthy):
        query = f"FROM marts.{table} WHERE school_id = 2 ORDER BY ALL"
        assert refused.rows(query) == healthy.rows(query), table
    [[of_one, of_other]] = refused.rows(
        "SELECT count(*) FILTER (school_id = 1), count(*) FILTER (school_id = 2 AND resource = 'grades') "
        "FROM core.never_loaded"
    )
    assert (of_one, of_other) == (len(without), 0)


@pytest.mark.parametrize("scope", ["class.read", "class_members", "student.read", "admin_class.read"])
def test_who_has_left_makes_no_number_lower(build: Builder, ended: Build, scope: str) -> None:
    """They tell where who has left belonged: without them a number is the same, or null."""
    refused = build(f"left_{scope}", _refused(worlds.ENDED, scope))
    other = {
        f"{table}.{column}": differing
        for table, key, columns in _marts(ended)
        if table != "platform_agreement"
        for column, kind in columns.items()
        if kind.startswith(NUMBERS) and (differing := _other_numbers(refused, ended, table, key, column))
    }
    assert other == {}
    assert refused.problems == {}


def test_the_resources_of_the_models_are_those_of_the_registry() -> None:
    """A resource of models that is missing in macros/never_loaded.sql would be taken for loaded."""
    text = (PROJECT / "macros" / "never_loaded.sql").read_text(encoding="utf-8")
    macro = text.partition("macro model_resources")[2].partition("endmacro")[0]
    listed = {name for name in RESOURCES if f"'{name}'" in macro}
    sources = {node["name"] for node in compiled()["sources"].values() if node["source_name"] == "raw"}
    names = {spec.name for spec in (*BASE_DATA, *V1_DATA, *ATTENDANCE)} - {SEMESTERS.name, V1_SEMESTERS.name}
    assert listed <= names and sources & names <= listed


def _marts(healthy: Build) -> list[tuple[str, list[str], dict[str, str]]]:
    """Each mart with its key, and the types of its columns beside that."""
    columns = healthy.rows(
        "SELECT table_name, map(list(column_name), list(data_type)) FROM duckdb_columns() "
        "WHERE schema_name = 'marts' GROUP BY ALL"
    )
    keys = {
        node["attached_node"].split(".")[-1]: node["test_metadata"]["kwargs"]["columns"]
        for node in compiled()["nodes"].values()
        if node["resource_type"] == "test" and node["test_metadata"]["name"] == "unique_key"
    }
    return [
        (
            table,
            keys[table],
            {name: kind for name, kind in types.items() if name not in (*keys[table], *OF_THE_FILE)},
        )
        for table, types in columns
        if table in keys
    ]


def _false_zeros(refused: Build, healthy: Build, table: str, key: list[str], column: str) -> list[Any]:
    return [pair for pair in _other_numbers(refused, healthy, table, key, column) if pair[0][-1] in ZEROS]


def _other_numbers(refused: Build, healthy: Build, table: str, key: list[str], column: str) -> list[Any]:
    """The rows that have another value than in the whole file, beside that value; null is none."""
    query = f"SELECT {', '.join(f'({name})::VARCHAR' for name in key)}, {column}::VARCHAR FROM marts.{table}"
    whole = {row[:-1]: row[-1] for row in healthy.rows(query)}
    return [
        (row, whole[row[:-1]])
        for row in refused.rows(query)
        if row[-1] is not None and whole.get(row[:-1]) not in (None, row[-1])
    ]


NUMBERS = ("BIGINT", "INTEGER", "HUGEINT", "DECIMAL", "DOUBLE")
ZEROS = {"0", "0.0", "0.00", "0.000000", "false", "[]"}
