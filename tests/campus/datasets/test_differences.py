"""Counts of ranges of ids lead to the ranges where the platform and the lake differ."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.datasets import differences
from campus.datasets.differences import locate_differences
from campus.datasets.records import CountedSpan, Span

SPAN = Span(0, 399)
ALL = frozenset(range(SPAN.first, SPAN.last + 1))
few_ids = st.sets(st.integers(SPAN.first, SPAN.last), max_size=12)
# Dense ids, with a large hole and some small ones.
many_ids = st.builds(
    lambda start, holes: set(ALL - holes - set(range(start, start + 60))),
    st.integers(SPAN.first, SPAN.last),
    few_ids,
)


@pytest.fixture(autouse=True)
def ranges_of_few_rows_are_cut() -> Iterator[None]:
    with patch.object(differences, "FEW_ROWS", 4):
        yield


def within(span: Span, some_ids: set[int]) -> set[int]:
    return {number for number in some_ids if span.first <= number <= span.last}


def located(stored: set[int], platform: set[int]) -> tuple[list[CountedSpan] | None, list[Span]]:
    """The spans to be read, and those that were counted."""
    search = locate_differences(sorted(stored), SPAN, len(platform))
    counted: list[Span] = []
    try:
        spans = next(search)
        while True:
            counted += spans
            spans = search.send([len(within(span, platform)) for span in spans])
    except StopIteration as end:
        return end.value, counted


def after_reading(spans: list[CountedSpan], stored: set[int], platform: set[int]) -> set[int]:
    """The stored ids once the spans are read."""
    for counted in spans:
        stored = (stored - within(counted.span, stored)) | within(counted.span, platform)
    return stored


@given(stored=many_ids, changed=few_ids)
def test_deletions_or_insertions_alone_are_all_read(stored: set[int], changed: set[int]) -> None:
    for platform in (stored - changed, stored | changed):
        if len(platform) != len(stored):
            spans, _ = located(stored, platform)
            assert spans is None or after_reading(spans, stored, platform) == platform


@given(stored=many_ids, deleted=few_ids, inserted=few_ids)
def test_only_changes_that_cancel_in_a_fitting_range_are_missed(
    stored: set[int], deleted: set[int], inserted: set[int]
) -> None:
    """In the ids between the spans that are read, the platform has as many rows as are stored."""
    platform = (stored - deleted) | inserted
    spans, _ = located(stored, platform)
    if spans is None:
        return
    assert [counted.rows for counted in spans] == [
        len(within(counted_span.span, platform)) for counted_span in spans
    ]
    ends = [SPAN.first - 1]
    for span in sorted((counted.span for counted in spans), key=lambda span: span.first):
        assert span.first > ends[-1], "no id is read twice"
        ends += [span.first, span.last]
    ends.append(SPAN.last + 1)
    for last_read, next_read in zip(ends[::2], ends[1::2], strict=True):
        gap = Span(last_read + 1, next_read - 1)
        missed, extra = within(gap, platform - stored), within(gap, stored - platform)
        assert len(missed) == len(extra)


@given(stored=many_ids, deleted=few_ids, most=st.integers(0, 60))
def test_requests_are_bounded(stored: set[int], deleted: set[int], most: int) -> None:
    platform = stored - deleted
    with patch.object(differences, "MOST_REQUESTS", most):
        spans, counted = located(stored, platform)
    if spans is not None:
        assert len(counted) + len(spans) <= max(most, 1)
        assert 2 * sum(counted_span.rows for counted_span in spans) < len(platform)
    assert len(counted) <= most


def test_one_deletion_is_found_in_few_requests() -> None:
    stored = set(range(400))
    spans, counted = located(stored, stored - {123})
    assert spans is not None
    [part] = spans
    assert part.rows < 10 and part.span.first <= 123 <= part.span.last
    # 400, 100, 25, 6 or 7 rows, and then 2.
    assert len(counted) == 4 * 3


def test_a_range_without_rows_is_neither_cut_nor_counted_again() -> None:
    stored = set(range(400))
    spans, counted = located(stored, stored - set(range(100, 200)))
    assert spans == [CountedSpan(Span(100, 199), 0)]
    assert len(counted) == 3


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ([100, None, 100], "a count is missing"),
        ([399, 399, 399], "the platform ignores the bounds"),
        ([0, 0, 0], "all rows but few differ"),
    ],
)
def test_counts_that_lead_nowhere_have_all_read(counts: list[int | None], why: str) -> None:
    search = locate_differences(range(400), SPAN, 399)
    next(search)
    with pytest.raises(StopIteration) as end:
        while True:
            search.send(counts)
    assert end.value.value is None, why
