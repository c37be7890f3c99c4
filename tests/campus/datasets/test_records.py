"""Records read by segments or by pages from platforms with habits: every row is loaded or in quarantine."""

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.account import Drift
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Source, Span, read_segment, read_whole_segment
from campus.decoding.inferred_contract import contract_of
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.registry import DATASETS
from tests.kits.platforms.datasets_made import dataset, field
from tests.kits.platforms.scripted_platform import Platform, Request, answer

DEFINITION = dataset(
    field("id", "integer", primary=True), field("score", "integer"), field("updated_at", "timestamp")
)
BY_ID = Source("/records", contract_of(DEFINITION), ("id",), ("id",), updated_at="updated_at")
KEYLESS = Source("/records", contract_of(dataset(field("id", "integer"), field("score", "integer"))), (), ())
SINCE = dt.datetime(2025, 3, 1, 12)
Rows = list[dict[str, Any]]


def serving(rows: Rows, clamp: int = 10_000, *ignored: str) -> Callable[[Request], bytes]:
    """Answers as .../records gives them, of at most `clamp` rows, blind to these parameters."""

    def records(request: Request) -> bytes:
        query = {name: value for name, value in request.query.items() if name not in ignored}
        low, high = int(query.get("id_egt", 0)), int(query.get("id_elt", 10**9))
        matching_rows = [
            row
            for row in rows
            if low <= row["id"] <= high and row.get("updated_at", "9") >= query.get("updated_at_egt", "")
        ]
        if "per_page" in query:
            size = min(int(query["per_page"]), clamp)
            start = (int(query["page"]) - 1) * size
            return answer(
                matching_rows[start : start + size], x_pagination_total_count=str(len(matching_rows))
            )
        return answer(matching_rows[: min(int(query["limit"]), clamp)])

    return records


def ask(script: Callable[[Request], bytes], read: Callable[[Reader], Any]) -> Any:
    async def go() -> Any:
        async with Platform(script) as platform, Client(platform.config(), [DATASETS.scopes]) as client:
            return await read(Reader(client, 101, DATASETS.scopes))

    return asyncio.run(go())


def segment(script: Callable[[Request], bytes], span: Span, since: dt.datetime | None = None) -> Any:
    batches: list[pa.RecordBatch] = []

    async def read(reader: Reader) -> RecordsRead:
        if since is not None:
            return await read_segment(reader, BY_ID, span, 10_000, since, batches.append)
        return await read_whole_segment(reader, BY_ID, span, 10_000, batches.append)

    result = ask(script, read)
    return result, [row for batch in batches for row in batch.to_pylist()]


def held(score: Any) -> tuple[Any, str | None]:
    """A score as the lake holds it, and what is kept beside it."""
    return (None, '{"score":"bad"}') if score == "bad" else (score, None)


scores = st.one_of(st.integers(0, 9), st.none(), st.just("bad"))
tables = st.dictionaries(st.integers(0, 200), scores, max_size=60)


@settings(max_examples=25, deadline=None)
@given(tables, st.sampled_from([1, 3, 7, 10_000]), st.sampled_from([(), ("id_elt",)]))
def test_a_segment_is_its_rows_whatever_an_answer_holds(
    table: dict[int, Any], clamp: int, ignored: tuple[str, ...]
) -> None:
    moment = "2025-03-01 10:00:00"
    rows: Rows = [{"id": key, "score": table[key], "updated_at": moment} for key in sorted(table)]
    inside = [row for row in rows if 50 <= row["id"] <= 149]
    read, loaded = segment(serving(rows, clamp, *ignored), Span(50, 149))
    assert [(row["id"], row["score"], row["_extra"]) for row in loaded] == [
        (row["id"], *held(row["score"])) for row in inside
    ]
    assert read.account.received == len(loaded) == len(inside)
    assert read.account.complete and read.distinct
    if not ignored:
        assert read.account.server_total == len(inside)
        assert read.cursor == (inside[-1]["id"] if inside else None)


EMPTY = {"list": answer([]), "null": answer(None), "nothing": answer(b"", 204)}


