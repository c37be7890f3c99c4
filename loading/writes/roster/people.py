"""The users of a school as the platform has them: all in one reading, or one by outer_id."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from campus.contracts.fields import fields
from campus.contracts.v1_people import GUARDIAN, UserField
from campus.extract.batches import Collector, Gathered
from campus.extract.custom_fields import CustomField, with_custom_fields
from campus.extract.requests import Unit, Where
from campus.extract.slice import read
from campus.extract.unit import read_unit
from campus.http.client import Client
from campus.http.errors import UnexpectedAnswer
from campus.http.events import Tally
from campus.registry import RESOURCES, ResourceSpec

USERS = RESOURCES["v1_users"]
#: The filter by which nobody is missed: archived and disabled users may be in no list that does not ask.
STATUSES = ("", "2", "4")

#: A user's values by the interface's names.
Person = Mapping[str, Any]


@dataclass
class People:
    """The users of one school. `fields`: its custom fields. `ignores_filter`: the platform sends everybody,
    whomever one asks for; then each look reads all of them."""

    client: Client
    school_id: int
    fields: Mapping[tuple[str, int], UserField]
    ignores_filter: bool = False
    _spec: ResourceSpec = field(init=False)

    def __post_init__(self) -> None:
        custom = [CustomField(one.name, one.label, one.options) for one in self.fields.values()]
        self._spec = with_custom_fields(USERS, custom, keep_id_numbers=False)

    async def everybody(self) -> list[Person]:
        """All users, whatever their role and status. Raises CampusError, also where some may be missing."""
        found: list[Person] = []
        collector = _Rows(self._spec, found)
        await read(self.client, self._spec, Where(self.school_id), collector)
        account = collector.account
        if account.failed or account.bad or not account.complete:
            why = "; ".join((*account.failed.values(), *(bad.reason for bad in account.bad), *account.notes))
            raise UnexpectedAnswer(
                f"the users of school {self.school_id} could not be read whole: {why or 'rows are missing'}.",
                "Nothing is planned from a part of them: run again, or see campus doctor.",
            )
        return found

    async def find(self, value: str, role: int, by: Literal["outer_id", "usin"] = "outer_id") -> list[Person]:
        """The users with this outer_id: more than one where the platform lets that be. Raises CampusError."""
        if not self.ignores_filter:
            for status in STATUSES:
                if found := await self._asked(by, value, role, status):
                    return found
                if self.ignores_filter:
                    break
            else:
                return []
        return [one for one in await self.everybody() if one[by] == value]

    async def _asked(self, by: str, value: str, role: int, status: str) -> list[Person]:
        params = {by: value}
        params |= {"role": str(GUARDIAN)} if role == GUARDIAN else {}
        params |= {"status": status} if status else {}
        unit = Unit(USERS.path, params, grave=False)
        gathered = await read_unit(self.client, self._spec, Where(self.school_id), unit, Tally())
        rows = _rows_of(gathered, self._spec)
        own = [row for row in rows if row[by] == value]
        self.ignores_filter = self.ignores_filter or len(own) < len(rows)
        return own


class _Rows(Collector):
    """Keeps the rows themselves."""

    def __init__(self, spec: ResourceSpec, found: list[Person]) -> None:
        super().__init__(spec)
        self._found = found

    def add(self, gathered: Gathered) -> None:
        """Take over the rows of one collection."""
        self._found += _rows_of(gathered, self.spec)
        gathered.rows, gathered.extras, gathered.trashed = [], [], []
        super().add(gathered)


def _rows_of(gathered: Gathered, spec: ResourceSpec) -> list[Person]:
    names = [(each.name, each.wire) for each in fields(spec.contract)]
    return [
        {wire: getattr(row, name) for name, wire in names}
        for row, trashed in zip(gathered.rows, gathered.trashed, strict=True)
        if not trashed
    ]
