"""The published file: whole, checked, open to anybody at any time, and without a secret."""

import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click.testing
import dagster as dg
import duckdb
import pytest
from deltalake import write_deltalake

from assets.publication.models import NOTHING_CHANGED, PUBLISHED
from campus.contracts.fields import fields
from campus.registry import RESOURCES
from loading.tables import TABLES
from pipelines.cli.actions.demo import RESULTS, Result, two_nights
from pipelines.definitions import build_definitions
from pipelines.publication import after_loads
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import PUBLISH
from pipelines.runs.launchers import LAUNCHER_TAG
from pipelines.settings.simulated_platform import CORRECTED_GRADES, POINTS
from tests.kits.platforms.tap import tapped
from tests.kits.programs import analyst, command_line, old_duckdb
from tests.kits.programs.processes import environment_for, run
from tests.kits.truth.workbook_truth import compare
from tests.kits.worlds.world import World, differences, publications
from warehouse.age import PROVEN
from warehouse.files import STORAGE_VERSION
from warehouse.load.logs.load_log import now
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.publish import ANEW

SECRET = "correct-horse-battery-staple"
GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "analysts.md"
QUESTIONS = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
CONNECT = GUIDE.with_name("connect.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8") + CONNECT, re.DOTALL)
#: The queries that the page gives to other programs: as a file, or as a text in their language.
QUERIES_OF_PROGRAMS = re.findall(r"```sql\n(.*?)```|\"(SELECT [^\"]*)\"", CONNECT, re.DOTALL)
OURS = ["_school_id", "_synced_at", "_deleted_at", "_extra"]


@pytest.fixture(scope="module")
def published(make_world: Callable[..., World]) -> World:
    """What the demo makes of a smaller school, with the same name for all its teachers."""
    world = make_world("demo", client_secret=SECRET)
    _name_all(world, "before")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(world.home / "dagster"))
        tags = {LAUNCHER_TAG: "campus demo of a test"}
        assert two_nights(world.settings, world.platform, tags) == 0
    return world


def _name_all(world: World, name: str) -> None:
    world.platform.update("schools", 101, name=name)
    for entry in world.platform.rows("teachers", 101):
        world.platform.update("teachers", entry["key"], name=name)


def campus(world: World, *arguments: str, **changes: str) -> click.testing.Result:
    """Run the command line on this world, in this process."""
    environment = environment_for(world.home, world.platform, **changes)
    return command_line.campus(world.home, *arguments, **environment)


