"""Takes forgotten people out of what writing back keeps: outbox, unfinished lessons and journal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warehouse.files import locked
from warehouse.forgetting.columns import NUMBER, V1
from warehouse.forgetting.forgotten import NUMBER as NUMBER_MARK
from warehouse.forgetting.forgotten import Matcher
from warehouse.forgetting.sqlite_rows import change_rows
from warehouse.forgetting.surgery import written
from writeback.store.journal_files import LOCK


def forget_in_outbox(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> int:
    """Delete swipes of the forgotten, those that wait too. How many. Raises sqlite3.Error."""

    def clean(row: dict[str, Any]) -> dict[str, Any] | None:
        kind = NUMBER_MARK if row["person"] == NUMBER else V1
        return None if matcher.find(kind, row["value"].strip()) is not None else {}

    return change_rows(path, "swipe", "school_id", school_id, clean, apply=apply)


def forget_in_lessons(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> int:
    """Take the marks of the forgotten out of lessons that were written and not read since. Lessons changed.
    Raises sqlite3.Error."""

    def clean(row: dict[str, Any]) -> dict[str, Any] | None:
        marks = json.loads(row["marks"])
        others = {student: mark for student, mark in marks.items() if matcher.find(V1, student) is None}
        if others == marks:
            return {}
        return {"marks": json.dumps(others)} if others else None

    return change_rows(path, "lesson", "school_id", school_id, clean, apply=apply)


def forget_in_journal(path: Path, school_id: int, matcher: Matcher, *, apply: bool) -> int:
    """Take the forgotten out of records of writes that are not filed yet. Records changed. Raises
    sqlite3.Error."""
    with locked(path.with_name(LOCK)):
        return change_rows(
            path, "write", "_school_id", school_id, lambda row: written(matcher, row), apply=apply
        )
