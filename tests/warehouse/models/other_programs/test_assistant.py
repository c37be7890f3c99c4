"""`campus mcp` as a client of the protocol meets it: a real process, on a published file."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.types import TextContent

from pipelines.assistant.answers import describe_table, find
from pipelines.assistant.log import open_log
from pipelines.assistant.server import Assistant, as_json, described_tools
from pipelines.assistant.session import SCHEMAS, Session, session
from pipelines.assistant.statements import Refused
from pipelines.cli.main import main
from pipelines.settings.options import AssistantOptions
from tests.kits.exports.hostile_statements import HOSTILE
from tests.kits.models.builds import Build
from tests.kits.models.publishing import publish_strictly
from warehouse.privacy import PERSONAL

CAMPUS = str(Path(sys.executable).parent / "campus")
GUIDE = (Path(__file__).parents[4] / "docs" / "how-to" / "analysts.md").read_text(encoding="utf-8")
#: The queries of the guide by the number of their question.
QUESTIONS = {
    int(number): query
    for number, query in re.findall(r"\*\*(\d+)\. .*?\*\*.*?```sql\n(.*?)```", GUIDE, re.DOTALL)
}
#: What an assistant might look for, by the question's number.
WORDS = {
    3: "attendance rate of each administrative class",
    4: "每周出勤率",
    5: "attendance by weekday and lesson",
    7: "chronic absence by cohort",
    8: "do absent students have lower scores: attendance tier and score rate",
    12: "grade distribution by subject, pass rate",
    16: "examination items, discrimination",
    20: "GPA transcript",
    29: "rooms in use",
    33: "conduct and dormitory grades",
    34: "agreement with the platform's ranks",
}
#: Names and numbers of people in worlds.HEALTHY.
PEOPLE = ("王一", "李二", "Ann", "0001", "A1")

Ask = Callable[..., Coroutine[Any, Any, Any]]


@pytest.fixture(scope="module")
def home(healthy: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a published file, whose check of a mart has passed."""
    file = publish_strictly(healthy, tmp_path_factory.mktemp("home"))
    with closing(duckdb.connect(str(file))) as con:
        con.execute(
            "INSERT INTO quality.check_results BY NAME "
            "SELECT 'levels_are_known' AS name, 'early_warning' AS model, 'pass' AS status"
        )
    return file.parent


@pytest.fixture(scope="module")
def opened(home: Path) -> Iterator[Session]:
    """What an assistant sees of the file."""
    with session(home / "campus.duckdb", AssistantOptions(rows=10_000)) as seen:
        yield seen


def ask_process(home: Path, work: Callable[[Ask], Coroutine[Any, Any, None]], *options: str) -> None:
    """Start `campus mcp`, and let a client ask. `ask` returns the answer, or the text of a refusal."""
    environment = {**os.environ, "CAMPUS_HOME": str(home)}
    server = StdioServerParameters(command=CAMPUS, args=["mcp", *options], env=environment)

    async def run() -> None:
        async with stdio_client(server) as (read, write), ClientSession(read, write) as client:
            start = await client.initialize()
            assert "Never guess a column" in (start.instructions or "")
            assert start.server_info.version == version("campus-warehouse")

            async def ask(tool: str, **arguments: Any) -> Any:
                answer = await client.call_tool(tool, arguments)
                [content] = answer.content
                assert isinstance(content, TextContent)
                text = content.text
                assert answer.is_error or len(text) < 200, "the answer is sent once"
                return text if answer.is_error else answer.structured_content

            await work(ask)

    asyncio.run(run())


