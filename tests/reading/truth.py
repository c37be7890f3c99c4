"""A whole school read by the real client, beside what is true there, worked out without `campus.decode`."""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from campus.client import Client
from campus.collect import Account, Collector
from campus.config import ClientConfig
from campus.contract import fields
from campus.decode import batch_schema
from campus.errors import CampusError
from campus.questions import Where
from campus.read import read, read_together
from campus.resources import BASE_DATA, RESOURCES, SCHOOLS, TERM_TYPES
from simulator.process import RunningSimulator

SCHOOL = 101
# Small, with lists of several pages all the same.
PLATFORM: dict[str, Any] = {"schools": 1, "students": 8, "semesters": 2, "max_per_page": 20}

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
    found: dict[str, Found] = {}
    where = Where(SCHOOL, semester_id, term_types=TERM_TYPES)
    async with client_of(simulator, **settings) as client:
        for spec in (SCHOOLS, *BASE_DATA):
            if spec.name in found:
                continue
            parent = "classes" if spec.asked == "by_class_batch" else spec.child_of
            rows = found[parent].rows if parent else []
            ids = [row["id"] for row in rows if spec.asked == "members" or not row["_trashed"]]
            names = ("assessments", "assessment_items") if spec.asked == "by_class" else (spec.name,)
            found |= await _read(client, names, replace(where, parents=tuple(sorted(ids))))
    return found


async def _read(client: Client, names: Iterable[str], where: Where) -> dict[str, Found]:
    batches: dict[str, list[pa.RecordBatch]] = {name: [] for name in names}
    collectors = [Collector(RESOURCES[name], name, batches[name].append) for name in batches]
    error = ""
    try:
        if len(collectors) == 2:
            await read_together(client, where, *collectors)
        else:
            await read(client, collectors[0].spec, where, collectors[0])
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


def truth(simulator: RunningSimulator, name: str, semester_id: int, ignored: Iterable[str] = ()) -> list[Row]:
    """The rows that a reader of the table must see."""
    spec = RESOURCES[name]
    expand = "items" if name == "assessments" else "teachers,admin_class_ids" if name == "classes" else ""
    entries = simulator.rows(
        name,
        SCHOOL,
        semester_id if spec.sliced_by == "semester" else None,
        "" if "expand" in ignored else expand,
    )
    if name == "class_members" and "with_trashed" in ignored:
        # of a deleted class that nobody shows nobody can ask for the members
        deleted = {
            entry["key"] for entry in simulator.rows("classes", SCHOOL, semester_id) if entry["trashed"]
        }
        entries = [entry for entry in entries if entry["parent"] not in deleted]
    if name in ("assessment_items", "scores"):
        # what an assessment that is gone has left behind is nowhere to be seen
        assessments = {entry["key"] for entry in simulator.rows("assessments", SCHOOL, semester_id)}
        entries = [entry for entry in entries if entry["row"]["assessment_id"] in assessments]
    with_trashed = spec.with_trashed and "with_trashed" not in ignored
    return [_expected(name, entry) for entry in entries if with_trashed or not entry["trashed"]]


def _expected(name: str, entry: Row) -> Row:
    sent = dict(entry["row"])
    if name in ("assessments", "class_members"):
        sent["class_id"] = entry["parent"]
    if name == "assessments":
        sent.pop("items", None)
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
        return (None, True) if sent == "" else (Decimal(str(sent)), False)
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        names = kind.value_type.names
        objects = [item if isinstance(item, dict) else {"id": item} for item in sent]
        shown = [{name: item.get(name) for name in names} for item in objects]
        return shown, any(item.keys() - set(names) for item in objects)
    return sent, False


def by_key(name: str, rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """Rows by primary key, extras as plain values. The same row may come twice, but not in two versions."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        extra = row["_extra"]
        plain = row | {"_extra": json.loads(extra) if isinstance(extra, str) else extra or {}}
        assert found.setdefault(tuple(row[part] for part in RESOURCES[name].primary_key), plain) == plain
    return found
