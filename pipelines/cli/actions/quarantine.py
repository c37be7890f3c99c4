"""The work of `campus quarantine list` and `campus quarantine replay`."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from campus.contracts.fields import fields
from campus.http.errors import PlatformUnavailable
from campus.registry import INPUTS, RESOURCES
from campus.selections import nearest
from loading.connection.connected import connected
from loading.connection.runtime import Runtime
from loading.quarantine import Replayed, by_slice, replay
from loading.tables import TABLES
from pipelines.cli.actions.load import run_build
from pipelines.cli.command_session import session
from pipelines.cli.terminal.display import USAGE, fail, print_error, print_line
from pipelines.cli.terminal.rows import print_rows
from pipelines.lake.opening import lake_of
from pipelines.resources import open_runtime
from pipelines.settings.settings import Settings, claim_home, needs_platform
from pipelines.status.school_groups import unknown_schools
from warehouse.lake.delta import Lake
from warehouse.load.logs.load_log import now, quarantine_rows, schools_loaded
from warehouse.load.logs.writer import batched
from warehouse.load.slice_reading import Cause

Row = dict[str, Any]

COLUMNS = ("school", "resource", "slice", "key", "reason", "first_seen", "last_seen", "raw")


def run_list(
    settings: Settings, schools: Sequence[int], resources: Sequence[str], style: str, *, personal: bool
) -> int:
    """Print the rows in quarantine. `personal`: with personal fields. Returns the exit status."""
    lake = lake_of(settings)
    rows = quarantine_rows(lake, schools, resources)
    if not rows and (unknown := _unknown(lake, schools, resources)):
        return fail(unknown, USAGE)
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
        print_line("Nothing waits in quarantine.")
    else:
        print_rows(COLUMNS, shown, style)
    return 0


def run_replay(settings: Settings, schools: Sequence[int], resources: Sequence[str]) -> int:
    """Load the rows in quarantine again, and publish. Returns the exit status: 1 where requests failed."""
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
                return fail(unknown, USAGE)
            print_line("Nothing waits in quarantine.")
            return 0
        with batched(runtime.lake):
            status, ends = asyncio.run(_replay_all(runtime, slices))
    before, left = sum(end.before for end in ends), sum(end.left for end in ends)
    print_line(f"{before - left} of {before} rows are out of quarantine.")
    if left:
        print_line(
            f"{left} rows stay: the platform still sends them as before, or they cannot be requested one by "
            "one and the next sync reads their whole list. campus quarantine list shows them."
        )
    return max(status, run_build(settings, tags)) if left < before else status


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
                print_error(f"{resource} {label}: {end.problem}")
            else:
                print_line(f"{resource} {label}: {end.before - end.left} of {end.before}")
            if client.health.down:
                break
    return status, ends


def without_personal(resource: str, raw: str) -> str:
    """A row's JSON with the values of fields that are not personal; other fields show `…`. JSON that is no
    object is not shown at all. Of a line of a school's own file the JSON has the number alone."""
    if resource in (spec.name for spec in INPUTS):
        return raw
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
    """Say which name is no school or resource; None: all are, or may be tables of a dataset or report."""
    for name in resources:
        if name not in TABLES and "." not in name:
            return f"there is no resource {name!r}{nearest(name, TABLES)}"
    return unknown_schools(schools, schools_loaded(lake))
