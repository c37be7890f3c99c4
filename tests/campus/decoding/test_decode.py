"""Decoding: exact, never silently changed. The yardstick is Python's own JSON decoder."""

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

from campus.account import Drift
from campus.contracts.base_data import (
    AdminClass,
    AssessmentItem,
    ClassMember,
    CourseClass,
    Grade,
    Score,
    Semester,
    Student,
    Teacher,
)
from campus.contracts.fields import DECIMAL, Contract, Field, fields
from campus.decoding.page import Page, batch_schema, column, decode_page, misfitting, to_batch
from campus.decoding.withholding import UNSTORABLE
from campus.http.errors import TornBody, UnexpectedAnswer
from campus.registry import RESOURCES

SECRET = "310101199901011234"
KEYS: dict[type[Contract], tuple[str, ...]] = {spec.contract: spec.primary_key for spec in RESOURCES.values()}
CONTRACTS = [Student, CourseClass, AdminClass, AssessmentItem, Score, Grade, Semester, ClassMember]


def load(body: str | bytes, contract: type[Contract]) -> tuple[list[dict[str, Any]], Page[Any]]:
    """The rows of a page as a reader of the table sees them, and the page with all that is bad in it."""
    page = decode_page(body.encode() if isinstance(body, str) else body, contract)
    batch, drift = to_batch(contract, page.rows, page.extras, [False] * len(page.rows))
    assert batch.schema == batch_schema(contract)
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
def test_rows_with_a_key_load_and_are_exact(contract: type[Contract], data: st.DataObject) -> None:
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
            assert bad.reason and bad.key is None
            assert SECRET not in bad.raw
            assert not has_key(sent, contract)


def has_key(sent: Any, contract: type[Contract]) -> bool:
    """Whether a row has the parts of its key that a contract insists on, spelt as anyone would."""
    names = {field.name for field in msgspec.structs.fields(contract) if field.required}
    usual_key = {name: json.loads(usual(name)) for name in names}
    return isinstance(sent, dict) and {name: sent.get(name) for name in names} == usual_key


def assert_exact(sent: dict[str, Any], row: dict[str, Any], contract: type[Contract]) -> None:
    extra = json.loads(row["_extra"] or "{}", parse_float=Decimal)
    assert SECRET not in (row["_extra"] or "")
    for f in fields(contract):
        if f.name in extra:
            assert verbatim(extra[f.name], sent[f.name])
        else:
            assert row[f.name] == exact(without_withheld(sent.get(f.name)), f), f.name
    unknown = {name: value for name, value in sent.items() if name not in {f.name for f in fields(contract)}}
    stored = without_withheld(unknown).keys()
    assert stored == {name for name in extra if name in unknown}
    assert all(verbatim(extra[name], unknown[name]) for name in stored)


def verbatim(stored: Any, sent: Any) -> bool:
    """Whether a value is kept as it was sent; one that is no JSON by itself as its text."""
    if stored == json.loads(UNSTORABLE):
        return SECRET in str(sent)
    if "\\ud83d" in str(stored) and isinstance(stored, str):
        stored = json.loads(stored, parse_float=Decimal)
    return bool(stored == without_withheld(sent))


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
        page = decode_page(body, contract)
        assert (page.rows, page.bad, page.drift) == ([], [], Counter())
    batch, _ = to_batch(contract, [], [], [])
    expected = [(f.name, f.arrow_type) for f in fields(contract)]
    lake_columns = [("_extra", pa.string()), ("_trashed", pa.bool_()), ("_trashed_at", pa.timestamp("us"))]
    assert [(f.name, f.type) for f in batch.schema] == expected + lake_columns


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
    (Student, '{"id": null}', "`id`"),
    (Student, '{"id": ""}', "`id`"),
    (Student, '{"id": "42a"}', "`id`"),
    (Student, '{"id": 1.7}', "`id`"),
    (Student, '{"id": 9223372036854775808}', "`id`"),
    (Student, '{"id": NaN}', "`id`"),
    (ClassMember, '{"reflection_id": 5}', "type"),
    (ClassMember, '{"reflection_id": 5, "type": ["student"]}', "type"),
]


