"""What need not be asked for, since nothing that it goes with has moved.

Scores have no date of their last change and no list but that of their item, so that all of them are asked for
item by item. Where nothing of an assessment has moved, neither itself nor an item nor a grade nor a member of
its class, its scores are taken for unmoved: a score that changes has the platform compute its grade anew.
What moves no grade, such as a remark, shows when all is read, every `incremental.whole_days`; of the current
semester every night, unless `incremental.current_scores` says otherwise.

The row of a class lists its members and teachers, who change without a new date of the row. So the rows of
classes whose members have moved are asked for by their ids.

Transcripts come student by student and have no date either. They are what school terms leave behind, so that
a night may leave them for `incremental.transcript_days`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, SEMESTERS, ResourceSpec
from loading.runtime import Cause, Runtime
from loading.tables import TABLES, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import DELETED_AT, SYNCED_AT
from warehouse.load.load_log import Standing
from warehouse.load.watermark import is_due_whole, is_older

ASSESSMENTS, ITEMS, GRADES = (RESOURCES[name] for name in ("assessments", "assessment_items", "grades"))
CLASSES, MEMBERS = RESOURCES["classes"], RESOURCES["class_members"]


@dataclass(frozen=True)
class Moved:
    """The items whose scores are asked for: those that the platform has, and with those that are gone."""

    asked: tuple[int, ...]
    concerned: tuple[int, ...]


def semesters_over(lake: Lake, school_id: int, day: date) -> frozenset[int]:
    """The semesters of a school that have ended before a day, and are not current."""
    rows = lake.read(
        TABLES[SEMESTERS.name], slice_of(SEMESTERS, school_id), ["id", "is_current", "end_at"]
    ).to_pylist()
    return frozenset(
        row["id"] for row in rows if not row["is_current"] and row["end_at"] and row["end_at"].date() < day
    )


def moved_items(
    runtime: Runtime, cause: Cause, query: SliceQuery, standing: Standing | None, overlap: timedelta
) -> Moved | None:
    """The items of a semester of whose assessments anything has moved since its scores were known to be
    whole; None: all are asked for. `standing`: of the scores; `overlap`: how long before a load began a row
    may be dated, by the platform's clock, that changed while it ran."""
    if cause.full or standing is None or standing.complete_at is None or standing.quarantined:
        return None
    if is_due_whole(standing, runtime.incremental, cause.started_at):
        return None
    moved, graded = _moved_assessments(runtime.lake, query, standing.complete_at, overlap)
    concerned = {
        row["id"]
        for row in _rows(runtime.lake, ITEMS, query, "id", "assessment_id")
        if row["assessment_id"] in moved or row["assessment_id"] not in graded
    }
    return Moved(tuple(sorted(concerned.intersection(query.parents))), tuple(sorted(concerned)))


@dataclass(frozen=True)
class OutdatedClasses:
    """The classes whose rows have to be read again. `are_most`: to read all of them takes fewer requests."""

    ids: tuple[int, ...]
    are_most: bool


def outdated_classes(
    lake: Lake, query: SliceQuery, standing: Standing | None, overlap: timedelta
) -> OutdatedClasses:
    """The classes of a semester whose members have moved since their rows were known to agree with them.
    `standing`: of the classes; `overlap`: as `moved_items` has it."""
    standing = standing or Standing()
    since = standing.agrees_as_of
    # Rows that were read again for their members came after these, and rows of a whole reading before them.
    before = None if since == standing.followed_at else overlap
    alive = {row["id"] for row in _rows(lake, CLASSES, query, "id", DELETED_AT) if row[DELETED_AT] is None}
    moved = alive & _classes_moved(lake, query, since, before)
    return OutdatedClasses(tuple(sorted(moved)), 2 * len(moved) > len(alive))


def may_rest(
    runtime: Runtime, cause: Cause, spec: ResourceSpec, query: SliceQuery, standing: Standing | None
) -> bool:
    """Whether a night may leave what seldom changes: it was read in full lately, and nothing that it is asked
    with has changed since. `standing`: of the slice. What a person chose to load never rests."""
    settings = runtime.incremental
    if standing is None or standing.whole_at is None or standing.quarantined or not cause.only_due:
        return False
    if is_older(standing.whole_at, min(settings.transcript_days, settings.whole_days), cause.started_at):
        return False
    parent = parents_of(spec)
    assert parent is not None
    told_by = MODES[spec.asked].parents_with
    return not any(
        row[SYNCED_AT] > standing.whole_at
        for row in _rows(runtime.lake, parent, query, SYNCED_AT, *told_by)
        if all(row[column] == value for column, value in told_by.items())
    )


def _moved_assessments(
    lake: Lake, query: SliceQuery, since: datetime, overlap: timedelta
) -> tuple[set[int], set[int]]:
    """The assessments of which anything has moved; and those that have a
    grade, which would tell."""
    moved = {
        row[name]
        for spec, name in ((ASSESSMENTS, "id"), (ITEMS, "assessment_id"))
        for row in _rows(lake, spec, query, name, SYNCED_AT)
        if row[SYNCED_AT] > since
    }
    graded = set[int]()
    classes = _classes_moved(lake, query, since, overlap)
    moved |= {
        row["id"] for row in _rows(lake, ASSESSMENTS, query, "id", "class_id") if row["class_id"] in classes
    }
    for row in _rows(lake, GRADES, query, "source_id", "updated_at", SYNCED_AT, DELETED_AT):
        if row[DELETED_AT] is None:
            graded.add(row["source_id"])
        # The load that read the scores may have read the grades a little later.
        updated_at = row["updated_at"] or since
        if row[SYNCED_AT] > since or updated_at >= since - overlap:
            moved.add(row["source_id"])
    return moved, graded


def _classes_moved(lake: Lake, query: SliceQuery, since: datetime, overlap: timedelta | None) -> set[int]:
    """The classes that somebody joined or left, or whose members changed otherwise: changes that were found
    after `since`, or that the platform made later than `overlap` before it (None: only the former). The load
    of that time may have read the members before or after what hangs on them."""
    rows = _rows(lake, MEMBERS, query, "class_id", "updated_at", SYNCED_AT, DELETED_AT)
    return {
        row["class_id"]
        for row in rows
        if row[SYNCED_AT] > since or (overlap is not None and _changed_at(row) + overlap >= since)
    }


def _changed_at(row: Mapping[str, Any]) -> datetime:
    """When the platform changed a row, as far as is known."""
    changed_at: datetime = row["updated_at"] or row[SYNCED_AT]
    return max(changed_at, row[DELETED_AT] or changed_at)


def _rows(lake: Lake, spec: ResourceSpec, query: SliceQuery, *columns: str) -> list[dict[str, Any]]:
    """Some columns of a slice, tombstones included."""
    assert query.school_id is not None
    slice = slice_of(spec, query.school_id, query.semester_id)
    rows: list[dict[str, Any]] = lake.read(TABLES[spec.name], slice, columns, alive=False).to_pylist()
    return rows
