"""Writes the marks of lessons to the platform.

The interface reads and writes one lesson a request. Each lesson is read first, written only if the file
differs, and read again. The interface does not say whether students whom a request leaves out keep their
marks. If a student has lost a mark, the lesson is sent again with all its marks, and so are all later
lessons. The marks before the write stay on disk until then, so that the next run can finish. Marks of
students who left the class, and read-only marks, cannot be sent again: their loss is reported.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from campus.attendance.calendar import Session
from campus.attendance.requests import SESSIONS, ask_session, records_in
from campus.fetch.reader import Reader, drive_readings
from campus.http.client import Client
from campus.http.errors import CampusError, NotFound, PlatformUnavailable, Refused, Transient, Unconfirmed
from writeback.attendance.marks import RESULTS, ClassIndex, Mark, Refusal, Send, in_lines, key_of
from writeback.operations import MARK_LESSON, Write
from writeback.outcomes import INTERRUPTED, Outcome, RowOutcome, words_of
from writeback.send.side_by_side import side_by_side
from writeback.store.unfinished_lessons import UnfinishedLessons

Marks = Mapping[int, Mark]
#: The reason for sending a lesson that is not in the file.
AGAIN = "marks that were lost"


@dataclass
class Marking:
    """Writes the marks of lessons, and collects the results."""

    client: Client
    send: Send
    index: ClassIndex
    unfinished: UnfinishedLessons
    #: Whether requests have all marks of a lesson: by the settings, or since the platform deleted marks.
    whole: bool = False
    #: Marks that the platform deleted and that could not be sent again.
    lost: list[str] = field(default_factory=list)
    #: Lessons that were, or may have been, written.
    sent: set[Session] = field(default_factory=set)
    #: The reason for skipping the remaining lessons; empty: no lesson was skipped.
    stopped: str = ""

    async def carry_out(self, lessons: Mapping[Session, Marks], *, dry: bool) -> list[RowOutcome]:
        """Write the lessons that differ from the file, after the unfinished lessons of an earlier run. dry:
        read, and write nothing. Failures of the platform are outcomes, and are not raised."""
        outcomes = [] if dry else await self._finish_all()
        # The first lesson shows whether marks stay that a request leaves out.
        first, others = list(lessons.items())[:1], list(lessons.items())[1:]
        for group in (first, others):
            for rows in await side_by_side(self._lesson(*lesson, dry=dry) for lesson in group):
                outcomes += rows
        return outcomes

    async def _finish_all(self) -> list[RowOutcome]:
        outcomes = []
        for session, earlier in self.unfinished.of(self.index.school_id).items():
            try:
                await self._settle(session, AGAIN, {}, earlier)
            except (NotFound, Refusal):
                # The class is gone, and the lesson with it.
                self._end(session, earlier, {})
            except (CampusError, PlatformUnavailable) as error:
                if isinstance(error, PlatformUnavailable):
                    self.stopped = self.stopped or str(error)
                key = f"class {session.class_id}, {session.day}, lesson {session.lesson}"
                why = f"the marks that it had before an earlier run could not be compared: {words_of(error)}"
                outcomes.append(RowOutcome(0, key, "unconfirmed", why))
        return outcomes

    async def _lesson(self, session: Session, marks: Marks, *, dry: bool) -> list[RowOutcome]:
        if self.stopped:
            return self._failed(session, marks, "not begun", Transient(""))
        try:
            return await self._carry_out(session, marks, dry=dry)
        except Refused as refusal:
            # A single mark can make the platform refuse the request, such as the mark of a student who has
            # left.
            staying = {student: mark for student, mark in marks.items() if self._is_in(session, student)}
            if session in self.sent or len(staying) in (0, len(marks)):
                return self._failed(session, marks, refusal.quote or str(refusal), refusal)
            leaving = {student: mark for student, mark in marks.items() if student not in staying}
            refused = self._failed(session, leaving, refusal.quote or str(refusal), refusal)
            return refused + await self._lesson(session, staying, dry=dry)
        except CampusError as error:
            return self._failed(session, marks, words_of(error), error)
        except PlatformUnavailable as halt:
            self.stopped = self.stopped or str(halt)
            return self._failed(session, marks, words_of(halt), halt)
        except asyncio.CancelledError:
            self.stopped = self.stopped or INTERRUPTED
            return self._failed(session, marks, "interrupted", Transient(""))

    def _failed(
        self, session: Session, marks: Marks, words: str, error: CampusError | PlatformUnavailable
    ) -> list[RowOutcome]:
        outcome: Outcome = "waiting" if isinstance(error, Transient | PlatformUnavailable) else "refused"
        if session in self.sent:
            outcome, words = "unconfirmed", f"it was sent, and not seen since: {words}"
        return [row for item in marks.items() for row in _outcomes(session, *item, outcome, words)]

    async def _carry_out(self, session: Session, marks: Marks, *, dry: bool) -> list[RowOutcome]:
        before = await self._ask(session)
        if dry or all(before.get(student) == mark.result for student, mark in marks.items()):
            after: Mapping[int, str] = {student: mark.result for student, mark in marks.items()}
        else:
            after = await self._write(session, marks, before)
        return [
            row
            for student, mark in marks.items()
            for row in _compared(session, student, mark, before.get(student), after.get(student), dry=dry)
        ]

    async def _write(self, session: Session, marks: Marks, before: Mapping[int, str]) -> Mapping[int, str]:
        """Write a lesson. Returns the marks that the platform shows then."""
        new = {student: mark.result for student, mark in marks.items()}
        others = {student: mark for student, mark in before.items() if student not in new}
        earlier = self.unfinished.keep(self.index.school_id, session, others)
        lines = in_lines([line for mark in marks.values() for line in mark.lines])
        if self.whole:
            others = {student: mark for student, mark in earlier.items() if student not in new}
            await self._put_whole(session, lines, new, self._sendable(session, others))
            return self._end(session, earlier, await self._ask(session))
        await self._put(session, lines, new)
        return await self._settle(session, lines, new, earlier)

    async def _settle(
        self, session: Session, lines: str, new: Mapping[int, str], earlier: Mapping[int, str]
    ) -> Mapping[int, str]:
        """Send the marks again that a lesson has lost. Returns the marks that the platform shows then."""
        after: Mapping[int, str] = await self._ask(session)
        gone = {student: mark for student, mark in earlier.items() if student not in after}
        self.whole = self.whole or bool(gone)
        if self._sendable(session, gone):
            others = {student: mark for student, mark in after.items() if student not in new}
            await self._put_whole(session, lines, new, self._sendable(session, {**others, **gone}))
            after = await self._ask(session)
        return self._end(session, earlier, after)

    def _end(self, session: Session, earlier: Iterable[int], after: Mapping[int, str]) -> Mapping[int, str]:
        """Finish a lesson: report its lost marks, and delete its stored marks."""
        self.lost += [key_of(session, student) for student in sorted(set(earlier) - after.keys())]
        self.unfinished.forget(self.index.school_id, session)
        return after

    def _sendable(self, session: Session, marks: Mapping[int, str]) -> dict[int, str]:
        """The marks that can be sent: marks of present students of the class that are not read-only."""
        return {
            student: result
            for student, result in marks.items()
            if result in RESULTS and self._is_in(session, student)
        }

    def _is_in(self, session: Session, student: int) -> bool:
        """Whether a student is still in the class."""
        members = self.index.semester_of(session).members
        return members.get(student, {}).get(session.class_id) == date.max

    async def _put_whole(
        self, session: Session, lines: str, new: Mapping[int, str], others: Mapping[int, str]
    ) -> Mapping[int, str]:
        """Send `new` marks with as many `others` as the platform accepts. It may refuse some, such as the
        marks of students who left meanwhile. Returns the accepted marks. Raises Refused if it refuses `new`
        alone."""
        marks = {**new, **others}
        if not marks:
            return marks
        try:
            await self._put(session, lines, marks)
            return marks
        except Refused:
            if not others:
                raise
        half = [*others][: len(others) // 2]
        taken = await self._put_whole(session, lines, new, {student: others[student] for student in half})
        if len(others) == 1:
            return taken
        rest = {student: mark for student, mark in others.items() if student not in half}
        return await self._put_whole(session, lines, taken, rest)

    async def _put(self, session: Session, lines: str, marks: Mapping[int, str]) -> None:
        content: list[dict[str, Any]] = [
            {"rid": student, "result": result} for student, result in marks.items()
        ]
        params: dict[str, str | int] = {"checked_at": session.day.isoformat(), "lesson": session.lesson}
        write = Write(MARK_LESSON, self.index.school_id, session.class_id, params, content)
        try:
            await self.send(write, lines)
        except (Transient, Unconfirmed, PlatformUnavailable, asyncio.CancelledError):
            self.sent.add(session)
            raise
        self.sent.add(session)

    async def _ask(self, session: Session) -> dict[int, str]:
        """The marks of a lesson by student."""
        semester = self.index.semester_of(session)
        reader = Reader(self.client, self.index.school_id, SESSIONS.scopes)
        detail = await drive_readings(reader, ask_session(reader, semester, session))
        rows = records_in(semester, session, detail).rows
        return {row.student_id: row.status for row in rows if row.student_id and row.status}


def _compared(
    session: Session, student: int, mark: Mark, before: str | None, after: str | None, *, dry: bool
) -> list[RowOutcome]:
    """The outcome of one student's mark."""
    if before == mark.result:
        return _outcomes(session, student, mark, "unchanged")
    step = f"{before or 'no mark'} -> {mark.result}"
    if dry:
        return _outcomes(session, student, mark, "waiting", step)
    if after != mark.result:
        shown = f"the platform took it, and shows {after or 'no mark'}"
        return _outcomes(session, student, mark, "refused", shown)
    return _outcomes(session, student, mark, "written", step)


def _outcomes(
    session: Session, student: int, mark: Mark, outcome: Outcome, words: str = ""
) -> list[RowOutcome]:
    return [RowOutcome(line, key_of(session, student), outcome, words) for line in mark.lines]