def test_a_client_finds_describes_asks_and_is_refused(home: Path) -> None:
    async def work(ask: Ask) -> None:
        tables = {table["name"] for table in (await ask("list_tables"))["tables"]}
        assert {"marts.early_warning", "core.dim_student", "quality.freshness"} <= tables
        assert not {name for name in tables if name.partition(".")[0] not in SCHEMAS}

        table = await ask("describe_table", table="early_warning")
        columns = {column["name"]: column for column in table["columns"]}
        assert table["name"] == "marts.early_warning" and table["rows"] > 0
        assert columns["level"]["values"] == ["none", "unknown", "warning"]
        assert not {"student_name", "student_number"} & columns.keys()

        matches = await ask("find", words="出勤率")
        assert matches["metrics"][0]["label_zh"].find("出勤率") >= 0
        assert any("attendance_rate" in match["columns"] for match in matches["tables"])

        meaning = await ask("explain", table="marts.early_warning", column="attendance_rate")
        assert meaning["unit"] == "percent"
        assert [check["name"] for check in meaning["checks"]] == ["levels_are_known"]

        metrics = {metric["metric"]: metric for metric in (await ask("list_metrics"))["metrics"]}
        assert "class" in metrics["attendance_rate"]["dimensions"]
        rates = await ask("metric", name="attendance_rate", by=["school"], since="2000-01-01")
        numbers = ["attendance_rate", "numerator", "denominator", "students", "note"]
        assert rates["columns"][-5:] == numbers
        assert [row[-5:] for row in rates["rows"]] == [[None] * 4 + ["fewer than 5 students"]]
        assert "single people" in await ask("metric", name="attendance_rate", by=["student"])
        assert "similar: attendance_rate" in await ask("metric", name="atendance_rate")

        answer = await ask("query", sql="SELECT count(*) AS students FROM core.dim_student")
        assert answer["columns"] == ["students"] and answer["rows"][0][0] > 0

        assert "student_name" in await ask("query", sql="SELECT student_name FROM core.dim_student")
        assert "no table campus.core" in await ask("query", sql="FROM campus.core.dim_student")
        assert "list_tables" in await ask("describe_table", table="raw.students")
        await ask("query", sql="SELECT CAST('王一' AS INTEGER), 'Ann', $$A1$$, 7 AS ann FROM core.Ann --Ann")
        await ask("explain", table="Ann", column="ann")

    ask_process(home, work)
    log = open_log(home)
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [entry["tool"] for entry in entries] == [
        *("list_tables", "describe_table", "find", "explain", "list_metrics", "metric", "metric", "metric"),
        *("query", "query", "query", "describe_table", "query", "explain"),
    ]
    assert [bool(entry["refused"]) for entry in entries] == [False] * 6 + [True] * 2 + [False] + [True] * 5
    assert not [person for person in PEOPLE if person.lower() in log.read_text(encoding="utf-8").lower()]
    assert entries[-2]["sql"] == "SELECT CAST(… AS INTEGER), …, …, 7 AS … FROM core.… …"
    assert log.stat().st_mode & 0o077 == 0


def test_a_client_is_refused_each_attack(home: Path) -> None:
    before = (home / "campus.duckdb").read_bytes()

    async def work(ask: Ask) -> None:
        answers = {statement: await ask("query", sql=statement) for statement in HOSTILE}
        assert not [statement for statement, answer in answers.items() if not isinstance(answer, str)]

    ask_process(home, work)
    assert (home / "campus.duckdb").read_bytes() == before


def test_a_publication_is_seen_by_the_next_question(home: Path, tmp_path: Path) -> None:
    published = tmp_path / "campus.duckdb"
    published.write_bytes((home / "campus.duckdb").read_bytes())
    count = "SELECT count(*) FROM core.dim_student"

    async def work(ask: Ask) -> None:
        [[before]] = (await ask("query", sql=count))["rows"]
        newer = tmp_path / "newer.duckdb"
        newer.write_bytes(published.read_bytes())
        with closing(duckdb.connect(str(newer))) as con:
            con.execute("DELETE FROM core.dim_student WHERE school_id = 2")
        newer.replace(published)
        [[after]] = (await ask("query", sql=count))["rows"]
        assert after < before

    ask_process(home, work, "--file", str(published))


