"""Records of datasets: the fast way, the slow way and Python's own JSON decoder agree on every row."""

import datetime as dt
import json
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campus.account import Drift
from campus.contracts.fields import Contract, fields
from campus.datasets.paged import RowNumbers
from campus.decoding import columnar
from campus.decoding.columnar import Records, decode_records, records_schema
from campus.decoding.definition import Definition
from campus.decoding.inferred_contract import contract_of, primary_key
from campus.decoding.page import decode_page, to_batch
from campus.http.errors import TornBody, UnexpectedAnswer
from tests.kits.platforms.datasets_made import EVERYTHING, EXPANDED, dataset, field

CONTRACT = contract_of(EVERYTHING, expanded=EXPANDED)
SECRET = "310101199901011234"
EMBEDDED = ("id", "name", "idcard", "born", "fee", "seen_at")


def load(text: str | bytes, contract: type[Contract] = CONTRACT, key: tuple[str, ...] = ("id",)) -> Records:
    return decode_records(text.encode() if isinstance(text, str) else text, contract, key)


def row_of(text: str) -> dict[str, Any]:
    """The only row of a page, which loads."""
    records = load(f"[{text}]")
    assert not records.bad
    (row,) = records.batch.to_pylist()
    return row


def slowly(text: str) -> Records:
    """The rows of a page by the slow way alone."""
    page = decode_page(text.encode(), CONTRACT)
    batch, drift = to_batch(CONTRACT, page.rows, page.extras, [False] * len(page.rows))
    return Records(batch.select(records_schema(CONTRACT).names), page.bad, page.drift + drift)


@pytest.fixture
def _fast_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Records:
        raise AssertionError("the slow way was taken")

    monkeypatch.setattr(columnar, "_decode_slowly", refuse)


# Values as JSON text, each as it may come for any field.

numbers = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers(2**62, 2**64).map(str),
    st.sampled_from(["1.7", "1.0", "-0", "1e1", "8.50", "999.99", "1000", "0.000", "1e400", "12345.678"]),
)
numeric_texts = st.sampled_from(
    [
        "",
        "0",
        "8.50",
        "-1",
        "1e1",
        "+1.1",
        ".5",
        "1.",
        " 1.1",
        "1_0",
        "999.0",
        "1000.0",
        "0.005",
        "NaN",
        "--1",
    ]
)
moments = st.sampled_from(
    [
        "2025-03-01",
        "2025-03-01 00:00:00",
        "2025-03-01T00:00:00.000",
        "2025-02-30 00:00:00",
        "2025-02-28T16:00:00Z",
        "2025-03-01 10:00:00",
        "2025-03-01T10:00:00",
        "2025-03-01 10:00:00.5",
        "2025-03-01 10:00:00.123456",
        "2025-03-01 10:00:00.1234567",
        "2025-03-01 10",
        "2025-03-01 10:00",
        "2025-03-01T10:00Z",
        "2025-03-01T10:00:00Z",
        "2025-03-01 10:00:00+05:30",
        "2025-03-01 10:00+08:00",
        "2025-02-30",
        "2025-03-01 24:00:00",
        "0000-00-00",
        "0000-00-00 00:00:00",
        "0000-01-01",
        "0000-01-01 00:00:00",
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59.999999",
    ]
)
texts = st.one_of(st.text(max_size=6), st.sampled_from(["张伟", "\ud83d", "\x00", "😀", "A", "C", "null"]))
scalars = st.one_of(
    st.sampled_from(["null", "true", "false"]),
    numbers,
    st.one_of(numeric_texts, moments, texts).map(json.dumps),
)
nested_names = st.sampled_from(["id", "name", "born", "fee", "seen at", "idcard", "shoe"])


def object_of(pairs: Sequence[tuple[str, str]]) -> str:
    members = [
        f"{json.dumps(name)}:{json.dumps(SECRET) if name == 'idcard' else value}" for name, value in pairs
    ]
    return "{" + ",".join(members) + "}"


