"""Follows a page: own functions from the asset's step to the socket, own files from there to the commit.

    .venv/bin/python -m benchmarks.path

Down: the functions of this repository on the stack when a request is sent, from the first function in
assets/. A task continues the stack of the function that created it.

Back: the files of this repository with a function that runs between the arrival of the last page of a slice
and its commit to the Delta table; a coroutine that resumes counts. A star marks a file with a function
that takes or returns rows: bytes of a kilobyte or more, raw JSON, and containers of Arrow, polars and DuckDB,
also inside lists, dictionaries and own objects, two levels deep. One request is in flight at a time.

The simulator's small schools are loaded for the first time. The hooks are at the borders: tasks of the event
loop, the httpx transport, obstore.put. So a changed structure between them is counted in the same way.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast
from weakref import WeakKeyDictionary

import duckdb
import httpx
import msgspec
import obstore
import polars as pl
import pyarrow as pa
import uvloop

from benchmarks.child import run_child, settings_for
from campus.http.sending.engine import AiohttpTransport
from pipelines.definitions import load_definitions
from pipelines.nights.sync import load, new_sync_id
from pipelines.resources import open_runtime
from pipelines.runs.instance import open_instance
from pipelines.settings.settings import load_settings
from simulator.process import running

ROOT = Path(__file__).resolve().parents[1]
#: Bytes from which a body counts as rows.
SOME_ROWS = 1024
#: Containers of rows.
ROWS = (
    pa.Table,
    pa.RecordBatch,
    pa.RecordBatchReader,
    pa.ChunkedArray,
    pa.Array,
    pl.DataFrame,
    pl.LazyFrame,
    duckdb.DuckDBPyRelation,
    msgspec.Raw,
)
OWN_ROOMS = ("campus.", "warehouse.", "loading.", "assets.", "pipelines.")
#: A function: its file below the root, and its name.
Function = tuple[str, str]


@dataclass(frozen=True)
class Target:
    """A page to follow. selection: the assets to load; path: of its requests; log: of its Delta table."""

    selection: str
    path: str
    log: str


TARGETS = {
    "students": Target('key:"raw/students"', r"/students$", r"^students/_delta_log/"),
    "dataset": Target('key:"datasets/records"', r"/datasets/[^/]+/records$", r"^datasets\.\w+/_delta_log/"),
    "scores": Target('+key:"raw/scores"', r"/items/\d+/scores$", r"^scores/_delta_log/"),
}


def main() -> None:
    """Follow the three pages, each in a separate process, and print their ways."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--child", choices=TARGETS, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(follow(TARGETS[options.child])))
        return
    totals = []
    with running(schools=1, students=60, semesters=1, dataset_rows=500) as platform:
        for name in TARGETS:
            with tempfile.TemporaryDirectory() as home:
                (Path(home) / "campus.yaml").write_text("platform:\n  concurrency: 1\n")
                way = run_child("benchmarks.path", name, **settings_for(platform, Path(home)))
            down, back = way["down"], way["back"]
            files = {file for file, _ in down}
            counts = (len(down), len(files), len(back), sum(back.values()))
            totals.append(f"{name:10}" + "".join(f"{count:>16}" for count in counts))
            print(f"\n{name}: down")
            print(*(f"  {file:40} {function}" for file, function in down), sep="\n")
            print(f"{name}: back")
            print(*(f"{'*' if rows else ' '} {file}" for file, rows in back.items()), sep="\n")
    titles = ("functions down", "files down", "files back", "with rows")
    print(f"\n{'':10}" + "".join(f"{title:>16}" for title in titles), *totals, sep="\n")


@dataclass
class Way:
    """The way of one page. back: the files since its arrival, and whether each had rows."""

    down: list[Function] = field(default_factory=list)
    back: dict[str, bool] = field(default_factory=dict)
    is_arriving: bool = False
    is_committed: bool = False


