"""Creates, changes and removes the custom fields of a school's users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from campus.contracts.v1_people import UserField
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from writeback.bindings import SendOnce
from writeback.operations import CHANGE_FIELD, CREATE_FIELD, DELETE_FIELD, Operation, Write
from writeback.outcomes import RowOutcome, failed

TEXT, CHOICE = 1, 2


@dataclass(frozen=True)
class FieldWriter:
    """Writes the custom fields of one school. dry: look, and write nothing."""

    client: Client
    send: SendOnce
    school_id: int
    dry: bool = False

    async def fields(self) -> dict[tuple[str, int], UserField]:
        """Read the custom fields by name and role. Raises CampusError."""
        rows: list[dict[str, Any]] = []
        collector = Collector(RESOURCES["user_fields"], write=lambda batch: rows.extend(batch.to_pylist()))
        await read_slice(self.client, SliceQuery(self.school_id), [collector])
        collector.flush()
        names = {field.name for field in msgspec.structs.fields(UserField)}
        user_fields = [UserField(**{name: row[name] for name in names}) for row in rows]
        return {(field.name, field.role): field for field in user_fields}

    async def put(self, field: UserField) -> RowOutcome:
        """Create a field, or change the existing field of its name and role. Without a type, an existing
        field keeps its type and options, and a new field is a text."""
        sent = False

        async def current() -> UserField | None:
            return (await self.fields()).get((field.name, field.role))

        try:
            before = await current()
            content = _content(field, before)
            if before is not None and _same(before, content):
                return RowOutcome(0, field.name, "unchanged")
            if self.dry:
                return RowOutcome(0, field.name, "waiting", "change it" if before else "make it")
            operation, id = (CREATE_FIELD, None) if before is None else (CHANGE_FIELD, field.name)
            sent = operation.repeatable
            await self.send(Write(operation, self.school_id, id, content=content), "", current)
        except CampusError as error:
            return failed(0, field.name, error, sent=sent)
        return RowOutcome(0, field.name, "written", "made" if before is None else "changed")

    async def remove(self, name: str) -> RowOutcome:
        """Remove all fields of a name, since the interface deletes by name and not by role."""
        sent = False
        try:
            if not [existing for existing, _ in await self.fields() if existing == name]:
                return RowOutcome(0, name, "unchanged", "there is no such field")
            if self.dry:
                return RowOutcome(0, name, "waiting", "remove it, and all its values")
            sent = True
            await self._delete(DELETE_FIELD, name)
        except CampusError as error:
            return failed(0, name, error, sent=sent)
        return RowOutcome(0, name, "written", "removed")

    async def _delete(self, operation: Operation, name: str) -> None:
        async def gone() -> bool | None:
            return True if name not in {existing for existing, _ in await self.fields()} else None

        await self.send(Write(operation, self.school_id, name), "", gone)


def _content(field: UserField, before: UserField | None) -> dict[str, Any]:
    """The content of a write for a field. before: the field as the platform has it."""
    type_, options = field.type, field.options
    if type_ is None:
        type_, options = (TEXT, None) if before is None else (before.type or TEXT, before.options)
    content = {"name": field.name, "label": field.label, "role": field.role, "type": type_}
    if type_ == CHOICE:
        return {**content, "options": options}
    # A field keeps the values that a change leaves out.
    return {**content, "options": []} if before is not None and before.options else content


def _same(field: UserField, content: Mapping[str, Any]) -> bool:
    return all((getattr(field, name) or None) == (value or None) for name, value in content.items())
