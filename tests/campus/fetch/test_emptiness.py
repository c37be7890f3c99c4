"""Answers that are empty by mistake: what is read is exact, or is noted as incomplete."""

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campus.capabilities import (
    MOST_REPEATS,
    WHEN_COMMON,
    WHEN_CONTRADICTED,
    WHEN_UNUSUAL,
    Capabilities,
    Confirmation,
)
from campus.datasets.layout import Layout, plan_layout
from campus.datasets.paged import read_pages
from campus.datasets.records import RecordsRead, Source, Span, read_segment, read_whole_segment
from campus.decoding.inferred_contract import contract_of
from campus.fetch.answers import confirmed
from campus.fetch.reader import AnswerRequest, Reader, Readings, drive_readings
from campus.http.client import Client
from campus.http.errors import CampusError, Refused
from campus.http.events import Event
from campus.http.request import Pagination
from campus.paging import PageRequest, PageSeen, page_by_id, page_by_number, page_unpaged_list
from campus.plan.units import SliceQuery
from campus.registry import DATASETS
from tests.kits.platforms.datasets_made import dataset
from tests.kits.platforms.datasets_made import field as field_of
from tests.kits.platforms.listings import REFUSED, Listing, Table, drive, read
from tests.kits.platforms.scripted_platform import Platform, Request, answer, run
from tests.kits.platforms.stub_client import Platform as Stub
from tests.kits.platforms.stub_client import load, load_assessments

Counts = Literal["zero", "true", "none"]
COUNTS: list[Counts] = ["zero", "true", "none"]
T = TypeVar("T")
SHARE = 0.2


@dataclass
class FalseEmpties:
    """Makes a share of the answers empty, but no more than `most` one after the other."""

    dice: random.Random
    most: int
    in_a_row: int = 0

    def next(self) -> bool:
        is_empty = self.in_a_row < self.most and self.dice.random() < SHARE
        self.in_a_row = self.in_a_row + 1 if is_empty else 0
        return is_empty


@dataclass
class UnreliableListing(Listing):
    """A list whose answers are empty now and then; `counts`: what their headers say."""

    counts: Counts = "zero"
    most: int = WHEN_UNUSUAL
    false_empties: FalseEmpties = field(init=False)

    def __post_init__(self) -> None:
        self.false_empties = FalseEmpties(self.dice, self.most)

    def answer(self, request: PageRequest) -> PageSeen:
        seen = super().answer(request)
        if not self.false_empties.next():
            return seen
        pagination = seen.pagination
        if pagination and self.counts == "zero":
            pagination = Pagination(pagination.current_page, 0, pagination.per_page, 0)
        return PageSeen((), None if self.counts == "none" else pagination)


habits = st.fixed_dictionaries(
    {
        "clamp": st.sampled_from([3, 7, 10_000]),
        "headers": st.booleans(),
        "headers_on_whole": st.booleans(),
        "knows_whole": st.booleans(),
        "refuses_whole": st.booleans(),
        "knows_per_page": st.booleans(),
        "repeats_last": st.booleans(),
        "counts": st.sampled_from(COUNTS),
    }
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 60), st.integers(0, 2**32), habits, st.integers(1, 12), st.sampled_from([0, 10_000]))
def test_a_list_whose_answers_are_empty_now_and_then_is_never_short(
    rows: int, seed: int, habits: dict[str, Any], per_page: int, limit: int
) -> None:
    """The platform has not been contradicted before. Its empty answers come as often in a row as are needed;
    where nothing is counted, they may come at the same row in two readings."""
    platform = UnreliableListing(list(range(rows)), random.Random(seed), **habits)
    paging = page_by_number(per_page, limit, confirmation=Confirmation())
    reading = read(paging, platform, most=5000)
    counted = habits["headers"] and habits["counts"] != "none"
    if reading.outcome.complete and (counted or not reading.rows):
        assert set(reading.rows) == set(range(rows))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 60), st.integers(0, 2**32), habits, st.integers(2, 12), st.booleans())
