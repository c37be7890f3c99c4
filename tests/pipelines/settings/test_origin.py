"""What a home was loaded from: its simulator comes again, and a missing platform is said in words."""

from pathlib import Path

import dagster as dg
import pytest

from assets.shared.load_kind import is_halted
from pipelines.definitions import build_definitions
from pipelines.runs.instance import open_instance
from pipelines.runs.jobs import DISCOVERY
from pipelines.settings.origin import NOTE, Origin, read_origin
from pipelines.settings.settings import SettingsError, claim_home, load_settings, needs_platform
from pipelines.settings.simulated_platform import (
    CORRECTED_GRADES,
    correct_grades,
    made_up_platform,
    note_correction,
)

PLATFORM = {
    "CAMPUS_BASE_URL": "https://school.example/",
    "CAMPUS_CLIENT_ID": "us",
    "CAMPUS_CLIENT_SECRET": "correct-horse-battery-staple",
}


def test_made_up_home_starts_its_simulator_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAMPUS_HOME", str(tmp_path))
    with monkeypatch.context() as named:
        named.setenv("CAMPUS_BASE_URL", "simulator")
        claim_home(load_settings())
    assert load_settings().embedded
    # Credentials mean a platform, whose address was forgotten.
    monkeypatch.setenv("CAMPUS_CLIENT_ID", "us")
    assert not load_settings().embedded


def test_home_remembers_its_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAMPUS_HOME", str(tmp_path))
    with monkeypatch.context() as named:
        for name, value in PLATFORM.items():
            named.setenv(name, value)
        claim_home(load_settings())
    note = (tmp_path / NOTE).read_text()
    assert note == "a platform\nhttps://school.example" and PLATFORM["CAMPUS_CLIENT_SECRET"] not in note
    settings = load_settings()
    assert settings.base_url is None, "no secret goes where a note in the home says"
    with pytest.raises(SettingsError) as error:
        needs_platform(settings)
    [problem] = error.value.problems
    assert f"CAMPUS_HOME {tmp_path} was loaded from https://school.example" in problem
    assert "CAMPUS_CLIENT_SECRET" in problem


@pytest.mark.parametrize(
    ("note", "origin"), [("a platform", Origin(False)), ("the simulator", Origin(True)), ("", Origin(False))]
)
def test_note_without_details_is_read(note: str, origin: Origin, tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text(note)
    assert read_origin(tmp_path) == origin


def test_corrections_come_again_with_the_simulator(tmp_path: Path) -> None:
    with made_up_platform(tmp_path) as platform:
        school = platform.rows("schools", 0)[0]["key"]
        before = platform.rows("grades", school)
        assert correct_grades(platform) == CORRECTED_GRADES
        corrected = platform.rows("grades", school)
    note_correction(tmp_path)
    with made_up_platform(tmp_path) as platform:
        assert platform.rows("grades", school) == corrected != before
    assert load_origin(tmp_path).corrections == 1


def load_origin(home: Path) -> Origin:
    origin = read_origin(home)
    assert origin is not None
    return origin


@pytest.mark.parametrize("remembered", [None, "https://school.example"])
def test_run_without_platform_fails_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, remembered: str | None
) -> None:
    monkeypatch.setenv("CAMPUS_HOME", str(tmp_path))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    if remembered:
        (tmp_path / NOTE).write_text(f"a platform\n{remembered}")
    settings = load_settings()
    with open_instance(settings) as instance:
        job = build_definitions(settings).resolve_job_def(DISCOVERY)
        done = job.execute_in_process(instance=instance, raise_on_error=False)
        [failed] = [event for event in done.all_events if event.is_step_failure]
        run = instance.get_run_by_id(done.run_id)
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None and str(failure.description).startswith("CAMPUS_BASE_URL is not set")
    assert (remembered or "CAMPUS_BASE_URL=simulator") in str(failure.description)
    assert run is not None and run.status == dg.DagsterRunStatus.FAILURE and is_halted(run.tags)
