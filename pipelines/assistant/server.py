"""`campus mcp`: an assistant's tools, over standard input and output."""

from __future__ import annotations

import json
import re
import resource
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from pipelines.assistant.answers import describe_table, explain, find, list_metrics, list_tables
from pipelines.assistant.guide import GUIDE
from pipelines.assistant.session import Answer, Session, session
from pipelines.assistant.statements import Refused
from pipelines.settings.options import AssistantOptions
from warehouse.load.logs.load_log import now
from warehouse.metrics import catalogue
from warehouse.published.shards import PublicationBroken, Published, read_manifest

#: The log of questions, in the home, and the size from which a start moves it aside.
LOG = Path("assistant") / "questions.jsonl"
LOG_BYTES = 5_000_000
#: Texts, comments, quoted and Chinese names and long numbers in a statement: the log leaves them out, since
#: they may be of people, as it does the words of `find`.
TEXTS = re.compile(
    r"""e?'(?:[^'\\]|''|\\.)*(?:'|\Z)|"[^"]*(?:"|\Z)|\$(\w*)\$.*?(?:\$\1\$|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"""|[^\x00-\x7f]+|\d{4,}""",
    re.DOTALL | re.IGNORECASE,
)
#: Memory of the process beyond what it has when the file is open and what DuckDB counts.
HEADROOM = 1 << 30

Result = TypeVar("Result")


class Assistant:
    """Answers questions from the publication that is in place when each is asked, one at a time."""

    def __init__(self, published: Published, options: AssistantOptions, log: Path) -> None:
        self._published, self._options, self._log = published, options, log
        self._lock, self._open = threading.Lock(), ExitStack()
        self._session: Session | None = None
        self._generation: object = None

    def close(self) -> None:
        """Close the published file."""
        self._open.close()

    def answer(self, tool: str, question: dict[str, Any], work: Callable[[Session], Result]) -> Result:
        """Do the work of a tool, and log the question. Raises ToolError with a message for the assistant."""
        began, problem = time.monotonic(), None
        try:
            with self._lock:
                return work(self._current())
        except (Refused, OSError, PublicationBroken, RecursionError, MemoryError, duckdb.Error) as error:
            problem = type(error).__name__
            raise ToolError(str(error) or problem) from error
        finally:
            self._write(tool, question, time.monotonic() - began, problem)

    def _current(self) -> Session:
        """The session on the publication in place; a new one after each publication."""
        generation = _generation(self._published)
        if self._session is None or generation != self._generation:
            self._open.close()
            self._session = self._open.enter_context(session(self._published, self._options))
            self._generation = generation
            _limit_memory(self._options.memory_limit)
        return self._session

    def _write(self, tool: str, question: dict[str, Any], seconds: float, problem: str | None) -> None:
        entry = {
            "at": f"{now():%Y-%m-%d %H:%M:%S}",
            "tool": tool,
            **question,
            "seconds": round(seconds, 3),
            # Messages repeat what was asked.
            "refused": problem,
        }
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(entry, ensure_ascii=False) + "\n")


def serve(published: Published, options: AssistantOptions, home: Path) -> None:
    """Answer over standard input and output until the client closes it."""
    log = home / LOG
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".jsonl.1"))
    log.touch(mode=0o600)
    assistant = Assistant(published, options, log)
    try:
        server(assistant, options).run("stdio")
    finally:
        assistant.close()


def server(assistant: Assistant, options: AssistantOptions) -> MCPServer[Any]:
    """The server with its tools, whose docstrings an assistant reads."""
    made: MCPServer[Any] = MCPServer("campus", instructions=GUIDE, log_level="ERROR")

    @made.tool(name="list_tables")
    def _list_tables() -> dict[str, Any]:
        """All tables with their meanings in English and their names in Chinese."""
        return {"tables": assistant.answer("list_tables", {}, list_tables)}

    @made.tool(name="describe_table")
    def _describe_table(table: str) -> dict[str, Any]:
        """Meaning, number of rows, age of the data (as_of), keys and columns of a table such as
        marts.early_warning. Columns with few values list them."""
        return assistant.answer(
            "describe_table", {"table": _masked(table)}, lambda session: describe_table(session, table)
        )

    @made.tool(name="find")
    def _find(words: str) -> dict[str, Any]:
        """Tables, columns and metrics by words of their names and meanings, in English or Chinese."""
        return assistant.answer("find", {}, lambda session: find(session, words))

    @made.tool(name="explain")
    def _explain(table: str, column: str) -> dict[str, Any]:
        """What a number means: the definition of a column, its unit, where its values come from, and what the
        checks of its table found."""
        return assistant.answer(
            "explain",
            {"table": _masked(table), "column": _masked(column)},
            lambda session: explain(session, table, column),
        )

    @made.tool(name="list_metrics")
    def _list_metrics() -> dict[str, Any]:
        """The measures, such as attendance_rate, with definitions and the dimensions that split them."""
        return {"metrics": assistant.answer("list_metrics", {}, list_metrics)}

    @made.tool(name="metric")
    def _metric(
        name: str, by: list[str] | None = None, since: date | None = None, until: date | None = None
    ) -> dict[str, Any]:
        """A measure of list_metrics, a row for each group of the dimensions in `by`, from and up to a day.
        Use it rather than your own SQL. Groups of few students have no value, and the note says so."""
        days = {key: day for key, day in (("since", since), ("until", until)) if day is not None}
        measures = catalogue()
        question = {
            # What is no measure and no dimension may be a name.
            "metric": name if name in measures.metrics else "…",
            "by": [dimension if dimension in measures.dimensions else "…" for dimension in by or ()],
            **{key: str(day) for key, day in days.items()},
        }
        return _rows(
            assistant.answer("metric", question, lambda session: session.measure(name, by or (), days))
        )

    def query(sql: str) -> dict[str, Any]:
        return _rows(assistant.answer("query", {"sql": _masked(sql)}, lambda session: session.ask(sql)))

    made.add_tool(
        query,
        name="query",
        description=(
            "Run one SELECT in DuckDB's SQL on the tables of list_tables, with their schemas. At most "
            f"{options.rows} rows come back; is_cut says that there are more. Null means not known."
        ),
    )
    return made


def _masked(text: str) -> str:
    return TEXTS.sub("'…'", text)


def _rows(answer: Answer) -> dict[str, Any]:
    return {"columns": answer.columns, "rows": answer.rows, "is_cut": answer.is_cut}


def _generation(published: Published) -> object:
    """What changes with each publication. Raises FileNotFoundError, PublicationBroken."""
    if not isinstance(published, Path):
        return read_manifest(published).generation
    status = published.stat()
    return status.st_ino, status.st_mtime_ns


def _limit_memory(of_duckdb: str) -> None:
    """Let allocations fail that would take the machine's memory: DuckDB does not count all that it allocates.
    `of_duckdb`: the memory that it may use and counts, such as 1GB."""
    counted = float(of_duckdb[:-2]) * 1000 ** ("KMGT".index(of_duckdb[-2]) + 1)
    [in_use, *_] = Path("/proc/self/statm").read_text().split()
    most = int(in_use) * resource.getpagesize() + int(counted) + HEADROOM
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
