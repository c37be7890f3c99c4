"""Which semester of v1 is which of v3, whatever their ids are."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.semester_pairs import Semester, normalised, paired, unclear

AUTUMN = (date(2024, 9, 1), date(2025, 1, 20))
SPRING = (date(2025, 2, 17), date(2025, 7, 6))


def semester(
    id: int, days: tuple[date, date] | tuple[None, None] = (None, None), **fields: object
) -> Semester:
    return Semester(id, first=days[0], last=days[1], **fields)  # type: ignore[arg-type]


def told(
    v1: list[Semester], v3: list[Semester], settings: dict[int, int | None] | None = None
) -> dict[int, str]:
    return {pair.v1: f"{pair.v3} by {pair.matched_by}" for pair in paired(v1, v3, settings).values()}


V3 = [semester(20, AUTUMN, name="2024-2025学年上学期"), semester(21, SPRING, name="2024-2025学年下学期")]


def test_the_outer_id_comes_first() -> None:
    v1 = [semester(7, SPRING, outer_id="20241"), semester(8, AUTUMN)]
    v3 = [semester(20, AUTUMN, outer_id="20241"), semester(21, SPRING)]
    assert told(v1, v3)[7] == "20 by outer_id"


def test_the_same_days_whatever_the_ids() -> None:
    # v1's 20 is v3's 21, and v1's 21 is v3's 20.
    assert told([semester(20, SPRING), semester(21, AUTUMN)], V3) == {20: "21 by dates", 21: "20 by dates"}


def test_days_that_differ_a_little() -> None:
    v1 = [
        semester(7, (date(2024, 8, 28), date(2025, 1, 24))),
        semester(8, (date(2025, 2, 20), date(2025, 7, 4))),
    ]
    assert told(v1, V3) == {7: "20 by overlap", 8: "21 by overlap"}


def test_two_calendars_of_a_school_are_told_apart_by_name_and_then_by_id() -> None:
    v3 = [semester(20, AUTUMN, name="初中"), semester(21, AUTUMN, name="高中")]
    assert told([semester(7, AUTUMN, name="高中"), semester(8, AUTUMN, name="初 中")], v3) == {
        7: "21 by dates",
        8: "20 by dates",
    }
    assert told([semester(20, AUTUMN), semester(21, AUTUMN)], v3) == {20: "20 by dates", 21: "21 by dates"}
    v1 = [semester(7, AUTUMN), semester(8, AUTUMN)]
    assert told(v1, v3) == {}
    assert {
        v1_semester.id: [other.id for other in others] for v1_semester, others in unclear(v1, v3, {}).items()
    } == {
        7: [20, 21],
        8: [20, 21],
    }


def test_the_name_where_the_days_are_not_known_and_not_against_them() -> None:
    v1 = [semester(7, name="2024—2025 学年 第二学期"), semester(8, AUTUMN, name="2024-2025学年下学期")]
    assert told(v1, V3) == {8: "20 by dates", 7: "21 by name"}
    assert told([semester(8, (date(2019, 9, 1), date(2020, 1, 20)), name=V3[0].name)], V3) == {}


def test_the_same_id_where_nothing_else_tells_and_no_other_pair_speaks_against_it() -> None:
    assert told([semester(21)], V3) == {21: "21 by id"}
    # Elsewhere the ids differ, so the same id is a coincidence.
    assert told([semester(21), semester(22, SPRING)], V3) == {22: "21 by dates"}
    assert told([semester(20), semester(22, SPRING)], V3) == {22: "21 by dates"}


def test_the_settings_have_the_last_word() -> None:
    v1 = [semester(20, AUTUMN), semester(21, SPRING)]
    assert told(v1, V3, {20: 21, 21: None}) == {20: "21 by setting"}
    pairs = paired(v1, V3, {20: None})
    assert unclear(v1, V3, pairs, {20: None}) == {}


def test_what_is_gone_takes_no_place_of_what_is_there() -> None:
    v1 = [semester(7, AUTUMN), semester(8, AUTUMN, is_gone=True)]
    v3 = [semester(20, AUTUMN, is_gone=True), semester(21, AUTUMN)]
    assert told(v1, v3) == {7: "21 by dates", 8: "20 by dates"}
    assert told(v1[1:], v3[1:]) == {8: "21 by dates"}, "before v3 has forgotten it"


def test_what_v3_does_not_have_is_not_unclear() -> None:
    v1 = [semester(7, AUTUMN), semester(6, (date(2019, 9, 1), date(2020, 1, 20)))]
    pairs = paired(v1, V3)
    assert unclear(v1, V3, pairs) == {}


@pytest.mark.parametrize(
    "name", ["2024-2025学年第二学期", "2024—2025 学年（下学期）", "２０２４-２０２５学年 第2学期"]
)
def test_ways_to_write_a_name(name: str) -> None:
    assert normalised(name) == "20242025学年下学期"


semesters = st.lists(
    st.builds(
        Semester,
        st.integers(1, 6),
        st.none() | st.sampled_from("ab"),
        st.none() | st.dates(date(2024, 9, 1), date(2024, 9, 3)),
        st.none() | st.dates(date(2025, 1, 20), date(2025, 1, 21)),
        st.none() | st.sampled_from("xy"),
        st.booleans(),
    ),
    max_size=5,
    unique_by=lambda item: item.id,
)


@given(semesters, semesters)
def test_pairs_are_one_to_one_and_the_order_does_not_matter(v1: list[Semester], v3: list[Semester]) -> None:
    pairs = paired(v1, v3)
    assert len({pair.v3 for pair in pairs.values()}) == len(pairs)
    assert pairs == paired(v1[::-1], v3[::-1])
