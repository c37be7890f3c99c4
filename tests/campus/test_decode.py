"""Decoding: exact or quarantined, never silently changed. The yardstick is Python's own JSON decoder."""

import datetime as dt
import json
from collections import Counter
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campus.contract import Contract, Field, fields
from campus.contracts import AssessmentItem, ClassMember, CourseClass, Grade, Score, Semester, Student
from campus.decode import Drift, Page, batch_schema, decode_page, to_batch
from campus.errors import TornBody, UnexpectedAnswer
from campus.resources import RESOURCES

SECRET = "310101199901011234"
KEYS: dict[type[Contract], tuple[str, ...]] = {spec.contract: spec.primary_key for spec in RESOURCES.values()}
CONTRACTS = [Student, CourseClass, AssessmentItem, Score, Grade, Semester, ClassMember]


def load(body: str | bytes, contract: type[Contract]) -> tuple[list[dict[str, Any]], Page[Any]]:
    """The rows of a page as a reader of the table sees them, and the page with all that is bad in it."""
    page = decode_page(body.encode() if isinstance(body, str) else body, contract, KEYS[contract])
    batch, bad, drift = to_batch(contract, page.rows, page.extras, [False] * len(page.rows), KEYS[contract])
    assert batch.schema == batch_schema(contract)
    page.bad += bad
    page.drift.update(drift)
    return batch.to_pylist(), page


def body_of(*rows: dict[str, Any]) -> str:
    return json.dumps(rows)


def only(body: str, contract: type[Contract]) -> dict[str, Any]:
    (row,), page = load(body, contract)
    assert not page.bad
    return row


# Any JSON at all. A row is a list of (name, JSON text of the value), so that names may come twice.

numbers = st.one_of(
    st.integers(-5, 5).map(str),
    st.integers().map(str),
    st.integers(2**53, 2**64).map(str),
    st.sampled_from(["1.7", "1.10", "1.0", "-0", "-0.0", "1e3", "1e400", "8.5", f"0.{'123456789' * 4}"]),
)
numeric_texts = st.sampled_from(
    [
        "",
        "0",
        "8.50",
        "-1",
        "42",
        "1e3",
        "1e400",
        "1e-30",
        "NaN",
        "Infinity",
        "12,5",
        "9" * 21,
        f"0.{'1' * 19}",
    ]
)
moments = st.one_of(
    st.datetimes(dt.datetime(1, 1, 1)).map(str),
    st.datetimes().map(lambda moment: f"{moment:%Y-%m-%d}"),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.datetimes().map(lambda moment: moment.isoformat() + "+05:30"),
    st.sampled_from(
        [
            "0000-00-00 00:00:00",
            "2025-02-30",
            "2025-05-16 08:00:00.1234567",
            "2025-05-16T08:00:00.9999999Z",
            "9999-12-31T23:59:59Z",
            "0001-01-01T00:00:00+09:00",
            "today",
        ]
    ),
)
texts = st.one_of(st.text(max_size=8), st.sampled_from(["张伟", "\ud83d", "\x00", "😀"]))
values = st.recursive(
    st.one_of(
        st.sampled_from(["null", "true", "false", "[]", "{}"]),
        numbers,
        st.one_of(numeric_texts, moments, texts).map(json.dumps),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(
            st.tuples(st.sampled_from(["id", "name", "usin", "idcard", "avatar_url"]), inner), max_size=3
        ).map(lambda pairs: object_of([(name, quoted_secret(name, value)) for name, value in pairs])),
    ),
    max_leaves=4,
)


def quoted_secret(name: str, value: str) -> str:
    return json.dumps(SECRET) if name in ("idcard", "password") else value


def object_of(pairs: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in pairs) + "}"


def rows_of(contract: type[Contract]) -> st.SearchStrategy[str]:
    """Rows that mostly have a good key and mostly hold what is expected, so that traps are met alone too."""
    names = [f.name for f in fields(contract)]
    name = st.sampled_from([*names, "x_note", "idcard", "password"])
    key = st.sampled_from([[], *[[(part, usual(part)) for part in KEYS[contract]]] * 5])
    rest = st.lists(
        name.flatmap(lambda n: st.one_of(st.just(usual(n)), values).map(lambda v: (n, quoted_secret(n, v)))),
        max_size=4,
    )
    return st.one_of(
        st.builds(lambda k, r: object_of(k + r), key, rest),
        st.builds(lambda k, r: object_of(k + r), key, rest),
        values,
    )