def test_list_of_a_contradicted_platform_is_never_short(
    rows: int, seed: int, habits: dict[str, Any], per_page: int, keep_duplicates: bool
) -> None:
    platform = UnreliableListing(list(range(rows)), random.Random(seed), most=WHEN_CONTRADICTED, **habits)
    # Pages of a size of their own tell nothing of rows that have no key, unless all come at once too.
    keep_duplicates = keep_duplicates and habits["knows_per_page"]
    paging = page_by_number(
        per_page, confirmation=Confirmation(contradicted=1), keep_duplicates=keep_duplicates
    )
    reading = read(paging, platform, most=5000)
    if reading.outcome.complete:
        assert set(reading.rows) == set(range(rows))
        assert not keep_duplicates or len(reading.rows) == rows


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("rows", [0, 30, 150])
def test_most_lists_of_such_a_platform_are_read_to_the_last_row(
    rows: int, counts: Counts, headers: bool
) -> None:
    confirmation = Confirmation()
    proven = 0
    for seed in range(60):
        platform = UnreliableListing(
            list(range(rows)),
            random.Random(seed),
            headers=headers,
            clamp=20,
            counts=counts,
            refuses_whole=True,
        )
        paging = page_by_number(100, confirmation=confirmation)
        reading = read(paging, platform)
        proven += reading.outcome.complete
    assert proven >= 55
    assert bool(confirmation.contradicted) is (rows > 0)


@pytest.mark.parametrize("paged", [True, False])
@pytest.mark.parametrize("counts", COUNTS)
@settings(max_examples=100, deadline=None)
@given(rows=st.integers(0, 30), seed=st.integers(0, 2**32))
def test_a_list_in_one_answer_is_never_short_either(
    counts: Counts, paged: bool, rows: int, seed: int
) -> None:
    whole = {} if paged else {"knows_page": False, "knows_per_page": False, "default_size": 10**6}
    platform = UnreliableListing(
        list(range(rows)), random.Random(seed), headers=paged, counts=counts, **whole
    )
    paging = page_unpaged_list(Capabilities(), "list")
    reading = read(paging, platform)
    if reading.outcome.complete:
        assert sorted(reading.rows) == list(range(rows))


def test_that_a_list_is_empty_is_confirmed_by_other_questions() -> None:
    platform = Listing([])
    paging = page_by_number(per_page=100, confirmation=Confirmation())
    reading = read(paging, platform)
    assert (reading.outcome.complete, reading.outcome.total) == (True, 0)
    assert len({request.params for request in reading.pages}) == 1 + WHEN_UNUSUAL
    common = page_by_number(per_page=100, confirmation=Confirmation(), empty_is_unusual=False)
    reading = read(common, platform)
    assert len({request.params for request in reading.pages}) == 1 + WHEN_COMMON
    unpaged = page_unpaged_list(Capabilities(), "list", empty_is_unusual=False)
    reading = read(unpaged, Listing([], headers=False))
    assert {request.params for request in reading.pages} == {(), (("page", 1), ("per_page", 1))}


def test_a_list_that_takes_no_paging_parameters_is_asked_for_once_more_as_it_was() -> None:
    capabilities, requests = Capabilities(), list[Any]()
    paging = page_unpaged_list(capabilities, "list", empty_is_unusual=False)

    def answer(request: PageRequest) -> PageSeen | CampusError:
        requests.append(request.params)
        return REFUSED if request.params else PageSeen(())

    reading = drive(paging, answer)
    assert requests == [(), (("page", 1), ("per_page", 1)), ()]
    assert reading.outcome.complete
    assert capabilities.rejects("list", "page")


def test_rows_that_only_pages_show_end_somewhere_and_prove_nothing() -> None:
    """All at once they never come: what there is cannot be told."""
    paging = page_unpaged_list(Capabilities(), "list")
    reading = drive(
        paging, lambda request: PageSeen([1] if request.params else ()), most=MOST_REPEATS + WHEN_CONTRADICTED
    )
    assert not reading.outcome.complete


@dataclass
class UnreliableTable(Table):
    seed: int = 0

    def __post_init__(self) -> None:
        self.false_empties = FalseEmpties(random.Random(self.seed), WHEN_COMMON)

    def answer(self, request: PageRequest) -> PageSeen | CampusError:
        seen = super().answer(request)
        return PageSeen(()) if self.false_empties.next() else seen


@settings(max_examples=150, deadline=None)
@given(st.sets(st.integers(0, 300)), st.integers(1, 30), st.integers(0, 2**32))
def test_ids_are_read_on_behind_an_answer_that_is_empty_by_mistake(
    ids: set[int], limit: int, seed: int
) -> None:
    table = UnreliableTable(sorted(ids), seed=seed)
    reading = drive(page_by_id(limit=limit, confirmation=Confirmation()), table.answer)
    assert sorted(row for row in reading.rows if isinstance(row, int)) == sorted(ids)
    assert reading.outcome.complete


# Questions of one answer


def result_of(source: Readings[T]) -> T:
    """The result of a source that asks for nothing."""
    try:
        next(source)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the source asks for something")


