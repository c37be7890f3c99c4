"""Contracts made of metadata, as good or bad as a platform may send them."""

import datetime as dt
from typing import Any
from urllib.parse import quote

import duckdb
import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import Drift
from campus.contracts.fields import Field, column_names, fields
from campus.decoding.definition import parse_definition
from campus.decoding.inferred_contract import (
    RESERVED,
    columns_of,
    contract_of,
    key_fields,
    primary_key,
    safe_name,
    safe_names,
    table_names,
)
from campus.decoding.page import decode_page
from campus.http.errors import UnexpectedAnswer
from tests.kits.platforms.datasets_made import EVERYTHING, EXPANDED, dataset, field


def columns(*metadata: dict[str, Any], **attributes: Any) -> dict[str, Field]:
    return {f.wire: f for f in fields(contract_of(dataset(*metadata, **attributes)))}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("course_scores", "course_scores"),
        ("Rank", "Rank"),
        ("家长 问卷: 2025", "家长_问卷_2025"),
        ("意见（建议）", "意见_建议_"),
        ("2nd", "_2nd"),
        ("हिन्दी", "हिन्दी"),
        ("x²", "x_"),
        ("--", "_"),
        ("", "_"),
    ],
)
def test_safe_names(text: str, name: str) -> None:
    assert safe_name(text) == name


def test_of_names_that_collide_the_later_yields() -> None:
    names = safe_names(["score", "Score", "a b", "a-b", "a_b", "score_2", "_extra", "_ROW", "__init__"])
    assert names == [
        "score",
        "Score_2",
        "a_b",
        "a_b_2",
        "a_b_3",
        "score_2_2",
        "_extra_2",
        "_ROW_2",
        "__init___2",
    ]


def test_names_of_tables_are_no_longer_than_a_folder_bears() -> None:
    names = table_names(["长" * 100, "长" * 101, "a" * 300, "tiny"], ["scores"])
    assert names == ["长" * 22, "长" * 22 + "_2", "a" * 200, "tiny"]
    assert all(len(quote(f"resource=datasets.{name}")) < 255 for name in names)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=6), max_size=8))
def test_safe_names_are_columns_that_nothing_confuses(texts: list[str]) -> None:
    names = safe_names(texts)
    assert all(name.isidentifier() for name in names)
    assert not {name.lower() for name in names} & RESERVED
    if names:
        quoted = ", ".join(f'"{name}" INTEGER' for name in names)
        duckdb.connect().execute(f"CREATE TABLE t ({quoted})")


@pytest.mark.parametrize(
    "name", ["__v", "_", "__init__", "__class__", "__slots__", "class", "self", "None", "mro", "_extra", "😀"]
)
def test_any_name_may_be_that_of_a_field_or_of_the_key(name: str) -> None:
    contract = contract_of(dataset(field(name, "integer", primary=True), field("n", "integer")))
    page = decode_page(msgspec.json.encode([{name: 5}, {name: 6, "n": "x"}, {"n": 7}]), contract)
    assert [msgspec.structs.astuple(row) for row in page.rows] == [(5, None), (6, None)]
    assert page.extras == [None, '{"n":"x"}']
    assert [bad.raw for bad in page.bad] == ['{"n":7}']


def test_an_embedded_record_is_personal_where_any_field_of_it_is() -> None:
    [student] = [f for f in fields(contract_of(EVERYTHING, expanded=EXPANDED)) if f.name == "student"]
    assert student.personal


