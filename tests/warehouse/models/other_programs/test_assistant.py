"""`campus mcp` as a client of the protocol meets it: a real process, on a published file."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from mcp import ClientSession, StdioServerParameters, stdio_client

from pipelines.assistant.answers import describe_table, find
from pipelines.assistant.server import LOG
from pipelines.assistant.session import SCHEMAS, Session, cell, session
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

            async def ask(tool: str, **arguments: Any) -> Any:
                answer = await client.call_tool(tool, arguments)
                return answer.content[0].text if answer.is_error else json.loads(answer.content[0].text)

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
        assert rates["columns"][-3:] == ["attendance_rate", "students", "note"]
        assert [row[-3:] for row in rates["rows"]] == [[None, None, "fewer than 5 students"]]
        assert "single people" in await ask("metric", name="attendance_rate", by=["student"])
        assert "similar: attendance_rate" in await ask("metric", name="atendance_rate")

        answer = await ask("query", sql="SELECT count(*) AS students FROM core.dim_student")
        assert answer["columns"] == ["students"] and answer["rows"][0][0] > 0

        assert "student_name" in await ask("query", sql="SELECT student_name FROM core.dim_student")
        assert "no table campus.core" in await ask("query", sql="FROM campus.core.dim_student")
        assert "list_tables" in await ask("describe_table", table="raw.students")
        await ask("query", sql="SELECT CAST('王一' AS INTEGER), 'Ann', $$A1$$")

    ask_process(home, work)
    log = home / LOG
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [entry["tool"] for entry in entries] == [
        *("list_tables", "describe_table", "find", "explain", "list_metrics", "metric", "metric", "metric"),
        *("query", "query", "query", "describe_table", "query"),
    ]
    assert [bool(entry["refused"]) for entry in entries] == [False] * 6 + [True] * 2 + [False] + [True] * 4
    assert not [person for person in PEOPLE if person in log.read_text(encoding="utf-8")], "no text is logged"
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
            json.dumps(opened.ask(f"FROM {table}").rows, ensure_ascii=False)
            for table in opened.tables
            if table != "quality.dictionary"
        )
        classes = {row["privacy"] for row in opened.rows("FROM quality.dictionary")}
    assert not [person for person in PEOPLE if f'"{person}"' in seen]
    assert not classes & PERSONAL
    with session(home / "campus.duckdb", AssistantOptions(personal=True)) as opened:
        names = opened.ask("SELECT student_name FROM core.dim_student ORDER BY ALL").rows
    assert ["王一"] in names, "as the operator allows it"


def test_numbers_about_few_people_are_null(home: Path) -> None:
    with session(home / "campus.duckdb", AssistantOptions()) as opened:
        small = opened.ask("SELECT students FROM marts.outcome_by_group WHERE is_suppressed").rows
    with closing(duckdb.connect(str(home / "campus.duckdb"), read_only=True)) as con:
        hidden = con.execute("SELECT students FROM marts.outcome_by_group WHERE is_suppressed").fetchall()
    assert len(small) == len(hidden) > 0
    assert {value for [value] in small} == {None} and any(value is not None for (value,) in hidden)


def test_a_query_has_limits(home: Path) -> None:
    with session(home / "campus.duckdb", AssistantOptions(rows=2, seconds=1)) as opened:
        answer = opened.ask("SELECT unnest(range(5))")
        assert answer.rows == [[0], [1]] and answer.is_cut
        with pytest.raises(Refused, match="longer than 1 seconds"):
            opened.ask("SELECT count(*) FROM range(1000000000000)")
    with session(home / "campus.duckdb", AssistantOptions(memory_limit="100MB")) as opened:
        with pytest.raises(Refused, match="more memory"):
            opened.ask("SELECT len(list(number)) FROM range(300000000) AS numbers (number)")
        assert opened.ask("SELECT 1").rows == [[1]], "the next question is answered"
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
    assert opened.ask(query).rows == [list(map(cell, row)) for row in direct]


def test_the_guide_for_assistants_names_each_table(home: Path) -> None:
    printed = CliRunner().invoke(main, ["mcp", "--guide"], env={"CAMPUS_HOME": str(home)})
    assert printed.exit_code == 0 and printed.output.startswith("---\nname: campus\n")
    assert "- `marts.early_warning`: One row per student and semester" in printed.output


def test_without_a_published_file_the_command_says_what_to_do(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["mcp"], env={"CAMPUS_HOME": str(tmp_path)})
    assert done.exit_code == 1 and "campus.duckdb is not there yet: run `campus sync`" in done.output