def usual(name: str) -> str:
    return {"type": '"student"', "name": '"张伟"'}.get(name, "7" if name.endswith("id") else "null")


@pytest.mark.parametrize("contract", CONTRACTS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_rows_are_exact_or_quarantined(contract: type[Contract], data: st.DataObject) -> None:
    texts = data.draw(st.lists(rows_of(contract), max_size=4))
    table, page = load(f"[{', '.join(texts)}]", contract)
    assert len(table) + len(page.bad) == len(texts)
    fates = [load(f"[{text}]", contract) for text in texts]
    assert table == [row for rows, _ in fates for row in rows]
    assert Counter(page.bad) == Counter(bad for _, alone in fates for bad in alone.bad)
    for text, (rows, alone) in zip(texts, fates, strict=True):
        sent = json.loads(text, parse_float=Decimal)
        for row in rows:
            assert_exact(sent, row, contract)
        for bad in alone.bad:
            assert bad.reason
            assert SECRET not in bad.raw
            # as text, since a numbered enum becomes text
            assert all(str(part) in map(str, [None, *sent.values()]) for part in bad.key or ())


def assert_exact(sent: dict[str, Any], row: dict[str, Any], contract: type[Contract]) -> None:
    extra = json.loads(row["_extra"] or "{}", parse_float=Decimal)
    assert SECRET not in (row["_extra"] or "")
    for f in fields(contract):
        if f.name in extra:
            assert extra[f.name] == without_withheld(sent[f.name])
        else:
            assert row[f.name] == exact(sent.get(f.name), f), f.name
    unknown = {name: value for name, value in sent.items() if name not in {f.name for f in fields(contract)}}
    assert without_withheld(unknown) == {name: extra[name] for name in extra if name in unknown}


def exact(value: Any, field: Field) -> Any:
    """What a column must hold for a value that was sent; a sentinel that equals nothing where it cannot."""
    impossible = object()
    kind = field.arrow_type
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        moment = dt.datetime.fromisoformat(value)
        return moment if moment.tzinfo is None else impossible
    if pa.types.is_decimal(kind):
        return Decimal(value) if type(value) in (str, int, Decimal) else impossible
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        empty = dict.fromkeys(kind.value_type.names)
        return [empty | ({"id": item} if type(item) is int else item) for item in value]
    if pa.types.is_list(kind):
        member = int if pa.types.is_integer(kind.value_type) else str
        return value if type(value) is list and all(type(item) is member for item in value) else impossible
    expected = bool if pa.types.is_boolean(kind) else int if pa.types.is_integer(kind) else str
    return value if type(value) is expected else impossible


def without_withheld(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_withheld(v) for k, v in value.items() if k not in ("idcard", "password")}
    return [without_withheld(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-(2**63), 2**63 - 1),
    st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-(10**19), max_value=10**19),
    st.text(),
    st.datetimes(min_value=dt.datetime(1000, 1, 1)),
    st.booleans(),
)
def test_whatever_fits_loads_with_nothing_left_over(
    number: int, decimal: Decimal, text: str, moment: dt.datetime, flag: bool
) -> None:
    sent = {
        "id": number,
        "score": format(decimal, "f"),
        "review": text,
        "created_at": str(moment),
        "valid": flag,
    }
    row = only(body_of(sent), Score)
    assert (row["id"], row["score"], row["review"], row["created_at"], row["valid"], row["_extra"]) == (
        number,
        decimal,
        text,
        moment,
        flag,
        None,
    )


@pytest.mark.parametrize("resource", RESOURCES)
def test_an_empty_page_has_the_columns_of_the_contract(resource: str) -> None:
    contract = RESOURCES[resource].contract
    for body in (b"[]", b"null", b" [ ] ", b"\xef\xbb\xbf[]"):
        page = decode_page(body, contract, ("id",))
        assert (page.rows, page.bad, page.drift) == ([], [], Counter())
    batch, _, _ = to_batch(contract, [], [], [], ("id",))
    expected = [(f.name, f.arrow_type) for f in fields(contract)]
    ours = [("_extra", pa.string()), ("_trashed", pa.bool_()), ("_trashed_at", pa.timestamp("us"))]
    assert [(f.name, f.type) for f in batch.schema] == expected + ours


