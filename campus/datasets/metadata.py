"""Reads the metadata of a school's datasets into three tables, and the definitions to load them by."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from campus.decoding.page import Page, decode_page
from campus.decoding.raw_json import object_members, raw_rows
from campus.decoding.withholding import withhold_in_row
from campus.fetch.answers import confirmed, first_answer, repeated_params
from campus.fetch.collection import Collection, run_together
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.client import segment
from campus.http.errors import CampusError, UnexpectedAnswer
from campus.paging import V3_NAMES, Outcome, page_list
from campus.registry import DATASETS
from campus.sources.gathered import Collector, Gathered
from campus.sources.row_rules import gathered_of


@dataclass
class OfferedDatasets:
    """The datasets that the platform lists for a school."""

    # Of their paths. None: the platform has no datasets at all.
    prefix: str | None
    # The JSON object of each dataset, by name.
    definitions: dict[str, bytes]
    # The list is proven to be whole.
    complete: bool = True
    # The datasets whose fields could not be read, by name, and why.
    unread: dict[str, str] = field(default_factory=dict)


async def read_datasets(
    reader: Reader, datasets: Collector, fields: Collector, relations: Collector
) -> OfferedDatasets:
    """Read the metadata of a school's datasets into the three collectors.

    A listed dataset that cannot be read keeps its fields and relations of before. Raises CampusError where
    the list cannot be read: a dataset that is missing from half a list would look deleted."""
    listing = await first_answer(
        reader.capabilities,
        lambda prefix: _list(reader, prefix),
        lambda listed: not listed[0],
    )
    if listing is None:
        return OfferedDatasets(None, {})
    prefix, (listed, outcome) = listing
    rows: dict[int, bytes] = {}
    unread: dict[str, str] = {}

    async def complete(position: int, row: bytes) -> None:
        members, name = object_members(row), _name(row)
        if members and name and ("relations" not in members or _has_no_fields(row)):
            asking = confirmed(
                reader.capabilities,
                partial(_one_dataset, prefix, name),
                _has_no_fields,
                varies=(DATASETS.path, V3_NAMES.page),
            )
            try:
                dataset = await drive_readings(reader, asking)
            except CampusError as error:
                unread[name] = str(error)
            else:
                if _has_no_fields(dataset):
                    unread[name] = "the platform says that it has no fields."
                else:
                    row = dataset
        rows[position] = row

    await run_together(complete(position, row) for position, row in enumerate(listed))
    definitions: dict[str, bytes] = {}
    gathered = Gathered(total=outcome.total, complete=outcome.complete, note=outcome.note)
    for _, row in sorted(rows.items()):
        name = _name(row)
        gathered.extend(gathered_of(_gather(row, fields, relations, unread.get(name or ""))))
        if name and name not in unread:
            # Its records can be read even where another of its members breaks the contract.
            definitions[name], _ = withhold_in_row(row, None)
    datasets.add(gathered)
    for collector in (datasets, fields, relations):
        collector.account.complete = outcome.complete
        collector.flush()
    return OfferedDatasets(prefix, definitions, outcome.complete, unread)


async def _list(reader: Reader, prefix: str) -> tuple[list[bytes], Outcome]:
    path, client = prefix + DATASETS.path, reader.client
    paging = page_list(client.capabilities, path, client.page_size, client.config.unpaged_limit)
    collection = Collection(path, {}, raw_rows, lambda rows: [_identity(row) for row in rows], paging)
    pages, outcome = await collection.read(reader)
    return list({_identity(row): bytes(row) for page in pages for row in page}.values()), outcome


def _one_dataset(prefix: str, name: str, repeats: int) -> Readings[bytes]:
    """The JSON object of one dataset. repeats: how many requests for the dataset came before."""
    path, params = f"{prefix}{DATASETS.path}/{segment(name)}", repeated_params({}, V3_NAMES.page, repeats)
    answer = yield AnswerRequest(path, params, _single_object)
    dataset: bytes = answer.value
    return dataset


def _has_no_fields(row: bytes) -> bool:
    return not _rows_of((object_members(row) or {}).get("fields"))


def _gather(row: bytes, fields: Collector, relations: Collector, unread: str | None) -> Page[Any]:
    """Decode the row of one dataset, and give its fields and relations to their collectors.

    unread: why its fields could not be read."""
    members = object_members(row)
    if members is None:
        return decode_page(b"[%b]" % row, DATASETS.contract)
    embedded = {name: _rows_of(members.pop(name, None)) for name in ("fields", "relations")}
    own: Page[Any] = decode_page(b"[%b]" % msgspec.json.encode(members), DATASETS.contract)
    ids = [dataset.id for dataset in own.rows]
    for collector, name in ((fields, "fields"), (relations, "relations")):
        if unread is not None:
            collector.fail(ids, unread)
            continue
        for dataset_id in ids:
            collector.add(_children(collector, embedded[name], dataset_id))
    return own


def _children(collector: Collector, rows: list[Raw], dataset_id: int) -> Gathered:
    spec = collector.spec
    page: Page[Any] = decode_page(msgspec.json.encode([_with_text_enum(row) for row in rows]), spec.contract)
    for child in page.rows:
        child.dataset_id = dataset_id
    return gathered_of(page)


def _with_text_enum(row: Raw) -> Raw | dict[str, Any]:
    """Write the numbers of a field's enum as texts: a column holds values of one type."""
    members = object_members(row)
    if members is None or "enum" not in members:
        return row
    try:
        values = msgspec.json.decode(members["enum"], type=list[str | int] | None)
    except msgspec.DecodeError:
        return row
    return {**members, "enum": None if values is None else [str(value) for value in values]}


class _Named(msgspec.Struct):
    name: str


def _name(row: bytes | Raw) -> str | None:
    try:
        return msgspec.json.decode(row, type=_Named).name
    except msgspec.DecodeError:
        return None


def _identity(row: bytes | Raw) -> str | bytes:
    """Identify a listed dataset by its name, as its other members may change between two readings; a dataset
    without a name by all of it."""
    return _name(row) or bytes(row)


def _rows_of(value: Raw | None) -> list[Raw]:
    if value is None:
        return []
    try:
        return msgspec.json.decode(value, type=list[Raw] | None) or []
    except msgspec.DecodeError as error:
        raise UnexpectedAnswer(f"expected a dataset's fields or relations as a list: {error}.") from error


def _single_object(body: bytes) -> bytes:
    """The object of an answer about one dataset. Some platforms send it in a list, or an empty list."""
    answer = body.strip()
    rows = raw_rows(b"[%b]" % answer if answer.startswith(b"{") else answer) or [b"{}"]
    if len(rows) != 1 or object_members(rows[0]) is None:
        raise UnexpectedAnswer("expected one dataset.")
    return bytes(rows[0])
