"""Finding out what datasets there are and how each can be read, from platforms with habits of their own."""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from campus.account import Account
from campus.datasets.layout import FEW, Layout, plan_layout
from campus.datasets.metadata import OfferedDatasets, read_datasets
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Source
from campus.decoding.definition import parse_definition
from campus.decoding.inferred_contract import contract_of
from campus.fetch.answers import PREFIXES
from campus.fetch.reader import Reader
from campus.http.client import Client, segment
from campus.http.errors import CampusError, UnexpectedAnswer
from campus.registry import DATASET_FIELDS, DATASET_RELATIONS, DATASETS
from campus.sources.gathered import Collector
from tests.kits.platforms.scripted_platform import Platform, Request, answer

SCORES: dict[str, Any] = {
    "id": 1,
    "name": "scores",
    "fields": [{"id": 1, "name": "id", "type": "integer", "primary": True}],
    "relations": [],
}


SOURCE = Source("/v3/uds/datasets/scores/records", contract_of(parse_definition(SCORES)), ("id",), ("id",))


def planned(ids: Sequence[int], *, sorts: bool = True) -> tuple[Layout, int]:
    """The layout of a new dataset with these ids, in this order where the platform does not sort, and how
    many requests it took."""

    def records(request: Request) -> bytes:
        query = request.query
        if sorts:
            low = bisect_left(ids, int(query.get("id_egt", ids[0])))
            high = bisect_right(ids, int(query.get("id_elt", ids[-1])))
            matching_ids = ids[low:high][:: -1 if query.get("sort", "").startswith("-") else 1]
        else:
            low, high = int(query.get("id_egt", min(ids))), int(query.get("id_elt", max(ids)))
            matching_ids = [record_id for record_id in ids if low <= record_id <= high]
        if "per_page" in query:
            shown = [{"id": record_id} for record_id in matching_ids[: int(query["per_page"])]]
            return answer(shown, x_pagination_total_count=str(len(matching_ids)))
        return answer([{"id": record_id} for record_id in matching_ids[: int(query["limit"])]])

    return layout_of(records)


def layout_of(records: Callable[[Request], bytes]) -> tuple[Layout, int]:
    """The layout of a new dataset with these answers, and how many requests it took."""

    async def ask() -> tuple[Layout, int]:
        async with Platform(records) as platform, Client(platform.config(), [DATASETS.scopes]) as client:
            return await plan_layout(Reader(client, 101, DATASETS.scopes), SOURCE, None, 1000, 500), len(
                platform.gets
            )

    return asyncio.run(ask())


def offered(listing: Callable[[Request], bytes]) -> tuple[OfferedDatasets, list[Account]]:
    """What a platform offers that answers so, and the accounts of the three tables."""

    async def ask() -> tuple[OfferedDatasets, list[Account]]:
        specs = (DATASETS, DATASET_FIELDS, DATASET_RELATIONS)
        collectors = [Collector(spec) for spec in specs]
        async with (
            Platform(listing) as platform,
            Client(platform.config(max_attempts=2), [DATASETS.scopes]) as client,
        ):
            offer = await read_datasets(Reader(client, 101, DATASETS.scopes), *collectors)
        return offer, [collector.account for collector in collectors]

    return asyncio.run(ask())


def test_dense_ids_are_cut_finely() -> None:
    layout, requests = planned(range(1, 40_001))
    assert layout == Layout(1000, tuple(range(41)))
    assert requests < 50


def test_clusters_are_cut_finely_however_far_apart() -> None:
    ids = [*range(1, 2500), *range(10**15, 10**15 + 1500), 2 * 10**18]
    layout, requests = planned(ids)
    assert layout == Layout(1000, (0, 1, 2, 10**12, 10**12 + 1, 2 * 10**15))
    assert requests < 12


def test_thinly_spread_ids_are_cut_into_few_segments() -> None:
    # such as ids that carry the time they were given at
    layout, requests = planned(range(10**18, 10**18 + 800 * 10**12, 10**12))
    assert layout.width and 8 <= len(layout.segments) <= 17
    assert requests < 45


clusters = st.lists(
    st.tuples(st.integers(-(10**6), 10**12), st.integers(1, 300), st.integers(1, 3)), min_size=1, max_size=4
)


