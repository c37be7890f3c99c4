"""Rosters against a running platform: planned and applied as the commands do, without a warehouse."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from campus.contracts.v1_people import UserField
from campus.files.table_file import TableFile, TableRow
from campus.http.client import Client
from campus.http.config import ClientConfig
from simulator.process import RunningSimulator
from warehouse.lake.delta import Lake
from writeback.operations import Write
from writeback.roster.apply import Applied, Applier
from writeback.roster.fields import STUDENT
from writeback.roster.make_plan import make_plan
from writeback.roster.people import USERS, People
from writeback.roster.plan import Plan, PlanOptions
from writeback.roster.rows import Reading, read_rows
from writeback.send.writer import Look, Writer, Written
from writeback.session import recorded
from writeback.store.journal import Provenance
from writeback.store.store import open_journal

SCHOOL = 101
Row = Mapping[str, str]


def pupil(number: int, **overrides: str) -> dict[str, str]:
    """A row of a roster; more: other columns, or other values."""
    standard = {"name": f"新生{number}", "role": "学生", "graduates_in": "2025"}
    return {"outer_id": f"new-{number}", "usin": f"N{number:06}", **standard, **overrides}


def table(rows: Iterable[Row]) -> TableFile:
    """A roster of these rows, the first of which is on line 2."""
    listed = list(rows)
    columns = tuple(dict.fromkeys(name for row in listed for name in row))
    cells = [{name: row.get(name, "") for name in columns} for row in listed]
    return TableFile(columns, tuple(TableRow(line, values) for line, values in enumerate(cells, 2)))


FIELDS = {
    ("boarding", 1): UserField(name="boarding", role=1, type=2, options=["走读", "住校"]),
    ("title", 2): UserField(name="title", role=2, type=1),
}
ABOUT = {"school_id": SCHOOL, "made_at": datetime(2026, 11, 23, 8), "source": "roster", "sha256": ""}
#: A user of whom nothing is known but what makes him one.
NOTHING: Mapping[str, Any] = {
    "outer_id": None,
    "gender": "u",
    "status": 1,
    "phone": "",
    "email": "",
    "entered_at": None,
    "graduates_in": None,
    "student_id": None,
    "guardian_role": None,
    "boarding": "",
    "title": "",
}


def person(number: int, **overrides: Any) -> dict[str, Any]:
    """The user whom `pupil` of the same number is about."""
    standard = {"id": number, "usin": f"N{number:06}", "name": f"新生{number}", "role": STUDENT}
    return {**NOTHING, **standard, "outer_id": f"new-{number}", "graduates_in": 2025, **overrides}


def plan(
    rows: list[Mapping[str, str]], people: list[dict[str, Any]], empty: Any = "keep", **options: Any
) -> Plan:
    names = {name for name, _ in FIELDS}
    good, bad = read_rows(table(rows), SCHOOL, names, Reading(empty=empty), "roster")
    return make_plan(good, bad, people, FIELDS, PlanOptions(**options), **ABOUT)


@dataclass
class Town:
    """A platform, and a home in which its writes are recorded."""

    platform: RunningSimulator
    home: Path
    fields: Mapping[tuple[str, int], UserField] = field(default_factory=dict)

    @property
    def lake(self) -> Lake:
        return Lake(f"{self.home}/lake")

    def plan(
        self, rows: Sequence[Row], options: PlanOptions | None = None, reading: Reading | None = None
    ) -> Plan:
        """The plan of a roster."""
        return asyncio.run(self._plan(rows, options or PlanOptions(), reading or Reading()))

    async def _plan(self, rows: Sequence[Row], options: PlanOptions, reading: Reading) -> Plan:
        async with self._client() as client:
            everybody = await People(client, SCHOOL, self.fields).everybody()
        custom = {name for name, _ in self.fields}
        good, bad = read_rows(table(rows), SCHOOL, custom, reading, "roster")
        return make_plan(good, bad, everybody, self.fields, options, **ABOUT)

    def apply(
        self, plan: Plan, secrets: Mapping[int, Mapping[str, str]] | None = None, **options: Any
    ) -> Applied:
        """Carry a plan out, each write on record."""
        return asyncio.run(self._apply(plan, secrets or {}, options))

    async def _apply(
        self, plan: Plan, secrets: Mapping[int, Mapping[str, str]], options: Mapping[str, Any]
    ) -> Applied:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self._client())
            journal = stack.enter_context(open_journal(self.home, self.lake))
            writer = Writer(client, settling=0.005)

            async def send(write: Write, row: str, look: Look | None = None) -> Written:
                return await recorded(writer, journal, Provenance("test", "roster"), write, row, look)

            people = People(client, SCHOOL, self.fields)
            return await Applier(plan, people, send, secrets, **options).apply()

    def _client(self) -> Client:
        platform = self.platform
        config = ClientConfig(
            platform.base_url, platform.client_id, platform.client_secret, backoff_base=0.005
        )
        return Client(config, [USERS.scopes])

    def true_people(self) -> list[dict[str, Any]]:
        """The users who are there, as the platform itself has them."""
        return [entry["row"] for entry in self.platform.rows("v1_users", SCHOOL) if not entry["trashed"]]

    def true(self, outer_id: str) -> list[dict[str, Any]]:
        """Those with this outer_id."""
        return [user for user in self.true_people() if user["outer_id"] == outer_id]
