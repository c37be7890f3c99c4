"""Skips rows whose related rows are unchanged.

Scores have no date of their last change, and the platform lists them only item by item. A score that changes
has the platform compute its grade anew. So the scores of an assessment count as unchanged where the
assessment, its items, its grades and the members of its class are unchanged. Changes that move no grade, such
as a remark, show when all scores are read: every `incremental.whole_days`, and in the current semester every
night, unless `incremental.current_scores` says otherwise.

The row of a class lists its members and teachers. They change without a new date of the row. So the rows of
classes whose members have changed are read again by their ids.

Transcripts come student by student and have no date either. They are what school terms leave behind, so that
a night may skip them for `incremental.transcript_days`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from campus.http.client import Client
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES, SEMESTERS, ResourceSpec
from loading.connection.runtime import Runtime
from loading.slices.stage import SliceContext
from loading.tables import read_rows, slice_of
from warehouse.lake.delta import Lake
from warehouse.lake.tables import DELETED_AT, SYNCED_AT
from warehouse.load.logs.load_log import SliceStatus
from warehouse.load.whole_readings import is_due_whole

ASSESSMENTS, ITEMS, GRADES = (RESOURCES[name] for name in ("assessments", "assessment_items", "grades"))
CLASSES, MEMBERS = RESOURCES["classes"], RESOURCES["class_members"]


@dataclass(frozen=True)
class ItemsToRead:
    """The assessment items whose scores may have changed."""

    #: The items that the platform has. Only these can be requested.
    existing: tuple[int, ...]
    #: With the items that are gone.
    affected: tuple[int, ...]


@dataclass(frozen=True)
class OutdatedClasses:
    """The classes whose rows have to be read again."""

    ids: tuple[int, ...]
    #: Reading the rows of all classes takes fewer requests.
    are_most: bool


def overlap_of(client: Client, runtime: Runtime) -> timedelta:
    """How long before a load began a row may be dated that changed while the load ran: longer where the
    platform's clock is behind ours."""
    return runtime.incremental.overlap + timedelta(seconds=max(-(client.clock_skew or 0), 0))


def ended_semesters(lake: Lake, school_id: int, day: date) -> frozenset[int]:
    """The semesters of a school that have ended before a day, and are not current."""
    rows = read_rows(lake, SEMESTERS, slice_of(SEMESTERS, school_id), ["id", "is_current", "end_at"])
    return frozenset(
        row["id"] for row in rows if not row["is_current"] and row["end_at"] and row["end_at"].date() < day
    )


def items_to_read(
    context: SliceContext,
    query: SliceQuery,
    status: SliceStatus,
    related: Sequence[SliceStatus],
    overlap: timedelta,
) -> ItemsToRead | None:
    """The items of a semester whose assessments have changed since the scores were last complete.

    Args:
        context: The slice of the scores.
        query: `parents` has the items that the platform has.
        status: Of the scores.
        related: The statuses of the slices that show whether scores have changed.
        overlap: As `overlap_of` has it.

    Returns:
        None: The scores of all items have to be read.
    """
    runtime, cause = context.runtime, context.cause
    # A row that is in quarantine may have changed.
    if cause.full or not all(own.complete_at and not own.quarantined for own in (status, *related)):
        return None
    assert status.complete_at is not None
    if is_due_whole(status.whole_at, runtime.incremental.whole_days, cause.started_at):
        return None
    changed, graded = _changed_assessments(runtime.lake, query, status.complete_at, overlap)
    affected = {
        row["id"]
        for row in _rows(runtime.lake, ITEMS, query, "id", "assessment_id")
        if row["assessment_id"] in changed or row["assessment_id"] not in graded
    }
    return ItemsToRead(tuple(sorted(affected.intersection(query.parents))), tuple(sorted(affected)))


def outdated_classes(
    lake: Lake, query: SliceQuery, status: SliceStatus, overlap: timedelta
) -> OutdatedClasses:
    """The classes of a semester whose members have changed since the rows of the classes agreed with them.

    Args:
        status: Of the classes.
        overlap: As `overlap_of` has it.
    """
    since = status.agrees_as_of
    # Rows that were read again for their members came after these, and rows of a whole reading before them.
    before = None if since == status.followed_at else overlap
    alive = {row["id"] for row in _rows(lake, CLASSES, query, "id", DELETED_AT) if row[DELETED_AT] is None}
    changed = alive & _classes_with_changed_members(lake, query, since, before)
    return OutdatedClasses(tuple(sorted(changed)), 2 * len(changed) > len(alive))


def may_skip(context: SliceContext, query: SliceQuery, status: SliceStatus) -> bool:
    """Whether a night may skip a slice that seldom changes: it was read in full lately, and the rows that its
    requests name are unchanged since. A slice that a person chose to load is never skipped."""
    spec, cause, settings = context.spec, context.cause, context.runtime.incremental
    if not spec.seldom_changes or not cause.only_due:
        return False
    if status.whole_at is None or status.quarantined:
        return False
    if is_due_whole(status.whole_at, min(settings.transcript_days, settings.whole_days), cause.started_at):
        return False
    parent = parents_of(spec)
    assert parent is not None
    conditions = MODES[spec.mode].parents_with
    return not any(
        row[SYNCED_AT] > status.whole_at
        for row in _rows(context.runtime.lake, parent, query, SYNCED_AT, *conditions)
        if all(row[column] == value for column, value in conditions.items())
    )


def _changed_assessments(
    lake: Lake, query: SliceQuery, since: datetime, overlap: timedelta
) -> tuple[set[int], set[int]]:
    """The assessments that have changed, with all that belongs to them; and the assessments that have a
    grade, which would show a change."""
    changed = {
        row[name]
        for spec, name in ((ASSESSMENTS, "id"), (ITEMS, "assessment_id"))
        for row in _rows(lake, spec, query, name, SYNCED_AT)
        if row[SYNCED_AT] > since
    }
    graded = set[int]()
    classes = _classes_with_changed_members(lake, query, since, overlap)
    changed |= {
        row["id"] for row in _rows(lake, ASSESSMENTS, query, "id", "class_id") if row["class_id"] in classes
    }
    for row in _rows(lake, GRADES, query, "source_id", "updated_at", SYNCED_AT, DELETED_AT):
        if row[DELETED_AT] is None:
            graded.add(row["source_id"])
        # The load that read the scores may have read the grades a little later.
        updated_at = row["updated_at"] or since
        if row[SYNCED_AT] > since or updated_at >= since - overlap:
            changed.add(row["source_id"])
    return changed, graded


def _classes_with_changed_members(
    lake: Lake, query: SliceQuery, since: datetime, overlap: timedelta | None
) -> set[int]:
    """The classes that somebody joined or left, or whose members changed otherwise: by changes that a load
    found after `since`, or that the platform made later than `overlap` before it (None: only the former). The
    load of that time may have read the members before or after the rows that depend on them."""
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
    return read_rows(lake, spec, slice_of(spec, query.school_id, query.semester_id), columns, alive=False)
