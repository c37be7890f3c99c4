"""Decodes a page of dataset records to Arrow by Arrow's JSON reader, exactly.

The reader is strict in most ways and releases the interpreter lock; this module checks the values that it
would misread. A page that the reader refuses, or that holds an unusual value, is decoded by
`campus.decoding.page` instead. Both ways give the same rows.

The reader wants an object a line. So the page becomes one object whose only column is the list of rows, which
costs less than to cut the page into rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from msgspec import Raw

from campus.account import BadRow, Drift
from campus.contracts.fields import Contract, Field, fields, roomy
from campus.decoding.page import absent_fields, decode_page, to_batch, unknown_value
from campus.decoding.raw_json import JSON_ERRORS, first_names
from campus.decoding.row_coercion import take_unknown
from campus.decoding.withholding import (
    WITHHELD_NUMBER,
    has_identity_fields,
    withheld_drift,
    withhold_in_members,
    withhold_in_page,
)

# Moments with their zone that both ways of decoding read alike: to microseconds at most, the offset in hours
# and minutes.
_ZONED = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$"
# The platform's zone, Asia/Shanghai, has not changed its clocks since 1991.
_OFFSET = pa.scalar(timedelta(hours=8), pa.duration("us"))
_SINCE = pa.scalar(datetime(1992, 1, 1), pa.timestamp("us", "UTC"))
_UNTIL = pa.scalar(datetime(9999, 1, 1), pa.timestamp("us", "UTC"))


# `YYYY-MM-DD`, `YYYY-MM-DD HH:MM:SS`, and with one to six digits of a second. Arrow would also accept hours
# and minutes alone.
_DATE_LENGTHS = pa.array([10, None], pa.int32())
_MOMENT_LENGTHS = pa.array([10, 19, *range(21, 27), None], pa.int32())
_MIDNIGHT = r"^(\d{4}-\d\d-\d\d)[ T]00:00:00(\.0+)?$"
_FIRST_DATE = pa.scalar(date.min)
_FIRST_MOMENT = pa.scalar(datetime.min, pa.timestamp("us"))


@dataclass
class Records:
    """A decoded page."""

    # The columns of the contract, and `_extra`.
    batch: pa.RecordBatch
    bad: list[BadRow] = field(default_factory=list)
    drift: Counter[Drift] = field(default_factory=Counter)
    # The least and the greatest key, where the key is one integer.
    first_key: int | None = None
    last_key: int | None = None
    # The keys ascend strictly, and are one integer each.
    ascending: bool = False
    # Rows that the page had again, and that were left out.
    repeats: int = 0

    @property
    def received(self) -> int:
        """How many rows the page had."""
        return self.batch.num_rows + len(self.bad)


class NotPlain(Exception):
    """A page that must be decoded the slow way."""


def decode_records(
    body: bytes, contract: type[Contract], key: tuple[str, ...], *, keep_id_numbers: bool = False
) -> Records:
    """Decode a page: a JSON array of objects; null is an empty array. `key`: columns.

    keep_id_numbers: national identity numbers stay, see `withholding`.
    Raises TornBody where the body is not JSON, UnexpectedAnswer where it is not an array."""
    withheld: Counter[Drift] = Counter()
    if not keep_id_numbers:
        page = withhold_in_page(body, contract)
        body, withheld = page.body, page.drift
    try:
        records = _decode_fast(body, contract, key, keep_id_numbers=keep_id_numbers)
    except (NotPlain, pa.ArrowInvalid, *JSON_ERRORS):
        records = _decode_slowly(body, contract, keep_id_numbers=keep_id_numbers)
    records.drift.update(withheld)
    if len(key) == 1 and pa.types.is_integer(records.batch.schema.field(key[0]).type):
        _note_keys(records, records.batch.column(key[0]))
    return records


def without_repeats(records: Records, key: str) -> Records:
    """Leave out each row that is identical to an earlier one with its key: the platform sent it again."""
    if records.ascending:
        return records
    rows: dict[int, dict[str, Any]] = {}
    is_new = [
        rows.setdefault(row[key], row) is row or rows[row[key]] != row for row in records.batch.to_pylist()
    ]
    batch = records.batch.filter(pa.array(is_new, pa.bool_()))
    records = replace(records, batch=batch, repeats=is_new.count(False))
    _note_keys(records, batch.column(key))
    return records


def records_schema(contract: type[Contract]) -> pa.Schema:
    """The schema of the batches of `decode_records`."""
    columns: dict[str, Any] = {f.name: f.arrow_type for f in fields(contract)}
    return pa.schema(columns | {"_extra": pa.string()})


def _note_keys(records: Records, keys: Any) -> None:
    if len(keys):
        ends = pc.min_max(keys)
        records.first_key, records.last_key = ends["min"].as_py(), ends["max"].as_py()
    records.ascending = pc.all(pc.greater(keys[1:], keys[:-1]), min_count=0).as_py()


def _decode_slowly(body: bytes, contract: type[Contract], *, keep_id_numbers: bool = False) -> Records:
    page = decode_page(body, contract, keep_id_numbers=keep_id_numbers)
    batch, drift = to_batch(contract, page.rows, page.extras, [False] * len(page.rows))
    return Records(batch.select(records_schema(contract).names), page.bad, page.drift + drift)


def _decode_fast(
    body: bytes, contract: type[Contract], key: tuple[str, ...], *, keep_id_numbers: bool = False
) -> Records:
    """Raises NotPlain, ArrowInvalid or one of JSON_ERRORS for a page that must be decoded the slow way."""
    drift: Counter[Drift] = Counter()
    try:
        sent = _read(body, contract, "error")
        extras: Any = pa.nulls(sent.num_rows, pa.string())
    except pa.ArrowInvalid:
        # Before the reader infers their types, as deep nesting would overflow its stack.
        extras, drift = _unknown_fields(body, contract, keep_id_numbers=keep_id_numbers)
        sent = _read(body, contract, "infer")
    zoned = _zoned(body, sent, contract)
    columns = [
        zoned[f.wire] if f.wire in zoned else _finish(sent.column(f.wire), f, keep_id_numbers=keep_id_numbers)
        for f in fields(contract)
    ]
    if zoned:
        if sent.num_columns > len(columns):
            raise NotPlain
        extras = _verbatim({wire: sent.column(wire) for wire in zoned})
        drift = Counter(
            {
                Drift("zoned_timestamp", wire): len(column) - column.null_count
                for wire, column in zoned.items()
            }
        )
    batch = pa.RecordBatch.from_arrays([*columns, extras], schema=records_schema(contract))
    # Checks the UTF-8 of texts.
    batch.validate(full=True)
    if any(batch.column(name).null_count for name in key):
        raise NotPlain
    if not keep_id_numbers:
        drift.update(_sent_numbers(sent, contract))
    for unknown, count in _unknown_values(batch, contract):
        drift[unknown] += count
    if batch.num_rows:
        drift.update(dict.fromkeys(absent_fields(contract, first_names(body)), batch.num_rows))
    return Records(batch, drift=drift)


def _read(body: bytes, contract: type[Contract], unexpected: Literal["error", "infer"]) -> pa.RecordBatch:
    """Read the fields as they are sent. `unexpected`: fields that the contract does not name are an error, or
    their type is inferred: then they are further columns, or further members of an object's type."""
    line = b'{"rows":%b}' % body
    source: Any = pa.BufferReader(line)
    schema = _sent_schema(contract)
    table = pj.read_json(
        source,
        read_options=pj.ReadOptions(use_threads=False, block_size=len(line) + 1),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema({"rows": pa.list_(pa.struct(schema))}),
            unexpected_field_behavior=unexpected,
        ),
    )
    # Several rows or columns: the body goes on after the end of its list.
    if (table.num_rows, table.num_columns, table.column(0).null_count) != (1, 1, 0):
        raise NotPlain
    rows: Any = table.column(0).chunk(0)
    if rows.values.null_count:
        raise NotPlain
    sent = pa.RecordBatch.from_struct_array(rows.values)
    if sent.select(schema.names).schema != schema:
        raise NotPlain
    return sent


