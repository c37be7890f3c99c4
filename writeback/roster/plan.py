"""The plan of a roster as data: creations, changes and deletions, and the refused rows with their reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from writeback.roster.fields import GUARDIAN, STUDENT, TEACHER
from writeback.roster.rows import RefusedRow

VERSION = 1
Action = Literal["create", "change", "delete"]
#: The fields of a user that must still be as planned before the user is deleted.
CHECKED_BEFORE_DELETION = ("usin", "name", "role", "status")
#: The number of refusals that never stops a plan, whatever their share.
FEW = 10
#: The status of users who have left.
ARCHIVED = 2
NEEDED: Mapping[int, tuple[str, ...]] = {
    STUDENT: ("usin", "name", "graduates_in"),
    TEACHER: ("usin", "name"),
    GUARDIAN: ("usin", "name"),
}


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One user to be created, changed or deleted."""

    action: Action
    #: The line of the roster; 0: the user is not in the roster.
    line: int
    outer_id: str
    role: int
    id: int | None = None
    #: The platform's values of the changed fields. The step is only applied if they are still the same.
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    #: Secret fields. The plan does not have their values: they are read from the roster again.
    secret: tuple[str, ...] = ()
    #: The outer_id of a guardian's student whom the plan creates too.
    student: str = ""
    #: The usin of a user who has no outer_id yet.
    links_usin: str = ""
    #: Shown to the person who decides: the user's name, and the number and name of a guardian's student.
    name: str = ""
    ward: str = ""


class Gone(msgspec.Struct, frozen=True):
    """A user of the platform whose outer_id is not in the roster."""

    id: int
    outer_id: str
    usin: str | None
    name: str | None
    role: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that make one school of the platform at `base_url` equal a roster."""

    version: int = VERSION
    base_url: str = ""
    school_id: int
    #: The platform's wall clock, without a zone.
    made_at: Annotated[datetime, msgspec.Meta(tz=False)]
    #: The file of the roster, or the table of the warehouse.
    source: str
    #: The digest of the file; empty for a table.
    sha256: str
    rows: int
    #: How many users the platform has.
    people: int
    unchanged: int
    steps: tuple[Step, ...]
    gone: tuple[Gone, ...]
    refused: tuple[RefusedRow, ...]
    #: For the person who reads the plan, in English and in Chinese.
    notes: tuple[str, ...] = ()
    chinese_notes: tuple[str, ...] = ()
    #: Display names of the school's own fields, by name.
    labels: dict[str, str] = {}
    #: The number of users whom the roster manages, by role.
    managed: dict[int, int] = {}

    def refuses_more_than(self, share: float) -> bool:
        """Whether more than `share` of the roster's rows are refused, and more than FEW rows."""
        return len(self.refused) > max(FEW, share * self.rows)

    def of(self, action: Action) -> list[Step]:
        """The steps of one kind."""
        return [step for step in self.steps if step.action == action]


@dataclass(frozen=True)
class PlanOptions:
    """The options of a plan."""

    #: Delete the users who are gone from the roster.
    delete: bool = False
    #: Users without an outer_id get the outer_id of the row with the same usin.
    link_by_usin: bool = False
    #: The share of managed users that may be deleted, and the number that may always be deleted.
    max_deleted: float = 0.2
    handful: int = 5
