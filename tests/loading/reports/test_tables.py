"""What is made of the names that reports, parameters and fields have."""

from unicodedata import category
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campus.decoding.inferred_contract import contract_of
from campus.reports.metadata import definition_of
from campus.reports.selection import combination_text
from loading.partition_keys import UnknownPartition
from loading.reports.stems import sharing_stem
from loading.reports.tables import Result, name_columns, table_of

# As YAML can have them.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
MATRICES = st.dictionaries(TEXTS, TEXTS | st.integers() | st.booleans(), max_size=2)


@settings(deadline=None, max_examples=60)
@example("成绩|透视表", {"学期": "20,241", "a&b": "c=d"}, 511)
@example("a...b", {"x": "....|\n"}, 1)
@example("长" * 300, {}, 1)
@example("a:b", {"at": "10:30", "x:y": "%3A"}, 1)
@given(TEXTS, MATRICES, st.integers(1, 10**9))
def test_a_key_is_one_that_dagster_takes_and_gives_its_result_back(
    report: str, matrix: dict[str, str | int | bool], query_id: int
) -> None:
    result = Result(101, report, query_id, combination_text(matrix))
    assert Result.of(result.key) == result
    assert "," not in result.key and "..." not in result.key and "|" not in result.key
    assert not [letter for letter in result.key if category(letter) == "Cc"]
    # A folder's name may have 255 bytes.
    assert len(f"slice={quote(str(result.slice), safe='')}") <= 255
    assert len(f"resource=reports.{quote(result.table_name, safe='')}") <= 255


def test_a_key_that_no_discovery_writes_is_refused() -> None:
    with pytest.raises(UnknownPartition, match="Run the job discovery"):
        Result.of("101|student_summary|501")


def test_long_names_are_told_apart() -> None:
    names = ["2025-2026学年第一学期高一年级期末考试各班成绩分析汇总表" + end for end in ("甲", "乙")]
    assert sharing_stem([*names, "ranks", "51"]) == []
    first, second = (Result(101, name, 501).table_name for name in names)
    assert (
        first != second and first.startswith("_2025_2026学年第一学期高一年级期末") and first.endswith("__501")
    )
    assert sharing_stem(["成绩 表", "成绩-表", "A", "b", "a"]) == [["成绩 表", "成绩-表"], ["A", "a"]]


NAMES = st.lists(st.text("aA.- +_1", min_size=1, max_size=3), unique=True, max_size=5)


@settings(deadline=None, max_examples=60)
@given(st.lists(NAMES, min_size=1, max_size=3))
def test_a_field_keeps_its_column_and_shares_it_with_none(results: list[list[str]]) -> None:
    column_names: dict[str, str] = {}
    for names in results:
        fields = [{"name": name, "kind": "string", "position": place} for place, name in enumerate(names)]
        contract, before = contract_of(definition_of("ranks__1", None, fields)), dict(column_names)
        name_columns(contract, column_names)
        assert column_names.items() >= before.items()
        table = table_of(Result(101, "ranks", 1), contract, column_names)
        assert [column.name for column in table.columns] == [
            "_row_number",
            *(column_names[name] for name in names),
        ]
    columns = [column.casefold() for column in column_names.values()]
    assert len(set(columns)) == len(columns) and not {"_row_number", "_params", "_extra"} & set(columns)
