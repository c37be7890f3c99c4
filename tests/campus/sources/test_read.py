"""Reading slices from a scripted platform: what is asked, and what the answers make together."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campus.account import BadRow, Drift
from campus.decoding.page import batch_schema
from campus.http.errors import Forbidden, NotFound, Refused, TornBody, Transient, UnexpectedAnswer
from campus.http.events import Event
from campus.plan.modes import NO_CLASS
from campus.plan.units import MAX_IDS_LENGTH, SliceQuery, id_batches
from campus.registry import RESOURCES
from campus.sources.units import GIVE_UP_AFTER
from tests.kits.platforms.stub_client import Params, Platform, load, load_assessments

DOWN = Transient("status 500, after 8 attempts.")


# Batches of class ids


@given(st.lists(st.integers(1, 2**63 - 1)), st.integers(30, 200))
def test_batches_keep_their_length_and_lose_no_id(ids: list[int], most: int) -> None:
    batches = id_batches(ids, most)
    assert [id_ for batch in batches for id_ in batch] == ids
    assert all(batches)
    assert all(len(quote(",".join(map(str, batch)), safe="")) <= most for batch in batches)
    # no batch that the first id of the next would still have fitted into
    for batch, following in pairwise(batches):
        assert len(quote(",".join(map(str, [*batch, following[0]])), safe="")) + len("%2C") > most


def test_grades_are_asked_for_by_batches_of_classes() -> None:
    ids = tuple(range(10**6, 10**6 + 400))
    platform = Platform(
        lambda path, params: [{"id": int(class_id)} for class_id in params["class_ids"].split(",")]
    )
    rows, account = load(platform, "grades", SliceQuery(101, 1, ids))
    assert sorted(row["id"] for row in rows) == list(ids)
    assert all(len(params["class_ids"]) <= MAX_IDS_LENGTH for _, params in platform.asked)
    assert len(platform.asked) == 3
    assert (account.received, account.server_total, account.complete) == (400, 400, True)


@given(
    st.sets(st.integers(1, 60), max_size=6), st.sampled_from([DOWN, Refused("status 422."), NotFound("404.")])
)
def test_a_batch_that_fails_is_halved_until_the_broken_classes_stand_alone(
    broken: set[int], error: Exception
) -> None:
    def answer(path: str, params: Params) -> Any:
        ids = [int(class_id) for class_id in params["class_ids"].split(",")]
        return error if broken & set(ids) else [{"id": class_id} for class_id in ids]

    rows, account = load(Platform(answer), "grades", SliceQuery(101, 1, tuple(range(1, 61))))
    assert {row["id"] for row in rows} == set(range(1, 61)) - broken
    # a class that is not there has no grades, and that is all
    assert account.failed == ({} if isinstance(error, NotFound) else dict.fromkeys(broken, str(error)))


@pytest.mark.parametrize("name", ["scores", "grades"])
def test_a_platform_that_is_down_is_given_up(name: str) -> None:
    platform = Platform(lambda path, params: DOWN)
    ids = tuple(range(1, 1001))
    rows, account = load(platform, name, SliceQuery(101, 1, ids))
    assert rows == []
    assert account.failed == dict.fromkeys(ids, str(DOWN))
    assert len(platform.asked) <= GIVE_UP_AFTER + platform.config.concurrency


def test_a_platform_that_recovers_is_not_given_up() -> None:
    failures = iter([*[DOWN] * (GIVE_UP_AFTER - 4), [{"id": 1}], *[DOWN] * (GIVE_UP_AFTER - 4)])
    _, account = load(
        Platform(lambda path, params: next(failures, [])), "scores", SliceQuery(101, 1, tuple(range(1, 101)))
    )
    assert len(account.failed) == 2 * (GIVE_UP_AFTER - 4)


def test_an_item_that_fails_is_named_and_the_others_load() -> None:
    def answer(path: str, params: Params) -> Any:
        item = int(path.split("/")[-2])
        return {2: DOWN, 3: NotFound("status 404.")}.get(item, [{"id": item * 10}])

    rows, account = load(Platform(answer), "scores", SliceQuery(101, 1, (1, 2, 3, 4)))
    assert sorted(row["id"] for row in rows) == [10, 40]
    assert account.failed == {2: str(DOWN)}


def test_a_slice_of_one_question_fails_as_a_whole() -> None:
    with pytest.raises(Forbidden, match="no scope"):
        load(Platform(lambda path, params: Forbidden("no scope")), "semesters", SliceQuery(101))


def test_nothing_to_ask_is_an_empty_slice() -> None:
    platform = Platform(lambda path, params: [])
    for name in ("scores", "grades"):
        rows, account = load(platform, name, SliceQuery(101, 1, ()))
        assert (rows, account.complete, account.failed, account.server_total) == ([], True, {}, 0)
    assert platform.asked == []


def test_progress_ends_at_the_number_of_questions() -> None:
    events: list[Event] = []
    load(Platform(lambda path, params: []), "scores", SliceQuery(101, 1, (1, 2, 3)), events.append)
    assert [(event.done, event.total) for event in events] == [(1, 3), (2, 3), (3, 3)]


# Terms, classes


def test_terms_are_asked_for_by_type_and_an_unknown_type_has_none() -> None:
    def answer(path: str, params: Params) -> Any:
        return NotFound("status 404.") if "x%2Fy" in path else [{"id": 1, "type": "course.subject"}]

    platform = Platform(answer)
    rows, account = load(platform, "terms", SliceQuery(101, term_types=("course.subject", "x/y")))
    assert [row["id"] for row in rows] == [1]
    assert (account.failed, account.complete) == ({}, True)
    assert {path for path, _ in platform.asked} == {
        "/api/v3/term/course.subject/terms",
        "/api/v3/term/x%2Fy/terms",
    }


def test_classes_of_other_semesters_are_left_out_where_semester_id_is_ignored() -> None:
    rows = [{"id": 1, "semester_id": 5}, {"id": 2, "semester_id": 6}, {"id": 3, "semester_id": None}]
    loaded_rows, account = load(Platform(lambda path, params: rows), "classes", SliceQuery(101, 5))
    assert [row["id"] for row in loaded_rows] == [1, 3]
    assert (account.received, account.server_total) == (2, None)
    assert account.drift[Drift("ignored_parameter", "semester_id")] == 1


# Deleted rows


def with_trashed(alive: list[Any], deleted: list[Any]) -> Callable[[str, Params], Any]:
    return lambda path, params: [*alive, *deleted] if "with_trashed" in params else alive


def test_deleted_rows_are_told_by_deleted_at_where_it_is_shown() -> None:
    moment = "2025-05-16 08:00:00"
    platform = Platform(with_trashed([{"id": 1, "deleted_at": None}], [{"id": 2, "deleted_at": moment}]))
    rows, account = load(platform, "students", SliceQuery(101))
    assert [(row["id"], row["_trashed"], str(row["_trashed_at"])) for row in rows] == [
        (1, False, "None"),
        (2, True, moment),
    ]
    assert len(platform.asked) == 1
    assert (account.received, account.server_total) == (2, 2)


def test_deleted_rows_are_told_by_asking_again_where_it_is_not() -> None:
    alive = [{"id": 1}, {"id": "x", "name": "3"}]
    platform = Platform(with_trashed(alive, [{"id": 2}, {"id": "x", "name": "4"}]))
    rows, account = load(platform, "students", SliceQuery(101))
    assert [(row["id"], row["_trashed"], row["_trashed_at"]) for row in rows] == [
        (1, False, None),
        (2, True, None),
    ]
    assert {json.loads(bad.raw)["name"] for bad in account.bad} == {"3", "4"}
    assert len(platform.asked) == 2
    assert account.received == 4


@pytest.mark.parametrize("moment", ["gestern", 1747353600, True, "2025-05-16 08:00"])
def test_a_moment_of_deletion_that_nobody_can_read_is_a_deletion(moment: Any) -> None:
    deleted = [{"id": 2, "deleted_at": moment}]
    rows, account = load(
        Platform(with_trashed([{"id": 1, "deleted_at": None}], deleted)), "students", SliceQuery(101)
    )
    assert [(row["id"], row["_trashed"], row["_trashed_at"]) for row in rows] == [
        (1, False, None),
        (2, True, None),
    ]
    assert json.loads(rows[1]["_extra"]) == {"deleted_at": moment}
    assert account.drift[Drift("unreadable_value", "deleted_at")] == 1


@pytest.mark.parametrize("never", ["", "-", 0, "0", False, "0000-00-00 00:00:00", "0000-00-00"])
def test_what_stands_for_no_moment_of_deletion_is_none(never: Any) -> None:
    rows, _ = load(Platform(with_trashed([{"id": 1, "deleted_at": never}], [])), "students", SliceQuery(101))
    assert [(row["id"], row["_trashed"]) for row in rows] == [(1, False)]


def test_deleted_at_on_deleted_rows_alone_does_too() -> None:
    alive, deleted = [{"id": 1}], [{"id": 2, "deleted_at": "2025-05-16 08:00:00"}]
    rows, _ = load(Platform(with_trashed(alive, deleted)), "students", SliceQuery(101))
    assert [(row["id"], row["_trashed"]) for row in rows] == [(1, False), (2, True)]


def test_with_trashed_that_is_ignored_leaves_all_alive() -> None:
    rows, _ = load(Platform(lambda path, params: [{"id": 1}]), "students", SliceQuery(101))
    assert [(row["id"], row["_trashed"]) for row in rows] == [(1, False)]


# Members


def members(class_id: bool, heeds_filter: bool = True) -> Callable[[str, Params], Any]:
    """Students 1 and 2 of class 7 and 3 of class 8, the last one a member no more."""

    def answer(path: str, params: Params) -> Any:
        rows = [
            {"class_id": of, "type": "student", "reflection_id": who, "deleted_at": gone}
            for of, who, gone in ((7, 1, None), (7, 2, None), (8, 3, "2025-05-16 08:00:00"))
            if gone is None or "with_trashed" in params
            if not heeds_filter or params.get("class_id_in", str(of)) == str(of)
        ]
        return rows if class_id else [{k: v for k, v in row.items() if k != "class_id"} for row in rows]

    return answer


EXPECTED_MEMBERS = [(7, 1, False), (7, 2, False), (8, 3, True)]


def tuples(rows: list[dict[str, Any]]) -> list[tuple[int, int, bool]]:
    return sorted((row["class_id"], row["reflection_id"], row["_trashed"]) for row in rows)


def test_members_with_their_class_id_are_read_for_the_semester() -> None:
    platform = Platform(members(class_id=True))
    rows, account = load(platform, "class_members", SliceQuery(101, 1, (7, 8)))
    assert tuples(rows) == EXPECTED_MEMBERS
    assert len(platform.asked) == 2
    assert all(params["semester_id"] == "1" for _, params in platform.asked)
    assert not account.failed


def test_members_without_their_class_id_are_read_class_by_class() -> None:
    platform = Platform(members(class_id=False))
    rows, account = load(platform, "class_members", SliceQuery(101, 1, (7, 8, 9)))
    assert tuples(rows) == EXPECTED_MEMBERS
    assert [params.get("class_id_in") for _, params in platform.asked] == [
        None,
        *[str(NO_CLASS)] * 2,
        "7",
        "8",
        "9",
        "9",
    ]
    assert account.complete


def test_members_whose_class_nobody_can_tell_are_not_guessed() -> None:
    with pytest.raises(UnexpectedAnswer, match="class_id_in is ignored"):
        load(
            Platform(members(class_id=False, heeds_filter=False)), "class_members", SliceQuery(101, 1, (7, 8))
        )


def test_a_class_of_members_that_fails_or_is_gone_stops_nobody() -> None:
    honest = members(class_id=False)
    trouble = {"8": DOWN, "9": NotFound("status 404."), str(NO_CLASS): Refused("status 422.")}
    platform = Platform(
        lambda path, params: trouble.get(params.get("class_id_in", "")) or honest(path, params)
    )
    rows, account = load(platform, "class_members", SliceQuery(101, 1, (7, 8, 9)))
    assert tuples(rows) == EXPECTED_MEMBERS[:2]
    assert account.failed == {8: str(DOWN)}


def test_a_semester_with_deleted_members_only_is_read_class_by_class_too() -> None:
    def answer(path: str, params: Params) -> Any:
        if "with_trashed" not in params or params.get("class_id_in", "7") != "7":
            return []
        return [{"type": "student", "reflection_id": 1, "deleted_at": "2025-05-16 08:00:00"}]

    rows, account = load(Platform(answer), "class_members", SliceQuery(101, 1, (7, 8)))
    assert tuples(rows) == [(7, 1, True)]
    assert account.bad == []


def test_a_member_without_its_class_among_others_with_theirs_is_quarantined() -> None:
    rows = [
        {"class_id": 7, "type": "student", "reflection_id": 1, "deleted_at": None},
        {"class_id": None, "type": "student", "reflection_id": 2, "deleted_at": None, "x": 1},
        {"class_id": None, "type": "student", "reflection_id": 3, "deleted_at": 5},
    ]

    def answer(path: str, params: Params) -> Any:
        return rows[:1] if params.get("per_page") == "1" else rows

    loaded_rows, account = load(Platform(answer), "class_members", SliceQuery(101, 1, (7,)))
    assert tuples(loaded_rows) == [(7, 1, False)]
    assert (
        BadRow(None, "a part of the key is null", '{"type":"student","reflection_id":2,"x":1}') in account.bad
    )
    assert [bad.key for bad in account.bad] == [None, None]
    assert account.received == 3


# Assessments and their items

ASSESSMENT = {"id": 70, "item_num": 1, "items": [{"id": 700, "assessment_id": 70}]}


@pytest.mark.parametrize("answer", [b"", b"null", b"{}", b"[]", b"[{}]", NotFound("status 404.")])
def test_a_class_without_assessment_is_normal(answer: Any) -> None:
    assessments, items, account, of_items = load_assessments(lambda path, params: answer)
    assert (assessments, items) == ([], [])
    assert (account.bad, account.failed, of_items.failed, account.complete) == ([], {}, {}, True)


@pytest.mark.parametrize(
    "answer", [ASSESSMENT, [ASSESSMENT], b"\xef\xbb\xbf " + json.dumps(ASSESSMENT).encode()]
)
def test_an_assessment_comes_with_its_items_and_gets_its_class(answer: Any) -> None:
    assessments, items, account, of_items = load_assessments(lambda path, params: answer)
    assert [(row["id"], row["class_id"]) for row in assessments] == [(70, 7)]
    assert [(row["id"], row["assessment_id"]) for row in items] == [(700, 70)]
    assert (account.received, of_items.received) == (1, 1)


@pytest.mark.parametrize(
    "answer",
    [
        {"id": 70, "item_num": 1},
        {"id": 70, "item_num": 1, "items": None},
        {"id": 70, "item_num": "1", "items": None},
        {"id": 70, "items": {"700": {"id": 700}}},
        {"id": 70, "items": "none"},
        [5],
        "none",
        5,
        b'{"id": 70, "name": "\\ud83d", "items": []}',
    ],
)
def test_an_answer_that_cannot_be_told_from_lost_items_fails_its_class_alone(answer: Any) -> None:
    assessments, items, account, of_items = load_assessments(
        lambda path, params: ASSESSMENT if "/8/" in path else answer, (7, 8)
    )
    assert [row["class_id"] for row in assessments] == [8]
    assert [row["id"] for row in items] == [700]
    assert list(account.failed) == list(of_items.failed) == [7]


@pytest.mark.parametrize("body", [b'{"id": 7', b'{"id": 70, "items": [', b"nul", b'[{"id": 7}'])
def test_a_torn_assessment_is_asked_for_again(body: bytes) -> None:
    with pytest.raises(TornBody):
        load_assessments(lambda path, params: body)


def test_an_assessment_without_items_needs_none() -> None:
    assessments, items, _, _ = load_assessments(lambda path, params: {"id": 70, "item_num": 0})
    assert [row["id"] for row in assessments] == [70]
    assert items == []


def test_broken_rows_of_an_assessment_leave_its_others_alone() -> None:
    answer = {"id": "seventy", "item_num": 2, "items": [{"id": "x"}, {"id": 701}, 5]}
    assessments, items, account, of_items = load_assessments(lambda path, params: answer)
    assert assessments == []
    assert len(account.bad) == 1
    assert [row["id"] for row in items] == [701]
    assert len(of_items.bad) == 2


# Ways to ask


def test_a_list_that_takes_no_pages_is_read_in_one_answer_and_so_are_the_next_ones_of_its_kind() -> None:
    def answer(path: str, params: Params) -> Any:
        return Refused("status 422.") if {"page", "per_page"} & params.keys() else [{"id": len(path)}]

    platform = Platform(answer, headers=False)
    for kinds in (("a.b",), ("a.bc", "a.bcd")):
        first = len(platform.asked)
        rows, account = load(platform, "terms", SliceQuery(101, term_types=kinds))
        assert len(rows) == len(kinds) and account.complete and not account.failed
    assert all({*params} <= {"archived_at_is_empty"} for _, params in platform.asked[first:])


@pytest.mark.parametrize("greatest", [19, 7, 1])
def test_a_platform_that_refuses_usual_page_sizes_is_read(greatest: int) -> None:
    rows = [{"id": row_id} for row_id in range(25)]

    def answer(path: str, params: Params) -> Any:
        size, page = int(params.get("per_page", greatest)), int(params.get("page", 1))
        if size > greatest or "paginated" in params:
            return Refused("status 422.")
        return rows[(page - 1) * size : page * size]

    loaded_rows, account = load(Platform(answer, headers=False), "structures", SliceQuery(101))
    assert [row["id"] for row in loaded_rows] == list(range(25))
    assert account.complete


def test_refusal_after_first_page_is_not_about_sizes() -> None:
    """An accepted page size is stored for a week, so a passing refusal must not lead to pages of 10 rows."""
    rows = [{"id": row_id} for row_id in range(25)]
    has_begun = False

    def answer(path: str, params: Params) -> Any:
        nonlocal has_begun
        size, page = int(params.get("per_page", 10)), int(params.get("page", 1))
        if size > 20 or "paginated" in params or (has_begun and page == 1 and size > 10):
            return Refused("status 422.")
        has_begun |= page > 1
        return rows[(page - 1) * size : page * size]

    with pytest.raises(Refused):
        load(Platform(answer, headers=False), "structures", SliceQuery(101))


def test_a_refusal_that_is_not_about_pages_stays_one() -> None:
    platform = Platform(lambda path, params: [] if "per_page" not in params else Refused("status 422."))
    with pytest.raises(Refused):
        load(platform, "structures", SliceQuery(101))
    assert platform.capabilities.rejected == set()


def test_an_empty_list_that_was_not_asked_for_is_not_known() -> None:
    lists: dict[str, Any] = {"teachers": [], "students": [], "grades": [], "admin_class_ids": []}

    def answer(path: str, params: Params) -> Any:
        if "grades" in params.get("expand", ""):
            return Refused("status 422.")
        return [{"id": 1, **lists}, {"id": 2, **lists, "students": [5]}]

    rows, _ = load(Platform(answer), "classes", SliceQuery(101, 1))
    shown = [[row[name] for name in lists] for row in rows]
    # `teachers` and `admin_class_ids` are asked for, `grades` is refused, `students` nobody asks for.
    person = dict.fromkeys([field.name for field in people()]) | {"id": 5}
    assert shown == [[[], None, None, []], [[], [person], None, []]]

    empty = Platform(lambda *_: [{"id": 1, "students": [], "teachers": []}])
    rows, _ = load(empty, "admin_classes", SliceQuery(101))
    assert [(row["students"], row["teachers"]) for row in rows] == [([], [])]


def people() -> pa.StructType:
    return batch_schema(RESOURCES["classes"].contract).field("students").type.value_type


def test_a_relation_that_is_refused_is_left_out_and_the_others_are_asked_for() -> None:
    def answer(path: str, params: Params) -> Any:
        return Refused("status 422.") if "grades" in params.get("expand", "") else [{"id": 1}]

    platform = Platform(answer)
    for _ in range(2):
        first = len(platform.asked)
        rows, account = load(platform, "classes", SliceQuery(101, 1))
        assert [row["id"] for row in rows] == [1]
        assert account.drift[Drift("refused_parameter", "expand", "grades")] == 1
    assert {params["expand"] for _, params in platform.asked[first:]} == {"teachers,admin_class_ids"}


def test_a_list_that_is_too_much_at_once_is_read_by_pages() -> None:
    rows = [{"id": row_id} for row_id in range(25)]

    def answer(path: str, params: Params) -> Any:
        if "paginated" in params:
            return DOWN
        size, page = min(int(params["per_page"]), 10), int(params["page"])
        return rows[(page - 1) * size : page * size]

    loaded_rows, account = load(Platform(answer, headers=False), "structures", SliceQuery(101))
    assert [row["id"] for row in loaded_rows] == list(range(25))
    assert account.complete


def test_a_page_that_fails_fails_the_list() -> None:
    def answer(path: str, params: Params) -> Any:
        return DOWN if params.get("page") == "2" else [{"id": 1}]

    with pytest.raises(Transient):
        load(Platform(answer, headers=False), "structures", SliceQuery(101))


def test_a_refusal_of_every_way_to_ask_is_raised() -> None:
    with pytest.raises(Refused, match="422"):
        load(Platform(lambda path, params: Refused("status 422.")), "structures", SliceQuery(101))


@pytest.mark.parametrize(("second", "complete"), [("甲", True), ("乙", False)])
def test_rows_that_come_twice_are_counted_twice_where_they_are_alike(second: str, complete: bool) -> None:
    rows = [{"id": 1, "name": "甲"}, {"id": 2, "name": "丙"}, {"id": 1, "name": second}]
    _, account = load(Platform(lambda path, params: rows), "teachers", SliceQuery(101))
    assert account.complete == complete
    if complete:
        assert (account.received, account.server_total) == (3, 3)
    else:
        assert "the platform counts 3 rows but shows 2" in account.proofs[0]
