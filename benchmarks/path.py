"""Follows a page: own functions from the asset's step to the socket, and back from the socket to the commit.

    .venv/bin/python -m benchmarks.path

Down: the named functions of this repository on the stack when a request is sent, from the first function in
assets/. A task continues the stack of the function that created it. The longest request of a target counts.

Back: the named functions of this repository that run between the arrival of the last page of a slice and its
first commit to the Delta table; a coroutine that resumes counts. A response of less than a kilobyte is a
count or empty, and no page. A star marks a function that takes, holds when it resumes, or returns rows: bytes
of a kilobyte or more, raw JSON, decoded rows, and containers of Arrow, polars and DuckDB, also inside lists,
dictionaries and own objects, two levels deep. A file counts for its lambdas and comprehensions, too.

The simulator's small school is loaded for the first time: one slice, one request and one thread at a time, so
that each run measures the same. The hooks are at the borders: tasks of the event loop, work in threads, the
httpx transport, obstore.put. So a changed structure between them is counted in the same way.
"""

import argparse
import asyncio
import inspect
import json
import math
import re
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
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
from campus.contracts.fields import Contract
from campus.http import rate_limit
from campus.http.engine import AiohttpTransport
from pipelines.definitions import load_definitions
from pipelines.nights.sync import load, new_sync_id
from pipelines.resources import open_runtime
from pipelines.runs.instance import open_instance
from pipelines.settings.settings import load_settings
from simulator.process import running
from warehouse.load.logs import writer