@pytest.mark.parametrize(
    ("contradicted", "is_unusual", "repeats"),
    [(0, False, WHEN_COMMON), (0, True, WHEN_UNUSUAL), (1, False, WHEN_CONTRADICTED)],
)
def test_empty_answer_counts_once_enough_answers_agree(
    contradicted: int, is_unusual: bool, repeats: int
) -> None:
    questions = []

    def ask(repeats: int) -> Readings[list[int]]:
        questions.append(repeats)
        yield from ()
        return []

    capabilities = Capabilities(confirmation=Confirmation(contradicted))
    source = confirmed(capabilities, ask, lambda rows: not rows, is_unusual=lambda _: is_unusual)
    assert result_of(source) == []
    assert questions == list(range(1 + repeats))
    assert capabilities.confirmation.contradicted == contradicted


def test_one_answer_with_something_is_enough_and_is_remembered() -> None:
    def ask(repeats: int) -> Readings[list[int]]:
        yield from ()
        if repeats == 1:
            raise Refused("status 422.")
        return [1] if repeats == 2 else []

    capabilities = Capabilities()
    assert result_of(confirmed(capabilities, ask, lambda rows: not rows)) == [1]
    assert capabilities.confirmation.contradicted == 1


def test_a_cut_that_is_refused_is_not_tried_again() -> None:
    questions = []

    def ask(repeats: int) -> Readings[list[int]]:
        questions.append(repeats)
        yield from ()
        if repeats:
            raise Refused("status 422.")
        return []

    capabilities, varies = Capabilities(), ("/api/v1/timetable/structure", "$page")
    for _ in range(2):
        result_of(
            confirmed(capabilities, ask, lambda rows: not rows, is_unusual=lambda _: False, varies=varies)
        )
    assert questions == [0, 1, 0, 0, 0]


# Units


def test_empty_units_are_read_again_after_a_contradiction() -> None:
    """Item 1 is empty in as many answers as are needed; only item 9 shows that such answers are wrong."""
    answers: dict[int, list[list[Any]]] = {1: [[]] * (1 + WHEN_COMMON), 9: [[]]}

    def scores(path: str, params: dict[str, str]) -> Any:
        item = int(path.split("/")[-2])
        if item == 2:
            return []
        waiting = answers.get(item)
        return waiting.pop() if waiting else [{"id": item * 10, "item_id": item}]

    platform = Stub(scores)
    rows, account = load(platform, "scores", SliceQuery(101, 1, (1, 2, 9)))
    assert sorted(row["id"] for row in rows) == [10, 90]
    assert (account.received, account.complete) == (2, True)
    assert platform.capabilities.confirmation.contradicted == 1
    assert sum("/2/" in path for path, _ in platform.asked) > WHEN_CONTRADICTED


def test_an_item_that_had_rows_is_asked_for_oftener_than_one_that_had_none() -> None:
    platform = Stub(lambda path, params: [])
    load(platform, "scores", SliceQuery(101, 1, (1, 2), ids_with_rows=frozenset({2})))
    requested_ids = [path.split("/")[-2] for path, _ in platform.asked]
    assert (requested_ids.count("1"), requested_ids.count("2")) == (1 + WHEN_COMMON, 1 + WHEN_UNUSUAL)


@pytest.mark.parametrize("false_answer", ["[]", "null", '{"id": 5, "item_num": 1, "items": []}'])
def test_an_assessment_without_its_items_is_asked_for_again(false_answer: str) -> None:
    whole = {"id": 5, "item_num": 1, "items": [{"id": 6, "assessment_id": 5}]}
    answers: list[Any] = [false_answer.encode()]
    assessments, items, *_ = load_assessments(lambda path, params: answers.pop() if answers else whole)
    assert ([row["id"] for row in assessments], [row["id"] for row in items]) == ([5], [6])


def test_whether_a_filter_is_heeded_is_not_told_by_one_empty_answer() -> None:
    """class_id_in is ignored here: if the empty answer counted, each class would have the members of all."""
    member = {"type": "student", "reflection_id": 1}
    answers = iter([[member], [], [member]])
    with pytest.raises(CampusError, match="class_id_in is ignored"):
        load(Stub(lambda path, params: next(answers)), "class_members", SliceQuery(101, 1, (7, 8)))


# Datasets, over HTTP

DEFINITION = dataset(
    field_of("id", "integer", primary=True), field_of("score", "integer"), field_of("updated_at", "timestamp")
)
BY_ID = Source("/records", contract_of(DEFINITION), ("id",), ("id",), updated_at="updated_at")
IDS = [*range(1, 60), *range(240, 300), *range(900, 915)]


