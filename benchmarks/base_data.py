"""A whole base-data sync of one school up to the lake, beside a bare httpx loop that asks the same questions.

    .venv/bin/python -m benchmarks.base_data [--students 2000] [--semesters 2] [--runs 3]

Figures are medians of the runs; sync and floor take turns, so that a slow spell of the machine meets both.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from pipelines.definitions import load_definitions
from pipelines.instance import open_instance
from pipelines.resources import open_runtime
from pipelines.settings import load_settings
from pipelines.sync import load as load_lake
from pipelines.sync import new_sync_id
from simulator.process import RunningSimulator, running
from warehouse.lake.log_tables import LOAD_LOG

CONCURRENCY = 16


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--students", type=int, default=2000)
    arguments.add_argument("--semesters", type=int, default=2)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(load()))
        return
    with running(schools=1, students=options.students, semesters=options.semesters) as platform:
        syncs, floors = [], []
        for _ in range(options.runs):
            platform.clear_log()
            syncs.append(_sync_in_child(platform))
            asked = [entry for entry in platform.log() if entry["method"] == "GET"]
            floors.append(floor(platform, asked))
            syncs[-1]["repeated"] = _repeated(asked)
    _report(options, syncs, floors)


def load() -> dict[str, Any]:
    """Sync everything but the publication in this process, on a fresh home; seconds without start-up."""
    settings = load_settings()
    with open_instance(settings) as instance, open_runtime(settings) as runtime:
        definitions = load_definitions(settings, runtime)
        started, cpu = time.monotonic(), time.process_time()
        for end in load_lake(runtime, definitions, instance, new_sync_id(), selection='group:"base_data"'):
            assert end.problem is None, end.problem
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        log = runtime.lake.read(LOAD_LOG).to_pylist()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "requests": sum(row["requests"] for row in log),
        "rows": sum(row["loaded"] for row in log),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def floor(platform: RunningSimulator, asked: list[dict[str, Any]]) -> dict[str, float]:
    """What a bare loop takes for the same questions, the answers thrown away."""

    async def ask_all() -> None:
        async with httpx.AsyncClient(base_url=platform.base_url, timeout=60) as client:
            body = {"grant_type": "client_credentials", "client_id": platform.client_id}
            scope = (
                "school.101 semester.read term.read structure.read reflection.read_basic student.read_basic"
            )
            scope += " teacher.read_basic admin_class.read class.read user.read dataset.read_all"
            reply = await client.post(
                "/api/v3/oauth/tokens", json={**body, "client_secret": platform.client_secret, "scope": scope}
            )
            headers = {"Authorization": f"Bearer {reply.json()['access_token']}", "X-School-Id": "101"}
            waiting = iter(asked)

            async def work() -> None:
                for entry in waiting:
                    answer = await client.get(entry["path"], params=entry["query"], headers=headers)
                    assert answer.status_code == entry["status"], (entry, answer.text)

            await asyncio.gather(*(work() for _ in range(CONCURRENCY)))

    started, cpu = time.monotonic(), time.process_time()
    asyncio.run(ask_all())
    return {"seconds": time.monotonic() - started, "cpu": time.process_time() - cpu}


def _sync_in_child(platform: RunningSimulator) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "CAMPUS_HOME": home,
            "DAGSTER_HOME": str(Path(home) / "dagster"),
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": platform.client_secret,
        }
        command = [sys.executable, "-m", "benchmarks.base_data", "--child"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _repeated(asked: list[dict[str, Any]]) -> int:
    """How many requests were sent more than once."""
    counts = Counter(
        (entry["path"], json.dumps(entry["query"], sort_keys=True), entry["school"]) for entry in asked
    )
    return sum(count - 1 for count in counts.values())


def _report(options: argparse.Namespace, syncs: list[dict[str, Any]], floors: list[dict[str, float]]) -> None:
    requests, rows = syncs[0]["requests"], syncs[0]["rows"]
    print(f"{options.students} students, {options.semesters} semesters: {requests} requests, {rows} rows")
    print(f"{'median of ' + str(options.runs):14}{'s':>8}{'CPU s':>8}{'requests/s':>12}{'rows/s':>9}")
    for name, runs in (("sync", syncs), ("floor", floors)):
        seconds, cpu = (statistics.median(one[column] for one in runs) for column in ("seconds", "cpu"))
        print(f"{name:14}{seconds:8.1f}{cpu:8.1f}{requests / seconds:12.0f}{rows / seconds:9.0f}")
    for column in ("seconds", "cpu"):
        ratios = [one[column] / bare[column] for one, bare in zip(syncs, floors, strict=True)]
        print(f"sync / floor, {column}, run by run: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    print(f"peak memory {max(one['peak_mb'] for one in syncs):.0f} MB")
    print(f"requests sent more than once: {max(one['repeated'] for one in syncs)}")


if __name__ == "__main__":
    main()