ROOT = Path(__file__).resolve().parents[1]
#: Bytes from which a body counts as rows.
BYTES_OF_ROWS = 1024
#: Rows, and containers of rows.
ROWS = (
    Contract,
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
#: One slice and one request at a time.
SETTINGS = """
platform: {concurrency: 1}
datasets: {include: [big_scores], segments_at_a_time: 1}
"""
#: The assets of the targets, and those whose rows their requests name.
SELECTION = 'key:"raw/students" or key:"datasets/records" or +key:"raw/scores"'
#: A function: its file below the root, and its name.
Function = tuple[str, str]


@dataclass(frozen=True)
class Target:
    """A page to follow. path: of its requests; log: of its Delta table."""

    path: str
    log: str


TARGETS = {
    "students": Target(r"/reflection/students$", r"^students/_delta_log/"),
    "dataset": Target(r"/datasets/big_scores/records$", r"^datasets\.big_scores/_delta_log/"),
    "scores": Target(r"/items/\d+/scores$", r"^scores/_delta_log/"),
}


@dataclass
class Trace:
    """The functions on the path of one page."""

    # Of the longest request, outermost first.
    down: list[Function] = field(default_factory=list)
    # Since the last page arrived, and whether each had rows.
    back: dict[Function, bool] = field(default_factory=dict)
    # Between the arrival and the commit.
    is_returning: bool = False
    is_committed: bool = False

    def counts(self) -> dict[str, int]:
        """The lengths of the path, by title."""
        return {
            "functions down": len(self.down),
            "files down": len({file for file, _ in self.down}),
            "functions back": sum(map(_is_named, self.back)),
            "files back": len({file for file, _ in self.back}),
            "with rows": len({file for (file, _), has_rows in self.back.items() if has_rows}),
        }


def main() -> None:
    """Follow the three pages and print their paths."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    if arguments.parse_args().child:
        paths = {
            name: (trace.down, [(*function, has_rows) for function, has_rows in trace.back.items()])
            for name, trace in _follow().items()
        }
        print(json.dumps(paths))
        return
    traces = measure()
    for name, trace in traces.items():
        print(f"\n{name}: down")
        print(*(f"  {file:40} {function}" for file, function in trace.down), sep="\n")
        print(f"{name}: back")
        functions = sorted(
            (*function, has_rows) for function, has_rows in trace.back.items() if _is_named(function)
        )
        print(
            *(f"{'*' if has_rows else ' '} {file:40} {function}" for file, function, has_rows in functions),
            sep="\n",
        )
    counts = {name: trace.counts() for name, trace in traces.items()}
    titles = next(iter(counts.values()))
    print(f"\n{'':10}" + "".join(f"{title:>16}" for title in titles))
    for name, lengths in counts.items():
        print(f"{name:10}" + "".join(f"{length:>16}" for length in lengths.values()))


def measure() -> dict[str, Trace]:
    """The traces of the targets, which a separate process follows."""
    with (
        running(schools=1, students=60, semesters=1, dataset_rows=500) as platform,
        tempfile.TemporaryDirectory() as home,
    ):
        (Path(home) / "campus.yaml").write_text(SETTINGS)
        paths = run_child("benchmarks.path", **settings_for(platform, Path(home)))
    return {
        name: Trace(
            [(file, function) for file, function in down],
            {(file, function): has_rows for file, function, has_rows in back},
        )
        for name, (down, back) in paths.items()
    }


def _follow() -> dict[str, Trace]:
    """Load the targets in this process, and return their traces."""
    traces = {name: Trace() for name in TARGETS}
    _stop_clocks()
    _watch_tasks()
    _watch_threads(traces)
    _watch_requests(traces)
    _watch_commits(traces)
    settings = load_settings()
    with open_instance(settings) as instance, open_runtime(settings) as runtime:
        definitions = load_definitions(settings, runtime)
        for end in load(runtime, definitions, instance, new_sync_id(), selection=SELECTION):
            assert end.problem is None, end.problem
    assert all(trace.is_committed for trace in traces.values()), "a target was not committed"
    return traces


def _stop_clocks() -> None:
    """Prevent what a load does after some seconds: it may fall between an arrival and a commit."""
    rate_limit.WINDOW_SECONDS = math.inf
    writer.SECONDS = math.inf


_makers: WeakKeyDictionary[Any, list[Function]] = WeakKeyDictionary()


def _watch_tasks() -> None:
    """Store the functions that created each task."""
    create = uvloop.Loop.create_task

    def create_task(loop: uvloop.Loop, job: Coroutine[Any, Any, Any], **options: Any) -> Any:
        task = create(loop, job, **options)
        _makers[task] = _stack()
        return task

    uvloop.Loop.create_task = create_task  # type: ignore[method-assign,assignment]


def _watch_threads(traces: Mapping[str, Trace]) -> None:
    """Note the functions of the work that is handed to other threads on the way back."""
    submit: Callable[..., Future[Any]] = ThreadPoolExecutor.submit

    def submit_watched(
        pool: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        trace = next((trace for trace in traces.values() if trace.is_returning), None)
        if trace is None:
            return submit(pool, work, *args, **kwargs)

        def run(trace: Trace) -> Any:
            _note_functions(trace)
            try:
                return work(*args, **kwargs)
            finally:
                sys.setprofile(None)

        future = submit(pool, run, trace)
        # The thread that waits for the work would sometimes resume before it, and sometimes after.
        wait([future])
        return future

    ThreadPoolExecutor.submit = submit_watched  # type: ignore[method-assign,assignment]


def _watch_requests(traces: Mapping[str, Trace]) -> None:
    send = AiohttpTransport.handle_async_request

    async def handle(transport: AiohttpTransport, request: httpx.Request) -> httpx.Response:
        path = request.extensions["target"].decode().partition("?")[0]
        trace = next((traces[name] for name, target in TARGETS.items() if re.search(target.path, path)), None)
        if trace is None:
            return await send(transport, request)
        stack = list(dict.fromkeys(_stack()))
        first = next(number for number, (file, _) in enumerate(stack) if file.startswith("assets/"))
        trace.down = max(trace.down, [*stack[first:], _function(send.__code__)], key=len)
        sys.setprofile(None)
        response = await send(transport, request)
        # A body that arrives in several pieces would resume coroutines in some runs alone.
        body = cast("Any", response.stream)._answer.content
        await body.wait_eof()
        if not trace.is_committed:
            if body.total_bytes >= BYTES_OF_ROWS:
                trace.back.clear()
                trace.is_returning = True
            if trace.is_returning:
                _note_functions(trace)
        return response

    AiohttpTransport.handle_async_request = handle  # type: ignore[method-assign,assignment]


def _watch_commits(traces: Mapping[str, Trace]) -> None:
    put: Callable[..., Any] = obstore.put

    def put_watched(store: Any, path: str, *content: Any, **options: Any) -> Any:
        result = put(store, path, *content, **options)
        for name, trace in traces.items():
            if trace.is_returning and re.search(TARGETS[name].log, path):
                trace.is_returning, trace.is_committed = False, True
        return result

    obstore.put = put_watched


def _note_functions(trace: Trace) -> None:
    """Note the own functions that this thread runs until the commit."""

    def note(frame: FrameType, event: str, result: object) -> None:
        if not trace.is_returning:
            sys.setprofile(None)
            return
        code = frame.f_code
        # Modules and classes run, too, while they are imported.
        is_function = event in ("call", "return") and code.co_flags & inspect.CO_OPTIMIZED
        if not is_function or not _own_file(code):
            return
        function = _function(code)
        if not trace.back.get(function):
            values = [result] if event == "return" else list(frame.f_locals.values())
            trace.back[function] = any(map(_has_rows, values))

    sys.setprofile(note)


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
        if _own_file(frame.f_code) and _is_named(_function(frame.f_code)):
            yield _function(frame.f_code)
        frame = frame.f_back


def _has_rows(value: object, levels: int = 2) -> bool:
    """Whether a value is rows, or contains rows."""
    if isinstance(value, bytes):
        return len(value) >= BYTES_OF_ROWS
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


def _is_named(function: Function) -> bool:
    """Whether a function is no lambda, comprehension or module."""
    return not function[1].endswith(">")


def _own_file(code: CodeType) -> str:
    """The file below the root; "" for a file of others."""
    path = code.co_filename.removeprefix(f"{ROOT}/")
    return "" if path.startswith(("/", ".venv/", "<", "benchmarks/")) else path


if __name__ == "__main__":
    main()
