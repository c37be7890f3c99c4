"""Carrying out a plan, and nothing else: each row is looked at first, and left alone where it has moved.

Whoever has it already as planned is done, so that a run after a lost connection, or a kill, ends the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from campus.http.errors import CampusError, Halt, Transient, Unconfirmed
from campus.writes.operations import CHANGE_USER, CREATE_USER, DELETE_USER, Write
from campus.writes.writer import Look, Written
from loading.writes.outcomes import RowOutcome, failed
from loading.writes.roster.fields import GUARDIAN, same
from loading.writes.roster.people import People, Person
from loading.writes.roster.plan import ARCHIVED, Plan, Step

#: Sends one write with its record and a look.
Send = Callable[[Write, str, Look | None], Awaitable[Written]]
#: So many refusals never stop a plan, whatever their share.
FEW = 10
HAVE_MOVED = "nothing was written; make a new plan"


@dataclass
class Applied:
    """What became of the steps. `stopped`: why the rest was left; empty: nothing was."""

    outcomes: list[RowOutcome] = field(default_factory=list)
    stopped: str = ""
    written: set[int] = field(default_factory=set)


@dataclass
class Applier:
    """Carries out one plan. secrets: values of secret fields by the line of the roster. max_refused: the
    share of refusals from which on the rest is left. at_a_time: rows side by side. done: is told of each."""

    plan: Plan
    people: People
    send: Send
    secrets: Mapping[int, Mapping[str, str]]
    max_refused: float = 0.05
    at_a_time: int = 16
    dry: bool = False
    done: Callable[[RowOutcome], None] = lambda _: None
    _applied: Applied = field(default_factory=Applied)
    _created: dict[str, int] = field(default_factory=dict)
    _refusals: int = 0

    async def apply(self) -> Applied:
        """Carry out all steps: users first, then guardians, whose students may be among them, then
        deletions. Raises nothing of the platform's: what ends it is in `stopped`."""
        steps = self.plan.steps
        for group in (
            [one for one in steps if one.action != "delete" and one.role != GUARDIAN],
            [one for one in steps if one.action != "delete" and one.role == GUARDIAN],
            [one for one in steps if one.action == "delete"],
        ):
            waiting = iter(group)
            workers = min(self.at_a_time, len(group))
            await asyncio.gather(*(self._work(waiting) for _ in range(workers)))
            for step in waiting:
                self._note(RowOutcome(step.line, step.outer_id, "waiting", "not begun"))
        return self._applied

    async def _work(self, waiting: Iterable[Step]) -> None:
        for step in waiting:
            if self._applied.stopped:
                self._note(RowOutcome(step.line, step.outer_id, "waiting", "not begun"))
                continue
            try:
                outcome = await self._carry_out(step)
            except CampusError as error:
                outcome = failed(step.line, step.outer_id, error)
            except Halt as halt:
                self._applied.stopped = self._applied.stopped or str(halt)
                outcome = RowOutcome(step.line, step.outer_id, "waiting", "not begun")
            self._note(outcome)
            self._heed(outcome)

    def _note(self, outcome: RowOutcome) -> None:
        self._applied.outcomes.append(outcome)
        self.done(outcome)

    def _heed(self, outcome: RowOutcome) -> None:
        """Stop where too much is refused."""
        self._refusals += outcome.outcome == "refused"
        most = max(FEW, self.max_refused * len(self.plan.steps))
        if self._refusals > most and not self._applied.stopped:
            self._applied.stopped = (
                f"{self._refusals} of {len(self._applied.outcomes)} rows were refused, more than the share "
                f"of {self.max_refused:.0%} that passes (writes.roster.max_refused_share)"
            )

    async def _carry_out(self, step: Step) -> RowOutcome:
        try:
            found = await self._look_up(step)
        except Transient as error:
            # It is a question that was lost: nothing has been sent.
            return RowOutcome(step.line, step.outer_id, "waiting", str(error))
        if len(found) > 1:
            ids = ", ".join(str(one["id"]) for one in found)
            return self._refused(step, f"{len(found)} users have this outer_id now: {ids}")
        person = found[0] if found else None
        if step.action == "create":
            return await self._create(step, person)
        if step.action == "delete":
            return await self._delete(step, person)
        return await self._change(step, person)

    async def _look_up(self, step: Step) -> list[Person]:
        found = await self.people.find(step.outer_id, step.role)
        if found or not step.links_usin:
            return found
        # A user who is to get this outer_id has none to be found by.
        linked = await self.people.find(step.links_usin, step.role, by="usin")
        return linked if len(linked) == 1 else []

    async def _create(self, step: Step, person: Person | None) -> RowOutcome:
        after = self._with_student(step)
        if person is not None:
            self._created[step.outer_id] = person["id"]
            if _has(person, after):
                return RowOutcome(step.line, step.outer_id, "unchanged", "made before")
            return self._refused(step, f"user {person['id']} has this outer_id by now; {HAVE_MOVED}")
        if self.dry:
            return RowOutcome(step.line, step.outer_id, "waiting", "create")
        if step.student and "student_id" not in after:
            return self._refused(step, f"the student {step.student} could not be made")

        async def look() -> Person | None:
            there = await self.people.find(step.outer_id, step.role, fresh=True)
            return there[0] if there else None

        content = {**after, **self.secrets.get(step.line, {})}
        write = Write(CREATE_USER, self.plan.school_id, content=content)
        written = await self.send(write, _row(step), look)
        if isinstance(written.value, dict) and isinstance(written.value.get("id"), int):
            self._created[step.outer_id] = written.value["id"]
        if not written.status:
            # The answer was lost: what if the platform had carried it out twice?
            there = await self.people.find(step.outer_id, step.role, fresh=True)
            if len(there) > 1:
                ids = ", ".join(str(one["id"]) for one in there)
                raise Unconfirmed(f"{len(there)} users have this outer_id now: {ids}.", "Delete one there.")
        return self._written(step, "created")

    async def _change(self, step: Step, person: Person | None) -> RowOutcome:
        if person is None or person["id"] != step.id:
            return self._refused(step, f"user {step.id} has not this outer_id any more; {HAVE_MOVED}")
        if _has(person, step.after):
            return RowOutcome(step.line, step.outer_id, "unchanged", "changed before")
        moved = [name for name, value in step.before.items() if not same(person.get(name), value)]
        moved = [name for name in moved if not same(person.get(name), step.after[name])]
        if moved:
            return self._refused(
                step, f"{', '.join(moved)} changed on the platform since the plan; {HAVE_MOVED}"
            )
        if self.dry:
            return RowOutcome(step.line, step.outer_id, "waiting", f"change {', '.join(step.after)}")
        write = Write(CHANGE_USER, self.plan.school_id, step.id, content=dict(step.after))
        await self.send(write, _row(step), None)
        return self._written(step, f"changed {', '.join(step.after)}")

    async def _delete(self, step: Step, person: Person | None) -> RowOutcome:
        left = person is not None and person["status"] == ARCHIVED != step.before["status"]
        if person is None or (left and person["id"] == step.id):
            return RowOutcome(step.line, step.outer_id, "unchanged", "deleted before")
        if person["id"] != step.id or not _has(person, step.before):
            return self._refused(step, f"user {person['id']} changed since the plan; {HAVE_MOVED}")
        if self.dry:
            return RowOutcome(step.line, step.outer_id, "waiting", "delete")
        await self.send(Write(DELETE_USER, self.plan.school_id, step.id), _row(step), None)
        return self._written(step, "deleted")

    def _with_student(self, step: Step) -> dict[str, Any]:
        student = self._created.get(step.student)
        return dict(step.after) if student is None else {**step.after, "student_id": student}

    def _written(self, step: Step, words: str) -> RowOutcome:
        self._applied.written.add(step.line)
        return RowOutcome(step.line, step.outer_id, "written", words)

    def _refused(self, step: Step, words: str) -> RowOutcome:
        return RowOutcome(step.line, step.outer_id, "refused", words)


def _has(person: Person, values: Mapping[str, Any]) -> bool:
    return all(same(person.get(name), value) for name, value in values.items())


def _row(step: Step) -> str:
    return f"line {step.line}" if step.line else f"outer_id {step.outer_id}"


def refused_share(plan: Plan) -> float:
    """The share of a roster's rows that are refused."""
    return len(plan.refused) / plan.rows if plan.rows else 0.0


def secrets_of(lines: Mapping[int, Mapping[str, str]], steps: Sequence[Step]) -> dict[int, dict[str, str]]:
    """The values of the steps' secret fields, of the roster's lines."""
    return {
        step.line: {name: lines[step.line][name] for name in step.secret}
        for step in steps
        if step.secret and step.line in lines
    }