def unreliable_records(seed: int, counts: Counts, *, counting: bool = True) -> Callable[[Request], bytes]:
    false_empties = FalseEmpties(random.Random(seed), WHEN_UNUSUAL)

    def records(request: Request) -> bytes:
        query = request.query
        low, high = int(query.get("id_egt", 0)), int(query.get("id_elt", 10**9))
        rows = [{"id": id_, "score": 1} for id_ in IDS if low <= id_ <= high]
        rows = rows[:: -1 if query.get("sort", "").startswith("-") else 1]
        total = len(rows)
        is_empty = false_empties.next()
        if "per_page" not in query:
            return answer([] if is_empty else rows[: min(int(query["limit"]), 25)])
        size = int(query["per_page"])
        start = (int(query["page"]) - 1) * size
        headers = {"x_pagination_total_count": str(0 if is_empty and counts == "zero" else total)}
        if not counting or (is_empty and counts == "none"):
            headers = {}
        return answer([] if is_empty else rows[start : start + size], **headers)

    return records


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("seed", range(6))
def test_a_dataset_is_planned_with_all_its_segments_or_not_at_all(seed: int, counts: Counts) -> None:
    planned: list[Layout] = []

    async def plan() -> None:
        async with (
            Platform(unreliable_records(seed, counts)) as platform,
            Client(platform.config(), [DATASETS.scopes]) as client,
        ):
            planned.append(await plan_layout(Reader(client, 101, DATASETS.scopes), BY_ID, 100, 100, 500))

    run(plan())
    assert planned == [Layout(100, (0, 2, 9))]


@pytest.mark.parametrize("counting", [True, False])
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("seed", range(4))
def test_a_segment_is_read_to_its_last_record(seed: int, counts: Counts, counting: bool) -> None:
    loaded: list[int] = []
    results: list[RecordsRead] = []

    def write(batch: pa.RecordBatch) -> None:
        loaded.extend(row["id"] for row in batch.to_pylist())

    async def go() -> None:
        async with (
            Platform(unreliable_records(seed, counts, counting=counting)) as platform,
            Client(platform.config(), [DATASETS.scopes]) as client,
        ):
            client.capabilities.confirmation.contradict()
            reader = Reader(client, 101, DATASETS.scopes)
            results.append(await read_whole_segment(reader, BY_ID, Span(200, 299), 10_000, write))

    run(go())
    assert loaded == list(range(240, 300))
    assert results[0].account.complete


def test_that_nothing_changed_is_asked_for_twice() -> None:
    limits: list[str] = []

    def records(request: Request) -> bytes:
        limits.append(request.query["limit"])
        return answer([])

    async def go() -> None:
        async with Platform(records) as platform, Client(platform.config(), [DATASETS.scopes]) as client:
            since, reader = dt.datetime(2025, 3, 1), Reader(client, 101, DATASETS.scopes)
            read = await read_segment(reader, BY_ID, Span(0, 99), 1000, since, lambda batch: None)
            assert read.account.complete and not read.account.received

    run(go())
    assert limits == ["1000", "999"]


@pytest.mark.parametrize("seed", range(4))
def test_a_dataset_that_is_read_by_pages_is_whole_or_not_proven(seed: int, tmp_path: Path) -> None:
    batches: list[pa.RecordBatch] = []

    async def go() -> None:
        async with (
            Platform(unreliable_records(seed, "zero")) as platform,
            Client(platform.config(per_page=20), [DATASETS.scopes]) as client,
        ):
            read = await read_pages(
                Reader(client, 101, DATASETS.scopes), BY_ID, 10_000, batches.append, tmp_path
            )
            assert read.account.complete

    run(go())
    assert sorted(row["id"] for batch in batches for row in batch.to_pylist()) == IDS


def test_operator_is_told_of_contradicted_empty_answers() -> None:
    events: list[Event] = []
    answers = iter([[], [{"id": 1}]])

    async def go() -> None:
        async with (
            Platform(lambda _: answer(next(answers))) as platform,
            Client(platform.config(), [DATASETS.scopes], events.append) as client,
        ):

            def ask(repeats: int) -> Readings[list[Any]]:
                rows: list[Any] = (yield AnswerRequest("/x", {"n": repeats}, msgspec.json.decode)).value
                return rows

            await drive_readings(
                Reader(client, 101), confirmed(client.capabilities, ask, lambda rows: not rows)
            )

    run(go())
    [note] = [event.message for event in events if event.kind == "note"]
    assert note.startswith("1 empty answers of the platform were wrong")