def test_no_cell_of_any_table_names_a_person(home: Path) -> None:
    """Whatever is asked for: nothing that is visible has a name or a number of anybody."""
    with session(home / "campus.duckdb", AssistantOptions(rows=10_000)) as opened:
        seen = "\n".join(
            json.dumps(opened.ask(f"FROM {table}")["rows"], ensure_ascii=False, default=str)
            for table in opened.tables
            if table != "quality.dictionary"
        )
        classes = {row["privacy"] for row in opened.rows("FROM quality.dictionary")}
    assert not [person for person in PEOPLE if f'"{person}"' in seen]
    assert not classes & PERSONAL
    with session(home / "campus.duckdb", AssistantOptions(personal=True)) as opened:
        names = opened.ask("SELECT student_name FROM core.dim_student ORDER BY ALL")["rows"]
    assert ["王一"] in names, "as the operator allows it"


#: A label that holds a person's name, where the platform, the school's seeds and messages may put one.
NAMING = "王一的补课班"
LABELLED = (
    "UPDATE core.dim_course_class SET class_name = $naming",
    "UPDATE marts.grade_distribution SET group_name = $naming",
    "UPDATE marts.grade_distribution_band SET band = $naming, band_zh = $naming",
    "UPDATE core.dim_teacher SET department_names = [$naming, '语文组']",
    "UPDATE quality.load_log SET message = $naming, slice = $naming",
)


def test_no_label_names_a_person(home: Path, tmp_path: Path) -> None:
    """Neither in a table nor in a measure. Other labels stay."""
    copy = tmp_path / "campus.duckdb"
    copy.write_bytes((home / "campus.duckdb").read_bytes())
    with closing(duckdb.connect(str(copy))) as con:
        for statement in LABELLED:
            assert con.execute(statement, {"naming": NAMING}).fetchall() != [(0,)], statement
    by_class: tuple[Any, ...] = ("attendance_rate", ["course_class"], {}, (), (), (), None)
    with session(copy, AssistantOptions(rows=10_000)) as opened:
        tables = {table: opened.ask(f"FROM {table}")["rows"] for table in opened.tables}
        texts = json.dumps(
            [*tables.values(), opened.measure(*by_class)["rows"]], ensure_ascii=False, default=str
        )
        departments = opened.ask("SELECT DISTINCT department_names FROM core.dim_teacher")["rows"]
    assert NAMING not in texts and "数学" in texts
    assert departments == [[["语文组"]]]
    with session(copy, AssistantOptions(personal=True)) as opened:
        assert NAMING in json.dumps(opened.measure(*by_class)["rows"], ensure_ascii=False, default=str)


def test_numbers_about_few_people_are_null(home: Path) -> None:
    with session(home / "campus.duckdb", AssistantOptions()) as opened:
        small = opened.ask("SELECT students FROM marts.outcome_by_group WHERE is_suppressed")["rows"]
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        hidden = con.execute("SELECT students FROM marts.outcome_by_group WHERE is_suppressed").fetchall()
    assert len(small) == len(hidden) > 0
    assert {value for [value] in small} == {None} and any(value is not None for (value,) in hidden)


def test_a_query_has_limits(home: Path) -> None:
    with session(home / "campus.duckdb", AssistantOptions(rows=2, seconds=1)) as opened:
        answer = opened.ask("SELECT unnest(range(5))")
        assert answer["rows"] == [[0], [1]] and answer["cut"] == ["rows beyond 2"]
        with pytest.raises(Refused, match="longer than 1 seconds"):
            opened.ask("SELECT count(*) FROM range(1000000000000)")
    with session(home / "campus.duckdb", AssistantOptions(memory_limit="100MB")) as opened:
        with pytest.raises(Refused, match="more memory"):
            opened.ask("SELECT len(list(number)) FROM range(300000000) AS numbers (number)")
        assert opened.ask("SELECT 1")["rows"] == [[1]], "the next question is answered"
        with pytest.raises(duckdb.Error):
            opened.con.execute("FROM read_text('/etc/hostname')")
        with pytest.raises(duckdb.Error):
            opened.con.execute("SET enable_external_access = true")


