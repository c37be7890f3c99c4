"""Binds cards to students and displays to classrooms, and unbinds them. A look comes first.

Nothing of the platform lists cards or devices. Which ones there are the settings say, and the record of what
was bound here.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from campus.fetch.reader import Reader
from campus.files.headers import needs, renamed
from campus.files.table_file import TableFile
from campus.http.client import Client, segment
from campus.http.errors import CampusError, NotFound, TornBody, UnexpectedAnswer
from campus.registry import RESOURCES
from writeback.operations import (
    BIND_CARD,
    BIND_DEVICE,
    UNBIND_CARD,
    UNBIND_DEVICE,
    Operation,
    Write,
)
from writeback.outcomes import RowOutcome, failed
from writeback.send.writer import Look, Written

#: "card_id (string, within 255 bytes)".
LONGEST_CARD = 255
#: Sends one write, records it, and looks whether it happened if its response is lost.
SendOnce = Callable[[Write, str, Look], Awaitable[Written]]


@dataclass(frozen=True)
class Kind:
    """A kind of thing that can be bound: cards to students, displays to classrooms."""

    resource: str
    word: str
    bind: Operation
    unbind: Operation
    #: The form field that names the student or classroom.
    to: str
    #: Reads from the response what the card or device is bound to.
    holder: Callable[[Mapping[str, Any]], str]

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of a file."""
        return (f"{self.word}_id", self.to, *(("password",) if self.resource == "cards" else ()))


def _number(profile: Mapping[str, Any]) -> str:
    """The student number of a card's profile, which may be inside another object."""
    inner = profile.get("reflection") or profile.get("student") or profile
    return str(inner.get("usin") or "") if isinstance(inner, dict) else ""


CARDS = Kind("cards", "card", BIND_CARD, UNBIND_CARD, "username", _number)
DEVICES = Kind(
    "devices", "device", BIND_DEVICE, UNBIND_DEVICE, "classroom_id", lambda room: str(room.get("id") or "")
)
KINDS = {kind.resource: kind for kind in (CARDS, DEVICES)}


@dataclass(frozen=True, slots=True)
class Binding:
    """A card or device to bind or unbind."""

    #: The line of the file; 0: the ids come from the command line.
    line: int
    id: str
    #: The student or classroom. Empty in an unbinding: any.
    to: str = ""
    #: The student's number, for cards.
    password: str | None = field(default=None, repr=False)
    #: The reason why the row is invalid; empty: it is valid.
    problem: str = ""


@dataclass(frozen=True)
class Binder:
    """Binds and unbinds of one school. dry: look, and write nothing."""

    client: Client
    send: SendOnce
    kind: Kind
    school_id: int
    dry: bool = False

    async def look(self, id: str) -> Mapping[str, Any] | None:
        """Read what a card or device is bound to; None: it is unbound. Raises CampusError."""
        spec = RESOURCES[self.kind.resource]
        try:
            reader = Reader(self.client, self.school_id, spec.scopes)
            answer = await reader.fetch(spec.path.format(id=segment(id)), {}, _object)
        except NotFound:
            return None
        return answer.value or None

    async def bind(self, binding: Binding) -> RowOutcome:
        """Bind a card or device. If it is bound to the same target, it is unchanged; to another, it is
        refused."""
        kind = self.kind

        async def bound() -> Mapping[str, Any] | None:
            profile = await self.look(binding.id)
            return profile if profile and kind.holder(profile) == binding.to else None

        try:
            before = await self.look(binding.id)
            if before is not None:
                if kind.holder(before) == binding.to:
                    return RowOutcome(binding.line, binding.id, "unchanged")
                words = f"the {kind.word} is bound to {kind.holder(before) or 'another'}: unbind it first"
                return RowOutcome(binding.line, binding.id, "refused", words)
            if self.dry:
                return RowOutcome(binding.line, binding.id, "waiting", f"bind to {binding.to}")
            password = {} if binding.password is None else {"password": binding.password}
            to = int(binding.to) if kind is DEVICES else binding.to
            content = {f"{kind.word}_id": binding.id, kind.to: to, **password}
            # The path has no id, but the record needs one.
            write = Write(kind.bind, self.school_id, binding.id, content=content)
            await self.send(write, _row(binding.line), bound)
        except CampusError as error:
            return failed(binding.line, binding.id, error, sent=False)
        return RowOutcome(binding.line, binding.id, "written", f"bound to {binding.to}")

    async def unbind(self, binding: Binding) -> RowOutcome:
        """Unbind a card or device. If it is bound to another target than the binding says, it is refused."""
        line, id = binding.line, binding.id

        async def unbound() -> bool | None:
            return True if await self.look(id) is None else None

        try:
            before = await self.look(id)
            if before is None:
                return RowOutcome(line, id, "unchanged", "it is not bound")
            if binding.to and self.kind.holder(before) != binding.to:
                words = (
                    f"the {self.kind.word} is bound to {self.kind.holder(before) or 'another'}: it stays so"
                )
                return RowOutcome(line, id, "refused", words)
            if self.dry:
                return RowOutcome(line, id, "waiting", f"unbind from {self.kind.holder(before)}")
            await self.send(Write(self.kind.unbind, self.school_id, id), _row(line), unbound)
        except CampusError as error:
            return failed(line, id, error, sent=False)
        return RowOutcome(line, id, "written", f"unbound from {self.kind.holder(before)}")


