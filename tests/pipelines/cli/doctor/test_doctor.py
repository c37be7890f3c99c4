"""The doctor has a finding in words for whatever a platform answers, and leaves nothing behind."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from loading.tables import TABLES
from pipelines.cli.doctor import examination, needed_scopes, run_doctor
from pipelines.cli.doctor.examination import NOT_KNOWN
from pipelines.lake.opening import lake_of
from pipelines.runs import storage_failures
from pipelines.settings.options import Options
from pipelines.settings.settings import Settings
from tests.kits.servers.answering import answering
from warehouse.lake.logs.tables import LOGS
from warehouse.lake.tables import Slice
from warehouse.load.logs.load_log import now, record_load

DEEP = b"[" * 10_000 + b"]" * 10_000


def settings_for(home: Path, base_url: str, client_id: str = "c", client_secret: str = "s") -> Settings:
    return Settings(home=home, base_url=base_url, client_id=client_id, client_secret=SecretStr(client_secret))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"id": 1', "a torn or invalid body"),
        (b'{"data": [{"id": 1}]}', "the answer does not consist of rows"),
        (b"[1, 2]", "the answer does not consist of rows"),
        (b'[{"name": "x"}]', "the rows have no numeric id"),
        (DEEP, "the JSON is nested too deeply to be read. Ask the platform's operator."),
        (b'[{"id": 1, "name": %b}]' % DEEP, "the JSON is nested too deeply"),
    ],
)
def test_an_answer_that_is_no_list_of_rows_is_a_finding(
    body: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(body) as base_url:
        status = run_doctor(settings_for(tmp_path / "home", base_url))
    output = capsys.readouterr().out
    assert status == 1 and words in output and "to mend" in output


def test_a_full_disk_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_failures, "MIN_FREE", 1 << 60)
    with answering(b"[]") as base_url:
        assert run_doctor(settings_for(tmp_path, base_url)) == 1
    assert f"!! The disk of {tmp_path} is full: " in capsys.readouterr().out


@pytest.mark.parametrize("hours", [8, -8])
def test_a_wrong_clock_is_a_finding(hours: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the platform refuses the credentials: that may come of the clock."""
    direction = "ahead of" if hours > 0 else "behind"
    for status in (200, 401):
        with answering(b"[]", status=status, ahead=timedelta(hours=hours)) as base_url:
            assert run_doctor(settings_for(tmp_path, base_url)) == 1
        output = capsys.readouterr().out
        assert re.search(
            rf"!! The platform's clock is 28,\d+ s {direction} this machine's: correct the wrong clock",
            output,
        )


def test_unlisted_schools_and_plain_http_are_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(b'[{"id": 101}]') as base_url:
        settings = settings_for(tmp_path, base_url)
        named = {"school_ids": (101, 999), "notify_url": SecretStr("http://chat.example/hook")}
        run_doctor(settings.model_copy(update=named))
    output = capsys.readouterr().out
    assert "CAMPUS_SCHOOL_IDS names 999, and the platform lists 101: correct CAMPUS_SCHOOL_IDS" in output
    assert "CAMPUS_NOTIFY_URL begins with http://, as CAMPUS_ALLOW_HTTP allows: others" in output


def test_what_only_a_sync_finds_out_is_not_known_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    with answering(b"[]") as base_url:
        settings = settings_for(home, base_url)
        run_doctor(settings)
        output = capsys.readouterr().out
        assert f"-- {home} does not exist yet: campus sync makes it." in output and "Nobody but" not in output
        assert f"-- {NOT_KNOWN}" in output and "no difference" not in output
        lake = lake_of(settings)
        lake.ensure(LOGS)
        load = {"sync_id": "n", "run_id": "r", "started_at": now(), "finished_at": now()}
        record_load(
            lake, TABLES["students"], Slice.of(_school_id=1), {**load, "status": "ok", "complete": True}
        )
        run_doctor(settings)
        assert "ok Earlier syncs found no difference between" in capsys.readouterr().out
        run_doctor(settings, rediscover=True)
        assert f"-- {NOT_KNOWN}" in capsys.readouterr().out


def test_a_lake_without_maintenance_for_a_week_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    today = now()
    lake_of(Settings(home=tmp_path)).ensure(LOGS)
    with answering(b"[]") as base_url:
        run_doctor(settings_for(tmp_path, base_url))
        assert "not maintained" not in capsys.readouterr().out
        monkeypatch.setattr(examination, "now", lambda: today + timedelta(days=8))
        run_doctor(settings_for(tmp_path, base_url))
    assert f"!! The lake was not maintained since {today:%Y-%m-%d}: " in capsys.readouterr().out


def test_no_more_scopes_are_asked_for_than_a_sync_needs(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "http://127.0.0.1:9")
    options = Options.model_validate({"datasets": {"include": []}})
    scopes = {
        scope for group in needed_scopes(settings.model_copy(update={"options": options})) for scope in group
    }
    assert "semester.read" in scopes and not {"dataset.read_all", "reporting.read_all"} & scopes
    everything = {
        scope for group in needed_scopes(settings.model_copy(update={"reports": ("51",)})) for scope in group
    }
    assert everything >= scopes | {"dataset.read_all", "reporting.read_all"}
