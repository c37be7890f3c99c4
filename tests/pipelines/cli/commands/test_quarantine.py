"""Values that no column holds: their rows load, and the platform's own value stays beside. Rows without a key
wait in quality.quarantine until they are mended."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from campus.registry import RESOURCES
from loading.tables import TABLES, slice_of
from pipelines.cli.actions import quarantine
from pipelines.cli.actions.quarantine import run_list, run_replay, without_personal
from tests.kits.worlds.world import World
from warehouse.load.logs.load_log import quarantine_rows, stay_in_quarantine

# A field, what the platform sends there instead, as JSON text, and what its column holds of that.
ODD: dict[str, tuple[str, str, str, Any]] = {
    "text for a number": ("structures", "depth", '"two"', None),
    "2^63": ("admin_classes", "place_id", "9223372036854775808", None),
    "1.7 for an integer": ("students", "pupil_id", "1.7", None),
    "a list for an object": ("classes", "teachers", "[[1]]", []),
    "an object for a list": ("reflections", "structure_ids", '{"1": 2}', None),
    "a word for a mark": ("grades", "score", '"eight"', None),
    "a percentage": ("grades", "gained_score_rate", '"85%"', Decimal("0.85")),
}


@pytest.fixture(scope="module")
def odd(load_world: Callable[..., World]) -> World:
    """A school synced once. What a test changes, the next one finds changed."""
    return load_world("small")


@pytest.mark.parametrize("kind", ODD)
def test_the_row_loads_with_what_its_column_can_hold_and_the_original_beside(odd: World, kind: str) -> None:
    resource, field, text, column = ODD[kind]
    entry = next(entry for entry in odd.platform.rows(resource, 101) if not entry["trashed"])
    before = odd.row(resource, entry["key"])
    odd.platform.update(resource, entry["key"], **{field: msgspec.Raw(text.encode())})
    assert odd.load(select=f'key:"raw/{resource}"').problems == []
    after = odd.row(resource, entry["key"])
    # What another of these tests has restored since is as it was only with the next sync.
    changing_columns = {"_extra", "_synced_at", "updated_at", *(name for _, name, *_ in ODD.values())}
    assert {name: value for name, value in after.items() if name not in changing_columns} == {
        name: value for name, value in before.items() if name not in changing_columns
    }
    assert after[field] == column
    assert json.loads(after["_extra"])[field] == json.loads(text)
    drift_rows = [row for row in odd.log("drift") if row["resource"] == resource and row["field"] == field]
    assert 1 in [row["rows"] for row in drift_rows]
    assert odd.log("quarantine") == []
    odd.platform.update(resource, entry["key"], **{field: entry["row"][field]})


def test_a_field_that_is_unreadable_in_many_rows_is_a_warning_by_name(odd: World) -> None:
    for entry in odd.platform.rows("structures", 101):
        odd.platform.update("structures", entry["key"], weight="schwer")
    load = odd.load()
    assert load.problems == []
    entry = load.entry("structures")
    assert entry["status"] == "warning"
    assert f"weight: {entry['received']} of {entry['received']} rows" in entry["message"]
    for entry in odd.platform.rows("structures", 101):
        odd.platform.update("structures", entry["key"], weight=1)


def test_words_for_marks_are_no_warning_however_many(odd: World) -> None:
    for entry in odd.platform.rows("grades", 101):
        odd.platform.update("grades", entry["key"], gpa="-", credit="必修")
    load = odd.load(select='key:"raw/grades"')
    assert (load.problems, load.entry("grades")["status"]) == ([], "ok")
    drifts = {(row["kind"], row["field"]) for row in odd.log("drift") if row["resource"] == "grades"}
    assert ("word_for_number", "credit") in drifts and ("word_for_number", "gpa") not in drifts


def test_a_row_without_a_key_waits_with_its_reason_and_keeps_its_last_good_version(odd: World) -> None:
    entry = next(entry for entry in odd.platform.rows("teachers", 101) if not entry["trashed"])
    before = odd.row("teachers", entry["key"])
    odd.platform.update("teachers", entry["key"], id=None)
    load = odd.load()
    [problem] = load.problems
    assert "quarantine" in problem and "teachers" in problem
    assert load.entry("teachers")["status"] == "failed"
    parts = ("loaded", "quarantined", "duplicates")
    assert all(row["received"] == sum(row[part] for part in parts) for row in load.log)
    [waiting] = odd.log("quarantine")
    assert (waiting["resource"], waiting["key"]) == ("teachers", None)
    assert "`id`" in waiting["reason"] and '"id":null' in waiting["raw"]
    assert odd.row("teachers", entry["key"]) == before


def test_a_mended_row_loads_and_a_small_share_in_quarantine_only_warns(odd: World) -> None:
    entry = next(e for e in odd.platform.rows("teachers", 101) if e["row"]["id"] is None)
    odd.platform.update("teachers", entry["key"], id=entry["key"])
    score = next(entry for entry in odd.platform.rows("scores", 101) if not entry["trashed"])
    odd.platform.update("scores", score["key"], id="nobody")
    load = odd.load()
    assert load.problems == []
    assert (load.entry("scores")["status"], load.entry("scores")["quarantined"]) == ("warning", 1)
    assert [row["resource"] for row in odd.log("quarantine")] == ["scores"]
    assert odd.row("teachers", entry["key"])["_extra"] is None


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing is built after a replay; how often it would have been."""
    builds: list[int] = []

    def run_build(*_arguments: Any) -> int:
        builds.append(1)
        return 0

    monkeypatch.setattr(quarantine, "run_build", run_build)
    return builds


