"""A whole school read by the real client, beside what is true there, worked out without `campus.decoding`."""

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from campus.account import Account
from campus.contracts.fields import fields
from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import CampusError
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import BASE_DATA, RESOURCES, SCHOOLS, TERM_TYPES
from campus.registry.spec import DeletedRows
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from simulator.process import RunningSimulator

SCHOOL = 101
# Small, with lists of several pages all the same.
PLATFORM: dict[str, Any] = {"schools": 1, "students": 8, "semesters": 2, "max_per_page": 20}

EXPANDED = {
    "admin_classes": "students,teachers",
    "classes": "teachers,admin_class_ids,grades",
    "assessments": "items",
}

Row = dict[str, Any]


@dataclass
class Found:
    """What was read of one resource: its rows by key, the account, or why it could not be read."""

    rows: list[Row] = field(default_factory=list)
    account: Account = field(default_factory=Account)
    error: str = ""

    @property
    def trouble(self) -> str:
        """The failure that is named, if any."""
        return self.error or "; ".join(self.account.failed.values())


def unsettle(simulator: RunningSimulator) -> int:
    """Delete some of everything that can be deleted; the semester to read."""
    semester_id = int(simulator.rows("semesters", SCHOOL)[-1]["key"])
    for unneeded in simulator.rows("classes", SCHOOL, semester_id)[5:]:
        simulator.destroy("classes", unneeded["key"])
    for resource, of_semester, which in (
        ("students", False, 3),
        ("teachers", False, 2),
        ("reflections", False, 7),
        ("classes", True, 1),
        ("class_members", True, 30),
    ):
        rows = simulator.rows(resource, SCHOOL, semester_id if of_semester else None)
        simulator.delete(resource, rows[which]["key"])
    simulator.destroy("assessments", simulator.rows("assessments", SCHOOL, semester_id)[4]["key"])
    return semester_id


@asynccontextmanager
async def client_of(simulator: RunningSimulator, **settings: Any) -> AsyncIterator[Client]:
    quick = {"backoff_base": 0.005, "backoff_cap": 0.05, "read_timeout": 5.0, **settings}
    config = ClientConfig(simulator.base_url, simulator.client_id, simulator.client_secret, **quick)
    async with Client(config, [spec.scopes for spec in (SCHOOLS, *BASE_DATA)]) as client:
        yield client


def read_all(simulator: RunningSimulator, semester_id: int, **settings: Any) -> dict[str, Found]:
    """Read the school and one semester of it in the recommended order."""
    return asyncio.run(_read_all(simulator, semester_id, settings))


async def _read_all(
    simulator: RunningSimulator, semester_id: int, settings: Mapping[str, Any]
) -> dict[str, Found]:
    readings: dict[str, Found] = {}
    query = SliceQuery(SCHOOL, semester_id, term_types=TERM_TYPES)
    async with client_of(simulator, **settings) as client:
        for spec in (SCHOOLS, *BASE_DATA):
            if spec.name in readings:
                continue
            parent, mode = parents_of(spec), MODES[spec.mode]
            rows = readings[parent.name].rows if parent else []
            ids = [row["id"] for row in rows if mode.deleted_parents or not row["_trashed"]]
            names = [
                spec.name,
                *(resource.name for resource in BASE_DATA if resource.embedded_in == spec.name),
            ]
            readings |= await _read(client, names, replace(query, parents=tuple(sorted(ids))))
    return readings


async def _read(client: Client, names: Iterable[str], query: SliceQuery) -> dict[str, Found]:
    batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in names}
    collectors = [Collector(RESOURCES[name], name, batches[name].append) for name in batches]
    error = ""
    try:
        await read_slice(client, query, collectors)
    except CampusError as raised:
        error = str(raised)
    return {
        name: Found(
            pa.Table.from_batches(batches[name], batch_schema(RESOURCES[name].contract)).to_pylist(),
            collector.account,
            error,
        )
        for name, collector in zip(batches, collectors, strict=True)
    }


