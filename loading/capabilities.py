"""What was found of the platform's capabilities, kept in the home from one run to the next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from warehouse.files import write_text
from warehouse.load.load_log import now

if TYPE_CHECKING:
    from campus.capabilities import Capabilities, Findings

NAME = "capabilities.json"


def read_capabilities(home: Path, base_url: str) -> Capabilities:
    """What earlier runs of this home found of a platform; nothing where that is a week old."""
    from campus.capabilities import Capabilities

    findings = _findings(home, base_url)
    return Capabilities() if findings is None else Capabilities.of(findings)


def keep_capabilities(home: Path, base_url: str, capabilities: Capabilities) -> None:
    """Keep what a run found, beside what another run has found meanwhile."""
    stored = _findings(home, base_url)
    findings = capabilities.findings(base_url, now().date() if stored is None else stored.since)
    if stored is not None:
        findings.rejected = findings.rejected | stored.rejected
        findings.false_empties = max(findings.false_empties, stored.false_empties)
    if findings.is_news and findings != stored:
        write_text(home / NAME, msgspec.json.encode(findings, order="sorted").decode())


def forget_capabilities(home: Path) -> None:
    """Have the next run find out everything anew."""
    (home / NAME).unlink(missing_ok=True)


def _findings(home: Path, base_url: str) -> Findings | None:
    from campus.capabilities import Findings

    try:
        findings = msgspec.json.decode((home / NAME).read_bytes(), type=Findings)
    except (FileNotFoundError, msgspec.DecodeError):
        # A file of another version is found out anew.
        return None
    return findings if findings.is_valid(base_url, now().date()) else None
