"""What was found of the platform's capabilities, kept in the home from one run to the next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from warehouse.files import write_text
from warehouse.load.load_log import now

if TYPE_CHECKING:
    from campus.capabilities import Capabilities, Findings

NAME = "capabilities.json"


def read_capabilities(home: Path, base_url: str) -> tuple[Capabilities, Findings]:
    """What earlier runs of this home found of a platform, and as it is kept; nothing where it is outdated."""
    from campus.capabilities import Capabilities, Findings

    findings = _findings(home, base_url) or Findings(base_url, now().date())
    return Capabilities.of(findings, now().date()), findings


def keep_capabilities(home: Path, capabilities: Capabilities, before: Findings) -> None:
    """Keep what a run found, beside what other runs have found meanwhile. before: what it began with, which
    is not kept again where it was forgotten or outdated since."""
    from campus.capabilities import Findings

    today = now().date()
    stored = _findings(home, before.base_url)
    kept = stored or Findings(before.base_url, today)
    known = kept
    if capabilities.page_size != before.page_size:
        kept = replace(kept, page_size=capabilities.page_size)
    if capabilities.prefix != before.prefix:
        kept = replace(kept, prefix=capabilities.prefix)
    kept = replace(kept, rejected=kept.rejected | (capabilities.lasting - before.rejected))
    if capabilities.confirmation.contradicted > int(before.contradicted_on == today):
        kept = replace(kept, contradicted_on=today)
    if kept != known:
        write_text(home / NAME, msgspec.json.encode(kept, order="sorted").decode())


def forget_capabilities(home: Path) -> None:
    """Have the next run find out everything anew."""
    (home / NAME).unlink(missing_ok=True)


def _findings(home: Path, base_url: str) -> Findings | None:
    from campus.capabilities import Findings

    try:
        findings = msgspec.json.decode((home / NAME).read_bytes(), type=Findings)
    except (OSError, msgspec.DecodeError):
        # What cannot be read is found out anew.
        return None
    return findings if findings.is_valid(base_url, now().date()) else None