objects = st.lists(st.tuples(nested_names, scalars), max_size=3).map(object_of)
values = st.one_of(
    scalars, scalars, objects, st.lists(scalars, max_size=2).map(lambda items: f"[{','.join(items)}]")
)
# As many digits as overflow what decimals are computed in, before the point, behind it, and by an exponent.
long_numbers = st.builds(
    "{}{}{}".format,
    st.integers(-(10**80), 10**80),
    st.sampled_from(["", ".0", ".25", ".000000000000000001"]),
    st.one_of(st.just(""), st.integers(-90, 90).map("e{}".format)),
)
plain = {
    "id": st.integers(1, 9).map(str),
    "count": st.integers(-(2**63), 2**63 - 1).map(str),
    "points": st.decimals(-999, 999, places=2).map(lambda d: f'"{d}"'),
    "wide": st.one_of(
        st.sampled_from(['"1.000000000000000001"', "1.5", "null"]), long_numbers.map(json.dumps), long_numbers
    ),
    "名称": st.text(max_size=5).map(json.dumps),
    "remark text": st.text(max_size=5).map(json.dumps),
    "level": st.sampled_from(['"A"', '"B"', '"C"', "null"]),
    "term": st.sampled_from(["1", "2", "3", "null"]),
    "day": st.dates(dt.date(1, 1, 1)).map(lambda day: f'"{day}"'),
    "updated_at": st.datetimes().map(lambda moment: f'"{moment}"'),
    "passed": st.sampled_from(["true", "false"]),
    "place": st.text(max_size=3).map(json.dumps),
    "ratio": st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    "idcard": st.just(json.dumps(SECRET)),
    "student": st.one_of(
        st.just("null"),
        st.just('{"id":5,"name":"张伟","born":"2010-01-31","fee":"10.50","seen at":"2025-03-01 10:00:00"}'),
    ),
    "shoe": st.sampled_from(["41", '"x"', "null", '{"a":[1.10]}', json.dumps({"idcard": SECRET})]),
}
plain_rows = st.fixed_dictionaries(
    {"id": plain["id"]}, optional={name: value for name, value in plain.items() if name != "id"}
)
members = st.tuples(st.sampled_from([*plain]), values)
# Pages that are mostly as they should be, so that each trap is met alone as well as with others.
odd_rows = st.one_of(
    st.tuples(plain_rows, members).map(lambda odd: object_of(list({**odd[0], odd[1][0]: odd[1][1]}.items()))),
    st.lists(members, max_size=4).map(object_of),
    values,
)
good_rows = plain_rows.map(lambda row: object_of(list(row.items())))
pages = st.one_of(
    st.lists(good_rows, min_size=1, max_size=4),
    st.lists(st.one_of(good_rows, odd_rows), min_size=1, max_size=4),
    st.lists(odd_rows, min_size=1, max_size=1),
)


@settings(max_examples=300, deadline=None)
@given(pages)
@example(["null"])
@example(['{"id":1}', "null", '{"id":2}'])
@example(['{"id":1,"points":"999.0"}', '{"id":2,"points":"1000.0"}'])
@example(['{"id":1,"wide":"123456789012345678901234567890"}'])
@example(['{"id":1,"wide":"340282366920938463463374607431768211456"}', '{"id":2,"points":"15e-61"}'])
@example(['{"id":1,"ratio":1.7976931348623159e308}', '{"id":2,"ratio":-2}', '{"id":3,"ratio":"2.5"}'])
def test_every_row_with_a_key_loads_and_is_exact_whichever_way_it_takes(lines: list[str]) -> None:
    text = f"[{', '.join(lines)}]"
    records, slow = load(text), slowly(text)
    assert records.batch.schema == records_schema(CONTRACT)
    records.batch.validate(full=True)
    assert records.batch.to_pylist() == slow.batch.to_pylist()
    assert (Counter(records.bad), records.drift) == (Counter(slow.bad), slow.drift)

    alone = [load(f"[{line}]") for line in lines]
    assert records.batch.to_pylist() == [
        row for line_records in alone for row in line_records.batch.to_pylist()
    ]
    for line, line_records in zip(lines, alone, strict=True):
        sent = json.loads(line, parse_float=Decimal)
        if line_records.bad:
            assert (
                not (isinstance(sent, dict) and is_id(sent.get("id")))
                and SECRET not in line_records.bad[0].raw
            )
        else:
            (row,) = line_records.batch.to_pylist()
            assert_exact(sent, row)
            wire_names = {f.wire for f in fields(CONTRACT)}
            assert not fits(line, CONTRACT) or not wire_names & json.loads(row["_extra"] or "{}").keys()