def test_null_empty_and_zero_stay_three_things() -> None:
    rows, page = load(
        body_of(
            {"id": 1, "score": None, "tag": None},
            {"id": 2, "score": "", "tag": ""},
            {"id": 3, "score": "0", "tag": "0"},
        ),
        Score,
    )
    assert [(row["score"], row["tag"], row["_extra"]) for row in rows] == [
        (None, None, None),
        (None, "", '{"score":""}'),
        (Decimal(0), "0", None),
    ]
    assert page.drift[Drift("empty_text", "score")] == 1


BAD: list[tuple[type[Contract], str, str]] = [
    (Student, "null", "object"),
    (Student, "7", "object"),
    (Student, '["id"]', "object"),
    (Student, "{}", "missing required field `id`"),
    (Student, '{"id": null}', "$.id"),
    (Student, '{"id": "42"}', "$.id"),
    (Student, '{"id": 1.7}', "$.id"),
    (Student, '{"id": 9223372036854775808}', "$.id"),
    (Student, '{"id": 1, "graduates_in_id": ""}', "$.graduates_in_id"),
    (Student, '{"id": 1, "name": 5}', "$.name"),
    (Student, '{"id": 1, "name": ["张"]}', "$.name"),
    (Student, '{"id": 1, "structure_ids": {"0": 1}}', "$.structure_ids"),
    (Student, '{"id": 1, "structure_ids": [1, null]}', "$.structure_ids"),
    (Student, '{"id": 1, "deleted_at": "yesterday"}', "$.deleted_at"),
    (Student, '{"id": 1, "deleted_at": 1747353600}', "$.deleted_at"),
    (Student, '{"id": 1, "deleted_at": "9999-12-31T23:59:59Z"}', "$.deleted_at"),
    (Student, '{"id": 1, "name": "\\ud83d"}', ""),
    (Student, '{"id": 1, "weight": NaN}', ""),
    (CourseClass, '{"id": 1, "teachers": [{"id": "7"}]}', "$.teachers[0]"),
    (CourseClass, '{"id": 1, "teachers": {"id": 7}}', "$.teachers"),
    (CourseClass, '{"id": 1, "teachers": [[7]]}', "$.teachers[0]"),
    (CourseClass, f'{{"id": 1, "teachers": [{2**70}, {{"x": 1}}]}}', "$.teachers[0]"),
    (Score, '{"id": 1, "score": "eight"}', "$.score"),
    (Score, '{"id": 1, "score": "NaN"}', "$.score"),
    (Score, '{"id": 1, "score": "1e400"}', "$.score"),
    (Score, '{"id": 1, "score": "0.1234567890123456789"}', "$.score"),
    (Score, '{"id": 1, "score": "123456789012345678901"}', "$.score"),
    (Score, '{"id": 1, "score": true}', "$.score"),
    (Score, '{"id": 1, "valid": 2}', "$.valid"),
    (Score, '{"id": 1, "valid": "true"}', "$.valid"),
    (ClassMember, '{"reflection_id": 5}', "type"),
]


@pytest.mark.parametrize(("contract", "broken", "reason"), BAD)
def test_a_broken_row_is_kept_aside_and_its_neighbours_load(
    contract: type[Contract], broken: str, reason: str
) -> None:
    good = '{"id": 8}' if contract is not ClassMember else '{"type": "student", "reflection_id": 8}'
    rows, page = load(f"[{good}, {broken}, {good}]", contract)
    assert len(rows) == 2
    (bad,) = page.bad
    assert reason in bad.reason
    if contract is not Score:  # where a decimal does not fit, the text is made again from the row
        assert bad.raw == broken


