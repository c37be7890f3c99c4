"""The two ways to ask for attendance, and which of them costs fewer requests. Pure.

By students: one request a student gives a whole semester, but no statistics. By sessions: one request a
session gives its records and the platform's statistics.
"""

from dataclasses import dataclass
from typing import Literal

Route = Literal["students", "sessions"]


@dataclass(frozen=True)
class Choice:
    """A way to ask, how many requests it takes, and why it was chosen, for the log."""

    route: Route
    requests: int
    words: str


def choose(students: int, sessions: int, *, window_only: bool, lacks_members: bool) -> Choice:
    """The way to ask for some weeks of a semester. `students`: how many would be asked for; `sessions`: how
    many there are in the weeks. `window_only`: the semester is loaded, and only late marks are looked for.
    `lacks_members`: nobody tells who has left and is shown by sessions alone."""
    by_sessions = f"{sessions:,} requests by sessions"
    if window_only:
        words = f"{by_sessions}, as only the trailing window is read again, with its statistics"
        return Choice("sessions", sessions, words)
    if lacks_members:
        words = f"{by_sessions}, as students or members of classes were never loaded, which tell who left"
        return Choice("sessions", sessions, words)
    if sessions <= students:
        return Choice("sessions", sessions, f"{by_sessions} against {students:,} by students")
    return Choice("students", students, f"{students:,} requests by students against {sessions:,} by sessions")


def is_whole_cheaper(due: int, following: int, whole: int) -> bool:
    """Whether to read all weeks whole rather than what is due and what changes of members have made doubtful.

    Each is a number of requests. What is due by itself is read by sessions, with their statistics, also where
    a school is so small that to read it whole takes fewer requests."""
    return following >= whole or due < whole <= due + following
