"""The lake is made ready once a version and kind of settings, and is ready whatever happened to it since."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import obstore
import pytest

from loading import custom_fields
from loading.custom_fields import USERS
from loading.tables import TABLES
from pipelines.lake import opening as lakes
from pipelines.lake.opening import NOTE, lake_of, make_ready, note_id_numbers
from pipelines.runs.storage_failures import store_message
from pipelines.settings.settings import Settings, SettingsError
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import STANDINGS
from warehouse.load.history import past_rows


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done to make a lake ready, by name."""
    done: list[str] = []

    def told(name: str, does: Callable[..., Any]) -> Callable[..., Any]:
        def do(*given: Any) -> Any:
            done.append(name)
            return does(*given)

        return do

    # Imported where they are needed, hence by their own modules.
    monkeypatch.setattr(past_rows, "begin", told("begun", past_rows.begin))
    monkeypatch.setattr(
        custom_fields, "forget_id_numbers", told("forgotten", custom_fields.forget_id_numbers)
    )
    return done


def test_a_lake_is_made_ready_once(tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=tmp_path)
    for _ in range(3):
        make_ready(lake_of(settings), settings)
    assert asked == ["begun", "forgotten"]
    keeps = settings.model_copy(update={"keep_id_numbers": True})
    make_ready(lake_of(keeps), keeps)
    make_ready(lake_of(keeps), keeps)
    assert asked == ["begun", "forgotten", "begun"]
    make_ready(lake_of(settings), settings)
    assert asked[-1] == "forgotten" and len(asked) == 5
    monkeypatch.setattr(lakes, "models_digest", lambda: "another version")
    make_ready(lake_of(settings), settings)
    make_ready(lake_of(settings), settings)
    assert len(asked) == 7


@pytest.mark.parametrize("folder", ["", STANDINGS.folder, USERS.name])
def test_what_was_deleted_is_made_anew(tmp_path: Path, folder: str) -> None:
    settings = Settings(home=tmp_path)
    make_ready(lake_of(settings), settings)
    shutil.rmtree(tmp_path / "lake" / folder)
    make_ready(lake_of(settings), settings)
    lake = lake_of(settings)
    assert all(lake.holds(table) for table in (*TABLES.values(), STANDINGS))


def test_what_fails_is_done_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=tmp_path)

    def away(_lake: Lake) -> None:
        raise OSError("away")

    with monkeypatch.context() as patch:
        patch.setattr(custom_fields, "forget_id_numbers", away)
        with pytest.raises(OSError, match="away"):
            make_ready(lake_of(settings), settings)
    assert not (tmp_path / "lake" / NOTE).exists()


def test_a_run_that_keeps_id_numbers_says_so_at_its_end(tmp_path: Path, asked: list[str]) -> None:
    none = Settings(home=tmp_path)
    keeps = none.model_copy(update={"keep_id_numbers": True})
    make_ready(lake_of(keeps), keeps)
    # The setting is turned off while that run goes on.
    make_ready(lake_of(none), none)
    note_id_numbers(lake_of(keeps), keeps)
    make_ready(lake_of(none), none)
    assert asked.count("forgotten") == 2


def test_made_up_schools_do_not_come_to_a_lake_of_real_ones(tmp_path: Path) -> None:
    shared = {"lake": str(tmp_path / "lake"), "client_id": "id", "client_secret": "secret"}
    real = Settings(home=tmp_path / "a", base_url="https://school.example", **shared)
    make_ready(lake_of(real), real)
    builds = Settings(home=tmp_path / "b", **shared)
    make_ready(lake_of(builds), builds)
    made_up = Settings(home=tmp_path / "b", base_url="simulator", **shared)
    message = "holds data of a platform, .*: made-up and real schools do not mix. Name another CAMPUS_LAKE"
    with pytest.raises(SettingsError, match=message):
        make_ready(lake_of(made_up), made_up)


def test_a_store_that_overwrites_what_is_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, put = Lake(str(tmp_path / "lake")), obstore.put
    lakes._test_conditional_put(lake)
    monkeypatch.setattr(lakes.obstore, "put", lambda store, name, content, **_: put(store, name, content))  # type: ignore[attr-defined]
    with pytest.raises(SettingsError, match=r"this store has no conditional put \(If-None-Match\)"):
        lakes._test_conditional_put(lake)
    assert not (tmp_path / "lake" / lakes.TRIAL).exists()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "Generic S3 error: Error performing GET http://127.0.0.1:9/b - refused",
            "does not answer",
        ),
        ("Generic S3 error\n 404 Not Found <Code>NoSuchBucket</Code>", "has no such bucket"),
        ("Error performing PUT http://169.254.169.254/latest/api/token in 3 s", "there are no credentials"),
        ("Generic S3 error: 403 Forbidden <Code>InvalidAccessKeyId</Code>", "refuses the credentials"),
    ],
)
def test_what_a_store_says_is_a_sentence(said: str, words: str) -> None:
    message = store_message(said)
    assert message and words in message and "\n" not in message and "127.0.0.1" not in message
    assert store_message("No such file or directory") is None
