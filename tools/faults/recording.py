"""A pytest plugin: the lines that each file of tests runs in this process, and what the file costs.

Set FAULTS_RECORDS to a folder, and load the plugin with `-p tools.faults.recording`."""

import json
import os
import resource
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

from tools.faults.fault import RECORDED_ROOMS


class Recorder:
    """Records one process of the run."""

    def __init__(self, folder: Path, process: str) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._seconds_path = folder / f"seconds.{process}.json"
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines.{process}"), source=list(RECORDED_ROOMS), config_file=False
        )
        self._coverage.set_option("run:relative_files", True)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        file = item.nodeid.partition("::")[0]
        self._coverage.switch_context(file)
        before = _cpu_seconds()
        try:
            return (yield)
        finally:
            self._seconds[file] += _cpu_seconds() - before

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._seconds_path.write_text(json.dumps(self._seconds), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record the processes that run tests: not the process of xdist that deals them out."""
    worker = getattr(config, "workerinput", None)
    if worker is not None or not config.option.numprocesses:
        name = worker["workerid"] if worker else "main"
        config.pluginmanager.register(Recorder(Path(os.environ["FAULTS_RECORDS"]), name))


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