@pytest.mark.parametrize(("contract", "broken", "reason"), BAD)
def test_a_row_without_a_key_is_kept_aside_and_its_neighbours_load(
    contract: type[Contract], broken: str, reason: str
) -> None:
    good = '{"id": 8}' if contract is not ClassMember else '{"type": "student", "reflection_id": 8}'
    rows, page = load(f"[{good}, {broken}, {good}]", contract)
    assert len(rows) == 2
    (bad,) = page.bad
    assert reason in bad.reason
    assert (bad.key, bad.raw) == (None, broken)


# What no column holds: the field, the value as JSON text, what is left of it in the column.
LOST: list[tuple[type[Contract], str, str, Any]] = [
    (Student, "graduates_in_id", '"高一"', None),
    (Student, "graduates_in_id", "1.7", None),
    (Student, "graduates_in_id", "9223372036854775808", None),
    (Student, "graduates_in_id", '"1e999999999"', None),
    (Student, "graduates_in_id", "[1]", None),
    (Student, "graduates_in_id", "true", None),
    (Student, "name", '["张"]', None),
    (Student, "name", "true", None),
    (Student, "structure_ids", '{"0": 1}', None),
    (Student, "structure_ids", "[1, null]", None),
    (Student, "structure_ids", "7", None),
    (Student, "deleted_at", '"yesterday"', None),
    (Student, "deleted_at", "1747353600", None),
    (Student, "deleted_at", '"9999-12-31T23:59:59Z"', None),
    (CourseClass, "teachers", '{"id": 7}', None),
    (CourseClass, "teachers", '[[7], {"id": "x", "name": "a"}]', []),
    (CourseClass, "teachers", f'[{2**70}, {{"x": 1}}, {{"id": 7, "name": []}}]', [{"id": 7}]),
    (CourseClass, "subject_id", '"数学"', None),
    (Score, "valid", "2", None),
    (Score, "valid", '"yes"', None),
    (Score, "rank", '"第一"', None),
]


@pytest.mark.parametrize(("contract", "name", "value", "left"), LOST)
def test_what_no_column_holds_is_null_there_and_stays_verbatim_beside(
    contract: type[Contract], name: str, value: str, left: Any
) -> None:
    rows, page = load(f'[{{"id": 1}}, {{"id": 2, "{name}": {value}}}, {{"id": 3}}]', contract)
    assert not page.bad
    assert [row["id"] for row in rows] == [1, 2, 3]
    shown = [{k: v for k, v in item.items() if v} for item in rows[1][name] or ()] if left else rows[1][name]
    assert shown == left
    assert json.loads(rows[1]["_extra"]) == {name: json.loads(value)}
    assert page.drift[Drift("unreadable_value", name)] == 1


