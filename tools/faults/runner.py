"""Runs tests in forks of one process that has the libraries imported: half of what a small run costs.

A line of standard input is a request: {"files": [or ids of tests], "excluded": [ids], "seconds": patience}.
A test that takes half of the seconds has failed. The argument is pytest's expression of marks.
A line of standard output is its answer: {"failed_test": the first, "cpu": seconds}. A run that outlasts its
patience counts as failed.
"""

import importlib
import json
import os
import resource
import select
import signal
import sys
from pathlib import Path

import pytest

#: Imported once. None of them may import the product, whose files change from request to request.
LIBRARIES = (
    *("aiohttp", "altair", "dagster", "dagster._core.execution.api", "dagster_webserver.app", "deltalake"),
    *("duckdb", "httpx", "hypothesis", "msgspec", "openpyxl", "polars", "pyarrow.dataset", "rich"),
    *("pydantic_settings", "sqlalchemy", "starlette.applications", "uvicorn", "uvloop", "xlsxwriter", "yaml"),
)


class FirstFailure:
    """A pytest plugin: runs the files in the order of the request, and names the first test that fails."""

    def __init__(self, files: list[str], excluded: list[str]) -> None:
        self._ranks = {file.partition("::")[0]: rank for rank, file in enumerate(files)}
        self._excluded = excluded
        self.failed_test = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid not in self._excluded]
        items.sort(key=lambda item: self._ranks[item.nodeid.partition("::")[0]])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed_test = self.failed_test or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed_test = self.failed_test or report.nodeid


def main() -> None:
    """Answer requests until standard input ends."""
    for name in LIBRARIES:
        importlib.import_module(name)
    sys.path.insert(0, str(Path.cwd()))
    for line in sys.stdin:
        print(json.dumps(_answer(**json.loads(line), marks=sys.argv[1])), flush=True)


def _answer(files: list[str], excluded: list[str], seconds: float, marks: str) -> dict[str, object]:
    before = _cpu_seconds()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        _run(FirstFailure(files, excluded), files, seconds / 2, marks, writer)
    os.close(writer)
    has_ended, _, _ = select.select([reader], [], [], seconds)
    failed_test = os.read(reader, 10_000).decode() if has_ended else f"none ended within {seconds:.0f} s"
    os.close(reader)
    # Whatever the tests have started is in its session.
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return {"failed_test": failed_test, "cpu": round(_cpu_seconds() - before, 1)}


def _run(plugin: FirstFailure, files: list[str], seconds_a_test: float, marks: str, writer: int) -> None:
    os.setsid()
    with Path(os.devnull).open("r+") as nothing:
        for stream in range(3):
            os.dup2(nothing.fileno(), stream)
    options = [
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        f"--timeout={seconds_a_test:.0f}",
        "-m",
        marks,
        *files,
    ]
    status = pytest.main(options, plugins=[plugin])
    failed_test = plugin.failed_test or ("" if status in (0, 5) else f"pytest ended with {status}")
    os.write(writer, failed_test.encode())
    os._exit(0)


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