def test_memory_that_duckdb_does_not_count_is_limited_too(home: Path) -> None:
    async def work(ask: Ask) -> None:
        assert "more memory" in await ask("query", sql="SELECT len(range(3000000000))")
        assert (await ask("query", sql="SELECT 1"))["rows"] == [[1]]

    ask_process(home, work)


@pytest.mark.parametrize(("question", "words"), WORDS.items())
def test_a_question_of_the_guide_is_answered_from_the_descriptions(
    opened: Session, home: Path, question: int, words: str
) -> None:
    """The words lead to the tables of the guide's query, its columns are described, and its answer is the one
    of the file."""
    query = QUESTIONS[question]
    tables = set(re.findall(r"(?:FROM|JOIN) ((?:core|marts)\.\w+)", query))
    assert tables <= {match["name"] for match in find(opened, words)["tables"]}
    described = {column["name"] for table in tables for column in describe_table(opened, table)["columns"]}
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        own = {name for table in tables for name, *_ in con.execute(f"FROM {table} LIMIT 0").description}
        direct = con.execute(query).fetchall()
    assert not set(re.findall(r"\w+", query)) & (own - described), "all columns are described"
    cut = set[str]()
    assert as_json(opened.ask(query)["rows"], cut) == as_json(direct, cut) and not cut


def test_the_guide_for_assistants_names_each_table(home: Path) -> None:
    printed = CliRunner().invoke(main, ["mcp", "--guide"], env={"CAMPUS_HOME": str(home)})
    assert printed.exit_code == 0 and printed.output.startswith("---\nname: campus\n")
    assert "- `marts.early_warning`: One row per student and semester" in printed.output


@pytest.fixture
def assistant(home: Path, tmp_path: Path) -> Iterator[Assistant]:
    """An assistant whose log is `tmp_path / "log.jsonl"`."""
    with closing(Assistant(home / "campus.duckdb", AssistantOptions(), tmp_path / "log.jsonl")) as assistant:
        yield assistant


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (
            "metric",
            {"name": "pass_rate", "school": 1},
            "no argument school. metric takes name, by, schools, filters",
        ),
        (
            "metric",
            {"name": "pass_rate", "filter": "a", "group_by": []},
            "no argument filter; there is no argument group_by",
        ),
        (
            "metric",
            {"name": "pass_rate", "filters": [{"column": "week", "is": 1}]},
            "no argument filters.0.is",
        ),
        (
            "metric",
            {"name": "pass_rate", "filters": [{"column": "week"}]},
            "give exactly one of equals, between and in",
        ),
        (
            "metric",
            {"name": "pass_rate", "filters": [{"column": "hobby", "equals": 1}]},
            "cannot be filtered by hobby",
        ),
        (
            "metric",
            {"name": "pass_rate", "filters": [{"column": "student_id", "equals": 1}]},
            "shows single people",
        ),
        (
            "metric",
            {"name": "pass_rate", "filters": [{"column": "grade_level", "equals": "x"}]},
            "does not fit its column",
        ),
        (
            "metric",
            {"name": "pass_rate", "order": ["rate"]},
            "no column rate to sort by, only: pass_rate, numerator",
        ),
        ("metric", {"name": "pass_rate", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ("metric", {}, "name: Field required"),
        ("list_tables", {"schema": "marts"}, "no argument schema. list_tables takes no arguments"),
        (
            "query",
            {"sql": f"SELECT '{'x' * 3_000_000}'"},
            "sql: String should have at most 100000 characters",
        ),
        ("find", {"words": "x" * 1001}, "words: String should have at most 1000 characters"),
        ("describe_table", {"table": "core.nothing"}, "there is no table core.nothing"),
        ("delete", {}, "there is no tool of this name, only: list_tables, describe_table"),
    ],
)
def test_what_a_tool_does_not_take_is_refused_and_logged(
    assistant: Assistant, tmp_path: Path, tool: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(Refused, match=re.escape(message)):
        assistant.answer(tool, arguments)
    [entry] = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert entry["refused"] == "Refused" and len(str(entry)) < 300


def test_an_answer_says_what_it_lacks(assistant: Assistant, home: Path, tmp_path: Path) -> None:
    answers = {
        "rows beyond 200": "SELECT unnest(range(201))",
        "lists beyond 1000 items": "SELECT range(1001)",
        "texts beyond 1000 characters": "SELECT string_agg('x', '') FROM range(1001)",
        "what goes beyond 100000 bytes": (
            "SELECT (SELECT string_agg('x', '') FROM range(900)) FROM range(150)"
        ),
    }
    for cut, sql in answers.items():
        answer = assistant.answer("query", {"sql": sql})
        assert answer["is_cut"] and answer["cut"] == [cut]
        assert len(json.dumps(answer)) <= 100_200
    whole = assistant.answer(
        "query", {"sql": "SELECT range(1000), (SELECT string_agg('x', '') FROM range(1000))"}
    )
    assert not whole["is_cut"] and whole["cut"] == []


def test_each_tool_and_parameter_is_described(assistant: Assistant) -> None:
    tools = {tool.name: tool for tool in described_tools(assistant.tables())}
    for tool in tools.values():
        assert tool.annotations and tool.annotations.read_only_hint and tool.description
        assert tool.output_schema and {"is_cut", "cut"} <= tool.output_schema["properties"].keys()
        assert tool.input_schema["additionalProperties"] is False
        parts = [tool.input_schema, *tool.input_schema.get("$defs", {}).values()]
        assert all(parameter["description"] for part in parts for parameter in part["properties"].values())
    metric = tools["metric"].input_schema
    assert "attendance_rate" in metric["properties"]["name"]["enum"]
    assert "class" in metric["properties"]["by"]["items"]["enum"]
    assert "is_current" in metric["$defs"]["FilterArguments"]["properties"]["column"]["enum"]
    assert "marts.early_warning" in tools["describe_table"].input_schema["properties"]["table"]["enum"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("旷课", "unexcused_rate"),
        ("逃课最多的班", "unexcused_rate"),
        ("truancy", "unexcused_rate"),
        ("dropout", "at_risk_students"),
        ("排名", "marts.grade_student_semester"),
        ("ranking", "marts.grade_student_semester"),
        ("homework", "core.fct_assessment_item"),
        ("作业", "core.fct_assessment_item"),
    ],
)
def test_words_that_people_use_lead_to_names(opened: Session, words: str, name: str) -> None:
    matches = find(opened, words)
    assert name in [metric["metric"] for metric in matches["metrics"]] + [
        table["name"] for table in matches["tables"]
    ]


