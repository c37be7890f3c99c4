"""The forty questions of docs/reference/questions.md, asked as an assistant does.

The words of a question lead to metrics and tables, their descriptions to the call, and its answer is what was
computed apart."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.assistant.server import Assistant
from pipelines.settings.options import AssistantOptions
from tests.kits.worlds.world import World

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "questions.md").read_text(encoding="utf-8")
#: Question, call and the query computed apart.
QUESTIONS = re.findall(r"## \d+\. (.*?)\n\n```json\n(.*?)\n```\n\n```sql\n(.*?)\n```", PAGE, re.DOTALL)
TABLE = re.compile(r"(?:FROM|JOIN) (\w+\.\w+)")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def school_file(load_world: Callable[..., World]) -> Path:
    """The published file of two schools."""
    world = load_world("district", select=None, students=24, datasets=False)
    world.publish()
    return world.home / "campus.duckdb"


@pytest.fixture(scope="module")
def assistant(school_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    log = tmp_path_factory.mktemp("log") / "questions.jsonl"
    with closing(Assistant(school_file, AssistantOptions(), log)) as assistant:
        yield assistant


def test_the_page_has_forty_questions() -> None:
    assert len({question for question, _, _ in QUESTIONS}) == 40


@pytest.mark.parametrize(("question", "call", "apart"), QUESTIONS, ids=range(1, len(QUESTIONS) + 1))
def test_a_question_is_answered_from_the_descriptions(
    assistant: Assistant, school_file: Path, question: str, call: str, apart: str
) -> None:
    tool, arguments = json.loads(call).values()
    matches = assistant.answer("find", {"words": question})
    if tool == "metric":
        metrics = {metric["metric"]: metric for metric in matches["metrics"]}
        assert set(arguments.get("by", ())) <= set(metrics[arguments["name"]]["dimensions"])
    else:
        tables = TABLE.findall(arguments["sql"])
        assert set(tables) <= {table["name"] for table in matches["tables"]}
        described = [assistant.answer("describe_table", {"table": table}) for table in tables]
        columns = {column["name"] for table in described for column in table["columns"]}
        with closing(duckdb.connect(str(school_file), read_only=True)) as con:
            names = {
                name for table in tables for name, *_ in con.execute(f"FROM {table} LIMIT 0").description
            }
        assert not (set(re.findall(r"\w+", arguments["sql"])) & names) - columns, "all columns are described"
    answer = assistant.answer(tool, arguments)
    with closing(duckdb.connect(str(school_file), read_only=True)) as con:
        result = con.execute(apart)
        compared = [name for name, *_ in result.description]
        expected = [tuple(map(plain, row)) for row in result.fetchall()]
    rows = [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]
    assert expected and not answer["is_cut"]
    assert sorted((tuple(plain(row[name]) for name in compared) for row in rows), key=repr) == sorted(
        expected, key=repr
    )


def plain(value: Any) -> Any:
    """A value of the file as the protocol's JSON has it."""
    if isinstance(value, Decimal | float):
        return round(float(value), 4)
    return str(value) if isinstance(value, date) else value
