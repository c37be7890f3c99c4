"""Applies a plan, and nothing else: looks at each row first, and skips rows that have changed.

A row is finished if the platform has the planned values already. So a plan can be applied again after a lost
connection or a kill.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from campus.http.errors import (
    CampusError,
    Forbidden,
    PlatformUnavailable,
    Transient,
    Unauthorized,
    Unconfirmed,
)
from writeback.operations import CHANGE_USER, CREATE_USER, DELETE_USER, Write
from writeback.outcomes import INTERRUPTED, Outcome, RowOutcome, words_of
from writeback.roster.fields import GUARDIAN, STUDENT, same
from writeback.roster.people import People, Person
from writeback.roster.plan import ARCHIVED, FEW, Plan, Step
from writeback.send.side_by_side import side_by_side
from writeback.send.writer import Look, Written

#: Sends one write with its record and a look.
Send = Callable[[Write, str, Look | None], Awaitable[Written]]
HAVE_MOVED = "nothing was written; make a new plan"


@dataclass
class Applied:
    """The outcomes of a plan's steps."""

    outcomes: list[RowOutcome] = field(default_factory=list)
    #: The reason for skipping the remaining steps; empty: no step was skipped.
    stopped: str = ""
    #: Whether no more requests are sent to the platform.
    away: bool = False
    #: Steps whose users may have changed, in this run or an earlier run of the plan.
    concerned: list[Step] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether the plan is completed: no row waits or is unconfirmed."""
        open_outcomes = {"waiting", "unconfirmed"}
        return not self.stopped and open_outcomes.isdisjoint(row.outcome for row in self.outcomes)


class _Ended(Exception):
    """The outcome of a row whose write was not carried out as planned."""

    def __init__(self, outcome: Outcome, words: str) -> None:
        super().__init__(words)
        self.outcome = outcome
        self.words = words


@dataclass
class Applier:
    """Applies one plan."""

    plan: Plan
    people: People
    send: Send
    #: Values of secret fields by line of the roster.
    secrets: Mapping[int, Mapping[str, str]]
    #: The share of refusals at which the remaining steps are skipped.
    max_refused: float = 0.05
    #: The number of rows that are written concurrently.
    at_a_time: int = 16
    dry: bool = False
    #: Seconds before the last look at users whose response was lost.
    settling: float = 0.0
    #: Called with each outcome.
    done: Callable[[RowOutcome], None] = lambda _: None
    _applied: Applied = field(default_factory=Applied)
    _created: dict[str, int] = field(default_factory=dict)
    # The outer_ids of users for whom a write was sent.
    _sent: set[str] = field(default_factory=set)
    # By line of the roster: users who may have been created, or created twice, although no response arrived.
    _doubtful: dict[int, Step] = field(default_factory=dict)
    _refusals: int = 0
    _changed: bool = False

    async def apply(self) -> Applied:
        """Carry out all steps: users first, then guardians, since their students may be new users, then
        deletions. Failures and interrupts are not raised: the reason is in `stopped`."""
        steps = self.plan.steps
        for group in (
            [step for step in steps if step.action != "delete" and step.role != GUARDIAN],
            [step for step in steps if step.action != "delete" and step.role == GUARDIAN],
            [step for step in steps if step.action == "delete"],
        ):
            waiting = iter(group)
            workers = min(self.at_a_time, len(group))
            await side_by_side(self._work(waiting) for _ in range(workers))
        if self._doubtful and not self._applied.away:
            try:
                await self._look_again()
            except asyncio.CancelledError:
                self._interrupted()
        return self._applied

    async def _work(self, waiting: Iterable[Step]) -> None:
        for step in waiting:
            if self._applied.stopped:
                self._note(step, _row_outcome(step, "waiting", "not begun"))
                continue
            try:
                outcome = await self._carry_out(step)
            except _Ended as ended:
                outcome = _row_outcome(step, ended.outcome, ended.words)
            except (CampusError, PlatformUnavailable) as error:
                # A look failed, before any write.
                self._stop_at(error)
                outcome = _row_outcome(step, "waiting", f"nothing was sent: {words_of(error)}")
            except asyncio.CancelledError:
                self._interrupted()
                outcome = _row_outcome(step, "waiting", "not begun")
                if step.outer_id in self._sent:
                    outcome = _row_outcome(
                        step, "unconfirmed", "it was sent, and interrupted before the answer"
                    )
            self._note(step, outcome)
            self._heed(outcome)

    def _note(self, step: Step, outcome: RowOutcome) -> None:
        self._applied.outcomes.append(outcome)
        if outcome.outcome in ("written", "unchanged", "unconfirmed"):
            self._applied.concerned.append(step)
        self.done(outcome)

    def _stop_at(self, error: Exception) -> None:
        """Stop after an error that all other rows would have too."""
        halt = error if isinstance(error, PlatformUnavailable) else error.__cause__
        if isinstance(halt, PlatformUnavailable):
            self._applied.away = True
            self._stop(str(halt))
        elif isinstance(error, (Forbidden, Unauthorized)):
            self._stop(str(error))

    def _interrupted(self) -> None:
        self._applied.away = True
        self._stop(INTERRUPTED)

    def _stop(self, words: str) -> None:
        self._applied.stopped = self._applied.stopped or words

    def _heed(self, outcome: RowOutcome) -> None:
        """Stop if too many rows are refused."""
        self._refusals += outcome.outcome == "refused"
        if self._refusals > max(FEW, self.max_refused * len(self.plan.steps)):
            self._stop(
                f"{self._refusals} of {len(self._applied.outcomes)} rows were refused, more than the share "
                f"of {self.max_refused:.0%} that passes (writes.roster.max_refused_share)"
            )

    async def _carry_out(self, step: Step) -> RowOutcome:
        people = await self._look_up(step)
        if len(people) > 1:
            return _row_outcome(
                step, "refused", f"{len(people)} users have this outer_id now: {_ids(people)}"
            )
        person = people[0] if people else None
        if step.action == "create":
            return await self._create(step, person)
        if step.action == "delete":
            return await self._delete(step, person)
        return await self._change(step, person)

    async def _look_up(self, step: Step) -> list[Person]:
        people = await self.people.find(step.outer_id, step.role)
        if people or not step.links_usin:
            return people
        # The user does not have this outer_id yet, so it is looked up by its usin.
        linked = await self.people.find(step.links_usin, step.role, by="usin")
        return linked if len(linked) == 1 else []

    async def _create(self, step: Step, person: Person | None) -> RowOutcome:
        if person is not None:
            self._created[step.outer_id] = person["id"]
        elif self.dry:
            return _row_outcome(step, "waiting", "create")
        after = await self._with_student(step)
        if person is not None:
            if _has(person, after):
                return _row_outcome(step, "unchanged", "made before")
            return _row_outcome(
                step, "refused", f"user {person['id']} has this outer_id by now; {HAVE_MOVED}"
            )
        if step.student and "student_id" not in after:
            return _row_outcome(step, "refused", f"the student {step.student} could not be made")

        async def look() -> Person | None:
            people = await self.people.find(step.outer_id, step.role, fresh=True)
            return people[0] if people else None

        content = {**after, **self.secrets.get(step.line, {})}
        written = await self._send(Write(CREATE_USER, self.plan.school_id, content=content), step, look)
        shown = self.people.shown(written.value)
        if "id" in shown:
            self._created[step.outer_id] = shown["id"]
        if written.lost:
            self._doubtful[step.line] = step
        ignored = await self._ignored_fields(step, after, shown)
        return _row_outcome(
            step, "written", "created" + (f"; the platform does not take {ignored}" if ignored else "")
        )

    async def _change(self, step: Step, person: Person | None) -> RowOutcome:
        if person is None or person["id"] != step.id:
            return _row_outcome(
                step, "refused", f"user {step.id} has not this outer_id any more; {HAVE_MOVED}"
            )
        if _has(person, step.after):
            return _row_outcome(step, "unchanged", "changed before")
        moved = [name for name, value in step.before.items() if not same(person.get(name), value)]
        moved = [name for name in moved if not same(person.get(name), step.after[name])]
        if moved:
            return _row_outcome(
                step, "refused", f"{', '.join(moved)} changed on the platform since the plan; {HAVE_MOVED}"
            )
        if self.dry:
            return _row_outcome(step, "waiting", f"change {', '.join(step.after)}")
        whole = {**self.people.sendable(person), **step.after}
        write = Write(CHANGE_USER, self.plan.school_id, step.id, content=dict(step.after), whole=whole)
        written = await self._send(write, step)
        shown = self.people.shown(written.value)
        ignored = await self._ignored_fields(step, step.after, shown)
        # A change leaves other fields alone, but a request with the whole user may empty some.
        emptied = await self._emptied(step, person, shown) if written.whole else ""
        if emptied:
            self._stop(f"a change of user {step.id} emptied {emptied} there, of which the plan says nothing")
        if ignored:
            return _row_outcome(step, "refused", f"it was sent, and the platform does not take {ignored}")
        return _row_outcome(step, "written", f"changed {', '.join(step.after)}")

    async def _delete(self, step: Step, person: Person | None) -> RowOutcome:
        left = person is not None and person["status"] == ARCHIVED != step.before["status"]
        if person is None or (left and person["id"] == step.id):
            return _row_outcome(step, "unchanged", "deleted before")
        if person["id"] != step.id or not _has(person, step.before):
            return _row_outcome(step, "refused", f"user {person['id']} changed since the plan; {HAVE_MOVED}")
        if self.dry:
            return _row_outcome(step, "waiting", "delete")
        await self._send(Write(DELETE_USER, self.plan.school_id, step.id), step)
        return _row_outcome(step, "written", "deleted")

    async def _with_student(self, step: Step) -> dict[str, Any]:
        """The values of a new user, with the student's id for a guardian whose student exists by now."""
        if step.student and step.student not in self._created:
            students = await self.people.find(step.student, STUDENT, fresh=True)
            if len(students) == 1:
                self._created[step.student] = students[0]["id"]
        student = self._created.get(step.student)
        return dict(step.after) if student is None else {**step.after, "student_id": student}

    async def _send(self, write: Write, step: Step, look: Look | None = None) -> Written:
        """Send a write. Raises _Ended if it fails."""
        self._sent.add(step.outer_id)
        try:
            return await self.send(write, _row(step), look)
        except (CampusError, PlatformUnavailable) as error:
            self._stop_at(error)
            words = words_of(error)
            if isinstance(error, Unconfirmed) and look is not None:
                self._doubtful[step.line] = step
            if isinstance(error, (Transient, PlatformUnavailable)) and not write.operation.repeatable:
                raise _Ended("waiting", f"nothing was written: {words}") from None
            if isinstance(error, (Unconfirmed, Transient, PlatformUnavailable)):
                raise _Ended("unconfirmed", words) from None
            raise _Ended("refused", words) from None

    async def _ignored_fields(self, step: Step, sent: Mapping[str, Any], shown: Person) -> str:
        """The names of sent fields whose values the platform did not accept; empty: none. The response may
        have older values than the write, so a look decides."""
        if all(same(shown[name], value) for name, value in sent.items() if name in shown):
            return ""
        try:
            people = await self.people.find(str(sent.get("outer_id", step.outer_id)), step.role, fresh=True)
        except (CampusError, PlatformUnavailable):
            people = []
        now = people[0] if len(people) == 1 else shown
        return ", ".join(name for name, value in sent.items() if name in now and not same(now[name], value))

    async def _emptied(self, step: Step, before: Person, shown: Person) -> str:
        """The names of fields outside the change that the change has emptied. The first change is checked by
        a look, and later changes only if their responses show such a field."""

        def empty(now: Person) -> str:
            others = (name for name in now if name in before and name not in step.after)
            return ", ".join(
                name for name in others if same(now[name], None) and not same(before[name], None)
            )

        if self._changed and not empty(shown):
            return ""
        self._changed = True
        try:
            people = await self.people.find(
                str(step.after.get("outer_id", step.outer_id)), step.role, fresh=True
            )
        except (CampusError, PlatformUnavailable):
            people = []
        return empty(people[0] if len(people) == 1 else shown)

    async def _look_again(self) -> None:
        """Look once more at users whose response was lost. By now they show a write that took effect late."""
        await asyncio.sleep(self.settling)
        places = asyncio.Semaphore(self.at_a_time)
        outcomes = {row.line: row for row in self._applied.outcomes}

        async def look(step: Step) -> None:
            async with places:
                try:
                    people = await self.people.find(step.outer_id, step.role, fresh=True)
                except (CampusError, PlatformUnavailable):
                    return
            if len(people) > 1:
                words = f"{len(people)} users have this outer_id now: {_ids(people)}. Delete one there."
                outcomes[step.line] = _row_outcome(step, "unconfirmed", words)
            elif people and outcomes[step.line].outcome == "unconfirmed":
                outcomes[step.line] = _row_outcome(step, "written", "created")

        await asyncio.gather(*map(look, self._doubtful.values()))
        self._applied.outcomes = [
            outcomes[row.line] if row.line in self._doubtful else row for row in self._applied.outcomes
        ]


def _row_outcome(step: Step, outcome: Outcome, words: str) -> RowOutcome:
    return RowOutcome(step.line, step.outer_id, outcome, words)


def _ids(people: Sequence[Person]) -> str:
    return ", ".join(str(person["id"]) for person in people)


def _has(person: Person, values: Mapping[str, Any]) -> bool:
    return all(same(person.get(name), value) for name, value in values.items())


def _row(step: Step) -> str:
    return f"line {step.line}" if step.line else f"outer_id {step.outer_id}"


def secrets_of(lines: Mapping[int, Mapping[str, str]], steps: Sequence[Step]) -> dict[int, dict[str, str]]:
    """The values of the steps' secret fields, by line of the roster."""
    return {
        step.line: {name: lines[step.line][name] for name in step.secret}
        for step in steps
        if step.secret and step.line in lines
    }