# Texts in the place of numbers: what the column holds of them, and the drift that is told.
NUMBERS: list[tuple[type[Contract], str, str, Any, str]] = [
    (Grade, "gpa", "-", None, ""),
    (Grade, "gpa", "—", None, ""),
    (Grade, "gpa", "  ", None, "empty_text"),
    (Grade, "gpa", "A", None, "word_for_number"),
    (Grade, "gpa", "NaN", None, "word_for_number"),
    (Grade, "gpa", "-Infinity", None, "word_for_number"),
    (Grade, "gpa", "1e400", None, "word_for_number"),
    (Grade, "gpa", "0.1234567890123456789", None, "word_for_number"),
    (Grade, "gpa", "123456789012345678901", None, "word_for_number"),
    (Grade, "gpa", "3.7 / 4", None, "word_for_number"),
    (Grade, "gpa", "１，２３４．５", Decimal("1234.5"), "text_for_number"),
    (Grade, "score", "1,234.5", Decimal("1234.5"), "text_for_number"),
    (Grade, "score", "1,234,567", Decimal("1234567"), "text_for_number"),
    # A point or a group of thousands? Nobody knows.
    (Grade, "score", "1,234", None, "word_for_number"),
    (Grade, "score", "12,5", None, "word_for_number"),
    # Of what would it be 85%?
    (Grade, "score", "85%", None, "word_for_number"),
    (Grade, "score", "eight", None, "word_for_number"),
    (Grade, "gained_score_rate", "85%", Decimal("0.85"), "percentage"),
    (Grade, "gained_score_rate", " ８５．５ ％", Decimal("0.855"), "percentage"),
    (Grade, "gained_score_rate", "%", None, "word_for_number"),
    (Grade, "gained_score_rate", "85分", None, "word_for_number"),
    (Grade, "score", "85.5分", Decimal("85.5"), "number_with_unit"),
    (Grade, "score", "８５ 分", Decimal("85"), "number_with_unit"),
    (Grade, "score", "-2分", Decimal("-2"), "number_with_unit"),
    (Grade, "full_score", "100 points", Decimal("100"), "number_with_unit"),
    (Grade, "credit", "2学分", Decimal("2"), "number_with_unit"),
    (Score, "score", "4星", Decimal("4"), "number_with_unit"),
    (Score, "score", "4颗星", Decimal("4"), "number_with_unit"),
    (Grade, "score", "满分", None, "word_for_number"),
    (Grade, "score", "85分钟", None, "word_for_number"),
    (Grade, "score", "3.7/4分", None, "word_for_number"),
    (Grade, "rank", "3", 3, "text_for_number"),
    (Grade, "rank", " ３ ", 3, "text_for_number"),
    (Grade, "rank", "3.0", 3, "text_for_number"),
    (Grade, "rank", "1e2", 100, "text_for_number"),
    (Grade, "rank", "-", None, ""),
    (Grade, "rank", "", None, "empty_text"),
    (Grade, "rank", "3/40", None, "unreadable_value"),
    (AssessmentItem, "full_score", "优", None, "word_for_number"),
    (Score, "score", "A", None, "word_for_number"),
    (Score, "valid", "", None, "empty_text"),
    (Score, "valid", "False", False, "text_for_flag"),
    (Score, "valid", "t", True, "text_for_flag"),
    (Score, "valid", "F", False, "text_for_flag"),
    (Score, "valid", "tt", None, "unreadable_value"),
    (Score, "score", "−5", Decimal("-5"), "text_for_number"),
]


@pytest.mark.parametrize(("contract", "name", "text", "column", "kind"), NUMBERS)
def test_text_for_a_number_is_that_number_where_there_is_no_doubt(
    contract: type[Contract], name: str, text: str, column: Any, kind: str
) -> None:
    (row,), page = load(body_of({"id": 1, name: text}), contract)
    assert row[name] == column
    assert json.loads(row["_extra"]) == {name: text}
    assert [drift.kind for drift in page.drift if drift.kind != "absent_field"] == ([kind] if kind else [])


@pytest.mark.parametrize("text", ["8.5", "8.50", "+8.5", "85e-1", " 8.5"])
def test_a_number_however_it_is_written_is_the_number(text: str) -> None:
    row = only(body_of({"id": 1, "score": text}), Score)
    assert (row["score"], row["_extra"]) == (Decimal("8.5"), None)


@pytest.mark.parametrize("id", ["5", '"5"', "5.0", '" ５"'])
def test_an_id_is_that_id_in_text_as_well(id: str) -> None:
    (row,), page = load(f'[{{"id": {id}, "name": "a"}}]', Student)
    assert (row["id"], row["name"], page.bad) == (5, "a", [])


@pytest.mark.parametrize(("value", "text"), [("5", "5"), ("1.10", "1.10"), ("-1e3", "-1e3")])
def test_a_number_for_text_is_its_text(value: str, text: str) -> None:
    (row,), page = load(f'[{{"id": 1, "usin": {value}}}]', Student)
    assert (row["usin"], row["_extra"]) == (text, f'{{"usin":{value}}}')
    assert page.drift[Drift("number_for_text", "usin")] == 1


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (b"NaN", '{"name":"NaN"}'),
        (b'"\\ud83d"', '{"name":"\\"\\\\ud83d\\""}'),
        (b'"\xd5\xc5"', '{"name":"\\"\\\\xd5\\\\xc5\\""}'),
        (b'["a", -Infinity]', '{"name":"[\\"a\\", -Infinity]"}'),
    ],
)
@pytest.mark.parametrize("name", ["name", "x"])
def test_what_is_no_json_by_itself_is_kept_as_its_text(name: str, value: bytes, stored: str) -> None:
    body = b'[{"id": 1}, {"id": 2, "%b": %b}]' % (name.encode(), value)
    rows, page = load(body, Student)
    assert ([row["id"] for row in rows], rows[1]["name"], page.bad) == ([1, 2], None, [])
    assert rows[1]["_extra"] == stored.replace("name", name)
    kind = "unreadable_value" if name == "name" else "unknown_field"
    assert page.drift[Drift(kind, name)] == 1


