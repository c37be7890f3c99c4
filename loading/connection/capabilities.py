"""Stores the discovered capabilities of the platform in the home, for later runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from warehouse.files import write_text
from warehouse.load.logs.load_log import now

if TYPE_CHECKING:
    from campus.capabilities import Capabilities, Findings

NAME = "capabilities.json"


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
        write_text(home / NAME, msgspec.json.encode(merged, order="sorted").decode())


def forget_capabilities(home: Path) -> None:
    """Let the next run discover all capabilities again."""
    (home / NAME).unlink(missing_ok=True)


def _findings(home: Path, base_url: str) -> Findings | None:
    from campus.capabilities import Findings

    try:
        findings = msgspec.json.decode((home / NAME).read_bytes(), type=Findings)
    except (OSError, msgspec.DecodeError):
        # An unreadable file counts as no findings, so that the run discovers the capabilities again.
        return None
    return findings if findings.is_valid(base_url, now().date()) else None