def bindings_of(table: TableFile, kind: Kind, name: str, *, unbind: bool = False) -> list[Binding]:
    """The bindings in a file. name: the file's name. unbind: the file lists unbindings, which need only ids.

    Raises TableError for unusable columns."""
    rows = renamed(table, kind.fields, name)
    columns = rows[0].cells if rows else dict.fromkeys(kind.fields, "")
    id, *others = kind.fields
    needs(columns, (id,), *((field_name,) for field_name in others if not unbind), name=name)
    return [
        Binding(row.line, row.cells[id], row.cells.get(kind.to, ""), row.cells.get("password"), row.problem)
        for row in rows
    ]


def sound(
    kind: Kind, bindings: Sequence[Binding], *, unbind: bool = False
) -> tuple[list[Binding], list[RowOutcome]]:
    """Split bindings into valid bindings and refused rows. Rows with the same id are all refused."""
    lines: dict[str, list[int]] = defaultdict(list)
    for binding in bindings:
        lines[binding.id].append(binding.line)
    good, refused = [], []
    for binding in bindings:
        problem = binding.problem or problem_of(kind, binding, unbind=unbind)
        if not problem and len(lines[binding.id]) > 1:
            numbers = ", ".join(map(str, lines[binding.id]))
            problem = f"lines {numbers} have the same {kind.word}_id"
        if problem:
            # A refused line of a file is named by its number alone.
            refused.append(RowOutcome(binding.line, "" if binding.line else binding.id, "refused", problem))
        else:
            good.append(binding)
    return good, refused


def problem_of(kind: Kind, binding: Binding, *, unbind: bool = False) -> str:
    """The reason to refuse a binding; empty: the binding is valid."""
    if not binding.id:
        return f"{kind.word}_id is missing"
    if unbind:
        return ""
    if kind is CARDS and len(binding.id.encode()) > LONGEST_CARD:
        return f"card_id has {len(binding.id.encode())} bytes; the interface takes {LONGEST_CARD}"
    if not binding.to:
        return f"{kind.to} is missing"
    if kind is CARDS and not binding.password:
        return "password is missing: the platform binds a card by the student's own login"
    if kind is DEVICES and not binding.to.isdecimal():
        return "classroom_id: expected a number"
    return ""


def _row(line: int) -> str:
    return f"line {line}" if line else ""


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TornBody(str(error)) from None
    if value is not None and not isinstance(value, dict):
        raise UnexpectedAnswer("an object was expected.", "Tell the platform's operator.")
    return value