@settings(max_examples=25, deadline=None)
@given(clusters)
@example([(0, 1, 1), (10**18, 1, 1)])
def test_every_record_is_in_a_segment_and_holes_cost_nothing(clusters: list[tuple[int, int, int]]) -> None:
    ids = sorted({start + step * n for start, count, step in clusters for n in range(count)})
    layout, requests = planned(ids)
    assert layout.width is not None
    assert set(layout.segments) == {record_id // layout.width for record_id in ids}
    assert list(layout.segments) == sorted(set(layout.segments))
    # The ends, whether there is more beyond, a count; and a leap a segment, at two widths at most. That there
    # is nothing is asked for again: beyond the end once, beside a single record on both sides.
    least = 9 if len(ids) > 1 else 17
    assert requests <= least + 2 * len(ids)
    assert requests <= least + 2 * (FEW + len(layout.segments))


@pytest.mark.parametrize("ids", [[1, 2], [2, 1], [5000, 1, 5001], range(9000, 1, -1), [-3, 0]])
def test_a_platform_that_does_not_sort_cannot_be_leaped_through(ids: Sequence[int]) -> None:
    layout, _ = planned(ids, sorts=False)
    assert layout == Layout(None, why="the platform ignores sort")


def test_a_list_without_an_end_is_read_again_later() -> None:
    """Sorted by id, the list has rows; sorted the other way, it has none."""

    def records(request: Request) -> bytes:
        return answer([] if request.query.get("sort", "").startswith("-") else [{"id": 1}])

    with pytest.raises(UnexpectedAnswer, match=r"has no end\. .*or the platform is not well: sync again"):
        layout_of(records)


@pytest.mark.parametrize("ids", [[0], [-7], [5000]])
def test_a_single_record_needs_no_order(ids: list[int]) -> None:
    assert planned(ids)[0] == Layout(1000, (ids[0] // 1000,))


def test_a_platform_that_refuses_sort_is_read_by_pages_without(tmp_path: Path) -> None:
    def records(request: Request) -> bytes:
        if "sort" in request.query:
            return answer({"message": "sort"}, 422)
        return answer([{"id": 2}, {"id": 1}], x_pagination_total_count="2")

    batches: list[pa.RecordBatch] = []

    async def ask() -> RecordsRead:
        async with Platform(records) as platform, Client(platform.config(), [DATASETS.scopes]) as client:
            return await read_pages(
                Reader(client, 101, DATASETS.scopes), SOURCE, 10_000, batches.append, tmp_path
            )

    read = asyncio.run(ask())
    assert (read.account.complete, read.account.server_total) == (True, 2)
    assert [row["id"] for batch in batches for row in batch.to_pylist()] == [2, 1]


def test_a_list_whose_text_changes_while_it_is_read_has_each_dataset_once() -> None:
    updates = iter([None])
    offer, (datasets, fields, _) = offered(
        lambda request: answer([SCORES | {"last_updated_at": next(updates, "2025-09-01 08:00:00")}])
    )
    assert msgspec.json.decode(offer.definitions["scores"])["last_updated_at"] is not None
    assert (datasets.received, fields.received) == (1, 1)
    assert offer.complete


@pytest.mark.parametrize("other", [answer(b"<html>", content_type="text/html"), answer({}), answer({}, 401)])
@pytest.mark.parametrize("prefix", ["/v3", "/api/v3"])
def test_the_prefix_is_the_one_that_lists_whatever_the_other_answers(prefix: str, other: bytes) -> None:
    offer, _ = offered(
        lambda request: answer([SCORES]) if request.path == f"{prefix}/uds/datasets" else other
    )
    assert (offer.prefix, list(offer.definitions)) == (prefix, ["scores"])


@pytest.mark.parametrize("statuses", [(404, 500), (500, 404), (403, 404)])
def test_a_platform_whose_list_fails_has_not_none(statuses: tuple[int, int]) -> None:
    status = dict(zip(PREFIXES, statuses, strict=True))
    with pytest.raises(CampusError, match=str(max(statuses, key=lambda code: code != 404))):
        offered(lambda request: answer({}, status[request.path.removesuffix("/uds/datasets")]))


@pytest.mark.parametrize("refusal", [answer({}, 404), answer({}, 403), answer({}, 422), answer([])])
def test_a_listed_dataset_that_cannot_be_asked_for_is_told_and_the_others_are_read(refusal: bytes) -> None:
    brief = {name: value for name, value in SCORES.items() if name not in ("fields", "relations")}
    other = SCORES | {"id": 2, "name": "other"}
    offer, (datasets, *children) = offered(
        lambda request: refusal if "scores" in request.path else answer([brief, other])
    )
    assert (list(offer.definitions), list(offer.unread)) == (["other"], ["scores"])
    assert offer.complete and datasets.received == 2
    for account in children:
        assert account.complete and account.failed == {1: offer.unread["scores"]}
    assert children[0].received == 1


def test_a_name_of_dots_leads_nowhere_else() -> None:
    assert [segment(name) for name in (".", "..", "...", "a.b", "家/b", 7)] == [
        "%2E",
        "%2E%2E",
        "...",
        "a.b",
        "%E5%AE%B6%2Fb",
        "7",
    ]
