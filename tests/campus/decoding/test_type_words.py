"""The words for types that platforms use, and what the values tell where the words do not."""

from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.contracts.fields import fields
from campus.datasets.type_inference import decide, needs_values, revise
from campus.decoding.columnar import Records, decode_records
from campus.decoding.definition import (
    TYPES,
    Decided,
    Decision,
    Definition,
    Meaning,
    meaning_of,
    parse_definition,
)
from campus.decoding.inferred_contract import contract_of, key_fields, primary_key
from tests.kits.platforms.datasets_made import dataset, field

WORDS = {
    "integer": """
        int INT Integer bigint long Long smallint tinyint mediumint int(11) bigint(20)_unsigned
        unsigned_big_int tinyint(4) int8 uint32 java.lang.Integer System.Int64 IntegerField LongType serial
        Nullable(Int64) Optional[int] integer|null int? Int! number(10,0) NUMBER(18,0) number(*,0)
        int_not_null_auto_increment
    """,
    "decimal": """
        decimal DECIMAL(10,2) numeric numeric(20,0) number Number number(10) number(38,0) money BigDecimal
        java.math.BigDecimal DecimalType(10,2) decimal(10,2)_unsigned
    """,
    "float": "float FLOAT(24) double double_precision real Float64 float4",
    "text": """
        string String STRING text varchar(255) nvarchar nvarchar(max) char CHAR(36) character_varying(255)
        uuid longtext CharField time time_without_time_zone xs:string varchar(20)_collate_utf8_bin
    """,
    "enum": "enum ENUM enum('A','B')",
    "date": "date DATE LocalDate java.time.LocalDate xs:date date32",
    "timestamp": """
        timestamp TIMESTAMP(6) timestamp_without_time_zone timestamp(6)_with_time_zone timestamptz datetime
        DateTime date-time date_time datetime2(7) LocalDateTime DateTimeField datetime64[ns]
        TIMESTAMP_WITH_LOCAL_TIME_ZONE
    """,
    "boolean": "bool BOOLEAN Boolean bit bit(1) BooleanField flag",
    "json": "json JSONB object array text[] Array<Long> list[int] Map<String,Object> attachment set('a','b')",
}
UNTOLD = ["", None, "geo_point", "tinyint(1)", "bit(8)", "integer|string", "null", "()", "[", "½"]


@pytest.mark.parametrize(
    ("word", "kind"), [(word, kind) for kind, words in WORDS.items() for word in words.split()]
)
def test_the_words_of_platforms(word: str, kind: str) -> None:
    # A blank stands as _ in the lists above; both are told from each other by no platform.
    assert meaning_of(word.replace("_", " ")).kind == meaning_of(word).kind == kind


@pytest.mark.parametrize("word", UNTOLD)
def test_words_that_only_the_values_can_tell_the_meaning_of(word: str | None) -> None:
    assert meaning_of(word) == Meaning(None)


@pytest.mark.parametrize(
    ("word", "precision", "scale", "kind"),
    [
        ("decimal(10,2)", None, None, pa.decimal128(10, 2)),
        ("decimal(10,2)", 12, 4, pa.decimal128(12, 4)),
        ("decimal", 6, 2, pa.decimal128(6, 2)),
        ("number", 6, 2, pa.decimal128(6, 2)),
        ("number", 10, 0, pa.int64()),
        ("number", 38, 0, pa.decimal128(38, 0)),
        # Where the places are not told, no digit is lost in a column that has room for any.
        ("number", None, None, pa.decimal128(38, 18)),
        ("decimal(10)", None, None, pa.decimal128(38, 18)),
        ("numeric(65,30)", None, None, pa.decimal128(38, 18)),
        ("int(11)", None, None, pa.int64()),
    ],
)
def test_numbers_are_as_wide_as_is_told(
    word: str, precision: int | None, scale: int | None, kind: pa.DataType
) -> None:
    [made] = fields(contract_of(dataset(field("n", word, precision=precision, scale=scale))))
    assert made.arrow_type == kind