def test_a_metric_of_some_rows_is_that_of_the_catalogue(assistant: Assistant, home: Path) -> None:
    """Schools, filters, order and limit."""
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        expected = con.execute("""
            SELECT date::VARCHAR, round(100 * taken / due, 2) AS recording_rate, taken, due FROM (
                SELECT date, count(*) FILTER (state = 'recorded') AS taken, count(*) AS due
                FROM marts.attendance_class_session
                WHERE state IN ('recorded', 'unrecorded') AND weekday BETWEEN 1 AND 3 AND lesson IN (1, 2)
                GROUP BY ALL
            ) ORDER BY recording_rate DESC
        """).fetchall()
    filters = [{"column": "weekday", "between": [1, 3]}, {"column": "lesson", "in": [1, 2]}]
    arguments = {"name": "recording_rate", "by": ["date"], "filters": filters, "order": ["-recording_rate"]}

    def numbers(**options: Any) -> list[tuple[Any, ...]]:
        return [tuple(row[:4]) for row in assistant.answer("metric", arguments | options)["rows"]]

    assert numbers() == expected and len(expected) == 2
    assert numbers(limit=1) == expected[:1]
    assert numbers(filters=[{"column": "lesson", "equals": 1}, *filters]) != expected
    # Some clients send lists as text.
    assert numbers(schools="[2]") == [] and numbers(schools="[1]") == expected


def test_without_a_published_file_the_command_says_what_to_do(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["mcp"], env={"CAMPUS_HOME": str(tmp_path)})
    assert done.exit_code == 1 and "campus.duckdb is not there yet: run `campus sync`" in done.output
