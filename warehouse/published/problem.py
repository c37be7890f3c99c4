"""Why the last build, or the file of an audience, was not published: notes in the home, for those who look in
the morning."""

from __future__ import annotations

from pathlib import Path

PROBLEM = "build_problem.txt"
OF_AUDIENCES = "audience_problem.txt"


def note_problem(home: Path, problem: str) -> None:
    """Write down why the last build was not published; empty: it was, or had nothing to publish."""
    _note(home / PROBLEM, problem)


def last_problem(home: Path) -> str:
    """Why the last build was not published; empty: nothing was wrong."""
    return _noted(home / PROBLEM)


def note_audiences(home: Path, problem: str) -> None:
    """Write down what is wrong with the files of audiences; empty: nothing."""
    _note(home / OF_AUDIENCES, problem)


def problem_of_audiences(home: Path) -> str:
    """What was wrong with the files of audiences when they were last published; empty: nothing."""
    return _noted(home / OF_AUDIENCES)


def _note(note: Path, problem: str) -> None:
    if problem:
        note.write_text(problem, encoding="utf-8")
    else:
        note.unlink(missing_ok=True)


def _noted(note: Path) -> str:
    return note.read_text(encoding="utf-8") if note.exists() else ""
