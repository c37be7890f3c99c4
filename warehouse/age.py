"""The age of data. Data come from several slices; the slice whose last good load is oldest gives the age."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

#: The last round of a resource has all load attempts on the day of the last attempt, and all attempts in this
#: time before the last attempt. Slices without an attempt in the last round, such as past weeks, are not due.
ROUND = timedelta(hours=12)
#: Data that were not loaded for longer have missed a night.
STALE = timedelta(hours=26)
#: A file beside the published file: the status of all slices when the published file last equalled the lake.
PROVEN = "campus.standings.parquet"
#: Statuses of a slice: emptied, since the platform no longer has its semester or dataset; and load failed.
RETIRED, FAILED = "retired", "failed"
#: Prefixes of resources whose slices have numbers that are no semester ids: segments and reports.
NOT_BY_SEMESTER = ("datasets.", "reports.", "report_")


@dataclass(frozen=True)
class Age:
    """How old data are, and which resources failed to load.

    A failed slice that was never completely loaded has no age. A resource may have such a slice and an old
    slice, so it may be in both `older` and `never`."""

    #: Start of the oldest load that counts, by the platform's clock; None: nothing was ever loaded.
    as_of: datetime | None = None
    #: Time of the last failed attempt, by resource.
    failed: Mapping[str, datetime] = field(default_factory=dict)
    #: The failed resources whose rows come from an earlier load.
    older: Set[str] = frozenset()
    #: The failed resources with slices that were never completely loaded, and the semester ids of these
    #: slices. No ids: no slice of the resource was ever completely loaded, or it has no semesters.
    never: Mapping[str, Sequence[str]] = field(default_factory=dict)


def incomplete_slices(standings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The slices that the last load of their resource and school did not read completely.

    `standings`: rows of `warehouse.load.logs.writer.standing_rows`."""
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
    """Start of the last complete load of any slice, by school and resource."""
    latest: dict[tuple[int, str], datetime] = {}
    for row in standings:
        if row["complete_at"] is not None:
            key = row["_school_id"], row["resource"]
            latest[key] = max(row["complete_at"], latest.get(key, row["complete_at"]))
    return latest


def age_of(standings: Iterable[Mapping[str, Any]]) -> Age:
    """The age of the data made from these slices.

    `standings`: rows of `warehouse.load.logs.writer.standing_rows`. Two kinds of slices count: slices of a
    resource's last round, and slices whose last attempt failed. The oldest start of their last good loads is
    the age. A slice without a request was loaded with another slice. It counts only if no slice had a
    request."""
    by_resource: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in standings:
        if row["status"] != RETIRED:
            by_resource[row["resource"]].append(row)
    requested: list[datetime] = []
    without_request: list[datetime] = []
    failed: dict[str, datetime] = {}
    older = set[str]()
    never: dict[str, Sequence[str]] = {}
    for resource, rows in by_resource.items():
        round_start = _round_of(max(row["finished_at"] for row in rows))
        broken = [row for row in rows if row["status"] == FAILED]
        if broken:
            failed[resource] = max(row["finished_at"] for row in broken)
        if any(row["complete_at"] is not None for row in broken):
            older.add(resource)
        if lacking := [row for row in broken if row["complete_at"] is None]:
            has_any = any(row["complete_at"] is not None for row in rows)
            never[resource] = _semesters(resource, lacking) if has_any else ()
        for row in rows:
            counts = row["status"] == FAILED or row["finished_at"] >= round_start
            if counts and row["complete_at"] is not None:
                (without_request if row["requests"] == 0 else requested).append(row["complete_at"])
    return Age(min(requested or without_request, default=None), failed, frozenset(older), never)


def with_semesters(never: Mapping[str, Sequence[str]]) -> list[str]:
    """The resources of `Age.never` as text, such as "classes (semester 21)"."""
    return [
        f"{resource} (semester {', '.join(semesters)})" if semesters else resource
        for resource, semesters in sorted(never.items())
    ]


def _semesters(resource: str, rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The semester ids of some slices of a resource."""
    if resource.startswith(NOT_BY_SEMESTER):
        return ()
    ids = {row["slice"].split(":")[1] for row in rows if ":" in row["slice"]}
    return tuple(sorted(ids, key=lambda id: (len(id), id)))


def _round_of(last: datetime) -> datetime:
    return min(datetime.combine(last.date(), time()), last - ROUND)