@pytest.mark.parametrize(
    ("contract", "row", "key"),
    [
        (Student, '{"id": 5, "name": 1}', (5,)),
        (Student, '{"name": 1, "id": 5, "idcard": "x"}', (5,)),
        (Student, '{"name": "\\ud83d", "id": 5}', (5,)),
        (Student, '{"id": "5"}', None),
        (Student, f'{{"id": {2**63}}}', None),
        (Student, "5", None),
        (Score, '{"id": 5, "score": "NaN"}', (5,)),
        (ClassMember, '{"type": "student", "reflection_id": 5, "created_at": 1}', (None, "student", 5)),
        (ClassMember, '{"class_id": 9, "type": 2, "reflection_id": 5, "created_at": 1}', (9, "2", 5)),
        (ClassMember, '{"type": "student", "class_id": 9}', None),
    ],
)
def test_a_broken_row_keeps_its_key_where_that_can_be_read(
    contract: type[Contract], row: str, key: tuple[Any, ...] | None
) -> None:
    _, page = load(f"[{row}]", contract)
    assert [bad.key for bad in page.bad] == [key]


def test_text_that_is_no_utf8_costs_one_row() -> None:
    rows, page = load('[{"id": 1, "name": "张伟"}, {"id": 2, "name": "'.encode() + b'\xd5\xc5"}]', Student)
    assert [row["name"] for row in rows] == ["张伟"]
    assert [(bad.key, bad.raw) for bad in page.bad] == [((2,), '{"id": 2, "name": "\\xd5\\xc5"}')]


def test_the_last_of_two_values_of_a_name_counts() -> None:
    assert only('[{"id": 1, "name": "a", "name": "b"}]', Student)["name"] == "b"
    assert only('[{"id": 1, "x": 1, "name": "a", "name": "b"}]', Student)["name"] == "b"


MENDED: list[tuple[type[Contract], str, str, Any, str]] = [
    (Score, "score", '""', None, "empty_text"),
    (Score, "published_at", '""', None, "empty_text"),
    (Score, "published_at", '"0000-00-00 00:00:00"', None, "zero_timestamp"),
    (Score, "created_at", '"2025-05-16T00:30:00Z"', dt.datetime(2025, 5, 16, 8, 30), "zoned_timestamp"),
    (
        Score,
        "created_at",
        '"2025-05-16 08:00:00.9999999"',
        dt.datetime(2025, 5, 16, 8, 0, 0, 999999),
        "fine_timestamp",
    ),
    (Score, "valid", "1", True, "number_for_flag"),
    (Score, "valid", "0", False, "number_for_flag"),
    (Score, "status", "2", "2", "number_for_text"),
    (
        CourseClass,
        "teachers",
        '[{"id": 7, "name": "李", "avatar_url": null}, 8]',
        [{"id": 7, "name": "李", "usin": None}, {"id": 8, "name": None, "usin": None}],
        "unknown_nested_field",
    ),
    (AssessmentItem, "tags", '[{"name": "A", "id": 3}]', [{"name": "A"}], "unknown_nested_field"),
]


@pytest.mark.parametrize(("contract", "name", "value", "loaded", "kind"), MENDED)
def test_what_can_be_mended_without_loss_loads_and_stays_verbatim_beside(
    contract: type[Contract], name: str, value: str, loaded: Any, kind: str
) -> None:
    (row,), page = load(f'[{{"id": 1, "{name}": {value}}}]', contract)
    assert not page.bad
    assert row[name] == loaded
    assert json.loads(row["_extra"]) == {name: json.loads(value)}
    assert page.drift[Drift(kind, name)] == 1


def test_a_bare_date_is_its_midnight_and_no_drift() -> None:
    (row,), page = load('[{"id": 1, "start_at": "2025-02-17"}]', Semester)
    assert (row["start_at"], row["_extra"]) == (dt.datetime(2025, 2, 17), None)
    assert {drift.kind for drift in page.drift} == {"absent_field"}


@pytest.mark.parametrize("name", ["idcard", "password", "idc\\u0061rd"])
@pytest.mark.parametrize("form", ["%s", '"profile": {%s}', '"list": [[{"name": "x", %s}]]', '"name": {%s}'])
def test_withheld_fields_are_stored_nowhere(name: str, form: str) -> None:
    secret = f'"{name}": "{SECRET}"'
    rows, page = load(f'[{{"id": 1, {form % secret}}}]', Student)
    stored = json.dumps([row["_extra"] for row in rows]) + json.dumps([bad.raw for bad in page.bad])
    assert SECRET not in stored
    assert len(rows) + len(page.bad) == 1