def is_id(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def assert_exact(sent: dict[str, Any], row: dict[str, Any]) -> None:
    """Whatever was sent is in its column, or verbatim in `_extra`; a withheld field is nowhere."""
    extra = json.loads(row["_extra"] or "{}", parse_float=Decimal)
    assert SECRET not in str(row)
    fields_by_wire = {f.wire: f for f in fields(CONTRACT)}
    for wire, f in fields_by_wire.items():
        if wire not in extra:
            assert row[f.name] == held(sent.get(wire), f), wire
        else:
            assert is_verbatim(extra[wire], sent[wire])
    unknown = {name: value for name, value in sent.items() if name not in fields_by_wire | {"idcard": None}}
    assert unknown.keys() == extra.keys() - fields_by_wire.keys()
    assert all(is_verbatim(extra[name], value) for name, value in unknown.items())


def is_verbatim(stored: Any, sent: Any) -> bool:
    """Whether a value is kept as it was sent; one that is no JSON by itself as its text."""
    if isinstance(stored, str) and "\\ud83d" in stored:
        stored = json.loads(stored, parse_float=Decimal)
    return bool(stored == without_withheld(sent))


class Misfit(Exception):
    """A value that its column cannot hold."""


def held(value: Any, f: Any) -> Any:
    """What a column holds of a value, by Python's own types. Raises Misfit."""
    kind = f.arrow_type
    if value is None or f.withheld:
        return None
    if f.any_json:
        # A text with half a character is no UTF-8, and stays JSON.
        is_text = isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)
        return value if is_text else Same(without_withheld(value))
    if f.nested:
        if not isinstance(value, dict) or value.keys() - {inner.wire for inner in fields(f.nested)}:
            raise Misfit
        return {inner.name: held(value.get(inner.wire), inner) for inner in fields(f.nested)}
    if pa.types.is_decimal(kind):
        return held_decimal(value, kind)
    if pa.types.is_temporal(kind):
        return held_moment(value, kind)
    if pa.types.is_floating(kind):
        return held_float(value)
    expected = bool if pa.types.is_boolean(kind) else int if pa.types.is_integer(kind) else str
    if type(value) is not expected or (expected is int and not -(2**63) <= value < 2**63):
        raise Misfit
    return value


def held_decimal(value: Any, kind: Any) -> Decimal:
    try:
        number = None if isinstance(value, bool | list | dict) else Decimal(value)
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise Misfit
    with localcontext(prec=400):
        shifted = number.scaleb(kind.scale)
        if shifted != shifted.to_integral_value() or abs(shifted) >= 10**kind.precision:
            raise Misfit
    return number


def held_float(value: Any) -> float:
    if not isinstance(value, int | Decimal) or isinstance(value, bool) or math.isinf(float(value)):
        raise Misfit
    return float(value)


def held_moment(value: Any, kind: Any) -> dt.date:
    if not isinstance(value, str):
        raise Misfit
    for form in DATES if pa.types.is_date(kind) else MOMENTS:
        try:
            moment = dt.datetime.strptime(value, form)
        except ValueError:
            continue
        return moment.date() if pa.types.is_date(kind) else moment
    raise Misfit


DATES = ("%Y-%m-%d", "%Y-%m-%d 00:00:00", "%Y-%m-%dT00:00:00", "%Y-%m-%dT00:00:00.000")
MOMENTS = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%f",
)