def _zoned(body: bytes, sent: pa.RecordBatch, contract: type[Contract]) -> dict[str, Any]:
    """The columns of timestamps that were sent with their zone, on the platform's wall clock, by their names
    on the wire.

    Raises NotPlain where `row_coercion` must convert them value by value, ArrowInvalid for text that is no
    moment."""
    columns: dict[str, Any] = {}
    for f in fields(contract):
        if not pa.types.is_timestamp(f.arrow_type) or f.withheld or f.identity_number:
            continue
        texts = sent.column(f.wire)
        first = texts.drop_null()[:1]
        # The first value spares most columns the search of all their values.
        if not len(first) or not pc.match_substring_regex(first, _ZONED)[0].as_py():
            continue
        if not pc.all(pc.match_substring_regex(texts, _ZONED)).as_py():
            continue
        moments = pc.cast(texts, pa.timestamp("us", "UTC"))
        simple = pc.and_(pc.greater_equal(moments, _SINCE), pc.less(moments, _UNTIL))
        # `_extra` stores these texts verbatim, which the reader has unescaped.
        if b"\\u00" in body or not pc.all(simple, min_count=0).as_py():
            raise NotPlain
        columns[f.wire] = pc.add(pc.cast(moments, pa.timestamp("us")), _OFFSET)
    return columns


def _verbatim(sent: Mapping[str, Any]) -> Any:
    """The column `_extra` of rows, with the values of these fields as they were sent."""
    members = []
    for name, texts in sent.items():
        start = f',{msgspec.json.encode(name).decode()}:"'
        member: Any = pc.binary_join_element_wise(start, texts, '"', "")
        members.append(pc.fill_null(member, ""))
    joined: Any = pc.binary_join_element_wise(*members, "", "")
    objects: Any = pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 1), "}", "")
    return pc.if_else(pc.equal(joined, pa.scalar("")), pa.scalar(None, pa.string()), objects)