def test_the_last_of_two_values_of_a_name_counts() -> None:
    assert only('[{"id": 1, "name": "a", "name": "b"}]', Student)["name"] == "b"
    assert only('[{"id": 1, "x": 1, "name": "a", "name": "b"}]', Student)["name"] == "b"


MENDED: list[tuple[type[Contract], str, str, Any, str]] = [
    (Score, "score", '""', None, "empty_text"),
    (Score, "published_at", '""', None, "empty_text"),
    (Score, "published_at", '"0000-00-00 00:00:00"', None, "zero_timestamp"),
    (Score, "created_at", '"2025-05-16T00:30:00Z"', dt.datetime(2025, 5, 16, 8, 30), "zoned_timestamp"),
    (Score, "created_at", '"2025-05-16 08:30:00 +08"', dt.datetime(2025, 5, 16, 8, 30), "zoned_timestamp"),
    (Score, "created_at", '"2025-05-16T08:30:00+0900"', dt.datetime(2025, 5, 16, 7, 30), "zoned_timestamp"),
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
    (
        CourseClass,
        "teachers",
        '[{"id": 1, "reflection_id": 7, "reflection": {"id": 7, "name": "李", "usin": "T1"}}, "8"]',
        [{"id": 7, "name": "李", "usin": "T1"}, {"id": 8, "name": None, "usin": None}],
        "nested_person",
    ),
    (CourseClass, "admin_class_ids", '["501", "502"]', [501, 502], "text_for_ids"),
    (CourseClass, "admin_class_ids", '"501, 502"', [501, 502], "text_for_ids"),
    (CourseClass, "admin_class_ids", '"501"', [501], "text_for_ids"),
    (CourseClass, "admin_class_ids", '""', None, "empty_text"),
    (CourseClass, "admin_class_ids", '[{"id": 501, "name": "1班"}, 502]', [501, 502], "objects_for_ids"),
    (CourseClass, "grade_ids", '[{"id": "3"}]', [3], "objects_for_ids"),
    (
        AdminClass,
        "teacher_ids",
        '[{"reflection": {"id": 50}}, {"rid": 51, "id": 1}]',
        [50, 51],
        "objects_for_ids",
    ),
    (Teacher, "department_names", '[{"id": 1, "name": "数学组"}, "A"]', ["数学组", "A"], "objects_for_names"),
    (AssessmentItem, "tags", '[{"name": "A", "id": 3}]', [{"name": "A"}], "unknown_nested_field"),
]
# Of objects inside a row it is their member that differs.
MEMBERS = {"teachers": "teachers.avatar_url", "tags": "tags.id"}


def at(kind: str, name: str) -> str:
    """Where a drift is noted."""
    return MEMBERS[name] if kind == "unknown_nested_field" else name


@pytest.mark.parametrize(("contract", "name", "value", "loaded", "kind"), MENDED)
def test_what_can_be_mended_without_loss_loads_and_stays_verbatim_beside(
    contract: type[Contract], name: str, value: str, loaded: Any, kind: str
) -> None:
    (row,), page = load(f'[{{"id": 1, "{name}": {value}}}]', contract)
    assert not page.bad
    assert row[name] == loaded
    assert json.loads(row["_extra"]) == {name: json.loads(value)}
    assert page.drift[Drift(kind, at(kind, name))] == 1


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


@pytest.mark.parametrize("id", ["1", "null"])
def test_a_row_with_odd_text_gives_no_withheld_field_away(id: str) -> None:
    rows, page = load(f'[{{"id": {id}, "name": "\\ud83d", "idcard": "{SECRET}"}}]', Student)
    assert len(rows) + len(page.bad) == 1
    assert SECRET not in str(rows) + str(page.bad)