def process(world: World, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line on this world, as its user would: all that it says is seen."""
    environment = environment_for(world.home, world.platform, **changes)
    return run(["campus", *arguments], environment, world.home)


def query(world: World, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(world.settings.published), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.skipif(not old_duckdb.FOLDER.exists(), reason=old_duckdb.MISSING)
@pytest.mark.slow
def test_an_older_duckdb_reads_every_table_view_and_macro(published: World) -> None:
    done = subprocess.run(
        [sys.executable, old_duckdb.__file__, str(published.settings.published)],
        env={"PYTHONPATH": str(old_duckdb.FOLDER)},
        capture_output=True,
        text=True,
        check=True,
    )
    output = json.loads(done.stdout)
    assert (output["version"], output["problems"]) == (STORAGE_VERSION.removeprefix("v"), {})
    assert output["read"] > len(RESOURCES)


def test_raw_has_each_resource_with_the_interfaces_names_and_comments(published: World) -> None:
    rows = query(
        published,
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'raw'"
        " ORDER BY table_name, column_index",
    )
    for resource, spec in RESOURCES.items():
        columns = [(name, comment) for table, name, comment in rows if table == resource]
        documented = [
            (field.name, field.description + " (personal)" * field.personal)
            for field in fields(spec.contract)
        ]
        assert columns[: len(documented)] == documented
        custom = {row["name"] for row in published.held("user_fields")} if resource == "v1_users" else set()
        further_columns = [name for name, _ in columns[len(documented) :]]
        assert (set(further_columns[:-4]), further_columns[-4:]) == (custom, OURS)
        assert all(comment for _, comment in columns)


def test_the_file_is_read_only_and_a_copy_opens_anywhere(published: World, tmp_path: Path) -> None:
    assert stat.S_IMODE(published.settings.published.stat().st_mode) == 0o440
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(published.settings.published, copy)
    count_all = (
        "import duckdb; c = duckdb.connect('copy.duckdb', read_only=True)\n"
        "for s, t in c.sql('select schema, name from (show all tables)').fetchall():\n"
        "    print(s, t, c.sql(f'select count(*) from {s}.{t}').fetchall()[0][0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", count_all],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert int(counts["raw scores"]) == len(published.held("scores", alive=False)) > 1000
    assert {name.split()[0] for name in counts} == {
        "raw",
        "datasets",
        "staging",
        "core",
        "marts",
        "oneroster",
        "views",
        "seeds",
        "quality",
    }
    assert int(counts["marts grade_student_semester"]) > 0


def test_each_cell_of_the_workbooks_is_what_the_file_says(published: World, tmp_path: Path) -> None:
    compare(published.home / "campus.duckdb", 101, tmp_path)


def test_no_further_publication_is_asked_for(published: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
    with open_instance(published.settings) as instance:
        assert publications(build_definitions(published.settings), instance) == []


def test_a_night_that_found_nothing_new_asks_for_no_publication(
    published: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
    later = now() + timedelta(hours=1)
    monkeypatch.setattr(after_loads, "last_loads", lambda _lake: {"night": later})
    with open_instance(published.settings) as instance:
        assert publications(build_definitions(published.settings), instance) == []
        with monkeypatch.context() as patch:
            patch.setattr(after_loads, "is_published", lambda *_: False)
            assert len(publications(build_definitions(published.settings), instance)) == 1


def test_a_build_of_what_is_published_already_says_so_and_leaves_the_file(published: World) -> None:
    before = published.settings.published.stat()
    done = campus(published, "build")
    after = published.settings.published.stat()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [NOTHING_CHANGED]
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not list((published.home / "build").glob("*.duckdb*")), "nothing is left behind"
    proven = duckdb.sql(f"FROM read_parquet('{published.home / PROVEN}')").to_arrow_table().to_pylist()
    assert {row["resource"] for row in proven} >= {"students", "scores"}, "and how the loads stand is known"
    key = dg.AssetCheckKey(dg.AssetKey(["core", "dim_teacher"]), "dim_teacher_key")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
        with open_instance(published.settings) as instance:
            [last] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    assert last.status.value == "SUCCEEDED", "what was not due is not waited for"


def test_other_models_ask_for_a_publication_though_nothing_was_loaded(
    published: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
    monkeypatch.setattr(after_loads, "models_version", lambda _home: "models of the next version")
    with open_instance(published.settings) as instance:
        [key] = publications(build_definitions(published.settings), instance)
    assert key is not None and key.endswith("models of the next version")


def test_own_thresholds_are_tried_then_published_and_a_wrong_file_stops_nothing_else(
    published: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
    file = published.home / "thresholds" / "early_warning_rules.csv"
    file.parent.mkdir()
    file.write_text("school_id,indicator,warning\n101,failed_courses,0\n101,lateness,1\n")
    before = published.settings.published.stat().st_ino
    nothing_published = "nothing was published, and campus.duckdb is the last good one: "
    for command, status, title in (("build", 1, nothing_published), ("thresholds", 2, "")):
        done = campus(published, command)
        assert title in done.stderr
        assert (done.exit_code, "Traceback" in done.stderr) == (status, False)
        assert f"{file}, line 3: there is no such indicator; is it lateness_rate?" in done.stderr
    assert published.settings.published.stat().st_ino == before
    file.write_text("school_id,indicator,warning\n101,failed_courses,0\n")
    counted = "SELECT count(*) FILTER (level = 'warning') FROM marts.early_warning"
    [(few,)] = query(published, counted)
    unknown = campus(published, "thresholds", "--school", "999")
    assert unknown.exit_code == 1 and "has no school 999" in unknown.stderr
    tried = campus(published, "thresholds", "--school", "101")
    assert (tried.exit_code, tried.stderr) == (0, "") and "Nothing was published" in tried.stdout
    assert query(published, counted) == [(few,)] and published.settings.published.stat().st_ino == before
    with open_instance(published.settings) as instance:
        assert len(publications(build_definitions(published.settings), instance)) == 1
    assert published.publish().published
    [(many,)] = query(published, counted)
    assert many > few
    in_force = "indicator = 'failed_courses' AND limit_value = 0 AND in_force"
    assert query(published, f"FROM marts.early_warning_rule_counts WHERE {in_force}")
    assert "These thresholds are in force." in campus(published, "thresholds").stdout


def test_each_check_has_its_result_in_quality(published: World) -> None:
    statuses = dict(query(published, "SELECT status, count(*) FROM quality.check_results GROUP BY status"))
    assert statuses["pass"] > 50 and not statuses.keys() & {"fail", "error"}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_guides_questions_have_answers(published: World, question: str) -> None:
    assert len(QUESTIONS) == 48
    assert query(published, question) or re.search("None is good news|None: ", question)


@pytest.fixture(scope="module")
def two_schools(
    published: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The published file with a second school that differs in its id and its name alone."""
    file = tmp_path_factory.mktemp("two") / "campus.duckdb"
    shutil.copy(published.settings.published, file)
    file.chmod(0o600)
    with duckdb.connect(str(file)) as con:
        tables = con.execute(
            "SELECT schema_name, table_name, list(column_name) FROM duckdb_columns()"
            " JOIN (SELECT schema_name, table_name FROM duckdb_tables()) USING (schema_name, table_name)"
            " GROUP BY ALL"
        ).fetchall()
        for schema, name, columns in tables:
            own = [
                f"{value} AS {column}"
                for column, value in (
                    ("_school_id" if "_school_id" in columns else "school_id", "102"),
                    ("school_name", "'another school'"),
                )
                if column in columns
            ]
            if any("school_id" in replaced for replaced in own):
                table = f'"{schema}"."{name}"'
                con.execute(f"INSERT INTO {table} SELECT * REPLACE ({', '.join(own)}) FROM {table}")
        yield con


#: About the file itself, and not about a school.
OF_THE_FILE = ("FROM quality.dictionary", "FROM quality.relations", "FROM quality.lineage")


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_of_two_schools_can_be_told_apart(
    two_schools: duckdb.DuckDBPyConnection, question: str
) -> None:
    if any(table in question for table in OF_THE_FILE):
        return
    # A limit would hide what is alike.
    answer = two_schools.execute(re.sub(r"LIMIT \d+", "", question))
    columns = [column[0] for column in answer.description or ()]
    rows = answer.fetchall()
    assert len({repr(row) for row in rows}) == len(rows)
    assert "school_name" in columns
    assert re.match(r"-- A row (a|an|for) ", question), "each says what a row of its answer is"
    one_semester = re.search(r"over all semesters|as it is today|a school and moment|ever loaded", question)
    assert "semester_name" in columns or one_semester


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_guides_ways_of_opening_the_file_work(published: World, snippet: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=published.home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("texts", QUERIES_OF_PROGRAMS)
def test_queries_of_other_programs_have_rows(published: World, texts: tuple[str, str]) -> None:
    assert query(published, "".join(texts))


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.title)
def test_what_the_demo_shows_has_rows(published: World, result: Result) -> None:
    assert query(published, result.query)


def test_corrections_after_publication_are_told_and_the_grades_before_are_known(published: World) -> None:
    corrections = query(
        published,
        "SELECT record_id, kind, before, after, difference, is_after_publication, seen_at"
        " FROM marts.grade_change WHERE field = 'real_score'",
    )
    assert len(corrections) == CORRECTED_GRADES
    for grade, *change, seen_at in corrections:
        source = f"FROM marts.grades_known_on(TIMESTAMP '{seen_at}' - INTERVAL {{}}) WHERE grade_id = {grade}"
        [(before,)] = query(published, "SELECT real_score " + source.format("1 MICROSECOND"))
        [(after,)] = query(published, "SELECT real_score " + source.format("0 SECOND"))
        as_of = f"FROM core.grades_as_of(TIMESTAMP '{seen_at}' - INTERVAL {{}}) WHERE grade_id = {grade}"
        for ago, score in (("1 MICROSECOND", before), ("0 SECOND", after)):
            assert query(published, "SELECT real_score " + as_of.format(ago)) == [(score,)]
        assert change == ["changed", f"{before.normalize():f}", f"{after.normalize():f}", POINTS, True]


@pytest.mark.slow
def test_a_sync_beside_an_analyst_and_faults_shows_no_half_and_no_secret(
    published: World, tmp_path: Path
) -> None:
    _name_all(published, "after")
    faults = ({"kind": "status"}, {"kind": "html"}, {"kind": "truncated"}, {"kind": "revoked"})
    published.platform.set_faults(*({**fault, "probability": 0.02} for fault in faults))
    stop = tmp_path / "stop"
    reader = subprocess.Popen(
        [sys.executable, analyst.__file__, str(published.settings.published), stop],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with tapped(published.platform.base_url) as tap:
            done = process(published, "sync", CAMPUS_BASE_URL=tap.base_url)
    finally:
        stop.touch()
        seen, errors = reader.communicate(timeout=120)
        published.platform.set_faults()

    assert done.returncode == 0, done.stdout + done.stderr
    assert errors == "" and reader.returncode == 0
    *states, reads = map(json.loads, seen.splitlines())
    assert states == [["before"] * 3, ["after"] * 3] and reads > 100

    assert "Traceback" not in done.stderr
    assert re.search(r"slices: [\d,]+ rows loaded, \d+ changed, [\d,]+ unchanged", done.stdout)
    assert differences(published) == {}

    assert len(tap.tokens) > 1, "no token has been revoked and renewed"
    secrets = [SECRET.encode(), *tap.tokens]
    written = [path for path in published.home.rglob("*") if path.is_file()]
    assert len(written) > 100
    contents = {str(path): path.read_bytes() for path in written}
    contents |= {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
    assert [name for name, content in contents.items() if any(secret in content for secret in secrets)] == []


def test_a_check_of_a_model_by_itself_reads_what_is_published(published: World) -> None:
    """A run of checks alone chooses no model, and failed as not all were chosen."""
    key = dg.AssetCheckKey(dg.AssetKey(["raw", "grades"]), "raw_grades_fit_measure")
    job = dg.define_asset_job("one_check", dg.AssetSelection.checks(key))
    before = published.settings.published.stat().st_mtime_ns
    definitions = build_definitions(published.settings)
    done = (
        dg.Definitions.merge(definitions, dg.Definitions(jobs=[job]))
        .resolve_job_def("one_check")
        .execute_in_process(instance=published.instance)
    )
    [evaluation] = done.get_asset_check_evaluations()
    assert done.success and evaluation.passed and evaluation.check_name == key.name
    assert published.settings.published.stat().st_mtime_ns == before


def materialized(world: World, *assets: dg.AssetKey) -> set[dg.AssetKey]:
    """Materialize assets as the UI does with those that a person chose. Returns what was materialized."""
    job = build_definitions(world.settings).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(instance=world.instance, asset_selection=list(assets))
    assert result.success
    return {event.asset_key for event in result.get_asset_materialization_events() if event.asset_key}


def test_any_selection_of_models_builds_and_publishes_all(published: World) -> None:
    """A backfill of all assets asks for models in several runs, and takes what no run materializes for
    failed."""
    mart, board = dg.AssetKey(["marts", "grade_student_semester"]), dg.AssetKey(["exports", "board"])
    before = published.settings.published.stat()
    assert mart in (reported := materialized(published, mart)) and PUBLISHED not in reported
    assert {PUBLISHED, board} <= materialized(published, PUBLISHED, board), "a person asked for these"
    assert published.settings.published.stat().st_ino == before.st_ino
    (published.home / ANEW).touch()
    assert {mart, PUBLISHED, dg.AssetKey(["core", "dim_teacher"])} <= materialized(published, mart)
    assert published.settings.published.stat().st_ino != before.st_ino


def test_a_publication_plans_one_asset_and_reports_all_models(published: World) -> None:
    """To plan each model, and to read the last event of each, takes longer than to make them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
        with open_instance(published.settings) as instance:
            [*_, first] = instance.get_run_records(dg.RunsFilter(job_name=PUBLISH))
            types = [
                dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
                dg.DagsterEventType.ASSET_MATERIALIZATION,
            ]
            planned, made = (
                {
                    entry.dagster_event.asset_key
                    for entry in instance.all_logs(first.dagster_run.run_id, of_type=type)
                }
                for type in types
            )
    assert planned == {PUBLISHED}
    assert made >= {
        PUBLISHED,
        *(dg.AssetKey(model.name.split(".")) for model in read_project(compiled()).models),
    }


def test_a_good_build_overtakes_a_failed_run_of_models(published: World) -> None:
    """Also a build that finds nothing to change, and so has no run."""
    mart = dg.AssetKey(["marts", "grade_student_semester"])
    job = build_definitions(published.settings).resolve_implicit_global_asset_job_def()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(published.home / "dagster"))
        with open_instance(published.settings) as instance:
            chosen = job.get_subset(asset_selection={mart})
            run = instance.create_run_for_job(chosen, asset_selection=frozenset({mart}))
            instance.report_run_failed(run, "the machine went down")
    assert "The run __ASSET_JOB failed" in campus(published, "status").stdout
    assert campus(published, "build").stdout.splitlines() == [NOTHING_CHANGED]
    assert "__ASSET_JOB" not in campus(published, "status").stdout


def test_a_failing_check_publishes_nothing_and_says_which(published: World) -> None:
    before = published.settings.published.read_bytes()
    names = "SELECT DISTINCT name FROM raw.teachers WHERE _deleted_at IS NULL"
    named = query(published, names)
    generations = sorted((published.home / "generations").iterdir())
    table = TABLES["teachers"]
    # A row twice under its key: what no sync leaves behind, and no published file may have.
    twice = published.lake.read(table).slice(0, 1)
    write_deltalake(published.lake.open(table), twice, mode="append")
    # A build asks no platform anything, and need not know one.
    done = process(published, "build", CAMPUS_BASE_URL="")
    assert done.returncode == 1
    assert "dim_teacher_key" in done.stderr and "nothing was published" in done.stderr
    assert "Traceback" not in done.stderr
    assert published.settings.published.read_bytes() == before
    assert sorted((published.home / "generations").iterdir()) == generations
    assert query(published, names) == named != []


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("csv", 'n,text\r\n1,"a,b"\r\n'),
        ("json", '[{"n":1,"text":"a,b"}]\n'),
    ],
)
def test_sql_answers_in_the_format_asked_for(published: World, style: str, expected: str) -> None:
    done = campus(published, "sql", "SELECT 1 AS n, 'a,b' AS text", "--format", style)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.replace("\r\n", "\n") == expected.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("sql", "word"),
    [("SELEKT 1", "syntax error"), ("FROM nowhere", "nowhere"), ("DROP TABLE raw.scores", "read-only")],
)
def test_a_wrong_query_is_told_without_a_traceback(published: World, sql: str, word: str) -> None:
    done = campus(published, "sql", sql)
    assert done.exit_code == 1 and word in done.stderr
    assert done.stderr.startswith("campus: ") and "Traceback" not in done.stderr