def test_each_type_has_its_column() -> None:
    contract = contract_of(EVERYTHING, expanded=EXPANDED)
    assert {f.name: f.arrow_type for f in fields(contract)} == {
        "id": pa.int64(),
        "count": pa.int64(),
        "points": pa.decimal128(5, 2),
        "wide": pa.decimal128(38, 18),
        "名称": pa.string(),
        "remark_text": pa.string(),
        "level": pa.string(),
        "term": pa.int64(),
        "day": pa.date32(),
        "updated_at": pa.timestamp("us"),
        "passed": pa.bool_(),
        "place": pa.string(),
        "ratio": pa.float64(),
        "idcard": pa.string(),
        "student": pa.struct(
            [
                ("id", pa.int64()),
                ("name", pa.string()),
                ("idcard", pa.string()),
                ("born", pa.date32()),
                ("fee", pa.decimal128(6, 2)),
                ("seen_at", pa.timestamp("us")),
            ]
        ),
    }


@pytest.mark.parametrize(
    ("precision", "scale", "kind"),
    [
        (10, 4, pa.decimal128(10, 4)),
        (38, 0, pa.decimal128(38, 0)),
        (None, None, pa.decimal128(38, 18)),
        (10, None, pa.decimal128(38, 18)),
        (65, 30, pa.decimal128(38, 18)),
        (2, 4, pa.decimal128(38, 18)),
        ("10", "4", pa.decimal128(38, 18)),
    ],
)
def test_decimals_are_as_wide_as_the_metadata_say(precision: Any, scale: Any, kind: Any) -> None:
    assert columns(field("n", "decimal", precision=precision, scale=scale))["n"].arrow_type == kind


@pytest.mark.parametrize(
    ("enum", "kind", "known_values"),
    [
        (["A", "B"], pa.string(), {"A", "B"}),
        ([1, 2], pa.int64(), {"1", "2"}),
        ([1, "B"], pa.string(), {"1", "B"}),
        ([True, None, "A"], pa.string(), {"A"}),
        ([], pa.string(), set()),
        (None, pa.string(), set()),
        ("A", pa.string(), set()),
    ],
)
def test_enums_know_what_is_listed(enum: Any, kind: Any, known_values: set[str]) -> None:
    column = columns(field("level", "enum", enum=enum))["level"]
    assert (column.arrow_type, column.known_values, column.enum) == (kind, known_values, True)


def test_the_metadata_become_comments() -> None:
    made = columns(
        field("意见 建议", "string", label="意见", description="学生的意见。"),
        field("term", "enum", label="学期", enum=[1, 2]),
        field("plain", "integer"),
    )
    assert made["意见 建议"].description == "意见. 学生的意见. Named “意见 建议” by the platform"
    assert made["term"].description == "学期. One of 1, 2"
    assert made["plain"].description == "plain"
    contract = contract_of(dataset(name="成绩 2025", label="成绩", description="每名学生"))
    assert contract.__doc__ == "成绩. 每名学生"


def test_what_tells_about_a_person_is_marked_and_withheld_fields_hold_nothing() -> None:
    made = columns(field("name", "string"), field("idcard", "string"), field("n", "integer"))
    assert {name: f.personal for name, f in made.items()} == {"name": True, "idcard": True, "n": False}
    assert {name: f.withheld for name, f in made.items()} == {"name": False, "idcard": True, "n": False}


def test_columns_are_in_their_position_and_names_yield_by_id() -> None:
    definition = dataset(
        {"name": "a-b", "type": "integer", "id": 7, "position": 1},
        {"name": "a_b", "type": "integer", "id": 3, "position": 2},
        {"name": "last", "type": "integer", "position": None},
        {"name": "first", "type": "integer", "id": 9, "position": 0},
    )
    assert column_names(contract_of(definition)) == ("first", "a_b_2", "a_b", "last")


def test_a_selection_changes_no_names() -> None:
    definition = dataset(
        field("id", "integer", primary=True), field("a_b", "integer"), field("a-b", "integer")
    )
    assert column_names(contract_of(definition, ("id", "a-b"))) == ("id", "a_b_2")
    assert columns_of(definition)["a-b"] == "a_b_2"


