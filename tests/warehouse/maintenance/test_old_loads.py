"""Years of the load log: what changed nothing goes, what somebody still needs stays."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.kits.lake.small_lake import MARKS, SLICE
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import LOAD_LOG
from warehouse.lake.tables import Slice, Table
from warehouse.load.logs.load_log import now, record_failure, record_load
from warehouse.load.logs.writer import standing_rows
from warehouse.load.slice_reading import Cause
from warehouse.maintenance.compaction import maintain

OTHER = Slice.of(_school_id=102, _semester_id=20)
PLAIN = replace(MARKS, name="plain", tracks_changes=False)
KEPT = timedelta(days=400)


def loaded(lake: Lake, days_ago: int, slice: Slice = SLICE, table: Table = MARKS, **said: Any) -> datetime:
    """One row of the load log: nothing has changed, unless it says so. Returns when the reading began."""
    began = now() - timedelta(days=days_ago)
    entry = {
        "sync_id": f"{days_ago} days ago",
        "started_at": began,
        "finished_at": began + timedelta(minutes=1),
        "status": "ok",
        "message": "",
        "complete": True,
        "whole": True,
        **dict.fromkeys(("new", "changed", "vanished", "returned"), 0),
    }
    record_load(lake, table, slice, entry | said)
    return began


def kept(lake: Lake) -> set[tuple[str, str]]:
    rows = lake.read(LOAD_LOG).to_pylist()
    return {(f"{row['resource']} {row['slice']}", row["sync_id"]) for row in rows}


def test_old_loads_that_changed_nothing_are_forgotten(lake: Lake, tmp_path: Path) -> None:
    lake.ensure([PLAIN])
    loaded(lake, 900, new=5)
    loaded(lake, 600)
    loaded(lake, 500)
    loaded(lake, 300)
    loaded(lake, 1)
    loaded(lake, 900, OTHER)
    loaded(lake, 800, OTHER)
    loaded(lake, 900, table=PLAIN, changed=3)
    loaded(lake, 700, table=PLAIN)
    loaded(lake, 600, table=PLAIN, status="failed", complete=False, message="refused")
    before = standing_rows(lake)
    maintain(lake, [MARKS, PLAIN], tmp_path / "work", keep_loads=KEPT)
    assert kept(lake) == {
        (f"marks {SLICE}", "900 days ago"),  # the change log has what it changed
        (f"marks {SLICE}", "300 days ago"),
        (f"marks {SLICE}", "1 days ago"),
        (f"marks {OTHER}", "800 days ago"),  # its last load
        (f"plain {SLICE}", "700 days ago"),  # the last one that missed nothing
        (f"plain {SLICE}", "600 days ago"),  # its last attempt
    }
    assert standing_rows(lake) == before


def test_what_is_forgotten_costs_one_commit_and_the_next_care_none(lake: Lake, tmp_path: Path) -> None:
    loaded(lake, 900)
    loaded(lake, 880)
    loaded(lake, 1)
    maintain(lake, [MARKS], tmp_path / "work", keep_loads=KEPT)
    assert kept(lake) == {(f"marks {SLICE}", "1 days ago")}
    version = lake.version(LOAD_LOG)
    maintain(lake, [MARKS], tmp_path / "work", keep_loads=KEPT)
    assert lake.version(LOAD_LOG) == version


def test_without_a_limit_nothing_is_forgotten(lake: Lake, tmp_path: Path) -> None:
    started = loaded(lake, 900)
    loaded(lake, 1)
    record_failure(lake, MARKS, OTHER, Cause("x", "x", started), "refused")
    maintain(lake, [MARKS], tmp_path / "work")
    assert len(kept(lake)) == 3
