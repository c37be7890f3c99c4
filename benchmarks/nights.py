"""Measures nights in a row with no, few or many changes, for one, five and twenty schools.

    .venv/bin/python -m benchmarks.nights [--schools 1 5 20] [--changed 0 1 100] [--students 60]
        [--semesters 2] [--nights 10] [--loads-only] [--sparing] [--a-day-apart]

Before each later night, --changed percent of the rows of CHANGED get another text on the platform. Each night
is one `campus sync` in a separate process, in the home of the nights before; the first one loads everything.
CPU seconds and peak memory are those of the process and its children, without the simulator. --a-day-apart
moves the clock of each night by a day (libfaketime), so that the terms of the maintenance pass.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.child import settings_for
from pipelines.cli.actions.load import run_load, run_sync
from pipelines.cli.main import leave
from pipelines.settings.settings import load_settings
from simulator.process import RunningSimulator, running
from tests.kits.programs.moved_clock import age_new_files, days_ahead
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOAD_LOG, LOGS

#: The resources that change between two nights, with a text field of each.
CHANGED = {"students": "name", "grades": "review", "scores": "review"}
#: Settings that save requests and may miss changes: docs/explanation/nights.md, "What a night reads again".
SPARING = """
incremental: {current_scores: where_moved, transcript_days: 7}
attendance: {window_days: 3}
"""
COLUMNS = (
    *("requests", "MB read", "CPU s", "s", "peak MB", "home MB"),
    *("lake MB", "lake files", "log MB", "log rows", "log commits", "commits"),
)


def main() -> None:
    """Measure and print a table, a row a night."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--schools", type=int, nargs="+", default=[1, 5, 20])
    arguments.add_argument("--changed", type=int, nargs="+", default=[0, 1, 100], help="percent of the rows")
    arguments.add_argument("--students", type=int, default=60)
    arguments.add_argument("--semesters", type=int, default=2, help="of each school; the last one is current")
    arguments.add_argument("--nights", type=int, default=10)
    arguments.add_argument("--loads-only", action="store_true", help="without the build and its publication")
    arguments.add_argument(
        "--sparing", action="store_true", help="with the settings of docs/explanation/nights.md"
    )
    arguments.add_argument("--a-day-apart", action="store_true", help="by a moved clock")
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        settings = load_settings()
        leave(run_load(settings).status if options.loads_only else run_sync(settings, (), None))
    print("schools  changed  night" + "".join(f"{name:>12}" for name in COLUMNS), flush=True)
    for schools, share in product(options.schools, options.changed):
        with (
            running(schools=schools, students=options.students, semesters=options.semesters) as platform,
            tempfile.TemporaryDirectory() as home,
        ):
            if options.sparing:
                (Path(home) / "campus.yaml").write_text(SPARING, encoding="utf-8")
            for number in range(1, options.nights + 1):
                if number > 1:
                    change(platform, schools, share, f"before night {number}")
                days = number - 1 if options.a_day_apart else 0
                figures = night(platform, Path(home), days, loads_only=options.loads_only)
                cells = "".join(f"{figures[name]:12,.1f}" for name in COLUMNS)
                print(f"{schools:7}{share:8}%{number:7}{cells}", flush=True)


def change(platform: RunningSimulator, schools: int, share: int, text: str) -> None:
    """Give `share` percent of each school's rows of CHANGED this text."""
    for school_id, (resource, field) in product(range(101, 101 + schools), CHANGED.items()):
        alive = [entry["key"] for entry in platform.rows(resource, school_id) if not entry["trashed"]]
        for key in alive[: len(alive) * share // 100]:
            values: dict[str, Any] = {field: text}
            platform.update(resource, key, **values)


def night(platform: RunningSimulator, home: Path, days: int, *, loads_only: bool) -> dict[str, float]:
    """Run one sync in a child process whose clock is `days` ahead; return its figures and those of the home
    after it."""
    platform.clear_log()
    started, began = time.monotonic(), time.time()
    used = _in_child(platform, home, days_ahead(days) if days else {}, loads_only=loads_only)
    seconds = time.monotonic() - started
    age_new_files(home, began, days)
    lake = Lake(str(home / "lake"))
    return {
        "requests": len(platform.log()),
        "MB read": _bytes_read(lake) / 1e6,
        "CPU s": used.ru_utime + used.ru_stime,
        "s": seconds,
        "peak MB": used.ru_maxrss / 1024,
        "home MB": _size(home) / 1e6,
        "lake MB": _size(home / "lake") / 1e6,
        "lake files": sum(path.is_file() for path in (home / "lake").rglob("*")),
        "log rows": sum(lake.open(log).count() for log in LOGS),
        "log MB": sum(_size(Path(lake.uri(log))) for log in LOGS) / 1e6,
        "log commits": sum(lake.version(log) for log in LOGS),
        "commits": _commits(home / "lake"),
    }


def _in_child(platform: RunningSimulator, home: Path, clock: Mapping[str, str], *, loads_only: bool) -> Any:
    """Run a night; return the resources that it used. Raises AssertionError if the night fails."""
    command = [sys.executable, "-m", "benchmarks.nights", "--child"]
    command += ["--loads-only"] if loads_only else []
    with (home / "night.log").open("w") as log:
        process = os.posix_spawn(
            sys.executable,
            command,
            {**os.environ, **settings_for(platform, home), **clock},
            file_actions=[(os.POSIX_SPAWN_DUP2, log.fileno(), 1), (os.POSIX_SPAWN_DUP2, log.fileno(), 2)],
        )
        _, status, used = os.wait4(process, 0)
    assert status == 0, (home / "night.log").read_text()
    return used


def _bytes_read(lake: Lake) -> int:
    """The bytes of the last sync, by the load log."""
    rows = lake.read(LOAD_LOG, columns=["sync_id", "finished_at", "bytes"]).to_pylist()
    last = max(rows, key=lambda row: row["finished_at"])["sync_id"]
    return sum(row["bytes"] or 0 for row in rows if row["sync_id"] == last)


def _commits(lake: Path) -> int:
    """The commits to all tables, including their creation."""
    numbers: dict[Path, int] = {}
    for entry in lake.rglob("_delta_log/*.json"):
        numbers[entry.parent] = max(numbers.get(entry.parent, 0), int(entry.stem) + 1)
    return sum(numbers.values())


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
