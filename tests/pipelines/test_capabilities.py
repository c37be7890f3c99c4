"""What a first sync found of the platform is known to the next one, for a week, unless it is forgotten."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from command_line import campus
from world import World

from campus.capabilities import Capabilities, Findings, Rejection
from loading import capabilities as kept
from loading.capabilities import NAME, forget_capabilities, keep_capabilities, read_capabilities

PLATFORM = "http://platform.example"
REJECTION = Rejection("/api/v3/klass/classes", "expand", "grades")


def noted() -> Capabilities:
    capabilities = Capabilities()
    capabilities.page_size = 100
    capabilities.reject(REJECTION.path, REJECTION.parameter, REJECTION.value)
    capabilities.reject("/api/v3/klass/classes", "updated_at_egt", lasting=False)
    return capabilities


def test_findings_are_kept_for_their_platform(tmp_path: Path) -> None:
    keep_capabilities(tmp_path, PLATFORM, noted())
    read = read_capabilities(tmp_path, PLATFORM)
    assert (read.page_size, read.rejected) == (100, {REJECTION})
    assert read_capabilities(tmp_path, "http://other.example") == Capabilities()
    forget_capabilities(tmp_path)
    assert read_capabilities(tmp_path, PLATFORM) == Capabilities()


def test_rejections_for_this_run_are_not_kept(tmp_path: Path) -> None:
    capabilities = noted()
    assert capabilities.rejects("/api/v3/klass/classes", "updated_at_egt")
    keep_capabilities(tmp_path, PLATFORM, capabilities)
    assert not read_capabilities(tmp_path, PLATFORM).rejects("/api/v3/klass/classes", "updated_at_egt")


def test_two_runs_at_once_lose_no_rejection(tmp_path: Path) -> None:
    mine, theirs = Capabilities(), Capabilities()
    mine.reject("/a", "expand")
    theirs.reject("/b", "expand")
    keep_capabilities(tmp_path, PLATFORM, mine)
    keep_capabilities(tmp_path, PLATFORM, theirs)
    assert read_capabilities(tmp_path, PLATFORM).rejected == {
        Rejection("/a", "expand"),
        Rejection("/b", "expand"),
    }


def test_findings_are_outdated_after_a_week() -> None:
    since = date(2026, 3, 2)
    findings = Findings(PLATFORM, since)
    assert findings.is_valid(PLATFORM, since + timedelta(days=6))
    assert not findings.is_valid(PLATFORM, since + timedelta(days=7))
    assert not findings.is_valid(PLATFORM, since - timedelta(days=1))


@pytest.mark.parametrize("content", ["", "{", '{"rejected": 1}'])
def test_a_damaged_file_is_no_finding(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    assert read_capabilities(tmp_path, PLATFORM) == Capabilities()
    keep_capabilities(tmp_path, PLATFORM, noted())
    assert read_capabilities(tmp_path, PLATFORM).page_size == 100


def test_the_second_sync_tries_nothing_that_was_rejected(make_world: Callable[..., World]) -> None:
    world = make_world(students=8, semesters=1, datasets=False, max_per_page=20, unlisted="422")
    assert world.load().problems == []
    refused = [entry for entry in world.platform.log() if entry["status"] == 422]
    assert refused
    world.platform.clear_log()
    assert world.load().problems == []
    assert [entry for entry in world.platform.log() if entry["status"] == 422] == []
    environment = {
        "CAMPUS_HOME": str(world.home),
        "CAMPUS_BASE_URL": world.platform.base_url,
        "CAMPUS_ALLOW_HTTP": "true",
        "CAMPUS_CLIENT_ID": world.platform.client_id,
        "CAMPUS_CLIENT_SECRET": world.platform.client_secret,
    }
    said = campus(world.home, "doctor", **environment)
    assert "rejects page for /api/v3/term/{type}/terms" in said.output
    assert kept.NAME in {path.name for path in world.home.iterdir()}
    campus(world.home, "doctor", "--rediscover", **environment)
    assert read_capabilities(world.home, world.platform.base_url) == Capabilities()