class Same:
    """Equals the JSON text of a value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, text: object) -> bool:
        return isinstance(text, str) and json.loads(text, parse_float=Decimal) == self.value


MOST_DIGITS = 76


def fits(line: str, contract: type[Contract]) -> bool:
    """Whether a row surely fits as it is: as the decoder of Python reads it, and spelt as anyone would."""
    sent = json.loads(line, parse_float=Decimal)
    fields_by_wire = {f.wire: f for f in fields(contract)}
    if not isinstance(sent, dict) or type(sent.get("id")) is not int or "\\ud83d" in line:
        return False
    try:
        for name, value in sent.items():
            if name in fields_by_wire:
                held(value, fields_by_wire[name])
    except Misfit:
        return False
    # Nobody writes a number with more digits than Arrow's widest decimal has.
    numbers = [value for value in sent.values() if isinstance(value, Decimal)]
    if any(len(number.as_tuple().digits) > MOST_DIGITS for number in numbers):
        return False
    texts = [value for value in sent.values() if isinstance(value, str)]
    return not any(text.strip() != text or len(text) > MOST_DIGITS for text in texts)


def without_withheld(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_withheld(v) for k, v in value.items() if k not in ("idcard", "password")}
    return [without_withheld(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("name", "value", "column"),
    [
        ("points", '"1e1"', Decimal("10")),
        ("points", '"+1.1"', Decimal("1.1")),
        ("points", '".5"', Decimal("0.5")),
        ("points", '"1."', Decimal("1")),
        ("points", "8.50", Decimal("8.5")),
        (
            "wide",
            "12345678901234567890.000000000000000001",
            Decimal("12345678901234567890.000000000000000001"),
        ),
        ("count", "9223372036854775807", 2**63 - 1),
        ("day", '"2025-03-01"', dt.date(2025, 3, 1)),
        ("day", '"2025-03-01 00:00:00"', dt.date(2025, 3, 1)),
        ("day", '"2025-03-01T00:00:00.000"', dt.date(2025, 3, 1)),
        ("updated_at", '"2025-03-01"', dt.datetime(2025, 3, 1)),
        ("updated_at", '"2025-03-01 10:00:00.25"', dt.datetime(2025, 3, 1, 10, 0, 0, 250_000)),
        ("名称", r'"\ud83d\ude00"', "😀"),
        ("shoe", "41", None),
    ],
)
@pytest.mark.usefixtures("_fast_only")
def test_what_the_fast_way_takes_is_exact(name: str, value: str, column: Any) -> None:
    row = row_of(f'{{"id": 1, "{name}": {value}}}')
    assert row.get(name) == column
    assert row["_extra"] == ('{"shoe":41}' if name == "shoe" else None)


@pytest.mark.parametrize(
    ("name", "value", "column", "kind"),
    [
        ("points", "", None, "empty_text"),
        ("ratio", "", None, "empty_text"),
        ("day", "", None, "empty_text"),
        ("day", "0000-00-00", None, "zero_date"),
        ("updated_at", "", None, "empty_text"),
        ("updated_at", "2025-03-01T02:00:00Z", dt.datetime(2025, 3, 1, 10), "zoned_timestamp"),
        ("updated_at", "2025-03-01 10:00:00 +08", dt.datetime(2025, 3, 1, 10), "zoned_timestamp"),
        ("passed", "f", False, "text_for_flag"),
        ("day", "2025-03-01T00:00:00Z", dt.date(2025, 3, 1), "zoned_date"),
        ("day", "2025-02-28T16:00:00.000Z", dt.date(2025, 3, 1), "zoned_date"),
        ("passed", 1, True, "number_for_flag"),
        ("passed", "0", False, "text_for_flag"),
        ("passed", "TRUE", True, "text_for_flag"),
        ("passed", "", None, "empty_text"),
        ("ratio", "-2.5e3", -2500.0, "text_for_number"),
        ("level", 7, "7", "number_for_text"),
        ("student", {"id": 1, "shoe": 41}, {"id": 1}, "unknown_nested_field"),
        ("student", {"id": 1, "fee": ""}, {"id": 1}, "empty_text"),
    ],
)
def test_what_is_mended_is_kept_as_it_came(name: str, value: Any, column: Any, kind: str) -> None:
    records = load(json.dumps([{"id": 1, name: value}]))
    (row,) = records.batch.to_pylist()
    actual = row[name] and {k: v for k, v in row[name].items() if v} if name == "student" else row[name]
    assert (actual, json.loads(row["_extra"])) == (column, {name: value})
    # Only a member that no contract names is told by its own path.
    at = "student.shoe" if kind == "unknown_nested_field" else name
    assert records.drift[Drift(kind, at)] == 1


@pytest.mark.parametrize(
    ("name", "value", "left", "kind"),
    [
        ("count", "1.0", 1, "decimal_for_integer"),
        ("count", '"42"', 42, "text_for_number"),
        ("count", '""', None, "empty_text"),
        ("count", '"abc"', None, "unreadable_value"),
        ("count", "1.7", None, "unreadable_value"),
        ("count", str(2**63), None, "unreadable_value"),
        ("points", '"1000.00"', None, "unreadable_value"),
        ("points", '"0.005"', None, "unreadable_value"),
        ("points", '"A"', None, "unreadable_value"),
        ("名称", "1.10", "1.10", "number_for_text"),
        ("名称", "[1]", None, "unreadable_value"),
        ("term", '"1"', 1, "text_for_number"),
        ("day", '"2025-02-28T16:00:00Z"', dt.date(2025, 3, 1), "zoned_date"),
        ("day", '"2025-03-01 10:00:00"', None, "unreadable_value"),
        ("updated_at", '"2025-03-01 10:00"', None, "unreadable_value"),
        ("updated_at", '"0000-01-01 00:00:00"', None, "unreadable_value"),
        ("passed", '"true"', True, "text_for_flag"),
        ("passed", '""', None, "empty_text"),
        ("passed", "2", None, "unreadable_value"),
        ("ratio", '"2.5"', 2.5, "text_for_number"),
        ("ratio", '"NaN"', None, "unreadable_value"),
        ("student", "[1]", None, "unreadable_value"),
        ("student", '""', None, "empty_text"),
        ("student", '{"id":"x"}', dict.fromkeys(EMBEDDED), "unreadable_value"),
    ],
)
def test_what_no_column_holds_costs_itself_alone(name: str, value: str, left: Any, kind: str) -> None:
    records = load(f'[{{"id": 1}}, {{"id": 2, "{name}": {value}}}, {{"id": 3}}]')
    assert records.bad == []
    rows = records.batch.to_pylist()
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert (rows[1][name], rows[1]["_extra"]) == (left, f'{{"{name}":{value}}}')
    assert records.drift[Drift(kind, name)] == 1


@pytest.mark.parametrize("value", ["null", '""', '"x"', "1.5", "true"])
def test_a_row_without_a_key_is_quarantined_alone(value: str) -> None:
    records = load(f'[{{"id": 1}}, {{"id": {value}}}, {{"id": 3}}]')
    assert records.batch.column("id").to_pylist() == [1, 3]
    (bad,) = records.bad
    assert bad.reason and bad.key is None


@pytest.mark.parametrize("body", ["[null]", '[{"id": 1}, null]', '[{"id": 1},\n null ,{"id": 2}]'])
def test_a_row_that_is_null_is_quarantined(body: str) -> None:
    assert [bad.raw for bad in load(body).bad] == ["null"]


@pytest.mark.parametrize(
    "body", ['[{"id": 1}', '[{"id": 1}]}{"rows": [{"id": 2}]', '[{"id": 1}], "more": []', '[{"id": 1}]]', ""]
)
def test_a_body_that_is_not_one_list_is_torn(body: str) -> None:
    with pytest.raises(TornBody):
        load(body)


@pytest.mark.parametrize("body", ["{}", '{"rows": [{"id": 1}]}', "1", "[" * 100_000])
def test_a_body_that_is_no_list_of_rows_is_not_taken_for_one(body: str) -> None:
    with pytest.raises((TornBody, UnexpectedAnswer)):
        load(body)


@pytest.mark.parametrize("name", ["id", "count", "student", "shoe"])
def test_nesting_without_end_stays_in_python_that_ends_it(name: str) -> None:
    """The columnar reader would follow it, and the process would run out of its stack."""
    with pytest.raises((TornBody, UnexpectedAnswer)):
        load(f'[{{"id": 1, "{name}": {"[" * 100_000}{"]" * 100_000}}}]')


@pytest.mark.parametrize("body", ["[]", "null", " [ ] "])
def test_a_page_without_rows(body: str) -> None:
    records = load(body)
    assert (records.received, records.batch.schema) == (0, records_schema(CONTRACT))
    assert (records.first_key, records.last_key) == (None, None)


@pytest.mark.usefixtures("_fast_only")
def test_the_names_of_a_first_row_longer_than_what_is_looked_at_first() -> None:
    records = load(json.dumps([{"remark text": "x" * 100_000, "id": 1, "term": 1}, {"id": 2}]))
    absent = {drift.field for drift in records.drift if drift.kind == "absent_field"}
    assert absent and not absent & {"remark text", "id", "term"}


def test_text_that_is_no_utf_8_is_kept_as_its_bytes_in_words() -> None:
    records = load(b'[{"id": 1, "remark text": "\xff\xfe"}, {"id": 2}]')
    assert records.batch.select(["id", "remark_text"]).to_pylist() == [
        {"id": 1, "remark_text": None},
        {"id": 2, "remark_text": None},
    ]
    extra = json.loads(records.batch.column("_extra")[0].as_py())
    assert (extra, records.bad) == ({"remark text": r'"\xff\xfe"'}, [])


@pytest.mark.parametrize("value", [json.dumps(SECRET), "5", '{"idcard": "x"}', "null"])
@pytest.mark.parametrize("odd", ["", '"points": "", ', '"count": "x", ', '"shoe": 1, '])
def test_a_withheld_field_is_a_column_that_is_always_null(value: str, odd: str) -> None:
    records = load(f'[{{"id": 1, {odd}"idcard": {value}, "student": {{"idcard": {value}}}}}]')
    output = json.dumps(records.batch.to_pylist(), default=str) + str(records.bad)
    assert SECRET not in output
    assert records.batch.column("idcard").to_pylist() == [None] * records.batch.num_rows
    kinds = {drift.kind for drift in records.drift if "idcard" in drift.field}
    assert kinds == (set() if value == "null" else {"withheld_identity_number"})


@pytest.mark.usefixtures("_fast_only")
def test_a_large_page_takes_the_fast_way_with_all_that_is_told_of_it() -> None:
    levels = ["A", "B", "Z", None]
    sent = [{"id": i, "level": levels[i % 4], "term": i % 4, "shoe": i} for i in range(1, 2001)]
    records = load(json.dumps(sent))
    assert records.batch.num_rows == 2000 and not records.bad
    assert (records.last_key, records.ascending) == (2000, True)
    drift_counts = {drift: rows for drift, rows in records.drift.items() if drift.kind != "absent_field"}
    assert drift_counts == {
        Drift("unknown_value", "level", "Z"): 500,
        Drift("unknown_value", "term", "3"): 500,
        Drift("unknown_value", "term", "0"): 500,
        Drift("unknown_field", "shoe"): 2000,
    }
    assert records.drift[Drift("absent_field", "updated_at")] == 2000
    assert Drift("absent_field", "idcard") not in records.drift


@pytest.mark.parametrize(
    ("integer", "decimal", "timestamp"),
    [("int", "number", "datetime"), ("BIGINT(20)", "decimal(5,2)", "timestamp without time zone")],
)
@pytest.mark.usefixtures("_fast_only")
def test_the_fast_way_is_taken_whatever_the_types_are_called(
    integer: str, decimal: str, timestamp: str
) -> None:
    definition = dataset(
        field("id", integer, primary=1),
        field("points", decimal),
        field("updated_at", timestamp),
        field("name", "varchar(20)"),
    )
    sent = [{"id": i, "points": "8.5", "updated_at": "2025-03-01 10:00:00", "name": "x"} for i in (1, 2)]
    records = load(json.dumps(sent), contract_of(definition), primary_key(definition))
    assert (records.last_key, records.ascending, records.bad) == (2, True, [])


@pytest.mark.parametrize(
    ("ids", "last", "ascending"),
    [
        ([1, 2, 5], 5, True),
        ([2, 1], 2, False),
        ([1, 1], 1, False),
        ([3], 3, True),
        ([1, "x", 3], 3, True),
        ([], None, True),
    ],
)
def test_the_keys_of_a_page(ids: list[Any], last: int | None, ascending: bool) -> None:
    records = load(json.dumps([{"id": id_} for id_ in ids]))
    assert (records.last_key, records.ascending) == (last, ascending)


def test_a_row_with_an_odd_value_moves_the_last_key_too() -> None:
    assert load('[{"id": 1}, {"id": 7, "count": "x"}]').last_key == 7


def test_keys_that_are_no_single_integer_are_never_said_to_ascend() -> None:
    definition = dataset(field("code", "string", primary=True), field("n", "integer"))
    records = load('[{"code": "a"}, {"code": "b"}]', contract_of(definition), primary_key(definition))
    assert (records.last_key, records.ascending, records.batch.num_rows) == (None, False, 2)


def numbers_of(definition: Definition, *pages: list[dict[str, Any]]) -> list[str]:
    numbers, contract = RowNumbers(), contract_of(definition)
    return [
        number
        for page in pages
        for number in numbers.column(load(json.dumps(page), contract, ()).batch).to_pylist()
    ]


KEYLESS = dataset(field("usin", "string"), field("n", "decimal", precision=5, scale=2))


def test_rows_without_a_key_are_told_apart_across_pages() -> None:
    first, second = {"usin": "a", "n": "1.5"}, {"usin": "b"}
    numbers = numbers_of(KEYLESS, [first, second, first], [first, second])
    assert len(set(numbers)) == 5
    assert sorted(number.partition("/")[2] for number in numbers) == ["1", "1", "2", "2", "3"]
    assert set(numbers) == set(numbers_of(KEYLESS, [second, first], [second, first, first]))


def test_a_row_is_the_same_however_it_is_written_and_whatever_new_field_is_empty() -> None:
    grown = dataset(
        field("new", "integer"), field("usin", "string"), field("n", "decimal", precision=5, scale=2)
    )
    before = numbers_of(KEYLESS, [{"usin": "a", "n": "1.5", "x": {"b": 1, "a": 2}}])
    assert before == numbers_of(grown, [{"n": "1.50", "x": {"a": 2, "b": 1}, "usin": "a", "new": None}])
    assert before != numbers_of(grown, [{"n": "1.50", "x": {"a": 2, "b": 1}, "usin": "a", "new": 1}])


def test_an_embedded_row_is_exact_and_may_be_missing() -> None:
    student = '{"id": 5, "fee": "10.50", "seen at": "2025-03-01 10:00:00", "born": "2010-01-31"}'
    row = row_of(f'{{"id": 1, "student": {student}}}')
    assert row["student"] == {
        "id": 5,
        "name": None,
        "idcard": None,
        "born": dt.date(2010, 1, 31),
        "fee": Decimal("10.50"),
        "seen_at": dt.datetime(2025, 3, 1, 10),
    }
    assert row_of('{"id": 1, "student": null}')["student"] is None


def test_values_of_an_unknown_type_are_their_text() -> None:
    sent = ['"a"', "1.10", '{"x": [1.0]}', "null", "true"]
    rows = [object_of([("id", str(number)), ("place", text)]) for number, text in enumerate(sent)]
    records = load(f"[{','.join(rows)}]")
    assert records.batch.column("place").to_pylist() == ["a", "1.10", '{"x": [1.0]}', None, "true"]
    assert not [drift for drift in records.drift if drift.kind != "absent_field"]


@pytest.mark.parametrize("value", ["NaN", "1e400", "9" * 5000, '"\\ud83d"', "[[[1.0]]]"])
def test_whatever_an_unknown_field_holds_the_other_rows_load(value: str) -> None:
    records = load(f'[{{"id": 1}}, {{"id": 2, "shoe": {value}}}]')
    assert (records.batch.num_rows, records.bad) == (2, [])
    assert len(set(RowNumbers().column(records.batch).to_pylist())) == 2
    as_text = json.dumps(value) if value in ("NaN", '"\\ud83d"') else value
    assert records.batch.column("_extra").to_pylist() == [None, f'{{"shoe":{as_text}}}']