def test_a_row_that_cannot_be_taken_apart_gives_no_withheld_field_away() -> None:
    _, page = load(f'[{{"id": 1, "name": "\\ud83d", "idcard": "{SECRET}"}}]', Student)
    assert [(bad.key, SECRET in bad.raw) for bad in page.bad] == [((1,), False)]


def test_what_is_quarantined_with_a_withheld_field_is_otherwise_as_it_came() -> None:
    _, page = load(f'[{{"id": 1, "x": 1.10, "y": {2**70}, "name": 5, "idcard": "{SECRET}"}}]', Student)
    assert page.bad[0].raw == f'{{"id":1,"x":1.10,"y":{2**70},"name":5}}'


def test_a_decimal_that_does_not_fit_is_quarantined_with_all_that_came_with_it() -> None:
    _, page = load('[{"id": 1, "score": "1e30", "gained_score": "", "x": 1.10, "tag": "好"}]', Score)
    (bad,) = page.bad
    assert json.loads(bad.raw) == {"id": 1, "score": "1E+30", "gained_score": "", "x": 1.10, "tag": "好"}


def test_drift_is_counted_by_row() -> None:
    rows = [
        {"id": 1, "name": "a", "role": "student", "shoe_size": 1},
        {"id": 2, "name": "b", "role": "wizard", "shoe_size": 2},
        {"id": 3, "name": "c", "role": "wizard"},
    ]
    _, page = load(body_of(*rows), Student)
    absent = {drift.field for drift in page.drift if drift.kind == "absent_field"}
    assert absent == {
        "school_id",
        "usin",
        "structure_ids",
        "pupil_id",
        "graduates_in_id",
        "outer_id",
        "status",
    }
    others = {drift: count for drift, count in page.drift.items() if drift.kind != "absent_field"}
    assert others == {Drift("unknown_field", "shoe_size"): 2, Drift("unknown_value", "role", "wizard"): 2}
    assert page.drift[Drift("absent_field", "usin")] == 3


def test_fields_that_only_some_platforms_send_are_no_drift() -> None:
    _, page = load('[{"id": 1}]', Student)
    assert Drift("absent_field", "deleted_at") not in page.drift


@pytest.mark.parametrize("rows", [[], [{"id": 1, "name": 5}], [{"id": 1}, {"id": 2, "x": 1}]])
def test_the_fields_of_the_first_row_are_told(rows: list[dict[str, Any]]) -> None:
    page = decode_page(body_of(*rows).encode(), Student, ("id",))
    assert page.sent == (frozenset(rows[0]) if rows else frozenset())


@settings(max_examples=100, deadline=None)
@given(st.lists(rows_of(Student), min_size=1, max_size=3), st.integers(1, 40))
@example(['{"id": "x"}', '{"id": 1}'], 4)
def test_a_torn_body_is_never_taken_for_a_whole_one(texts: list[str], cut: int) -> None:
    body = f"[{', '.join(texts)}]".encode()
    with pytest.raises(TornBody):
        decode_page(body[: max(len(body) - cut, 0)], Student, ("id",))


@pytest.mark.parametrize("body", [b"", b"[", b"<html>", b'[{"id":1}] x', b"\xff\xfe[]"])
def test_what_is_no_json_is_torn(body: bytes) -> None:
    with pytest.raises(TornBody):
        decode_page(body, Student, ("id",))


@pytest.mark.parametrize("body", [b"{}", b'{"data": []}', b'"no"', b"5", b"[" * 5000 + b"]" * 5000])
def test_json_that_is_no_list_of_rows_is_said_to_be_unexpected(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswer, match="expected a list of rows"):
        decode_page(body, Student, ("id",))


def test_an_unexpected_answer_is_described_without_what_is_in_it() -> None:
    with pytest.raises(UnexpectedAnswer, match=r"got an object with data, meta") as caught:
        decode_page(b'{"data": [{"name": "Somebody"}], "meta": {}}', Student, ("id",))
    assert "Somebody" not in str(caught.value)


def test_a_large_page_takes_the_fast_way_and_the_slow_way_alike() -> None:
    rows = [{"id": i, "name": f"学生{i}", "structure_ids": [i, i + 1]} for i in range(2000)]
    fast, _ = load(msgspec.json.encode(rows), Student)
    slow, page = load(msgspec.json.encode([*rows, {"id": "broken"}]), Student)
    assert fast == slow
    assert len(page.bad) == 1