def truth(
    simulator: RunningSimulator,
    name: str,
    semester_id: int,
    ignored: Iterable[str] = (),
    *,
    school: int = SCHOOL,
) -> list[Row]:
    """The rows that a reader of the table must see."""
    spec = RESOURCES[name]
    entries = simulator.rows(
        name,
        school,
        semester_id if spec.sliced_by == "semester" else None,
        "" if "expand" in ignored else EXPANDED.get(name, ""),
    )
    if name == "class_members" and "with_trashed" in ignored:
        # Nobody can ask a deleted class that nobody shows for its members, but some list all members at once.
        deleted = {
            entry["key"] for entry in simulator.rows("classes", school, semester_id) if entry["trashed"]
        }
        entries = [entry for entry in entries if entry["parent"] not in deleted or "class_id" in entry["row"]]
    if name in ("assessment_items", "scores"):
        # what an assessment that is gone has left behind is nowhere to be seen
        assessments = {entry["key"] for entry in simulator.rows("assessments", school, semester_id)}
        entries = [entry for entry in entries if entry["row"]["assessment_id"] in assessments]
    with_trashed = spec.source(DeletedRows) is not None and "with_trashed" not in ignored
    rows = [_expected(name, entry) for entry in entries if with_trashed or not entry["trashed"]]
    if name == "class_members":
        number_memberships(rows)
    return rows


def number_memberships(rows: Iterable[Row]) -> None:
    """Number the memberships that somebody has of a class: the last one first, the living one before others
    that began with it, and of equal ones the one that was sent last."""
    seen: Counter[tuple[Any, ...]] = Counter()
    never = dt.datetime.min

    first_to_last = sorted(
        rows, key=lambda row: (row["created_at"] or never, not row["_trashed"], row["deleted_at"] or never)
    )
    for row in reversed(first_to_last):
        key = (row["class_id"], row["type"], row["reflection_id"])
        seen[key] += 1
        row["membership"] = seen[key]


def _expected(name: str, entry: Row) -> Row:
    sent = dict(entry["row"])
    if name in ("assessments", "class_members"):
        sent["class_id"] = entry["parent"]
    if name == "assessments":
        sent.pop("items", None)
    if name == "classes" and sent.get("students") == []:
        # Nobody asks for them, so nobody says that there are none.
        sent["students"] = None
    columns = {f.name: f.arrow_type for f in fields(RESOURCES[name].contract)}
    extra = {field: value for field, value in sent.items() if field not in columns}
    row: Row = {}
    for column, kind in columns.items():
        row[column], verbatim = _value(sent.get(column), kind)
        if verbatim:
            extra[column] = sent[column]
    return row | {
        "_extra": extra,
        "_trashed": entry["trashed"],
        "_trashed_at": _value(sent.get("deleted_at"), pa.timestamp("us"))[0],
    }


def _value(sent: Any, kind: pa.DataType) -> tuple[Any, bool]:
    """What a column holds for a value, and whether the value must stand verbatim in _extra besides."""
    if sent is None:
        return None, False
    if pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(sent), False
    if pa.types.is_decimal(kind):
        return _number(sent)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        names = kind.value_type.names
        objects = [item if isinstance(item, dict) else {"id": item} for item in sent]
        # Who is nested is the one that counts.
        people = [item.get("reflection", item) for item in objects]
        shown = [{name: item.get(name) for name in names} for item in people]
        return shown, any(item.keys() - set(names) for item in objects)
    if pa.types.is_list(kind) and pa.types.is_integer(kind.value_type):
        ids = [int(item["id"] if isinstance(item, dict) else item) for item in sent]
        return ids, ids != sent
    if pa.types.is_string(kind) and isinstance(sent, int):
        return str(sent), True
    return sent, False


def _number(sent: Any) -> tuple[Decimal | None, bool]:
    """A mark: a share where it is in per cent, the number of its points, nothing where it is a word."""
    text = str(sent)
    if text.endswith("分"):
        return Decimal(text.rstrip("学分")), True
    if text.endswith("%"):
        return Decimal(text[:-1]) / 100, True
    return (Decimal(text), False) if text[:1].isdigit() or text[1:2].isdigit() else (None, True)


def by_key(name: str, rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """Rows by primary key, extras as plain values. The same row may come twice, but not in two versions."""
    rows_by_key: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        extra = row["_extra"]
        plain = row | {"_extra": json.loads(extra) if isinstance(extra, str) else extra or {}}
        assert (
            rows_by_key.setdefault(tuple(row[part] for part in RESOURCES[name].primary_key), plain) == plain
        )
    return rows_by_key
