"""The connection of a run, and what it leaves to the next ones where nothing can be asked of the platform.

A run waits half a minute for a platform that is silent, since a restart takes less. The run of each of twenty
schools would: so the one that has waited leaves a note, and those after it ask twice and end.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loading.capabilities import keep_capabilities, read_capabilities
from warehouse.files import write_text

if TYPE_CHECKING:
    from campus.http.client import Client
    from loading.runtime import Runtime

NOTE = "platform_outage.json"
#: Seconds for which a note counts; then a run has all of its patience again.
KNOWN_FOR = 600.0


@asynccontextmanager
async def connected(runtime: Runtime, scopes: Iterable[tuple[str, ...]]) -> AsyncIterator[Client]:
    """A client for a run. scopes: as Client takes them."""
    # Whoever only asks how the platform stood needs no HTTP.
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
    """Since when the platform has answered nothing, by a note of an earlier run (seconds since the epoch);
    None: nothing speaks against it. `within`: seconds for which the note counts; it goes with the first
    answer."""
    told = _read(note, address)
    if told is None or not told["outage"] or not 0 <= time.time() - told["seen_at"] < within:
        return None
    return float(told["since"])


def is_refused(note: Path, address: str) -> bool:
    """Whether the last run could ask nothing for a reason that does not end by itself, such as a secret that
    is wrong."""
    told = _read(note, address)
    return told is not None and not told["outage"]


def _read(note: Path, address: str) -> dict[str, Any] | None:
    """The note on this platform."""
    try:
        told: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return told if told["address"] == address else None


def _leave_note(note: Path, address: str, client: Client) -> None:
    health = client.health
    if health.down is not None:
        since = time.time() - health.silence(time.monotonic())
        told = {"address": address, "since": since, "seen_at": time.time(), "outage": health.down.outage}
        write_text(note, json.dumps(told))
    elif health.last_answer > 0:
        note.unlink(missing_ok=True)