def _unknown_fields(
    body: bytes, contract: type[Contract], *, keep_id_numbers: bool
) -> tuple[Any, Counter[Drift]]:
    """The column `_extra` and the drift of rows with fields that the metadata do not list."""
    extras: list[str | None] = []
    drift: Counter[Drift] = Counter()
    # `_sent_numbers` counts the fields of the contract.
    declared = {f.wire for f in fields(contract)}
    for members in _MEMBERS.decode(body):
        if not keep_id_numbers:
            members, withheld = withhold_in_members(members, contract)
            drift.update(withheld_drift(withheld - declared))
        extra, notes = take_unknown(members, contract)
        extras.append(msgspec.json.encode(extra).decode() if extra else None)
        for kind, name in notes:
            drift[Drift(kind, name)] += 1
    return pa.array(extras, pa.string()), drift


_MEMBERS = msgspec.json.Decoder(list[dict[str, Raw]])


@cache
def _sent_schema(contract: type[Contract]) -> pa.Schema:
    """The types in which columns are read. Dates and times are text, since the reader would shift them by
    their zone; decimals are wider (`contracts.fields.roomy`)."""
    return pa.schema([(f.wire, _sent_type(f)) for f in fields(contract)])


def _sent_type(field: Field) -> pa.DataType:
    if field.nested:
        return pa.struct(_sent_schema(field.nested))
    return pa.string() if pa.types.is_temporal(field.arrow_type) else roomy(field.arrow_type)


def _sent_numbers(sent: Any, contract: type[Contract], path: str = "") -> Counter[Drift]:
    """The fields with identity numbers, with the number of rows with a number. path: of embedded
    rows, with a dot at its end."""
    numbers: Counter[Drift] = Counter()
    for f in fields(contract):
        column = sent.column(f.wire)
        if f.identity_number:
            count = len(column) - column.null_count
            if pa.types.is_string(column.type):
                count -= pc.sum(pc.equal(column, pa.scalar(""))).as_py() or 0
            numbers += Counter({Drift(WITHHELD_NUMBER, path + f.wire): count})
        elif f.nested and pa.types.is_struct(column.type) and has_identity_fields(f.nested):
            numbers += _sent_numbers(pa.RecordBatch.from_struct_array(column), f.nested, f"{path}{f.wire}.")
    return numbers


def _finish(sent: Any, field: Field, *, keep_id_numbers: bool) -> Any:
    """Cast a column as it was read to the type of the contract.

    Raises NotPlain, or ArrowInvalid for text that is no date and for a decimal that does not fit."""
    kind: Any = field.arrow_type
    if field.withheld or (field.identity_number and not keep_id_numbers):
        return pa.nulls(len(sent), kind)
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(sent), min_count=0).as_py():
        raise NotPlain
    if pa.types.is_decimal(kind):
        return pc.cast(sent, kind)
    if pa.types.is_date(kind):
        return _parsed(sent, kind, _DATE_LENGTHS, _FIRST_DATE)
    if pa.types.is_timestamp(kind):
        return _parsed(sent, kind, _MOMENT_LENGTHS, _FIRST_MOMENT)
    if field.nested:
        parts = zip(sent.flatten(), fields(field.nested), strict=True)
        return pa.StructArray.from_arrays(
            [_finish(part, f, keep_id_numbers=keep_id_numbers) for part, f in parts],
            fields=list(kind),
            mask=sent.is_null(),
        )
    return sent


def _parsed(texts: Any, kind: Any, lengths: Any, first: Any) -> Any:
    """Parse dates or timestamps, in the forms and years that the slow way accepts."""
    if pa.types.is_date(kind) and not _are_usual(texts, lengths):
        # Some platforms write a date as its midnight.
        texts = pc.replace_substring_regex(texts, _MIDNIGHT, r"\1")
    if not _are_usual(texts, lengths):
        raise NotPlain
    parsed = pc.cast(texts, kind)
    if pc.any(pc.less(parsed, first)).as_py():
        raise NotPlain
    return parsed


def _are_usual(texts: Any, lengths: Any) -> bool:
    usual = pc.is_in(pc.unique(pc.binary_length(texts)), lengths, skip_nulls=False)
    return bool(pc.all(usual).as_py())


def _unknown_values(batch: pa.RecordBatch, contract: type[Contract]) -> Iterator[tuple[Drift, int]]:
    for f in fields(contract):
        if f.known_values:
            column = batch.column(f.name)
            unknown = column.filter(pc.invert(pc.is_in(column, _known_values(f))))
            counts: Any = pc.value_counts(unknown.drop_null())
            for counted in counts.to_pylist():
                yield unknown_value(f, counted["values"]), counted["counts"]


@cache
def _known_values(field: Field) -> Any:
    return pa.array(sorted(field.known_values), pa.string()).cast(field.arrow_type)
