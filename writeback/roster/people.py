"""Reads the users of a school from the platform: all users, or a single user by outer_id."""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import msgspec

from campus.contracts.fields import fields
from campus.contracts.v1_people import GUARDIAN, UserField
from campus.decoding.nested import page_of
from campus.fetch.reader import Reader, drive_readings
from campus.http.client import Client
from campus.http.errors import TornBody, UnexpectedAnswer
from campus.paging import V1_NAMES
from campus.plan.custom_fields import CustomField, with_custom_fields
from campus.plan.units import SliceQuery, Unit
from campus.registry import RESOURCES, ResourceSpec
from campus.sources.gathered import Collector, Gathered
from campus.sources.pages import SourceContext, read_pages
from campus.sources.slice import read_slice
from writeback.roster.fields import SECRET, STANDARD

USERS = RESOURCES["v1_users"]
#: Archived and disabled.
HIDDEN_STATUSES = tuple(value for _, value in USERS.hidden_filters)

#: Seconds for which a reading of all users is reused.
STALE = 300.0

#: A user's values by the interface's names.
Person = Mapping[str, Any]


@dataclass
class People:
    """The users of one school."""

    client: Client
    school_id: int
    #: The school's custom fields, by name and role.
    fields: Mapping[tuple[str, int], UserField]
    #: The resource with the custom fields, if not the platform's current custom fields.
    spec: ResourceSpec = USERS
    #: Whether the platform ignores filters, and sends other users too.
    ignores: bool = False
    # Then one reading serves all who asked before it began; when that was, by the monotonic clock.
    _read_at: float = -math.inf
    _everybody: Mapping[tuple[str, str], list[Person]] = field(default_factory=dict)
    _tried: bool = False
    _hides: bool | None = None
    # People are told apart by numbers that may be identity numbers: so these are read, but not for the lake.
    _reads: Client = field(init=False)
    _compares: bool = field(init=False)
    _first: asyncio.Lock = field(default_factory=asyncio.Lock)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._compares = self.spec is USERS
        self._reads = self.client.with_id_numbers() if self._compares else self.client
        if self._compares:
            custom = [
                CustomField(custom_field.name, custom_field.label, custom_field.options)
                for custom_field in self.fields.values()
            ]
            self.spec = with_custom_fields(USERS, custom, keep_id_numbers=False)

    async def everybody(self) -> list[Person]:
        """All users, whatever their role and status. Raises CampusError, also if some may be missing."""
        people: list[Person] = []
        collector = _Rows(self.spec, people)
        await read_slice(self._reads, SliceQuery(self.school_id), [collector])
        account = collector.account
        if account.failed or account.bad or not account.complete:
            why = "; ".join((*account.failed.values(), *(bad.reason for bad in account.bad), *account.proofs))
            raise UnexpectedAnswer(
                f"the users of school {self.school_id} could not be read whole: {why or 'rows are missing'}.",
                "Nothing is planned from a part of them: run again, or see campus doctor.",
            )
        return people

    async def find(
        self, value: str, role: int, by: Literal["outer_id", "usin"] = "outer_id", *, fresh: bool = False
    ) -> list[Person]:
        """The users with this outer_id: more than one where the platform lets that be. fresh: as they are
        now, also where the platform ignores the filter; else one reading of it serves for a while.

        Raises CampusError."""
        asked_at = time.monotonic()
        if not self._tried:
            # The first request shows whether the platform ignores the filter. Then one reading serves all.
            async with self._first:
                return await self._find(value, role, by, asked_at, fresh=fresh)
        return await self._find(value, role, by, asked_at, fresh=fresh)

    async def _find(self, value: str, role: int, by: str, asked_at: float, *, fresh: bool) -> list[Person]:
        if not self.ignores:
            gathered = await self.gathered(value, role, by)
            self._tried = True
            if not self.ignores:
                return _rows_of(gathered, self.spec)
        async with self._one_at_a_time:
            if self._read_at < (asked_at if fresh else asked_at - STALE):
                began = time.monotonic()
                self._everybody = _by_names(await self.everybody())
                self._read_at = began
        return self._everybody.get((by, value), [])

    async def gathered(self, value: str, role: int, by: str = "outer_id") -> Gathered:
        """Request one user, as the lake reads users. If the platform `ignores` filters, archived and
        disabled users may be missing. Raises CampusError."""
        answer = await self._query({by: value}, role)
        # Lists may leave out archived and disabled users unless the request names their status.
        if not answer.rows and not self.ignores and await self._hides_some():
            for status in HIDDEN_STATUSES:
                answer = answer if answer.rows else await self._query({by: value, "status": status}, role)
        return answer

    async def _query(self, filters: Mapping[str, str], role: int) -> Gathered:
        """Request users with filters, and drop users who do not match the filters."""
        params = {**filters, **({"role": str(GUARDIAN)} if role == GUARDIAN else {})}
        unit = Unit(USERS.path, params, empty_is_unusual=False)
        context = SourceContext(self._reads, self.spec, SliceQuery(self.school_id))
        reader = Reader(self._reads, self.school_id, self.spec.scopes)
        gathered = await drive_readings(reader, read_pages(context, unit))
        own = [
            number
            for number, row in enumerate(gathered.rows)
            if all(str(getattr(row, name)) == value for name, value in filters.items())
        ]
        if len(own) < len(gathered.rows):
            self.ignores = True
            gathered.rows = [gathered.rows[number] for number in own]
            gathered.extras = [gathered.extras[number] for number in own]
            gathered.trashed = [gathered.trashed[number] for number in own]
        return gathered

    def shown(self, answer: Any) -> Person:
        """The values of a user in the response to a write, or from a look; empty: it shows no user."""
        try:
            body = msgspec.json.encode([answer])
            [row] = page_of(self.spec, body, keep_id_numbers=self._compares).rows
        except (TornBody, UnexpectedAnswer, ValueError):
            return {}
        names = [(column.name, column.wire) for column in fields(self.spec.contract)]
        return {wire: getattr(row, name) for name, wire in names if wire in answer}

    def sendable(self, person: Person) -> dict[str, Any]:
        """The values of a user that a write may send."""
        custom = {name for name, _ in self.fields}
        return {
            name: value
            for name, value in person.items()
            if (name in STANDARD and name not in SECRET and value is not None) or (name in custom and value)
        }

    async def _hides_some(self) -> bool:
        """Whether lists leave out users of a status unless they ask for it. Asked once, of the first user
        of each status."""
        async with self._one_at_a_time:
            if self._hides is None:
                self._hides = any([await self._hides_one(status) for status in HIDDEN_STATUSES])
        return self._hides

    async def _hides_one(self, status: str) -> bool:
        names = V1_NAMES
        params: dict[str, str | int] = {"status": status, names.page: 1, names.per_page: 1}
        decode = partial(page_of, self.spec, keep_id_numbers=self._compares)
        answer = await Reader(self.client, self.school_id, USERS.scopes).fetch(USERS.path, params, decode)
        first = next((row for row in answer.value.rows if str(row.status) == status and row.usin), None)
        if first is None:
            return False
        return all(row.id != first.id for row in (await self._query({"usin": first.usin}, first.role)).rows)


def _by_names(people: Iterable[Person]) -> Mapping[tuple[str, str], list[Person]]:
    by_name: dict[tuple[str, str], list[Person]] = defaultdict(list)
    for person in people:
        for name in ("outer_id", "usin"):
            if person[name]:
                by_name[name, person[name]].append(person)
    return dict(by_name)


class _Rows(Collector):
    """Collects the rows in memory."""

    def __init__(self, spec: ResourceSpec, people: list[Person]) -> None:
        super().__init__(spec)
        self._people = people

    def add(self, gathered: Gathered) -> None:
        """Add the rows of one collection."""
        self._people += _rows_of(gathered, self.spec)
        gathered.rows, gathered.extras, gathered.trashed = [], [], []
        super().add(gathered)


def _rows_of(gathered: Gathered, spec: ResourceSpec) -> list[Person]:
    names = [(column.name, column.wire) for column in fields(spec.contract)]
    return [
        {wire: getattr(row, name) for name, wire in names}
        for row, trashed in zip(gathered.rows, gathered.trashed, strict=True)
        if not trashed
    ]
