"""`campus mcp`: an assistant's tools, over standard input and output."""

from __future__ import annotations

import asyncio
import json
import resource
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from importlib.metadata import version
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb
from anyio import to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import ValidationError

from pipelines.assistant.guide import GUIDE
from pipelines.assistant.log import masked, open_log, write_question
from pipelines.assistant.session import Session, session
from pipelines.assistant.statements import Refused
from pipelines.assistant.tools import TOOLS, Arguments
from pipelines.settings.options import AssistantOptions
from warehouse.published.shards import PublicationBroken, Published, read_manifest

#: Memory of the process beyond what it has when the file is open and what DuckDB counts.
HEADROOM = 1 << 30

NOT_PUBLISHED = "there is no published file: the operator makes it by `campus sync` or `campus build`"
#: Characters of a text and items of a list. The rest is cut.
LONGEST = 1000


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

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a tool. Logs the question. Raises Refused with a message for the assistant."""
        began, problem, question = time.monotonic(), None, {}
        try:
            if tool not in TOOLS:
                raise Refused(f"there is no tool of this name, only: {', '.join(TOOLS)}")
            parsed = _arguments(tool, arguments)
            with self._lock:
                opened = self._current()
                question = parsed.question(opened.vocabulary)
                return _finished(TOOLS[tool].work(opened, parsed), self._options.bytes)
        except (Refused, OSError, PublicationBroken, RecursionError, MemoryError, duckdb.Error) as error:
            problem = type(error).__name__
            is_absent = isinstance(error, FileNotFoundError)
            raise Refused(NOT_PUBLISHED if is_absent else str(error) or problem) from error
        finally:
            name = masked(tool, TOOLS.keys())
            write_question(self._log, name, question, time.monotonic() - began, problem)

    def tables(self) -> list[str]:
        """The tables that may be asked about; none while there is no published file."""
        try:
            with self._lock:
                return sorted(self._current().tables)
        except (OSError, PublicationBroken, duckdb.Error):
            return []

    def _current(self) -> Session:
        """The session on the publication in place; a new one after each publication."""
        generation = _generation(self._published)
        if self._session is None or generation != self._generation:
            self._open.close()
            self._session = self._open.enter_context(session(self._published, self._options))
            self._generation = generation
            _limit_memory(self._options.memory_limit)
        return self._session


def serve(published: Published, options: AssistantOptions, home: Path) -> None:
    """Answer over standard input and output until the client closes it."""
    assistant = Assistant(published, options, open_log(home))

    async def run() -> None:
        async with stdio_server() as (requests, answers):
            protocol = server(assistant, version("campus-warehouse"))
            await protocol.run(requests, answers, protocol.create_initialization_options())

    try:
        asyncio.run(run())
    finally:
        assistant.close()


def server(assistant: Assistant, version: str) -> Server[Any]:
    """The protocol's side of an assistant: its tools, and each call of one."""

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        tables = await to_thread.run_sync(assistant.tables)
        return types.ListToolsResult(tools=described_tools(tables))

    async def call_tool(_: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await to_thread.run_sync(assistant.answer, call.name, call.arguments or {})
        except Refused as refusal:
            return types.CallToolResult(content=[_text(str(refusal))], is_error=True)
        lists = {key: value for key, value in answer.items() if isinstance(value, list) and key != "cut"}
        counts = ", ".join(f"{len(value)} {key}" for key, value in lists.items())
        summary = "; ".join([counts, *(f"cut: {cut}" for cut in answer["cut"])])
        return types.CallToolResult(content=[_text(summary)], structured_content=answer)

    return Server(
        "campus", version=version, instructions=GUIDE, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def described_tools(tables: Sequence[str]) -> list[types.Tool]:
    """The tools as the protocol describes them. `tables`: those that may be asked about."""
    described = []
    for name, tool in TOOLS.items():
        arguments = tool.arguments.model_json_schema(by_alias=True)
        if "table" in arguments["properties"]:
            arguments["properties"]["table"]["enum"] = list(tables)
        described.append(
            types.Tool(
                name=name,
                description=tool.description,
                input_schema=arguments,
                output_schema=tool.answer.model_json_schema(),
                annotations=types.ToolAnnotations(
                    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
                ),
            )
        )
    return described


def _arguments(name: str, arguments: Mapping[str, Any]) -> Arguments:
    """The arguments of a tool. Raises Refused."""
    try:
        return TOOLS[name].arguments.model_validate(arguments)
    except ValidationError as error:
        problems = [
            f"there is no argument {_path(problem['loc'])}"
            if problem["type"] == "extra_forbidden"
            else f"{_path(problem['loc'])}: {problem['msg'].removeprefix('Value error, ')}"
            for problem in error.errors()
        ]
        takes = ", ".join(TOOLS[name].arguments.model_fields) or "no arguments"
        raise Refused(f"{'; '.join(problems)[:LONGEST]}. {name} takes {takes}") from error


def _path(names: Sequence[str | int]) -> str:
    return ".".join(map(str, names))


def as_json(value: Any, cut: set[str]) -> Any:
    """A value as JSON has it. Null and what is not a number are null; `cut` gets what it lacks."""
    if isinstance(value, Decimal | float):
        return float(value) if isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple | dict):
        if len(value) > LONGEST:
            cut.add(f"lists beyond {LONGEST} items")
        if isinstance(value, dict):
            return {str(key): as_json(item, cut) for key, item in islice(value.items(), LONGEST)}
        return [as_json(item, cut) for item in value[:LONGEST]]
    text = str(value)
    if len(text) > LONGEST:
        cut.add(f"texts beyond {LONGEST} characters")
    return text[:LONGEST]


def _finished(answer: Mapping[str, Any], most_bytes: int) -> dict[str, Any]:
    """An answer as it is sent: as JSON, in at most `most_bytes`, with what it lacks."""
    cut = set(answer.get("cut", ()))
    sent = {
        key: [as_json(entry, cut) for entry in value] if isinstance(value, list) else as_json(value, cut)
        for key, value in answer.items()
        if key != "cut"
    }
    excess = _size(sent) - most_bytes
    lists = [value for value in sent.values() if isinstance(value, list)]
    if excess > 0:
        cut.add(f"what goes beyond {most_bytes} bytes")
    for entries in sorted(lists, key=_size, reverse=True):
        while entries and excess > 0:
            excess -= _size(entries.pop())
    return {**sent, "is_cut": bool(cut), "cut": sorted(cut)}


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


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
