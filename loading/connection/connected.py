"""The connection of a run, its note on an outage, and the platform's capabilities for the next runs.

A run waits half a minute for a silent platform, since a restart takes less. The runs of twenty schools would
each wait. So the first run leaves a note, and the runs after it try twice and end.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from warehouse.files import write_text
from warehouse.load.logs.load_log import now

if TYPE_CHECKING:
    from campus.capabilities import Capabilities, Findings
    from campus.http.client import Client
    from loading.connection.runtime import Runtime

NOTE = "platform_outage.json"
CAPABILITIES = "capabilities.json"
#: Seconds for which a note counts. Later runs wait in full again.
KNOWN_FOR = 600.0


@asynccontextmanager
async def connected(runtime: Runtime, scopes: Iterable[tuple[str, ...]]) -> AsyncIterator[Client]:
    """A client for a run. `scopes`: as of `Client`."""
    # Readers of the note alone do not need HTTP.
    from campus.http.client import Client

    note, address = runtime.home / NOTE, runtime.client.base_url
    capabilities, before = read_capabilities(runtime.home, address)
    async with Client(runtime.client, scopes, runtime.listener, capabilities) as client:
        since = known_since(note, address)
        if since is not None:
            client.health.suspect(time.monotonic() - (time.time() - since))
        try:
            yield client
            if client.health.down is None:
                keep_capabilities(runtime.home, capabilities, before)
        finally:
            _leave_note(note, address, client)


def known_since(note: Path, address: str, within: float = KNOWN_FOR) -> float | None:
    """The beginning of an outage by the note of an earlier run, in seconds since the epoch. None: no outage
    is known. The first response of the platform deletes the note.

    Args:
        within: Seconds for which the note counts."""
    outage = _read(note, address)
    if outage is None or not outage["outage"] or not 0 <= time.time() - outage["seen_at"] < within:
        return None
    return float(outage["since"])


def is_refused(note: Path, address: str) -> bool:
    """Whether the last run was stopped for a reason that does not end by itself, such as a wrong secret."""
    outage = _read(note, address)
    return outage is not None and not outage["outage"]


def _read(note: Path, address: str) -> dict[str, Any] | None:
    """The note on this platform. None: there is none."""
    try:
        content: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return content if content["address"] == address else None


def _leave_note(note: Path, address: str, client: Client) -> None:
    health = client.health
    if health.down is not None:
        since = time.time() - health.silence(time.monotonic())
        content = {"address": address, "since": since, "seen_at": time.time(), "outage": health.down.outage}
        write_text(note, json.dumps(content))
    elif health.last_answer > 0:
        note.unlink(missing_ok=True)


def read_capabilities(home: Path, base_url: str) -> tuple[Capabilities, Findings]:
    """The capabilities that earlier runs of this home have discovered, and the stored findings. Outdated
    findings count as none."""
    from campus.capabilities import Capabilities, Findings

    findings = _findings(home, base_url) or Findings(base_url, now().date())
    return Capabilities.of(findings, now().date()), findings


def keep_capabilities(home: Path, capabilities: Capabilities, before: Findings) -> None:
    """Store the findings of a run, merged with findings that other runs have stored meanwhile.

    Args:
        before: The findings at the start of the run. They are not stored again if they were forgotten or
            outdated since."""
    from campus.capabilities import Findings

    today = now().date()
    stored = _findings(home, before.base_url)
    merged = stored or Findings(before.base_url, today)
    unchanged = merged
    if capabilities.page_size != before.page_size:
        merged = replace(merged, page_size=capabilities.page_size)
    if capabilities.prefix != before.prefix:
        merged = replace(merged, prefix=capabilities.prefix)
    merged = replace(merged, rejected=merged.rejected | (capabilities.lasting - before.rejected))
    if capabilities.confirmation.contradicted > int(before.contradicted_on == today):
        merged = replace(merged, contradicted_on=today)
    if merged != unchanged:
        write_text(home / CAPABILITIES, msgspec.json.encode(merged, order="sorted").decode())


def forget_capabilities(home: Path) -> None:
    """Let the next run discover all capabilities again."""
    (home / CAPABILITIES).unlink(missing_ok=True)


def _findings(home: Path, base_url: str) -> Findings | None:
    from campus.capabilities import Findings

    try:
        findings = msgspec.json.decode((home / CAPABILITIES).read_bytes(), type=Findings)
    except (OSError, msgspec.DecodeError):
        # An unreadable file counts as no findings, so that the run discovers the capabilities again.
        return None
    return findings if findings.is_valid(base_url, now().date()) else None
