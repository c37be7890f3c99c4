"""The age of each slice, and the changes of the slice that its last load could not see."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from campus.registry import ATTENDANCE, RESOURCES
from campus.registry.spec import UNDATED
from warehouse.age import RETIRED, incomplete_slices, latest_loads

Row = Mapping[str, Any]


def freshness_rows(standings: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows of quality.freshness. `standings`: as `warehouse.load.logs.writer.standing_rows` has them."""
    rows = [row for row in standings if row["status"] != RETIRED]
    in_part = {(row["resource"], row["slice"]) for row in incomplete_slices(rows)}
    latest = latest_loads(rows)
    return [
        {
            **{name: row[name] for name in ("resource", "_school_id", "slice")},
            "as_of": row["complete_at"],
            "whole_as_of": row["whole_at"],
            "unseen": _unseen(row, latest) if (row["resource"], row["slice"]) in in_part else None,
        }
        for row in sorted(rows, key=lambda row: (row["_school_id"], row["resource"], row["slice"]))
    ]


def _unseen(row: Row, latest: Mapping[tuple[int, str], datetime]) -> str:
    if row["complete_at"] is None:
        return "everything: no load of it was complete"
    spec = RESOURCES.get(row["resource"])
    # Weeks are settled at some time, and then nothing of them is due.
    if row["complete_at"] < latest[row["_school_id"], row["resource"]] and spec not in ATTENDANCE:
        return "every change: it was not read since"
    return (spec.unseen if spec else "") or UNDATED