@given(st.one_of(st.none(), st.text(max_size=20), st.text("()[]<>|?!,.:_- intdec189é", max_size=20)))
def test_no_word_is_too_odd(word: str | None) -> None:
    assert meaning_of(word).kind in {None, *TYPES}


lengths = st.sampled_from(["", "(11)", " (10, 2)", "(max)"])
cases = st.sampled_from([str.upper, str.lower, str.title, str.capitalize])
blanks = st.sampled_from(["", " ", "\t"])


@given(
    st.sampled_from(["int", "bigint", "varchar", "double", "date", "datetime", "bool", "json"]),
    lengths,
    cases,
    blanks,
)
def test_neither_case_nor_length_nor_blanks_change_a_meaning(
    word: str, length: str, case: Any, blank: str
) -> None:
    assert meaning_of(f"{blank}{case(word)}{length}{blank}").kind == meaning_of(word).kind


# Decisions.


def decided_by(definition: Definition, *rows: Any, before: Decided | None = None) -> Decided:
    return decide(definition, before or Decided(), [msgspec.json.encode(row) for row in rows])


def kinds(decided: Decided) -> dict[str, str]:
    return {name: decision.kind for name, decision in decided.types.items()}


UNKNOWN = dataset(field("x", "foo"))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "integer"),
        ([2**63], "decimal"),
        ([1, 1.5], "decimal"),
        ([1e300], "text"),
        ([True, None], "boolean"),
        ([True, 1], "text"),
        (["a", ""], "text"),
        (["007", "008"], "text"),
        (["1.5"], "text"),
        ([1, "2"], "text"),
        (["2025-03-01", ""], "date"),
        (["2025-03-01", "2025-03-01 10:00:00"], "timestamp"),
        (["2025-03-01T10:00:00Z", "0000-00-00 00:00:00"], "timestamp"),
        (["2025-03-01", "2025-13-01"], "text"),
        ([{"a": 1}], "json"),
        ([[1], "a"], "json"),
        ([None, ""], None),
        ([], None),
    ],
)
def test_what_values_decide(values: list[Any], kind: str | None) -> None:
    decided = decided_by(UNKNOWN, *({"x": value} for value in values))
    assert kinds(decided).get("x") == kind
    assert needs_values(UNKNOWN, Decided())
    made = parse_definition({"name": "d", "fields": [{"name": "x", "type": "foo"}]}, {"d": decided})
    assert needs_values(made, decided) == (kind is None)


def test_a_number_in_text_is_one_where_the_metadata_tell_its_places() -> None:
    definition = dataset(field("x", "foo", precision=6, scale=2))
    assert kinds(decided_by(definition, {"x": "88.50"}, {"x": ""})) == {"x": "decimal"}
    assert kinds(decided_by(definition, {"x": "88.50"}, {"x": "absent"})) == {"x": "text"}


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(["", "007", "1.5", "2025-03-01", "2025-03-01 10:00:00", "2025-02-30", "é", "\x00"]),
        st.text(max_size=5),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


def is_lost(records: Records) -> bool:
    """Whether a value is in no column."""
    return any(drift.kind == "unreadable_value" for drift in records.drift)


@settings(max_examples=200, deadline=None)
@given(st.lists(values, max_size=5), st.lists(values, max_size=5))
def test_what_is_decided_holds_every_value_and_what_comes_later_widens_it(
    now: list[Any], later: list[Any]
) -> None:
    sent = {"name": "d", "fields": [{"name": "x", "type": "foo"}]}
    decided = decided_by(parse_definition(sent), *({"x": value} for value in now))
    for rows in (now, [*now, *later]):
        body = msgspec.json.encode([{"x": value} for value in rows])
        records = decode_records(body, contract_of(parse_definition(sent, {"d": decided})), ())
        if rows is now:
            assert not is_lost(records)
        else:
            extras = [extra for extra in records.batch.column("_extra").to_pylist() if extra]
            decided = revise(parse_definition(sent, {"d": decided}), decided, extras)
            again = decode_records(body, contract_of(parse_definition(sent, {"d": decided})), ())
            assert not is_lost(again)
            if decided.types:
                assert revise(parse_definition(sent, {"d": decided}), decided, []) == decided