def test_only_the_key_must_be_there() -> None:
    definition = dataset(
        field("term", "integer", primary=True),
        field("n", "integer"),
        field("编号 一", "string", primary=True),
    )
    assert primary_key(definition) == ("term", "编号_一")
    row = contract_of(definition)(term=1, 编号_一="a")
    assert row.n is None  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="Missing required argument"):
        contract_of(definition)(term=1)


@pytest.mark.parametrize(
    "metadata",
    [
        (field("id", "integer"),),
        (field("idcard", "string", primary=True), field("n", "integer")),
        (field("id", "integer", primary=None),),
    ],
)
def test_a_dataset_may_have_no_key(metadata: tuple[dict[str, Any], ...]) -> None:
    definition = dataset(*metadata)
    assert (primary_key(definition), key_fields(definition)) == ((), ())
    assert all(not field.required for field in msgspec.structs.fields(contract_of(definition)))


def test_the_same_definition_gives_the_same_contract() -> None:
    again = [dataset(field("id", "integer"), label="x") for _ in range(2)]
    assert contract_of(again[0]) is contract_of(again[1])
    assert contract_of(again[0]) is not contract_of(dataset(field("id", "integer"), label="y"))


def test_metadata_that_cannot_be_used_are_told_and_the_rest_is() -> None:
    body = """{"name": "odd", "is_custom": 1, "fields": [
        {"name": "id", "type": "integer", "primary": true},
        {"type": "integer"}, 5, {"name": 7}, {"name": ""}, {"name": "a\\"b"},
        {"name": "id", "type": "string"}, {"name": "where", "type": "geometry"}, {"name": "untyped"}],
        "relations": "none"}"""
    definition = parse_definition(body.encode())
    assert [f.name for f in definition.fields] == ["id", "where", "untyped"]
    assert (definition.is_custom, definition.relations, definition.label) == (True, (), None)
    assert set(definition.drift) == {
        *(Drift("unreadable_definition", f"fields[{place}]") for place in range(1, 5)),
        Drift("unreadable_definition", "fields[5]", 'a"b'),
        Drift("duplicate_definition", "id"),
        Drift("unknown_type", "where", "geometry"),
        Drift("unknown_type", "untyped"),
        Drift("unreadable_definition", "relations"),
    }
    assert column_names(contract_of(definition)) == ("id", "where", "untyped")


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"name": null}', b'{"name": ""}', b"\xff", b'"scores"'])
def test_what_is_no_dataset_is_unexpected(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswer, match="expected a dataset"):
        parse_definition(body)


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 60), st.sampled_from(["", "enum", "decimal", "A", "é"])
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = ("id", "name", "label", "description", "type", "position", "primary", "enum", "precision", "scale")
odd_fields = st.dictionaries(st.sampled_from(KEYS), json_values)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(odd_fields, odd_fields.map(lambda odd_field: {"name": "x", **odd_field})), max_size=4)
)
def test_no_metadata_are_too_odd_for_a_contract(listed: list[dict[str, Any]]) -> None:
    definition = parse_definition({"name": "odd", "fields": listed})
    unreadable = sum(
        drift.kind in ("unreadable_definition", "duplicate_definition") for drift in definition.drift
    )
    assert len(definition.fields) + unreadable == len(listed)
    assert len(column_names(contract_of(definition))) == len(definition.fields)


def test_what_is_read_of_a_field_is_what_was_sent() -> None:
    (only,) = parse_definition(
        {
            "name": "d",
            "fields": [
                {
                    "id": 4,
                    "name": "n",
                    "label": "数",
                    "description": None,
                    "type": "decimal",
                    "position": 2,
                    "primary": 1,
                    "enum": None,
                    "max_length": None,
                    "precision": 6,
                    "scale": 2,
                    "created_at": str(dt.datetime(2025, 1, 1)),
                }
            ],
        }
    ).fields
    assert (only.id, only.label, only.type, only.position, only.primary) == (4, "数", "decimal", 2, True)
    assert (only.enum, only.max_length, only.precision, only.scale) == (None, None, 6, 2)
