"""Notes in the home for operators: why the last build, or an audience's file, was not published."""

from __future__ import annotations

from pathlib import Path

PROBLEM = "build_problem.txt"
AUDIENCE_PROBLEM = "audience_problem.txt"


def note_problem(home: Path, problem: str) -> None:
    """Record why the last build was not published; empty: it was, or had nothing to publish."""
    _note(home / PROBLEM, problem)


def last_problem(home: Path) -> str:
    """Why the last build was not published; empty: nothing was wrong."""
    return _noted(home / PROBLEM)


def note_audiences(home: Path, problem: str) -> None:
    """Record what is wrong with the files of audiences; empty: nothing."""
    _note(home / AUDIENCE_PROBLEM, problem)


def problem_of_audiences(home: Path) -> str:
    """The problem with the files of audiences when they were last published; empty: none."""
    return _noted(home / AUDIENCE_PROBLEM)


def _note(note: Path, problem: str) -> None:
    if problem:
        note.write_text(problem, encoding="utf-8")
    else:
        note.unlink(missing_ok=True)


def _noted(note: Path) -> str:
    return note.read_text(encoding="utf-8") if note.exists() else ""
