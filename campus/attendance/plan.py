"""Plans the requests for weeks of attendance: by which route, and for which rows. Pure.

By students: one request per student returns a whole semester, without statistics. By sessions: one request
per session returns its records and the platform's statistics.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from campus.attendance.calendar import Session
from campus.attendance.semester import Semester, sample

Route = Literal["students", "sessions"]
# By students: so many sessions are requested by the other route too.
SAMPLED_SESSIONS = 10


@dataclass(frozen=True)
class Choice:
    """A route, and why it was chosen."""

    route: Route
    requests: int
    #: For the log.
    words: str


@dataclass(frozen=True)
class AttendancePlan:
    """The requests for some weeks of one semester."""

    semester: Semester
    #: The first day that is requested of each week. date.min: all of the week.
    weeks: Mapping[int, date]
    choice: Choice
    #: By sessions: students whose records show sessions that no schedule has.
    cross_check_students: Sequence[int] = ()
    #: By students: sessions that are requested by the other route too.
    compared: Sequence[Session] = ()
    #: By students: only the rows of these are requested. None: the rows of all.
    students: frozenset[int] | None = None
    #: By sessions: only the rows of these are requested. None: the rows of all.
    classes: frozenset[int] | None = None
    #: By sessions: requested even where no schedule has them.
    sessions: frozenset[Session] = frozenset()
    #: The rows that are not requested are known to be unchanged.
    suffices: bool = False
    #: As in `SliceReading`.
    follows: bool = False

    @property
    def requests(self) -> int:
        """How many requests the weeks are planned to take."""
        return self.choice.requests if self.weeks else 0


def plan_weeks(
    semester: Semester, since: Mapping[int, date | None], *, window_only: bool = False
) -> AttendancePlan:
    """Plan to read weeks, all students and classes of them.

    Args:
        since: The first day that is read of each week. None: all of the week.
        window_only: The weeks are loaded already, and read again for late marks only."""
    begins = semester.calendar.beginning_of
    weeks = {week: day if day and day > begins(week) else date.min for week, day in since.items()}
    possible = semester.possible(weeks)
    requested = {
        session for session in possible if session.day >= weeks[semester.calendar.week_of(session.day)]
    }
    cross_check_students = semester.cross_check_students(requested)
    unasked = semester.attended(semester.members.keys() - semester.askable, possible)
    # Sessions that are requested anyway are compared at no cost.
    compared = sample(sorted(unasked if len(unasked) >= SAMPLED_SESSIONS else requested), SAMPLED_SESSIONS)
    choice = choose(
        len(semester.students) + len(unasked.union(compared)),
        len(requested) + len(cross_check_students),
        window_only=window_only,
        lacks_members=semester.lacks_members,
    )
    return AttendancePlan(semester, weeks, choice, cross_check_students, compared)


def plan_members(
    semester: Semester,
    weeks: Collection[int],
    classes: frozenset[int],
    students: frozenset[int],
    *,
    follows: bool,
) -> AttendancePlan:
    """Plan to read whole weeks again of students who joined or left classes: their own rows, or the rows of
    the classes, whichever takes fewer requests."""
    narrowed, whole_weeks = semester.of_classes(classes), dict.fromkeys(weeks, date.min)
    sessions = narrowed.possible(weeks)
    cross_check_students = narrowed.cross_check_students(sessions)
    by_classes = len(sessions) + len(cross_check_students)
    askable = students & semester.askable
    by_students = len(askable) + len(semester.attended(students - askable, semester.possible(weeks)))
    why = f"as {len(students):,} students joined or left {len(classes):,} classes"
    if by_classes < by_students:
        return AttendancePlan(
            narrowed,
            whole_weeks,
            Choice("sessions", by_classes, f"{by_classes:,} requests by sessions, {why}"),
            cross_check_students,
            classes=classes,
            suffices=True,
            follows=follows,
        )
    return AttendancePlan(
        semester,
        whole_weeks,
        Choice("students", by_students, f"{by_students:,} requests by students, {why}"),
        students=students,
        suffices=True,
        follows=follows,
    )


def plan_classes(semester: Semester, sessions: Collection[Session]) -> AttendancePlan:
    """Plan to read the classes of some sessions again in the weeks of these, and the sessions even where no
    schedule has them."""
    classes = frozenset(session.class_id for session in sessions)
    narrowed = semester.of_classes(classes)
    weeks = sorted({semester.calendar.week_of(session.day) for session in sessions})
    requests = len(narrowed.possible(weeks).union(sessions))
    return AttendancePlan(
        narrowed,
        dict.fromkeys(weeks, date.min),
        Choice("sessions", requests, f"{requests:,} requests by sessions, as these classes are read again"),
        classes=classes,
        sessions=frozenset(sessions),
    )


def choose(students: int, sessions: int, *, window_only: bool, lacks_members: bool) -> Choice:
    """Choose the route for some weeks of a semester.

    Args:
        students: Requests by students.
        sessions: Requests by sessions.
        window_only: The semester is loaded, and read again for late marks only.
        lacks_members: Nothing tells which students have left, and only sessions show them."""
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


def is_whole_cheaper(due: int, doubtful: int, whole: int) -> bool:
    """Whether to read all weeks whole rather than the due weeks and what changes of members made doubtful.

    Each is a number of requests. Due weeks alone are read by sessions, with their statistics, even where a
    school is so small that reading it whole takes fewer requests."""
    return doubtful >= whole or due < whole <= due + doubtful
