"""Plans and applies a roster with few changes against the simulator, and reads the people again.

    .venv/bin/python -m benchmarks.roster [--rows 10000] [--changed 0.01]

Everybody is loaded before. Each step is a separate process, so that its memory can be measured; seconds
exclude the start of the process. Requests are those in the simulator's log, without tokens.
"""

import argparse
import asyncio
import csv
import json
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.child import run_child, settings_for
from campus.registry import RESOURCES
from loading.connection.runtime import Runtime
from loading.load_school import load_school
from loading.slices.loader import Loader
from pipelines.resources import open_runtime
from pipelines.settings.settings import Settings, load_settings
from pipelines.writes.reread import cause_of_writing
from pipelines.writes.roster import apply_roster, plan_roster, read_roster
from pipelines.writes.session import open_write_session
from simulator.process import RunningSimulator, running
from writeback.outcomes import counted
from writeback.store.journal import Provenance

SCHOOL = 101
#: The resources that show the people of a roster.
SHOWN_IN = ("reflections", "students", "teachers", "user_fields", "v1_users")
COLUMNS = ("outer_id", "usin", "name", "role", "graduates_in", "phone")
#: About this share of the simulator's students has an outer_id.
SHARE_WITH_OUTER_ID = 0.65


def main() -> None:
    """Measure and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000)
    arguments.add_argument("--changed", type=float, default=0.01)
    arguments.add_argument("--child", nargs=2, metavar=("STEP", "FILE"), help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.child:
        print(json.dumps(asyncio.run(step(*options.child))))
        return
    students = int(options.rows / SHARE_WITH_OUTER_ID)
    with (
        running(schools=1, students=students, semesters=1) as platform,
        tempfile.TemporaryDirectory() as home,
    ):
        settings = settings_for(platform, Path(home)) | {"CAMPUS_ALLOW_WRITES": "true"}
        roster = Path(home) / "roster.csv"
        rows, changes = write_roster(platform, roster, options.rows, options.changed)
        run_child("benchmarks.roster", "load", str(roster), **settings)
        print(f"{rows} rows, {changes} of them changed; {len(_people(platform))} users")
        print(f"{'':6}{'s':>8}{'CPU s':>8}{'rows/s':>9}{'requests':>10}{'a change':>10}{'peak MB':>9}")
        for name in ("plan", "apply"):
            platform.clear_log()
            figures = run_child("benchmarks.roster", name, str(roster), **settings)
            kinds = Counter(map(_kind, platform.log()))
            del kinds["token"]
            requests = sum(kinds.values())
            print(
                f"{name:6}{figures['seconds']:8.1f}{figures['cpu']:8.1f}{rows / figures['seconds']:9.0f}"
                f"{requests:10}{requests / changes:10.1f}{figures['peak_mb']:9.0f}"
            )
            print("      ", ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
            print("      ", figures["outcome"])


def write_roster(platform: RunningSimulator, path: Path, most: int, share: float) -> tuple[int, int]:
    """Write a roster of existing students, with another phone for some.

    Returns the numbers of rows and of changed rows."""
    people = [person for person in _people(platform) if person["outer_id"] and person["role"] == 1][:most]
    rows = [{name: person[name] for name in COLUMNS} for person in people]
    changed = rows[:: round(1 / share)]
    for row in changed:
        row["phone"] = "13800000000"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return len(rows), len(changed)


async def step(name: str, file: str) -> dict[str, Any]:
    """Do one step in this process, and measure it."""
    settings = load_settings()
    with open_runtime(settings) as runtime:
        started, cpu = time.monotonic(), time.process_time()
        outcome = await STEPS[name](settings, runtime, file)
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "cpu": cpu, "peak_mb": peak, "outcome": outcome}


async def _load(settings: Settings, runtime: Runtime, file: str) -> str:
    async with open_write_session(settings, runtime, Provenance("benchmark", file), dry=True) as session:
        loader = Loader(runtime, session.client, cause_of_writing(), {})
        specs = [RESOURCES[name] for name in SHOWN_IN]
        return ", ".join([load.status for load in await load_school(loader, SCHOOL, specs)])


async def _plan(settings: Settings, runtime: Runtime, file: str) -> str:
    async with open_write_session(settings, runtime, Provenance("benchmark", file), dry=True) as session:
        roster = read_roster(settings, file)
        made = await plan_roster(settings, session, SCHOOL, roster, delete=False, link_by_usin=False)
    return f"{len(made.plan.steps)} steps, {len(made.plan.refused)} refused"


async def _apply(settings: Settings, runtime: Runtime, file: str) -> str:
    [path] = (settings.home / "plans").glob("*.json")
    async with open_write_session(settings, runtime, Provenance("benchmark", path.stem)) as session:
        applied, loaded = await apply_roster(settings, runtime, session, path.stem)
    read = ", ".join(f"{load.spec.name} {load.status}" for load in loaded)
    return f"{dict(counted(applied.outcomes))} {applied.stopped}; read again: {read}"


STEPS = {"load": _load, "plan": _plan, "apply": _apply}


def _people(platform: RunningSimulator) -> list[dict[str, Any]]:
    return [entry["row"] for entry in platform.rows("v1_users", SCHOOL) if not entry["trashed"]]


def _kind(entry: dict[str, Any]) -> str:
    """The purpose of a request."""
    if entry["path"].endswith("/tokens"):
        return "token"
    if entry["path"].startswith("/api/v3/"):
        return "lists of v3"
    if "outer_id" in entry["query"]:
        return "looks at one user"
    return f"{entry['method']} {'lists of users' if entry['method'] == 'GET' else 'of a user'}"


if __name__ == "__main__":
    main()
