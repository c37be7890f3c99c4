"""The commands `campus quarantine list` and `replay`."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from campus.contracts.fields import fields
from campus.http.errors import PlatformUnavailable
from campus.registry import RESOURCES
from campus.selections import nearest
from loading.outage import connected
from loading.quarantine import Replayed, by_slice, replay
from loading.runtime import Cause, Runtime
from pipelines.cli.commands import run_build
from pipelines.cli.display import USAGE, complain, console, errors
from pipelines.cli.rows import print_rows
from pipelines.cli.session import session
from pipelines.lake import lake_of
from pipelines.of_schools import no_such
from pipelines.resources import open_runtime
from pipelines.settings import Settings, claim_home, needs_platform
from warehouse.lake.delta import Lake
from warehouse.load.load_log import now, quarantine_rows, schools_loaded
from warehouse.load.log_writer import batched

Row = dict[str, Any]

COLUMNS = ("school", "resource", "slice", "key", "reason", "first_seen", "last_seen", "raw")


def run_list(
    settings: Settings, schools: Sequence[int], resources: Sequence[str], style: str, *, personal: bool
) -> int:
    """Show what waits in quarantine. `personal`: with all that the platform sent. The exit status."""
    lake = lake_of(settings)
    rows = quarantine_rows(lake, schools, resources)
    if not rows and (unknown := _unknown(lake, schools, resources)):
        complain(unknown)
        return USAGE
    shown = [
        [
            row["_school_id"],
            row["resource"],
            row["slice"],
            row["key"],
            row["reason"],
            str(row["first_seen"]),
            str(row["last_seen"]),
            row["raw"] if personal else without_personal(row["resource"], row["raw"]),
        ]
        for row in rows
    ]
    if style == "table" and not rows:
        console.print("Nothing waits in quarantine.")
    else:
        print_rows(COLUMNS, shown, style)
    return 0


def run_replay(settings: Settings, schools: Sequence[int], resources: Sequence[str]) -> int:
    """Try again what waits in quarantine, and publish what came of it. The exit status: 1 where something
    could not be tried."""
    needs_platform(settings)
    claim_home(settings)
    with session(settings, "campus quarantine replay") as tags:
        return _replay(settings, schools, resources, tags)


def _replay(
    settings: Settings, schools: Sequence[int], resources: Sequence[str], tags: Mapping[str, str]
) -> int:
    with open_runtime(settings) as runtime:
        slices = by_slice(quarantine_rows(runtime.lake, schools, resources))
        if not slices:
            if unknown := _unknown(runtime.lake, schools, resources):
                complain(unknown)
                return USAGE
            console.print("Nothing waits in quarantine.")
            return 0
        with batched(runtime.lake):
            status, ends = asyncio.run(_replay_all(runtime, slices))
    waited, left = sum(end.before for end in ends), sum(end.left for end in ends)
    console.print(f"{waited - left} of {waited} rows are out of quarantine.")
    if left:
        console.print(
            f"{left} stay: the platform still sends them so, or nothing names them alone, and the next sync "
            f"reads their list in full. campus quarantine list shows them."
        )
    return max(status, run_build(settings, tags)) if left < waited else status


async def _replay_all(
    runtime: Runtime, slices: Mapping[tuple[str, str], list[Row]]
) -> tuple[int, list[Replayed]]:
    ends: list[Replayed] = []
    started_at, status = now(), 0
    cause = Cause(f"replay-{started_at:%Y%m%d-%H%M%S}", "", started_at)
    scopes = {RESOURCES[name].scopes for name, _ in slices if name in RESOURCES}
    async with connected(runtime, sorted(scopes)) as client:
        for (resource, label), rows in slices.items():
            try:
                end = await replay(runtime, client, cause, resource, label, rows)
            except PlatformUnavailable as halt:
                end = Replayed(resource, label, len(rows), len(rows), str(halt))
            ends.append(end)
            if end.problem:
                status = 1
                errors.print(f"{resource} {label}: {end.problem}", markup=False, soft_wrap=True)
            else:
                console.print(f"{resource} {label}: {end.before - end.left} of {end.before}", markup=False)
            if client.health.down:
                break
    return status, ends


def without_personal(resource: str, raw: str) -> str:
    """The members of a row that are known to tell about no person; the names of the others, without values.
    What is no object is not shown at all."""
    try:
        sent = json.loads(raw)
    except ValueError:
        return "(no JSON)"
    if not isinstance(sent, dict):
        return "(no object)"
    spec = RESOURCES.get(resource)
    plain = {f.wire for f in fields(spec.contract) if not f.personal and f.nested is None} if spec else set()
    shown = {
        name: value if name in plain and not isinstance(value, dict | list) else "…"
        for name, value in sent.items()
    }
    return json.dumps(shown, ensure_ascii=False)


def _unknown(lake: Lake, schools: Sequence[int], resources: Sequence[str]) -> str | None:
    """What of the names is no school or resource, in words; None: all are, or are a dataset's or report's
    table."""
    for name in resources:
        if name not in RESOURCES and "." not in name:
            return f"there is no resource {name!r}{nearest(name, RESOURCES)}"
    return no_such(schools, schools_loaded(lake))
