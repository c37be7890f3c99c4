"""Reads the records of a report query by pages, until the reading is proven to be complete."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from campus.account import Account
from campus.contracts.fields import Contract
from campus.datasets.paged import Pages, StoredPage, counted_records, note_outcome
from campus.datasets.records import RecordsRead
from campus.decoding.columnar import Records, decode_records
from campus.decoding.definition import Definition
from campus.decoding.inferred_contract import contract_of
from campus.decoding.page import Page, decode_page
from campus.decoding.raw_json import raw_members, raw_rows
from campus.fetch.collection import Collection
from campus.fetch.reader import Reader
from campus.http.client import segment
from campus.http.errors import Refused, UnexpectedAnswer
from campus.paging import Outcome, page_by_number
from campus.plan.units import Unit
from campus.registry import REPORT_FIELDS
from campus.reports.metadata import definition_of, members_of
from campus.reports.selection import ReportRequest, combination_text
from campus.sources.gathered import Collector
from campus.sources.row_rules import apply_row_rules, gathered_of

# Where the fields of a query change while it is read.
_MOST_READINGS = 3
_NO_ROWS = StoredPage(-1, [], [], Counter())


@dataclass(frozen=True)
class ReportRecords:
    """The records of a request, which wait on disk."""

    contract: type[Contract]
    # Whole once all batches are taken.
    account: Account
    # Columns of the contract and `_extra`, in the platform's order.
    batches: Iterator[pa.RecordBatch]


@asynccontextmanager
async def read_records(
    reader: Reader, prefix: str, report: str, request: ReportRequest, fields: Collector, scratch: Path
) -> AsyncIterator[ReportRecords]:
    """Read the records of a request, and the fields that come with them.

    prefix: of the report's paths. report: its name or id. fields: takes the fields. scratch: the folder in
    which the pages wait, as long as the `async with` block. Raises CampusError; then nothing was added to the
    fields."""
    read = RecordsRead(Account(tally=reader.tally), distinct=False)
    path = prefix + REPORT_FIELDS.path.format(report=segment(report), query=request.query.id)
    params = {"params": msgspec.json.encode(request.params).decode()} if request.params else {}
    for _ in range(_MOST_READINGS):
        with Pages(scratch) as stored:
            answers = _Answers(report, request, stored, keep_id_numbers=reader.keep_id_numbers)
            paging = page_by_number(
                reader.client.page_size,
                reader.client.config.unpaged_limit,
                keep_duplicates=True,
                confirmation=reader.capabilities.confirmation,
            )
            collection = Collection(path, params, answers.take, lambda page: page.keys, paging)
            try:
                pages, outcome = await _read_pages(reader, collection)
            except _OtherFields:
                continue
            _add_fields(fields, answers.fields, report, request)
            read.account.drift.update(answers.definition.drift)
            batches = _batches(read, stored, pages, outcome)
            yield ReportRecords(contract_of(answers.definition), read.account, batches)
            return
    raise UnexpectedAnswer(
        f"{path} for school {reader.school_id}: its fields changed while it was read, "
        f"{_MOST_READINGS} times.",
        "Run again when the data of the report are at rest.",
    )


def _batches(
    read: RecordsRead, stored: Pages, pages: Sequence[StoredPage], outcome: Outcome
) -> Iterator[pa.RecordBatch]:
    for records in counted_records(read, stored, pages, outcome):
        yield read.take(records)
    note_outcome(read, outcome)


async def _read_pages(reader: Reader, collection: Collection[StoredPage]) -> tuple[list[StoredPage], Outcome]:
    """The pages with rows, and the outcome of the reading."""
    try:
        pages, outcome = await collection.read(reader)
    except Refused as error:
        params = collection.params.get("params", "none")
        raise Refused(f"{error.message} The params were: {params}.", error.advice) from None
    return [page for page in pages if page is not _NO_ROWS], outcome


class _OtherFields(Exception):
    """A page has other fields than the pages before it, so they are not parts of one result."""


class _Answers:
    """The answers of one reading. Their rows wait in `stored`.

    `fields` is the JSON of the first answer with rows, or of the last answer where none has rows."""

    def __init__(self, report: str, request: ReportRequest, stored: Pages, *, keep_id_numbers: bool) -> None:
        self._title = f"{report}__{request.query.id}"
        self._label = request.query.label
        self._stored = stored
        self._keep_id_numbers = keep_id_numbers
        self._has_rows = False
        self.fields = b"[]"
        self.definition = Definition(self._title, label=self._label)

    def take(self, body: bytes) -> StoredPage:
        """Decode an answer and store its rows. Pages after the first may leave the fields out.

        Raises _OtherFields; TornBody where the body is not JSON; UnexpectedAnswer."""
        members = raw_members(body)
        fields, rows = (bytes(members.get(name, b"null")) for name in ("fields", "rows"))
        described, has_rows = raw_rows(fields), len(raw_rows(rows)) > 0
        definition = definition_of(self._title, self._label, map(members_of, described))
        if described and not self._has_rows:
            self.fields, self.definition = fields, definition
        elif described and has_rows and definition != self.definition:
            raise _OtherFields
        if not has_rows:
            return _NO_ROWS
        if not self.definition.fields:
            raise UnexpectedAnswer("the answer has rows, and does not say what their fields are.")
        self._has_rows = True
        return self._stored.put(self._decoded(rows), ())

    def _decoded(self, rows: bytes) -> Records:
        contract = contract_of(self.definition)
        records = decode_records(rows, contract, (), keep_id_numbers=self._keep_id_numbers)
        # The answer itself lists the fields. A row that leaves a field out has null in it.
        records.drift = Counter(
            {drift: rows for drift, rows in records.drift.items() if drift.kind != "absent_field"}
        )
        return records


def _add_fields(fields: Collector, body: bytes, report: str, request: ReportRequest) -> None:
    spec = fields.spec
    page: Page[Any] = decode_page(body, spec.contract)
    combination = combination_text(request.matrix)
    unit = Unit(spec.path, defaults={"report": report, "query_id": request.query.id, "params": combination})
    fields.add(apply_row_rules(gathered_of(page), spec, unit))
    fields.flush()
