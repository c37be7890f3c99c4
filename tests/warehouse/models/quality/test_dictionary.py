"""The dictionary of a built file is whole, and its pages in the docs are those of the models as they are."""

import copy
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exports.extracts.plan import NUMBERS
from loading.tables import ENDPOINTS, TABLES
from tests.kits.models.builds import Build
from tests.kits.models.dictionary_pages import examples_of, pages
from warehouse.publish.dictionary import privacy_classes, record_dictionary
from warehouse.publish.labels import Labels
from warehouse.publish.lineage import record_lineage
from warehouse.publish.metrics import record_metrics
from warehouse.publish.models.dbt_project import ModelsBroken, compiled
from warehouse.publish.relations import record_relations

#: Numbers about times, things and the platform, in tables that count no people.
OF_NO_PEOPLE = {
    *("week", "weekday", "lesson", "minutes", "week_count", "first_week", "last_week", "week_type"),
    *("sessions", "recorded_sessions", "unrecorded_sessions", "other_sessions", "recording_rate"),
    *("days_in_session", "partial_days"),
    *("academic_year", "graduates_in", "grade_level"),
    *("full_score", "initial_score", "item_count", "weight", "depth", "level", "seq", "sort", "credit"),
    *("course_classes", "weekly_lessons", "used_slots", "slots", "use_rate", "clashing_slots"),
    *("compared", "agreed", "agreeing", "disagreeing", "agreement_rate", "unknown", "greatest_difference"),
    # Of a whole school, a room and a class, and no figure of anybody in it.
    *("record_count", "largest_class", "capacity"),
}
DOCS = Path(__file__).parents[4] / "docs"
DICTIONARY = DOCS / "reference" / "dictionary"


