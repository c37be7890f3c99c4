"""Groups are hidden so that neither a row nor a total without the other rows tells about few people."""

from collections import defaultdict

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kits.models.marts import macros
from warehouse.small_groups import few_sql, hidden_groups, is_few, revealing_sums

SCHOOL = ["school"] * 4


@pytest.mark.parametrize(
    ("counts", "totals", "hidden"),
    [
        pytest.param([4, 20, 30, 40], [SCHOOL], {0, 1}, id="the next smallest"),
        pytest.param([1, 2, 30, 40], [SCHOOL], {0, 1, 2}, id="two that are few together"),
        pytest.param([3, 4, 30, 40], [SCHOOL], {0, 1}, id="two that are enough together"),
        pytest.param([5, 20, 30, 40], [SCHOOL], set(), id="nobody is few"),
        pytest.param([0, None, 30, 40], [SCHOOL], set(), id="nobody and no people"),
        pytest.param([4, 0, None, 40], [SCHOOL], {0, 3}, id="nobody hides nobody"),
        pytest.param([4], [["school"]], {0}, id="a total of one group"),
        pytest.param([4, 20, 30, 40], [["a", "a", "b", "b"]], {0, 1}, id="each total by itself"),
        # Rows: two classes in two weeks. The small cell needs a rectangle.
        pytest.param([4, 20, 30, 40], [["w1", "w1", "w2", "w2"], ["c1", "c2"] * 2], {0, 1, 2, 3}, id="cross"),
    ],
)
def test_hidden_groups(counts: list[int | None], totals: list[list[str]], hidden: set[int]) -> None:
    assert hidden_groups(counts, totals, 5) == hidden


@pytest.mark.parametrize(
    ("counts", "chosen", "is_revealing"),
    [
        pytest.param([4, 20, 30, 40], {0, 1}, False, id="all that are hidden"),
        pytest.param([4, 20, 30, 40], {2, 3}, False, id="none that is hidden"),
        pytest.param([4, 20, 30, 40], {1}, True, id="the next smallest alone"),
        pytest.param([4, 20, 30, 40], {1, 2, 3}, True, id="all but the small one"),
        pytest.param([4, 3, 2, 40], {0, 1, 3}, True, id="all but a hidden one of several"),
        pytest.param([4, 4, 1, 1, 40], {0, 1}, True, id="all but few"),
        pytest.param([4, 4, 3, 3, 40], {0, 1, 4}, False, id="all but enough"),
    ],
)
def test_a_sum_of_groups_reveals(counts: list[int], chosen: set[int], is_revealing: bool) -> None:
    assert revealing_sums([chosen], counts, [["school"] * len(counts)], 5) == ({0} if is_revealing else set())


def test_a_sum_of_a_whole_total_and_a_hidden_group_reveals() -> None:
    """The total is shown, so the sum less the total is the hidden group."""
    assert revealing_sums([{0, 1, 2}, {0, 1, 4}], [4, 20, 4, 20, 30], [["a", "a", "b", "b", "b"]], 5) == {0}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 3)), max_size=16))
def test_no_total_gives_few_people(groups: list[tuple[int, int, int]]) -> None:
    counts = [count for count, _, _ in groups]
    totals = [[week for _, week, _ in groups], [class_ for _, _, class_ in groups]]
    hidden = hidden_groups(counts, totals, 5)
    assert {position for position, count in enumerate(counts) if 0 < count < 5} <= hidden
    for keys in totals:
        lines = defaultdict[int, list[int]](list)
        for position, key in enumerate(keys):
            if counts[position]:
                lines[key].append(position)
        for line in lines.values():
            of_line = [counts[position] for position in line if position in hidden]
            assert len(of_line) != 1 or len(line) == 1
            assert not of_line or sum(of_line) >= 5 or len(of_line) == len(line)


@given(st.lists(st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)), max_size=8))
def test_all_doors_call_the_same_counts_few(pairs: list[tuple[int | None, int | None]]) -> None:
    columns = ["first", "second"]
    of_models = macros("small_groups").is_few(columns, "5")
    with duckdb.connect() as con:
        for first, second in pairs:
            query = (
                f"SELECT {few_sql(columns, 5)}, {of_models} FROM (SELECT ?::INT AS first, ?::INT AS second)"
            )
            [(of_exports, of_model)] = con.execute(query, [first, second]).fetchall()
            assert of_exports == of_model
            if first is not None and second is not None:
                assert of_exports == (is_few(first, 5) or is_few(second, 5))
