"""Loads a semester of a school's attendance into the lake, then a night, and compares both with a bare httpx
loop that sends the same requests and drops the responses.

    .venv/bin/python -m benchmarks.attendance [--students 2000] [--runs 3] [--left archived]

Classes, students and users, which the requests name, are loaded before. Each load is a separate process.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.base_data import bare, httpx_alone
from benchmarks.child import run_child, settings_for
from campus.http.events import Event
from pipelines.definitions import load_definitions
from pipelines.nights.sync import load as load_lake
from pipelines.nights.sync import new_sync_id
from pipelines.resources import open_runtime
from pipelines.runs.instance import open_instance
from pipelines.settings.settings import load_settings
from simulator.process import RunningSimulator, running
from warehouse.lake.logs.tables import LOAD_LOG

# The last day of the simulator's second semester: all of its weeks have begun.
LAST_DAY = "2025-07-06"
NEEDED = (
    "students",
    "classes",
    "class_members",
    "user_fields",
    "v1_users",
    "v1_semesters",
    "v1_classes",
    "v1_class_students",
    "timetable_days",
)
BEFORE = " or ".join(f'key:"raw/{name}"' for name in NEEDED)
ATTENDANCE = 'group:"attendance"'
LOADS = ("first load", "a night after it")


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--students", type=int, default=2000)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--left", choices=["hidden", "archived"], default="hidden", help="former students")
    arguments.add_argument("--child", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(load(options.child)))
        return
    school = {"schools": 1, "semesters": 1, "students": options.students, "today": LAST_DAY}
    with running(**school, left_users=options.left) as platform:
        runs = [measure(platform) for _ in range(options.runs)]
    for number, name in enumerate(LOADS):
        _report(name, [run[number] for run in runs])


def measure(platform: RunningSimulator) -> list[dict[str, Any]]:
    """Measure each of LOADS in a new home, with the floor of its requests."""
    measured = []
    with tempfile.TemporaryDirectory() as home:
        settings = settings_for(platform, Path(home))
        run_child("benchmarks.attendance", BEFORE, **settings)
        for _ in LOADS:
            platform.clear_log()
            load = run_child("benchmarks.attendance", ATTENDANCE, **settings)
            requests = [entry for entry in platform.log() if entry["path"].endswith("/attendances")]
            loop = bare(platform, requests, httpx_alone)
            measured.append(
                {**load, "sent": len(requests), "floor": loop["seconds"], "floor_cpu": loop["cpu"]}
            )
    return measured


def load(selection: str) -> dict[str, Any]:
    """Load the selected assets in this process; seconds exclude start-up and discovery."""
    settings = load_settings()
    plans: list[str] = []

    def listen(event: Event) -> None:
        if event.kind == "plan":
            plans.append(event.message)

    with open_instance(settings) as instance, open_runtime(settings, listen) as runtime:
        definitions = load_definitions(settings, runtime)
        sync_id = new_sync_id()
        ends = load_lake(runtime, definitions, instance, sync_id, selection=selection)
        assert next(ends).problem is None
        started, cpu = time.monotonic(), time.process_time()
        for end in ends:
            assert end.problem is None, end.problem
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        log = [row for row in runtime.lake.read(LOAD_LOG).to_pylist() if row["sync_id"] == sync_id]
    records = [row for row in log if row["resource"] == "attendance_records"]
    return {
        "seconds": seconds,
        "cpu": cpu,
        "records": sum(row["received"] for row in records),
        "requests": sum(row["requests"] for row in records),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "plans": plans,
    }


def _report(name: str, runs: Sequence[dict[str, Any]]) -> None:
    first = runs[0]
    print(f"{name}: {'; '.join(first['plans'])}")
    print(f"  {first['sent']} requests ({first['requests']} by the load log), {first['records']} records")
    for column in ("seconds", "cpu"):
        own = statistics.median(run[column] for run in runs)
        floor = "floor" if column == "seconds" else "floor_cpu"
        ratios = ", ".join(f"{run[column] / run[floor]:.2f}" for run in runs)
        print(f"  {column} {own:.1f}, {first['records'] / own:,.0f} records/s; times the bare loop: {ratios}")
    print(f"  peak memory {max(run['peak_mb'] for run in runs):.0f} MB")


if __name__ == "__main__":
    main()