@pytest.fixture(scope="module")
def file(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built file with its dictionary, as the pipeline writes it after the models."""
    copy = shutil.copy(healthy.file, tmp_path_factory.mktemp("dictionary") / "campus.duckdb")
    with duckdb.connect(copy) as connection:
        record_relations(connection, compiled())
        record_lineage(connection, TABLES.values(), ENDPOINTS)
        record_metrics(connection)
        record_dictionary(connection, compiled(), TABLES.values(), ENDPOINTS)
    return Path(copy)


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_every_table_and_column_is_in_it(file: Path) -> None:
    missing = rows(
        file,
        "select schema_name, table_name, column_name from duckdb_columns() where not internal"
        " except select schema_name, table_name, column_name from quality.dictionary",
    )
    assert missing == []


def test_every_view_and_column_of_staging_carries_what_it_says(file: Path) -> None:
    bare = rows(
        file,
        "select table_name, column_name, comment from duckdb_columns() join quality.dictionary as said"
        " using (schema_name, table_name, column_name)"
        " where schema_name = 'staging' and comment is distinct from description"
        " union all select view_name, null, comment from duckdb_views()"
        " where schema_name = 'staging' and coalesce(comment, '') = ''",
    )
    assert bare == []
    # What a view hands on is described by what is made of it, and not by what happens to have the same name.
    [(described,)] = rows(
        file,
        "select comment from duckdb_columns()"
        " where (table_name, column_name) = ('stg_semesters', 'is_current')",
    )
    assert described == "The platform's current semester"


def test_all_of_them_have_a_type_a_meaning_a_source_and_a_name_in_chinese(file: Path) -> None:
    incomplete = rows(
        file,
        "select schema_name, table_name, column_name from quality.dictionary"
        " where data_type is null or coalesce(description, '') = '' or source is null"
        " or (label_zh is null and schema_name <> 'staging') order by all",
    )
    assert incomplete == [], "say it beside the field (campus/contracts) or in the yml of the model"


def test_every_column_of_raw_core_marts_and_views_is_classified(file: Path) -> None:
    """Default-deny: extracts and audience files leave out what nobody has classified."""
    unclassified = rows(
        file,
        "select schema_name, table_name, column_name from quality.dictionary"
        " where schema_name in ('raw', 'core', 'marts', 'views')"
        " and column_name is not null and privacy is null",
    )
    assert unclassified == [], (
        "state `privacy` in the contract's doc(), or in meta.privacy of the model's yml"
    )


def test_what_sums_up_people_says_over_how_many(file: Path) -> None:
    """Else an extract shows the sum over two people: `_treatment` of exports/extracts/plan.py goes by it."""
    tables = rows(
        file,
        "select schema_name || '.' || table_name,"
        " bool_or(privacy = 'people' or (privacy in ('person', 'record') and column_name <> 'evaluator_id'"
        " and not ends_with(data_type, '[]'))),"
        " list((column_name, data_type)) filter (privacy = 'plain')"
        " from quality.dictionary where schema_name in ('core', 'marts') and column_name is not null"
        " group by all",
    )
    numbers = {
        (table, name)
        for table, is_safe, columns in tables
        if not is_safe
        for name, type_ in columns or ()
        if NUMBERS.match(type_) and name not in OF_NO_PEOPLE
    }
    assert numbers == set(), (
        "class the count of people as `people` in meta.privacy, or the numbers as `uncounted`; "
        "a number about no people belongs into OF_NO_PEOPLE"
    )


def test_a_misspelled_privacy_class_is_refused(healthy: Build) -> None:
    project = copy.deepcopy(dict(compiled()))
    meta = project["nodes"]["model.campus.dim_student"]["config"]["meta"]
    meta["privacy"] = {"nmae": ["student_name"]}
    with pytest.raises(ModelsBroken, match=r"dim_student: meta\.privacy of student_name: nmae"):
        privacy_classes(project, TABLES.values())


def test_nothing_is_said_that_would_be_inherited(healthy: Build, file: Path) -> None:
    """A name or unit that a model's yml says again is one more to change."""
    columns = set(rows(file, "select schema_name, table_name, column_name from duckdb_columns()"))
    labels = Labels(compiled(), columns, TABLES.values())
    twice = [
        place
        for place in columns
        if place[0] in ("core", "marts", "views")
        for own, above in [(labels.stated(*place), labels.inherited(*place))]
        if (own.label_zh and own.label_zh == above.label_zh) or (own.unit and own.unit == above.unit)
    ]
    assert sorted(twice) == []


def test_what_is_said_in_yml_header_and_contract_arrives(file: Path) -> None:
    said = rows(
        file,
        "select data_type, description, label_zh, unit, source from quality.dictionary"
        " where (table_name, column_name) in (('grade_distribution', 'median'), ('grades', 'owner_id'))"
        " or (table_name = 'score_completeness' and column_name is null) order by schema_name, position",
    )
    whole = "One row per assessment item: the numbers of scores given, zero, invalid and missing."
    median = "Median, the mean of the middle two where their number is even"
    assert said == [
        ("table", whole, "评分完成情况", None, "core.fct_assessment_item and dimensions"),
        ("DECIMAL(9,4)", median, "中位数", "percent", "core.fct_grade and dimensions"),
        ("BIGINT", "Student id", "学生ID", None, "/api/v3/class-assessment/class/grades"),
    ]


@pytest.fixture(scope="module")
def made(file: Path) -> dict[str, str]:
    return pages(file, (DOCS / "how-to" / "analysts.md").read_text(encoding="utf-8"))


def test_pages_are_current(made: dict[str, str]) -> None:
    if os.environ.get("CAMPUS_WRITE_DICTIONARY"):
        shutil.rmtree(DICTIONARY, ignore_errors=True)
        for path, text in made.items():
            (DICTIONARY / path).parent.mkdir(parents=True, exist_ok=True)
            (DICTIONARY / path).write_text(text, encoding="utf-8")
    written = {
        path.relative_to(DICTIONARY).as_posix(): path.read_text(encoding="utf-8")
        for path in DICTIONARY.rglob("*.md")
    }
    assert written == made, "run: make dictionary"


def test_examples_run(file: Path, made: dict[str, str]) -> None:
    queries = {query for page in made.values() for query in examples_of(page)}
    assert len(queries) > 50
    with duckdb.connect(str(file), read_only=True) as connection:
        for query in queries:
            connection.execute(query)


def test_a_table_names_the_resources_that_it_is_made_of(file: Path) -> None:
    query = (
        "select table_name, stands_on from quality.dictionary"
        " where column_name is null and schema_name in ('raw', 'marts')"
    )
    made = dict(rows(file, query))
    assert made["grades"] == ["grades"]
    assert {"grades", "classes", "students", "semesters"} <= set(made["grade_distribution"])
    assert "scores" not in made["grade_distribution"] and "scores" in made["early_warning"]
    assert all(made.values()), "each mart stands on something that is loaded"


def test_words_do_not_depend_on_comments_in_the_file(file: Path, tmp_path: Path) -> None:
    """A file with frozen semesters has views for tables, and these have no comments."""
    bare = Path(shutil.copy(file, tmp_path))
    with duckdb.connect(bare) as connection:
        columns = connection.execute(
            "select schema_name, table_name, column_name from duckdb_columns()"
            " where schema_name in ('marts', 'staging', 'views')"
        ).fetchall()
        for schema, table, column in columns:
            connection.execute(f'comment on column {schema}.{table}."{column}" is null')
        record_dictionary(connection, compiled(), TABLES.values(), ENDPOINTS)
    dictionary = "from quality.dictionary order by schema_name, table_name, position"
    assert rows(bare, dictionary) == rows(file, dictionary)
