"""Takes forgotten people out of what writing back keeps: outbox, unfinished lessons and journal."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

from warehouse.files import locked
from warehouse.forgetting.columns import NUMBER, V1
from warehouse.forgetting.forgotten import NUMBER as NUMBER_MARK
from warehouse.forgetting.forgotten import Matcher
from warehouse.forgetting.sqlite_rows import change_rows
from warehouse.forgetting.surgery import written
from writeback.store.location import LOCK


def forget_in_store(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> tuple[int, int]:
    """Take forgotten people out of the store: out of records that are not filed yet and out of the marks of
    unfinished lessons. Delete their swipes, waiting swipes too, and notes that name them.

    Returns the rows changed, and the rows removed. Raises sqlite3.Error."""

    def in_swipe(row: dict[str, Any]) -> dict[str, Any] | None:
        kind = NUMBER_MARK if row["person"] == NUMBER else V1
        return None if matcher.find(kind, row["value"].strip()) is not None else {}

    def in_lesson(row: dict[str, Any]) -> dict[str, Any] | None:
        marks = json.loads(row["marks"])
        others = {student: mark for student, mark in marks.items() if matcher.find(V1, student) is None}
        if others == marks:
            return {}
        return {"marks": json.dumps(others)} if others else None

    def in_note(row: dict[str, Any]) -> dict[str, Any] | None:
        return {} if matcher.cleaned_words(row["content"]) == row["content"] else None

    if not path.exists():
        return 0, 0
    with locked(path.with_name(LOCK)):
        writes = change_rows(path, "write", "_school_id", school_id, partial(written, matcher), apply=apply)
        lessons = change_rows(path, "lesson", "school_id", school_id, in_lesson, apply=apply)
        swipes = change_rows(path, "swipe", "school_id", school_id, in_swipe, apply=apply)
        notes = change_rows(path, "note", "school_id", school_id, in_note, apply=apply)
    return writes + lessons, swipes + notes


def forget_notes(path: Path, school_id: int, names: Collection[str], *, apply: bool) -> int:
    """Delete the notes of a school about files of these names, which were deleted. How many."""

    def clean(row: dict[str, Any]) -> dict[str, Any] | None:
        return None if any(name in row["content"] for name in names) else {}

    return change_rows(path, "note", "school_id", school_id, clean, apply=apply)
