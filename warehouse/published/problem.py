"""Why the last build was not published: a note in the home, for those who look in the morning."""

from __future__ import annotations

from pathlib import Path

PROBLEM = "build_problem.txt"


def note_problem(home: Path, problem: str) -> None:
    """Write down why the last build was not published; empty: it was, or had nothing to publish."""
    note = home / PROBLEM
    if problem:
        note.write_text(problem, encoding="utf-8")
    else:
        note.unlink(missing_ok=True)


def last_problem(home: Path) -> str:
    """Why the last build was not published; empty: nothing was wrong."""
    note = home / PROBLEM
    return note.read_text(encoding="utf-8") if note.exists() else ""
