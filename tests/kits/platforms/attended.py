"""A school in this process, whose attendance the real client reads by either route, beside what is true."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from unittest.mock import patch

import pyarrow as pa

from campus.account import Account
from campus.attendance.calendar import Calendar, ClassTimes, Session, meetings_of
from campus.attendance.plan import AttendancePlan, Choice
from campus.attendance.requests import RECORDS, SESSIONS
from campus.attendance.routes import StudentSubset, read_by_sessions, read_by_students, read_cross_check
from campus.attendance.semester import Semester
from campus.attendance.week import Check, Week
from campus.contracts.fields import column_names
from campus.decoding.page import batch_schema
from campus.fetch.reader import Reader
from campus.http import exchange
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.plan.units import SliceQuery
from campus.registry import ATTENDANCE, RESOURCES
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from simulator.app import Application
from simulator.http.faults import FaultPlan
from simulator.readings import Readings
from simulator.settings import Access, Settings, Size
from simulator.store.statistics import shown_records
from tests.kits.platforms.app_engine import AppEngine

SCHOOL, SEMESTER = 101, 10101
TODAY = dt.date(2025, 5, 16)  # a Friday
T = TypeVar("T")
Row = dict[str, Any]


@dataclass
class Found:
    """What one reading came to: rows by key, checks, accounts by week, and the number of requests."""

    sessions: dict[Session, Row] = field(default_factory=dict)
    records: dict[int, Row] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    accounts: dict[int, Account] = field(default_factory=dict)
    requests: int = 0

    @property
    def disagreeing(self) -> list[Check]:
        return [check for check in self.checks if check.expected != check.actual]


class School:
    """A platform of one school; options are those of simulator.settings.Readings."""

    def __init__(self, students: int = 8, today: dt.date = TODAY, **readings: Any) -> None:
        size = Size(schools=1, students=students, semesters=1, today=today)
        self.faults = FaultPlan()
        self.app = Application(Settings(size, Access(), Readings(**readings)), self.faults)
        self.store = self.app.platform.store

    def run(self, use: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """What becomes of a client of this platform."""

        async def with_client() -> T:
            async with self._client() as client:
                return await use(client)

        return asyncio.run(with_client())

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        config = ClientConfig(
            "http://platform", "demo-client", "demo-secret", max_attempts=2, backoff_base=0.001
        )
        with patch.object(exchange, "open_engine", lambda _: AppEngine(self.app)):
            async with Client(config, [spec.scopes for spec in ATTENDANCE]) as client:
                yield client

    def semester(self, **calendar: Any) -> Semester:
        """The semester as the v1 interface shows it, and who has left as the store knows. `calendar`: fields
        of Calendar."""
        return self.run(lambda client: self._semester(client, calendar))

    async def _semester(self, client: Client, calendar: Mapping[str, Any]) -> Semester:
        query = SliceQuery(SCHOOL, self.app.platform.wire.directory.semester_id(SEMESTER))
        [term] = await _rows(client, "v1_semesters", query)
        classes = await _rows(client, "v1_classes", query)
        users = await _rows(client, "v1_users", query)
        class_query = replace(query, parents=tuple(row["id"] for row in classes))
        enrolled = await _rows(client, "v1_class_students", class_query)
        members: dict[int, dict[int, dt.date]] = {}
        for row in enrolled:
            members.setdefault(row["student_id"], {})[row["class_id"]] = dt.date.max
        self._add_who_left(members)
        return Semester(
            SCHOOL,
            Calendar(
                term["id"],
                term["start_at"].date(),
                term["end_in"].date(),
                frozenset(term["lesson_days"]),
                **calendar,
            ),
            self.store.today,
            [_times(row) for row in classes],
            members,
            frozenset(row["id"] for row in users if row["role"] == 1),
            {row["id"]: row["usin"] for row in users},
            {},
            [],
        )

    def _add_who_left(self, members: dict[int, dict[int, dt.date]]) -> None:
        """As the v3 interface shows them: members that are deleted, or whose account is."""
        shown = self.app.platform.wire.directory.class_id
        for class_id in self.store.class_ids([SEMESTER]):
            for row in self.store.rows("class_members", class_id):
                if row.values["type"] == "student":
                    left = dt.date.fromisoformat((row.deleted_at or "9999-12-31")[:10])
                    classes = members.setdefault(row.values["reflection_id"], {})
                    classes.setdefault(shown(class_id), left)

    def leave(self) -> int:
        """A student leaves the school; his id."""
        student = self.store.rows("students", SCHOOL)[0].key
        self.store.delete("reflections", student)
        return student

    def weeks(self, semester: Semester) -> list[int]:
        """The weeks that have begun."""
        return list(semester.calendar.weeks_until(semester.today))

    def by_students(
        self,
        semester: Semester,
        weeks: Iterable[int] | None = None,
        compared: Iterable[Session] = (),
        subset: StudentSubset | None = None,
    ) -> Found:
        """Read weeks (all that have begun) by students."""

        async def use(client: Client) -> Found:
            reading = _Reading(weeks or self.weeks(semester))
            students, sessions = Collector(RECORDS), Collector(RECORDS)
            whole = dict.fromkeys(reading.weeks, dt.date.min)
            plan = AttendancePlan(semester, whole, Choice("students", 0, ""), compared=tuple(compared))
            reader = Reader(client, SCHOOL, RECORDS.scopes)
            await read_by_students(reader, plan, reading.weeks, students, sessions, subset)
            result = reading.found()
            result.requests += reader.tally.requests
            for follower in (students, sessions):
                for account in result.accounts.values():
                    account.failed |= follower.account.failed
            return result

        return self.run(use)

    def by_sessions(
        self,
        semester: Semester,
        weeks: Iterable[int] | None = None,
        since: dt.date = dt.date.min,
        cross_check_students: bool = True,
    ) -> Found:
        """Read weeks (all that have begun) by sessions."""

        async def use(client: Client) -> Found:
            reading = _Reading(weeks or self.weeks(semester))
            sessions = {session for session in semester.possible(reading.weeks) if session.day >= since}
            progress, reader = Collector(RECORDS), Reader(client, SCHOOL, RECORDS.scopes)
            students = semester.cross_check_students(sessions) if cross_check_students else []
            days, choice = dict.fromkeys(reading.weeks, since), Choice("sessions", 0, "")
            plan, cross_check = await read_cross_check(
                reader, AttendancePlan(semester, days, choice, students), progress
            )
            for week in reading.weeks.values():
                await read_by_sessions(reader, plan, week, cross_check)
            result = reading.found()
            result.requests += reader.tally.requests
            for account in result.accounts.values():
                account.failed |= progress.account.failed
            return result

        return self.run(use)

    def true_records(self) -> dict[int, Row]:
        """Every record that the platform has, as a row of the lake."""
        platform = self.app.platform
        people = self.store.people(SCHOOL)
        true = {}
        for class_id in self.store.class_ids([SEMESTER]):
            for session in self.store.rows("attendance_sessions", class_id):
                if session.deleted_at:
                    continue
                for values in platform.wire.rows(
                    "attendance_records", shown_records(self.store, session.key)
                ):
                    row: dict[str, Any] = {name: values.get(name) for name in column_names(RECORDS.contract)}
                    row["class_id"] = platform.wire.directory.class_id(class_id)
                    row["usin"] = people[row["student_id"]].values["usin"]
                    for name in ("checked_at", "created_date"):
                        row[name] = dt.date.fromisoformat(row[name])
                    true[row["id"]] = row
        return true


class _Reading:
    def __init__(self, weeks: Iterable[int]) -> None:
        self._batches: dict[str, list[pa.RecordBatch]] = {spec.name: [] for spec in ATTENDANCE}
        self.weeks = {
            number: Week(
                number,
                *(Collector(spec, "", self._batches[spec.name].append) for spec in (SESSIONS, RECORDS)),
            )
            for number in weeks
        }

    def found(self) -> Found:
        rows = {
            name: pa.Table.from_batches(batches, batch_schema(RESOURCES[name].contract)).to_pylist()
            for name, batches in self._batches.items()
        }
        plain_rows = {
            name: [{key: row[key] for key in row if not key.startswith("_")} for row in table]
            for name, table in rows.items()
        }
        result = Found(
            {Session(row["class_id"], row["date"], row["lesson"]): row for row in plain_rows[SESSIONS.name]},
            {row["id"]: row for row in plain_rows[RECORDS.name]},
        )
        assert len(result.records) == len(rows[RECORDS.name]), "a record came twice"
        assert len(result.sessions) == len(rows[SESSIONS.name]), "a session came twice"
        for number, week in self.weeks.items():
            result.checks += week.session_checks + week.record_checks
            result.accounts[number] = week.records.account
        return result


async def _rows(client: Client, name: str, query: SliceQuery) -> list[Row]:
    batches: list[pa.RecordBatch] = []
    spec = RESOURCES[name]
    collector = Collector(spec, "", batches.append)
    await read_slice(client, query, [collector])
    return list(pa.Table.from_batches(batches, batch_schema(spec.contract)).to_pylist())


def _times(row: Row) -> ClassTimes:
    times = meetings_of((entry["day"], entry["lesson"]) for entry in row["schedules"])
    return ClassTimes(row["id"], times, row["start_at"], row["end_in"], row["week_type"])
