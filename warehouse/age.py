"""How old data are: the oldest of the last good loads that they stand on, whatever was tried since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

#: A resource's round is made of its attempts on the day of the last of them, and of those so long before it:
#: what was tried in an earlier one is not due any more, as weeks that are settled.
ROUND = timedelta(hours=12)
#: What was not loaded for so long has missed a night.
STALE = timedelta(hours=26)
#: Beside the published file: the standings by which it was last proven to be what the lake holds.
PROVEN = "campus.standings.parquet"
#: Status of a slice that was emptied, as what it was of is gone from the platform; and of one not loaded.
RETIRED, FAILED = "retired", "failed"
#: How the resources begin whose slices are segments or reports, with numbers that may be a semester's id.
NOT_BY_SEMESTER = ("datasets.", "reports.", "report_")


@dataclass(frozen=True)
class Age:
    """How old something is, and what could not be loaded of it. A failed slice that was never loaded whole is
    not known, rather than older; so a resource may be in both `older` and `never`."""

    #: Start of the oldest load that counts, by the platform's clock; None: nothing was ever loaded.
    as_of: datetime | None = None
    #: When the last attempt failed, by the resource.
    failed: Mapping[str, datetime] = field(default_factory=dict)
    #: The failed resources of which an earlier load stands.
    older: Set[str] = frozenset()
    #: The failed resources of which slices were never loaded whole, each with the ids of these semesters;
    #: without ids where no slice of it was ever loaded whole, or where it has no semesters.
    never: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_in_part(standings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The slices of which the last load of their resource and school did not read all.

    `standings`: as `warehouse.load.log_writer.standing_rows` has them."""
    rows = [row for row in standings if row["status"] != RETIRED]
    latest = latest_loads(rows)
    return [
        row
        for row in rows
        if row["complete_at"] is None
        or row["whole_at"] is None
        or row["whole_at"] < latest[row["_school_id"], row["resource"]]
    ]


def latest_loads(standings: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str], datetime]:
    """By school and resource, when the last load began that missed nothing of a slice."""
    latest: dict[tuple[int, str], datetime] = {}
    for row in standings:
        if row["complete_at"] is not None:
            where = row["_school_id"], row["resource"]
            latest[where] = max(row["complete_at"], latest.get(where, row["complete_at"]))
    return latest


def age_of(standings: Iterable[Mapping[str, Any]]) -> Age:
    """The age of what stands on these slices, each as `warehouse.load.log_writer.standing_rows` has it.

    Of each resource the slices of its last round count, and those whose last attempt failed, by the start of
    their last good load. One that was loaded without a request came with another, or nothing was asked: it is
    no load, and counts only where there is no other."""
    by_resource: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in standings:
        if row["status"] != RETIRED:
            by_resource[row["resource"]].append(row)
    asked: list[datetime] = []
    came_along: list[datetime] = []
    failed: dict[str, datetime] = {}
    older = set[str]()
    never: dict[str, Sequence[str]] = {}
    for resource, rows in by_resource.items():
        began = _round_of(max(row["finished_at"] for row in rows))
        broken = [row for row in rows if row["status"] == FAILED]
        if broken:
            failed[resource] = max(row["finished_at"] for row in broken)
        if any(row["complete_at"] is not None for row in broken):
            older.add(resource)
        if lacking := [row for row in broken if row["complete_at"] is None]:
            has_any = any(row["complete_at"] is not None for row in rows)
            never[resource] = _semesters(resource, lacking) if has_any else ()
        for row in rows:
            counts = row["status"] == FAILED or row["finished_at"] >= began
            if counts and row["complete_at"] is not None:
                (came_along if row["requests"] == 0 else asked).append(row["complete_at"])
    return Age(min(asked or came_along, default=None), failed, frozenset(older), never)


def with_semesters(never: Mapping[str, Sequence[str]]) -> list[str]:
    """The resources of `Age.never` by name, such as "classes (semester 21)"."""
    return [
        f"{resource} (semester {', '.join(semesters)})" if semesters else resource
        for resource, semesters in sorted(never.items())
    ]


def _semesters(resource: str, rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The ids of the semesters of some slices of a resource."""
    if resource.startswith(NOT_BY_SEMESTER):
        return ()
    ids = {row["slice"].split(":")[1] for row in rows if ":" in row["slice"]}
    return tuple(sorted(ids, key=lambda id: (len(id), id)))


def _round_of(last: datetime) -> datetime:
    return min(datetime.combine(last.date(), time()), last - ROUND)
