"""What a first sync found of the platform is known to the next one, for a week, unless it is forgotten."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from campus.capabilities import Capabilities, Findings, Rejection
from loading.connection import connected as kept
from loading.connection.connected import (
    CAPABILITIES,
    forget_capabilities,
    keep_capabilities,
    read_capabilities,
)
from tests.kits.programs.command_line import campus
from tests.kits.programs.processes import environment_for
from tests.kits.worlds.world import World
from warehouse.load.logs.load_log import now

PLATFORM = "http://platform.example"
REJECTION = Rejection("/api/v3/klass/classes", "expand", "grades")


def keep(home: Path, capabilities: Capabilities) -> None:
    keep_capabilities(home, capabilities, Findings(PLATFORM, now().date()))


def read(home: Path, base_url: str = PLATFORM) -> Capabilities:
    return read_capabilities(home, base_url)[0]


def noted() -> Capabilities:
    capabilities = Capabilities(page_size=100)
    capabilities.reject(REJECTION.path, REJECTION.parameter, REJECTION.value, lasting=True)
    capabilities.reject(REJECTION.path, "with_trashed")
    return capabilities


def test_findings_are_kept_for_their_platform(tmp_path: Path) -> None:
    keep(tmp_path, noted())
    assert (read(tmp_path).page_size, read(tmp_path).lasting) == (100, {REJECTION})
    assert read(tmp_path, "http://other.example") == Capabilities()
    forget_capabilities(tmp_path)
    assert read(tmp_path) == Capabilities()


def test_findings_of_earlier_versions_still_count(tmp_path: Path) -> None:
    today = now().date()
    stored = {"base_url": PLATFORM, "since": str(today), "page_size": 100, "doubted_on": str(today)}
    (tmp_path / CAPABILITIES).write_text(json.dumps(stored))
    capabilities = read(tmp_path)
    assert (capabilities.page_size, capabilities.confirmation.contradicted) == (100, 1)
    keep_capabilities(tmp_path, capabilities, read_capabilities(tmp_path, PLATFORM)[1])
    assert json.loads((tmp_path / CAPABILITIES).read_text()) == stored


def test_rejections_for_one_run_are_not_kept(tmp_path: Path) -> None:
    capabilities = noted()
    assert capabilities.rejects(REJECTION.path, "with_trashed")
    keep(tmp_path, capabilities)
    assert not read(tmp_path).rejects(REJECTION.path, "with_trashed")


def test_two_runs_at_once_lose_no_rejection(tmp_path: Path) -> None:
    mine, theirs = Capabilities(), Capabilities()
    mine.reject("/a", "expand", lasting=True)
    theirs.reject("/b", "expand", lasting=True)
    keep(tmp_path, mine)
    keep(tmp_path, theirs)
    assert read(tmp_path).lasting == {Rejection("/a", "expand"), Rejection("/b", "expand")}


def test_what_is_forgotten_meanwhile_stays_forgotten(tmp_path: Path) -> None:
    keep(tmp_path, noted())
    capabilities, before = read_capabilities(tmp_path, PLATFORM)
    forget_capabilities(tmp_path)
    capabilities.reject("/new", "expand", lasting=True)
    keep_capabilities(tmp_path, capabilities, before)
    assert (read(tmp_path).page_size, read(tmp_path).lasting) == (None, {Rejection("/new", "expand")})


def test_what_is_outdated_is_not_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that begins on the last day of the week and ends after it."""
    keep(tmp_path, noted())
    capabilities, before = read_capabilities(tmp_path, PLATFORM)
    later = now() + timedelta(days=7)
    monkeypatch.setattr(kept, "now", lambda: later)
    keep_capabilities(tmp_path, capabilities, before)
    assert read(tmp_path) == Capabilities()


def test_more_confirmation_is_needed_until_the_day_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capabilities = Capabilities()
    capabilities.confirmation.contradict()
    keep(tmp_path, capabilities)
    assert read(tmp_path).confirmation.contradicted == 1
    later = now() + timedelta(days=1)
    monkeypatch.setattr(kept, "now", lambda: later)
    assert read(tmp_path).confirmation.contradicted == 0


def test_findings_are_outdated_after_a_week() -> None:
    since = date(2026, 3, 2)
    findings = Findings(PLATFORM, since)
    assert findings.is_valid(PLATFORM, since + timedelta(days=6))
    assert not findings.is_valid(PLATFORM, since + timedelta(days=7))
    assert not findings.is_valid(PLATFORM, since - timedelta(days=1))


@pytest.mark.parametrize("content", ["", "{", '{"rejected": 1}'])
def test_a_damaged_file_is_no_finding(tmp_path: Path, content: str) -> None:
    (tmp_path / CAPABILITIES).write_text(content)
    assert read(tmp_path) == Capabilities()
    keep(tmp_path, noted())
    assert read(tmp_path).page_size == 100


def test_the_second_sync_asks_for_no_expansion_that_was_rejected(make_world: Callable[..., World]) -> None:
    world = make_world("small", admin_class_students="refused")
    assert world.load().problems == []
    refused = [entry for entry in world.platform.log() if entry["status"] == 422]
    assert refused
    world.platform.clear_log()
    assert world.load().problems == []
    assert [entry for entry in world.platform.log() if entry["status"] == 422] == []
    environment = environment_for(world.home, world.platform, CAMPUS_ALLOW_HTTP="true")
    said = campus(world.home, "doctor", **environment)
    assert "rejects expand=students for /api/v3/admin_class/admin_classes" in said.output
    campus(world.home, "doctor", "--rediscover", **environment)
    assert read(world.home, world.platform.base_url) == Capabilities()
    assert world.load(full=True).problems == []
    assert [entry for entry in world.platform.log() if entry["status"] == 422] != []