def the_broken_score(world: World) -> dict[str, Any]:
    entries: list[dict[str, Any]] = world.platform.rows("scores", 101)
    return next(entry for entry in entries if entry["row"]["id"] == "nobody")


def test_what_waits_is_listed_without_what_tells_about_a_person(
    odd: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_list(odd.settings, (), (), "json", personal=False) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["school"], row["resource"], row["key"]) == (101, "scores", None)
    assert "`id`" in row["reason"] and row["first_seen"] and json.loads(row["raw"])["id"] == "nobody"
    assert run_list(odd.settings, (101,), ("students",), "table", personal=False) == 0
    assert "Nothing waits" in capsys.readouterr().out
    assert run_list(odd.settings, (), ("scors",), "table", personal=False) == 2
    assert "did you mean scores?" in capsys.readouterr().err


def test_names_are_shown_only_where_they_are_asked_for() -> None:
    raw = '{"id": null, "name": "张三", "depth": 2, "parent": {"name": "x"}, "new": "secret"}'
    shown = json.loads(without_personal("students", raw))
    assert shown["id"] is None and shown["name"] == shown["new"] == shown["parent"] == "…"
    assert without_personal("students", "[1]") == "(no object)"
    assert json.loads(without_personal("datasets.marks", '{"id": 1}')) == {"id": "…"}
    assert without_personal("interventions", '{"line": 3}') == '{"line": 3}', "of a school's own file"


def test_a_replay_of_what_is_broken_still_changes_nothing(
    odd: World, unbuilt: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    before, versions = odd.log("quarantine"), odd.versions()
    assert run_replay(odd.settings, (), ()) == 0
    assert "0 of 1 rows are out of quarantine" in capsys.readouterr().out
    [still] = odd.log("quarantine")
    assert still["first_seen"] == before[0]["first_seen"] and odd.versions() == versions and not unbuilt


def test_a_row_that_the_platform_has_mended_is_read_with_its_item_alone(
    odd: World, unbuilt: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    broken = the_broken_score(odd)
    odd.platform.update("scores", broken["key"], id=broken["key"], review="mended")
    odd.platform.clear_log()
    assert run_replay(odd.settings, (101,), ("scores",)) == 0
    assert "1 of 1 rows are out of quarantine" in capsys.readouterr().out
    assert odd.log("quarantine") == [] and unbuilt == [1]
    assert odd.row("scores", broken["key"])["review"] == "mended"
    assert {e["path"] for e in odd.platform.log() if e["method"] == "GET"} == {
        f"/api/v3/class-assessment/items/{broken['parent']}/scores"
    }
    [entry] = [row for row in odd.log("load_log") if row["sync_id"].startswith("replay-")][:1]
    assert entry["received"] == entry["loaded"] + entry["quarantined"] + entry["duplicates"]
    assert run_replay(odd.settings, (), ()) == 0
    assert "Nothing waits" in capsys.readouterr().out


def test_a_row_that_this_version_can_read_loads_from_the_quarantine(odd: World, unbuilt: list[int]) -> None:
    structure = next(e for e in odd.platform.rows("structures", 101) if not e["trashed"])
    raw = json.dumps({**structure["row"], "name": "from the quarantine"}, ensure_ascii=False)
    slice, seen = slice_of(RESOURCES["structures"], 101), odd.log("load_log")[0]["started_at"]
    row = {"key": None, "reason": "was unreadable", "unit": "", "sync_id": "s", "raw": raw}
    stays = row | {"raw": '{"id": null}'}
    seen_at = {"first_seen": seen, "last_seen": seen}
    stay_in_quarantine(odd.lake, TABLES["structures"], slice, [row | seen_at, stays | seen_at])
    alive = len(odd.held("structures"))
    odd.platform.clear_log()
    assert run_replay(odd.settings, (), ()) == 0
    assert [e for e in odd.platform.log() if e["method"] == "GET"] == []
    assert odd.row("structures", structure["key"])["name"] == "from the quarantine"
    assert len(odd.held("structures")) == alive, "nobody is gone for it"
    assert [left["raw"] for left in quarantine_rows(odd.lake)] == ['{"id": null}'] and unbuilt == [1]
    assert odd.load(select='key:"raw/structures"').problems == []
    assert quarantine_rows(odd.lake) == [], "a sync that reads the list has the last word"
    assert odd.row("structures", structure["key"])["name"] == structure["row"]["name"]