def test_what_is_quarantined_with_a_withheld_field_is_otherwise_as_it_came() -> None:
    _, page = load(f'[{{"id": null, "x": 1.10, "y": {2**70}, "name": 5, "idcard": "{SECRET}"}}]', Student)
    assert page.bad[0].raw == f'{{"id":null,"x":1.10,"y":{2**70},"name":5}}'


def test_decimals_of_a_page_that_do_not_fit_cost_themselves_alone() -> None:
    rows, page = load(
        body_of(
            {"id": 1, "score": "1e30", "gained_score": "", "x": 1, "tag": "好"},
            {"id": 2, "score": "8.5"},
            {"id": 3, "score": "8.5", "gained_score": "1e-19"},
        ),
        Score,
    )
    assert [(row["score"], row["tag"], row["_extra"]) for row in rows] == [
        (None, "好", '{"x":1,"score":"1e30","gained_score":""}'),
        (Decimal("8.5"), None, None),
        (Decimal("8.5"), None, '{"gained_score":"1e-19"}'),
    ]
    assert page.bad == []
    assert page.drift[Drift("word_for_number", "score")] == 1
    assert page.drift[Drift("word_for_number", "gained_score")] == 1


@given(
    st.builds(
        lambda digits, exponent: Decimal(f"{digits}e{exponent}"),
        st.integers(-(10**40), 10**40),
        st.integers(-40, 40),
    )
    | st.sampled_from([Decimal("NaN"), Decimal("Infinity"), Decimal(0), Decimal("-0.0")])
)
def test_decimal_fits_where_arrow_stores_it(value: Decimal) -> None:
    try:
        stored = column([value], DECIMAL).to_pylist()[0] == value
    except pa.ArrowInvalid:
        stored = False
    assert (misfitting(Score, [Score(id=1, score=value)]) == []) == stored


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
    page = decode_page(body_of(*rows).encode(), Student)
    assert page.sent == (frozenset(rows[0]) if rows else frozenset())


@settings(max_examples=100, deadline=None)
@given(st.lists(rows_of(Student), min_size=1, max_size=3), st.integers(1, 40))
@example(['{"id": "x"}', '{"id": 1}'], 4)
def test_a_torn_body_is_never_taken_for_a_whole_one(texts: list[str], cut: int) -> None:
    body = f"[{', '.join(texts)}]".encode()
    with pytest.raises(TornBody):
        decode_page(body[: max(len(body) - cut, 0)], Student)


@pytest.mark.parametrize("body", [b"", b"[", b"<html>", b'[{"id":1}] x', b"\xff\xfe[]"])
def test_what_is_no_json_is_torn(body: bytes) -> None:
    with pytest.raises(TornBody):
        decode_page(body, Student)


@pytest.mark.parametrize("body", [b"{}", b'{"data": []}', b'"no"', b"5"])
def test_json_that_is_no_list_of_rows_is_said_to_be_unexpected(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswer, match="expected a list of rows"):
        decode_page(body, Student)


def test_json_that_is_too_deep_is_said_to_be() -> None:
    with pytest.raises(UnexpectedAnswer, match="nested too deeply"):
        decode_page(b"[" * 5000 + b"]" * 5000, Student)


def test_an_unexpected_answer_is_described_without_what_is_in_it() -> None:
    with pytest.raises(UnexpectedAnswer, match=r"got an object with data, meta") as caught:
        decode_page(b'{"data": [{"name": "Somebody"}], "meta": {}}', Student)
    assert "Somebody" not in str(caught.value)


def test_a_large_page_takes_the_fast_way_and_the_slow_way_alike() -> None:
    rows = [{"id": i, "name": f"学生{i}", "structure_ids": [i, i + 1]} for i in range(2000)]
    fast, _ = load(msgspec.json.encode(rows), Student)
    slow, page = load(msgspec.json.encode([*rows, {"id": "broken"}]), Student)
    assert fast == slow
    assert len(page.bad) == 1