def test_a_decision_is_void_under_another_word() -> None:
    decided = {"d": Decided({"x": Decision("foo", "integer")})}
    for word, kind in (("foo", "integer"), ("bar", None), ("text", "text"), ("INT", "integer")):
        [made] = parse_definition({"name": "d", "fields": [{"name": "x", "type": word}]}, decided).fields
        assert made.type == kind


# Keys.


@pytest.mark.parametrize(
    "word", ["string", "varchar(20)", "decimal", "number", "uuid", "foo", None, "double"]
)
def test_a_key_of_integers_is_one_whatever_its_type_is_called(word: str | None) -> None:
    sent = {"name": "d", "fields": [{"name": "id", "type": word, "primary": 1}, {"name": "n", "type": "int"}]}
    definition = parse_definition(sent)
    assert needs_values(definition, Decided())
    decided = decided_by(definition, {"id": 5, "n": 1}, {"id": 6})
    made = parse_definition(sent, {"d": decided})
    assert [f.type for f in key_fields(made)] == ["integer"]
    assert not needs_values(made, decided)


def test_a_key_of_text_stays_text_and_is_not_looked_at_again() -> None:
    sent = {"name": "d", "fields": [{"name": "code", "type": "string", "primary": True}]}
    definition = parse_definition(sent)
    decided = decided_by(definition, {"code": "007"}, {"code": "008"})
    made = parse_definition(sent, {"d": decided})
    assert ([f.type for f in key_fields(made)], needs_values(made, decided)) == (["text"], False)
    assert decided_by(definition, {"code": None}) == Decided(), "nothing yet"


def test_a_key_whose_later_values_are_no_integers_becomes_text() -> None:
    sent = {"name": "d", "fields": [{"name": "id", "type": "string", "primary": True}]}
    decided = decided_by(parse_definition(sent), {"id": 5})
    decided = revise(parse_definition(sent, {"d": decided}), decided, ['{"id": "A-7"}'])
    assert kinds(decided) == {"id": "text"}


@pytest.mark.parametrize("primary", [True, 1, "true", "1", "TRUE", "yes"])
def test_primary_in_every_spelling(primary: Any) -> None:
    definition = dataset(field("id", "int", primary=primary), field("n", "int", primary="0"))
    assert (primary_key(definition), definition.tells_key) == (("id",), True)


@pytest.mark.parametrize(
    ("rows", "key"),
    [
        ([{"id": 1}, {"id": 2}], ("id",)),
        ([{"id": 1}, {"id": 1}], ()),
        ([{"id": 1}, {}], ()),
        ([{"id": 1}, {"id": None}], ()),
        ([{"id": "1"}, {"id": "2"}], ()),
        ([], ()),
    ],
)
def test_where_nothing_says_what_the_key_is_it_is_an_id_of_distinct_integers(
    rows: list[Any], key: Any
) -> None:
    sent: dict[str, Any] = {
        "name": "d",
        "fields": [{"name": "id", "type": "foo"}, {"name": "n", "type": "int"}],
    }
    definition = parse_definition(sent)
    assert (definition.tells_key, primary_key(definition)) == (False, ())
    decided = decided_by(definition, *rows)
    assert primary_key(parse_definition(sent, {"d": decided})) == key
    without_primary = {"name": "d", "fields": [{**column, "primary": False} for column in sent["fields"]]}
    assert primary_key(parse_definition(without_primary, {"d": decided})) == (), (
        "the metadata say that there is none"
    )
