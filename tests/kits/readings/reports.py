"""Reports read by `campus` alone, from a platform in this process, and what they ought to come to."""

import asyncio
import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pyarrow as pa

from campus.account import Drift
from campus.contracts.fields import fields
from campus.fetch.reader import Reader
from campus.http.client import segment
from campus.http.errors import CampusError
from campus.registry import REPORT_FIELDS, REPORT_METADATA, REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import read_report
from campus.reports.records import read_records
from campus.reports.selection import ReportSelection, combination_text, plan_requests
from campus.sources.gathered import Collector
from tests.kits.platforms.in_process import CLIENT_ID, CLIENT_SECRET, client

SCHOOL = 101
Rows = list[dict[str, Any]]
# Which question of a report: the label of its query, and the combination of the matrix.
Asked = tuple[str, str]


@dataclass
class Found:
    """What reading a question came to, by the platform's names of the fields. `told`: what an operator would
    be told, or nothing."""

    rows: Rows = field(default_factory=list)
    fields: Rows = field(default_factory=list)
    told: str = ""
    drift: Counter[Drift] = field(default_factory=Counter)
    bad: int = 0


def read_reports(
    selections: Sequence[ReportSelection], **settings: Any
) -> dict[str, dict[Asked, Found] | str]:
    """Each report's questions, or why it cannot be asked for."""
    return asyncio.run(_read_reports(selections, settings))


async def _read_reports(
    selections: Sequence[ReportSelection], settings: Mapping[str, Any]
) -> dict[str, dict[Asked, Found] | str]:
    readings: dict[str, dict[Asked, Found] | str] = {}
    async with client(REPORT_METADATA, **settings) as session:
        for selection in selections:
            report = selection.report
            try:
                collectors = [Collector(spec) for spec in (REPORT_PARAMETERS, REPORT_QUERIES)]
                offered = await read_report(
                    Reader(session, SCHOOL, REPORT_QUERIES.scopes), report, *collectors
                )
                assert not any(collector.account.bad for collector in collectors)
                questions = plan_requests(selection, offered, SCHOOL)
            except CampusError as error:
                readings[report] = str(error)
                continue
            readings[report] = {
                (question.query.label or "", combination_text(question.matrix)): await _read(
                    session, offered.prefix, report, question
                )
                for question in questions
            }
    return readings


async def _read(session: Any, prefix: str, report: str, question: Any) -> Found:
    reading = Found()
    batches: list[pa.RecordBatch] = []
    described: list[pa.RecordBatch] = []
    wire: dict[str, str] = {}

    with TemporaryDirectory() as scratch:
        of_fields = Collector(REPORT_FIELDS, "", described.append)
        reader = Reader(session, SCHOOL, REPORT_FIELDS.scopes)
        try:
            async with read_records(reader, prefix, report, question, of_fields, Path(scratch)) as records:
                wire.update({wire_field.name: wire_field.wire for wire_field in fields(records.contract)})
                batches += records.batches
        except CampusError as error:
            reading.told = str(error)
            return reading
    account = records.account
    told = list(account.proofs)
    if account.server_total not in (None, account.received):
        told.append(f"the platform says {account.server_total}, read {account.received}")
    assert account.complete or account.proofs, "a reading that is not whole must say so"
    reading.told = "; ".join(told)
    reading.drift, reading.bad = account.drift, len(account.bad) + len(of_fields.account.bad)
    reading.rows = [
        {wire[column]: value for column, value in row.items() if column != "_extra"}
        for batch in batches
        for row in batch.to_pylist()
    ]
    reading.fields = [row for batch in described for row in batch.to_pylist()]
    return reading


def true_rows(session: httpx.Client, report: str, query: int, params: object) -> Rows:
    """The rows of a platform that reads everything in the plainest way, each value of its field's type."""
    grant = {
        "grant_type": "client_credentials",
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "scope": f"school.{SCHOOL} reporting.read_all",
    }
    token = session.post("/api/v3/oauth/tokens", json=grant).raise_for_status().json()["access_token"]
    answer = session.get(
        f"/v3/reporting/reports/{segment(report)}/queries/{query}/records",
        params={"paginated": 0, "params": json.dumps(params)},
        headers={"authorization": f"Bearer {token}", "x-school-id": str(SCHOOL)},
    ).raise_for_status()
    sent = json.loads(answer.content)
    kinds = {column["name"]: column["kind"] for column in sent["fields"]}
    return [
        {name: None if value is None else TYPES[kinds[name]](value) for name, value in row.items()}
        for row in sent["rows"]
    ]


TYPES: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "decimal": Decimal,
    "date": dt.date.fromisoformat,
    "timestamp": dt.datetime.fromisoformat,
    **dict.fromkeys(("string", "text", "enum", "attachment"), str),
}


def linked(value: str | None) -> str | None:
    """The link of an attachment, in whichever shape it came."""
    if value is None or value.startswith("http"):
        return value
    shape = json.loads(value)
    return str((shape[0] if isinstance(shape, list) else shape)["url"])


def in_order(rows: Rows) -> list[str]:
    """Rows as they can be compared where their order means nothing, nor the zeros at the end of a decimal."""
    return sorted(
        repr(sorted((name, _plain(value)) for name, value in row.items() if value is not None))
        for row in rows
    )


def _plain(value: Any) -> Any:
    return f"{value:.18f}" if isinstance(value, Decimal) else value
