"""The push miss rate as it is published: a row a school, resource and day on which something changed."""

from datetime import date, datetime
from pathlib import Path

import duckdb

from loading.pushes.inbox import Misses, inbox_path, open_inbox
from loading.pushes.misses import miss_rows
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PLATFORM_ZONE
from warehouse.publish.fill import build_raw


def at(day: int, hour: int) -> float:
    return datetime(2026, 3, day, hour, tzinfo=PLATFORM_ZONE).timestamp()


def test_the_loads_of_a_day_are_told_together(tmp_path: Path) -> None:
    with open_inbox(tmp_path) as inbox:
        for slice, until, changed, missed in (
            ("101:20", at(2, 2), 90, 10),
            ("101:21", at(2, 2), 9, 0),
            # Past midnight in Shanghai, and before it in Greenwich.
            ("101:20", at(2, 0), 1, 1),
            ("101:20", at(3, 2), 0, 0),
        ):
            inbox.measured(Misses(101, "grades", slice, until, until, changed, missed))
        inbox.measured(Misses(102, "scores", "102:20", at(3, 2), at(3, 2), 3, 1))
    rows = [
        {"resource": "grades", "_school_id": 101, "day": date(2026, 3, 2), "changed": 100}
        | {"missed": 11, "miss_rate": 11.0},
        {"resource": "scores", "_school_id": 102, "day": date(2026, 3, 3), "changed": 3}
        | {"missed": 1, "miss_rate": 33.33},
    ]
    assert miss_rows(tmp_path) == rows

    lake, file = Lake(str(tmp_path / "lake")), tmp_path / "build" / "campus.duckdb"
    lake.ensure([])
    build_raw(lake, [], file, push_misses=rows)
    with duckdb.connect(str(file), read_only=True) as con:
        assert con.sql("FROM quality.push_misses ORDER BY ALL").fetchall() == [
            tuple(row.values()) for row in rows
        ]


def test_where_no_pushes_are_taken_nothing_is_made_and_nothing_told(tmp_path: Path) -> None:
    assert miss_rows(tmp_path) == []
    assert not inbox_path(tmp_path).exists()
