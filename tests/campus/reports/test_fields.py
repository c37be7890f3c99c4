"""The fields of a query's records: what becomes of their kinds, labels and names."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import Drift
from campus.contracts.fields import fields
from campus.decoding.inferred_contract import RESERVED, columns_of, contract_of
from campus.reports.metadata import changed_fields, definition_of
from tests.kits.platforms.reports_made import field


def columns(*described: Any) -> dict[str, str]:
    """The column of each field, by its name."""
    return columns_of(definition_of("汇总__501", "汇总", described))


def comment(**attributes: Any) -> str:
    [only] = fields(
        contract_of(definition_of("汇总__501", None, [{"name": "x", "kind": "int", **attributes}]))
    )
    return only.description


@pytest.mark.parametrize(
    ("label", "path", "said"),
    [
        ("平均分", ["2025", "语文", "平均分"], "2025 / 语文 / 平均分"),
        ("语文平均分", ["语文", "平均分"], "语文平均分. 语文 / 平均分"),
        ("平均分", ["平均分"], "平均分"),
        ("平均分", None, "平均分"),
        ("平均分", [], "平均分"),
        ("平均分", "语文", "平均分"),
        (None, ["语文", 7, None, "平均分"], "语文 / 平均分"),
        (None, None, "x"),
    ],
)
def test_a_column_says_its_label_and_the_headers_above_it(label: Any, path: Any, said: str) -> None:
    assert comment(label=label, label_in_path=path) == said


def test_fields_are_in_the_platforms_order_and_the_table_has_the_label_of_the_query() -> None:
    contract = contract_of(
        definition_of("x__1", "汇总", [field("b", "int", position=2), field("a", "int", position=1)])
    )
    assert ([column.name for column in fields(contract)], contract.__doc__) == (["a", "b"], "汇总")


def test_what_is_no_field_is_told_and_an_unknown_kind_too() -> None:
    listed = [
        {},
        {"name": 7},
        field('say "a"', "int"),
        field("a", "int"),
        field("a", "text"),
        field("b", "blob"),
    ]
    definition = definition_of("x__1", None, listed)
    assert [column.name for column in definition.fields] == ["a", "b"]
    assert definition.drift == (
        Drift("unreadable_definition", "fields[0]"),
        Drift("unreadable_definition", "fields[1]"),
        Drift("unreadable_definition", "fields[2]", 'say "a"'),
        Drift("duplicate_definition", "a"),
        Drift("unknown_type", "b", "blob"),
    )


def test_kinds_have_many_words() -> None:
    words = ("int", "BIGINT(20)", "Integer", "java.lang.Long")
    listed = [field(f"f{number}", word) for number, word in enumerate(words)]
    definition = definition_of("x__1", None, listed)
    assert {f.type for f in definition.fields} == {"integer"}
    assert definition.drift == ()


names = st.text(st.sampled_from("aAbB_- .语"), min_size=1, max_size=3)
described = st.dictionaries(names, st.integers(0, 9), max_size=8).map(
    lambda made: [field(name, "int", position=position) for name, position in made.items()]
)


@settings(max_examples=60, deadline=None)
@given(described)
def test_columns_have_names_of_their_own(some: list[Any]) -> None:
    column_names = columns(*some)
    folded = [name.casefold() for name in column_names.values()]
    assert len(set(folded)) == len(some) and not set(folded) & RESERVED
    assert all(name.isidentifier() for name in column_names.values())
    assert {
        column.wire: column.name for column in fields(contract_of(definition_of("x__1", None, some)))
    } == column_names


def test_what_is_lost_of_the_fields_that_ought_to_stay() -> None:
    before = [field("a", "int"), field("b", "int"), field("c", "int"), field("p", "int", is_dynamic=True)]
    after = [field("a", "int", label="new", position=9), field("b", "decimal"), field("n", "int")]
    assert changed_fields(before, after) == [
        Drift("field_retyped", "b", "int -> decimal"),
        Drift("field_removed", "c", "int"),
    ]
    assert changed_fields(after, after) == []