def empty_at(*starts: int, times: int, empty: bytes = EMPTY["list"]) -> Callable[[Request], bytes]:
    """Twenty rows, at most seven an answer; the first `times` answers from each of these ids on are empty."""
    rows: Rows = [{"id": key, "score": 1} for key in range(20)]
    whole = serving(rows, 7)
    strikes = Counter(dict.fromkeys(starts, times))

    def records(request: Request) -> bytes:
        start = int(request.query["id_egt"])
        if "per_page" not in request.query and strikes[start]:
            strikes[start] -= 1
            return empty
        return whole(request)

    return records


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("starts", [(0,), (7,), (14,), (0, 7, 14)], ids=str)
def test_an_empty_answer_by_mistake_ends_no_segment(starts: tuple[int, ...], empty: bytes) -> None:
    read, loaded = segment(empty_at(*starts, times=1, empty=empty), Span(0, 19))
    assert [row["id"] for row in loaded] == list(range(20))
    assert (read.account.received, read.account.server_total, read.cursor) == (20, 20, 19)
    assert read.account.complete and read.distinct


def test_rows_that_are_counted_and_never_come_are_no_deletions() -> None:
    read, loaded = segment(empty_at(14, times=99), Span(0, 19))
    assert len(loaded) == 14 and not read.account.complete
    assert read.account.proofs == ["the platform counts 6 rows from id 14 on and sends none"]


@pytest.mark.parametrize("blind", [("id_egt",), ("id_egt", "id_elt")], ids=str)
def test_a_count_that_heeds_no_ids_stops_no_segment(blind: tuple[str, ...]) -> None:
    rows: Rows = [{"id": key, "score": 1} for key in range(20)]
    heeding, counting = serving(rows), serving(rows, 10_000, *blind)
    read, loaded = segment(
        lambda request: (counting if "per_page" in request.query else heeding)(request), Span(10, 30)
    )
    assert len(loaded) == 10 and read.account.complete
    assert read.account.server_total == 20


def test_a_row_that_comes_before_it_is_counted_stops_no_segment() -> None:
    """It has a lower id than what was read last."""
    rows: Rows = [{"id": key, "score": 1} for key in range(0, 20, 2)]
    before, after = serving(rows), serving([*rows, {"id": 3, "score": 1}])
    read, loaded = segment(
        lambda request: (after if "per_page" in request.query else before)(request), Span(0, 19)
    )
    assert len(loaded) == 10 and read.account.complete and read.account.server_total == 11


def test_a_row_without_a_readable_id_is_quarantined_and_the_segment_is_read_on() -> None:
    def records(request: Request) -> bytes:
        start = int(request.query["id_egt"])
        rows = [{"id": 1}, {"id": "two"}, {"id": 3}, {"id": None}] if start <= 1 else [{"id": 5}]
        return answer(rows if start <= 5 else [])

    read, loaded = segment(records, Span(0, 99))
    assert [row["id"] for row in loaded] == [1, 3, 5]
    assert [bad.key for bad in read.account.bad] == [None, None]
    assert read.account.complete


@pytest.mark.parametrize("heeded", [True, False])
def test_whether_only_changes_came_shows_in_the_rows(heeded: bool) -> None:
    rows: Rows = [
        {"id": 1, "score": 1, "updated_at": "2025-03-01 11:59:59"},
        {"id": 2, "score": 2, "updated_at": "2025-03-01 12:00:00"},
    ]
    ignored = () if heeded else ("updated_at_egt",)
    read, loaded = segment(serving(rows, 10_000, *ignored), Span(0, 99), SINCE)
    assert read.incremental is heeded
    assert [row["id"] for row in loaded] == ([2] if heeded else [1, 2])


def test_rows_of_other_segments_are_dropped_and_told() -> None:
    rows: Rows = [{"id": key, "score": 1, "updated_at": "2025-03-01 10:00:00"} for key in range(20)]
    read, loaded = segment(serving(rows, 10_000, "id_elt"), Span(5, 9))
    assert [row["id"] for row in loaded] == [5, 6, 7, 8, 9]
    assert read.account.drift[Drift("ignored_parameter", "id_elt")] == 10


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.one_of(st.integers(1, 2), st.just("bad"))), max_size=30),
    st.sampled_from([4, 10_000]),
)
def test_without_a_key_each_row_counts_and_has_a_name_of_its_own(
    pairs: list[tuple[int, Any]], clamp: int
) -> None:
    batches: list[pa.RecordBatch] = []
    rows: Rows = [{"id": key, "score": score} for key, score in pairs]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        read = ask(
            serving(rows, clamp), lambda reader: read_pages(reader, KEYLESS, 10_000, batches.append, folder)
        )
        assert list(folder.iterdir()) == [], "no page is left on disk"
    loaded = [row for batch in batches for row in batch.to_pylist()]
    assert Counter((row["id"], row["score"], row["_extra"]) for row in loaded) == Counter(
        (key, *held(score)) for key, score in pairs
    )
    assert len({row["_row"] for row in loaded}) == len(loaded)
    assert read.account.received == len(rows) and read.account.complete