def follow(target: Target) -> dict[str, Any]:
    """Load the target in this process; return its way down and back, up to the first commit."""
    way = Way()
    _watch_tasks()
    _watch_requests(target, way)
    _watch_commits(target, way)

    def note(frame: FrameType, event: str, result: object) -> None:
        if not way.is_arriving or event not in ("call", "return"):
            return
        file = _own_file(frame.f_code)
        if not file or way.back.get(file):
            return
        values = [result] if event == "return" else list(frame.f_locals.values())
        way.back[file] = any(map(_has_rows, values))

    threading.setprofile(note)
    sys.setprofile(note)
    settings = load_settings()
    with open_instance(settings) as instance, open_runtime(settings) as runtime:
        definitions = load_definitions(settings, runtime)
        for end in load(runtime, definitions, instance, new_sync_id(), selection=target.selection):
            assert end.problem is None, end.problem
    sys.setprofile(None)
    assert way.is_committed, "no commit was seen"
    return {"down": way.down, "back": dict(sorted(way.back.items()))}


_makers: WeakKeyDictionary[Any, list[Function]] = WeakKeyDictionary()


def _watch_tasks() -> None:
    """Store the functions that created each task."""
    create = uvloop.Loop.create_task

    def create_task(loop: uvloop.Loop, job: Coroutine[Any, Any, Any], **options: Any) -> Any:
        task = create(loop, job, **options)
        _makers[task] = _stack()
        return task

    uvloop.Loop.create_task = create_task  # type: ignore[method-assign,assignment]


def _watch_requests(target: Target, way: Way) -> None:
    send = AiohttpTransport.handle_async_request

    async def handle(engine: AiohttpTransport, request: httpx.Request) -> httpx.Response:
        if way.is_committed or not re.search(target.path, request.url.path):
            return await send(engine, request)
        stack = list(dict.fromkeys(_stack()))
        first = next(number for number, (file, _) in enumerate(stack) if file.startswith("assets/"))
        way.down = [*stack[first:], _function(send.__code__)]
        way.is_arriving = False
        reply = await send(engine, request)
        way.back.clear()
        way.is_arriving = True
        return reply

    AiohttpTransport.handle_async_request = handle  # type: ignore[method-assign,assignment]


def _watch_commits(target: Target, way: Way) -> None:
    put: Callable[..., Any] = obstore.put

    def watched(store: Any, path: str, *content: Any, **options: Any) -> Any:
        done = put(store, path, *content, **options)
        if way.is_arriving and re.search(target.log, path):
            way.is_arriving, way.is_committed = False, True
        return done

    obstore.put = watched


def _stack() -> list[Function]:
    """The own functions that led to the caller, outermost first, through the tasks that they created."""
    frames = list(_frames(sys._getframe(2)))
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return [*_makers.get(task, []), *reversed(frames)] if task else [*reversed(frames)]


def _frames(frame: FrameType | None) -> Iterator[Function]:
    while frame is not None:
        if _own_file(frame.f_code) and not frame.f_code.co_name.startswith("<"):
            yield _function(frame.f_code)
        frame = frame.f_back


def _has_rows(value: object, levels: int = 2) -> bool:
    """Whether a value is rows, or contains rows."""
    if isinstance(value, bytes):
        return len(value) >= SOME_ROWS
    if isinstance(value, ROWS):
        return True
    if levels < 0:
        return False
    inside: Iterable[object] = ()
    if type(value) in (list, tuple):
        inside = cast("Iterable[object]", value)
    elif type(value) is dict:
        inside = value.values()
    elif type(value).__module__.startswith(OWN_ROOMS):
        slots = (getattr(value, name, None) for name in getattr(type(value), "__slots__", ()))
        inside = [*getattr(value, "__dict__", {}).values(), *slots]
    return any(_has_rows(item, levels - 1) for item in inside)


def _function(code: CodeType) -> Function:
    return _own_file(code), code.co_qualname


def _own_file(code: CodeType) -> str:
    """The file below the root; "" for a file of others."""
    path = code.co_filename.removeprefix(f"{ROOT}/")
    return "" if path.startswith(("/", ".venv/", "<", "benchmarks/")) else path


if __name__ == "__main__":
    main()
