"""Datasets whose rows and metadata change, and the big one, as a running process serves them."""

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from simulator.launch import SimulatorError
from simulator.process import RunningSimulator, running
from tests.kits.platforms.simulated import client

ROWS = 25_000
BIG = "datasets/big_scores"
SCORES = "datasets/course_scores"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def changing() -> Iterator[RunningSimulator]:
    with running(schools=1, students=60, dataset_rows=ROWS) as started:
        yield started


@pytest.fixture(scope="module")
def school(changing: RunningSimulator) -> Iterator[httpx.Client]:
    with client(changing, scope="school.101 dataset.read_all") as session:
        yield session


def path(resource: str) -> str:
    return f"/v3/uds/{resource}/records"


def everything(session: httpx.Client, resource: str) -> Rows:
    """A dataset by the full-sync procedure of the specification."""
    rows: Rows = []
    first = 0
    while True:
        query: dict[str, Any] = {"id_egt": first, "sort": "id", "paginated": 0, "limit": 10_000}
        page = session.get(path(resource), params=query).raise_for_status().json()
        if not page:
            return rows
        rows += page
        first = page[-1]["id"] + 1


def truth(simulator: RunningSimulator, resource: str, **keys: int) -> Rows:
    return [entry["row"] for entry in simulator.rows(resource, 101, **keys)]


def metadata(session: httpx.Client, name: str = "course_scores") -> dict[str, Any]:
    return dict(session.get(f"/v3/uds/datasets/{name}").raise_for_status().json())


def field(simulator: RunningSimulator, name: str, dataset: str = "course_scores") -> int:
    """The key of a field's metadata."""
    entries = simulator.rows("dataset_fields", 101)
    return next(e["key"] for e in entries if (e["row"]["dataset"], e["row"]["name"]) == (dataset, name))


def test_the_big_dataset_is_read_whole(changing: RunningSimulator, school: httpx.Client) -> None:
    rows = everything(school, BIG)
    assert len(rows) == ROWS
    assert rows == truth(changing, BIG)
    assert rows[12_344:12_350] == truth(changing, BIG, first=12_345, last=12_350)
    assert len(metadata(school, "big_scores")["fields"]) == len(rows[0]) == 18


@pytest.mark.parametrize(("resource", "key"), [(SCORES, 1_005), (BIG, 12_345)])
def test_rows_change(changing: RunningSimulator, school: httpx.Client, resource: str, key: int) -> None:
    before = everything(school, resource)
    name = resource.removeprefix("datasets/")
    last_updated = metadata(school, name)["last_updated_at"]
    latest = "2025-05-16 20:00:00"  # nothing generated is as late

    changed = changing.update(resource, key, parent=101, score="1.25")["row"]
    quiet = changing.update(resource, key + 1, parent=101, touch=False, score=None)["row"]
    assert changed["score"] == "1.25"
    assert last_updated < latest < metadata(school, name)["last_updated_at"]
    recent = school.get(path(resource), params={"updated_at_egt": latest})
    assert recent.json() == [changed]
    assert recent.headers["X-Pagination-Total-Count"] == "1"

    last = changing.insert(resource, 101, score="2.5")
    changing.destroy(resource, key + 2, parent=101)
    after = everything(school, resource)
    place = next(i for i, row in enumerate(before) if row["id"] == key)
    assert after == [*before[:place], changed, quiet, *before[place + 3 :], last["row"]]
    assert after == truth(changing, resource)
    assert last["row"]["id"] == last["key"] == before[-1]["id"] + 1
    assert school.get(path(resource), params={"id_egt": key, "id_elt": key + 2}).json() == [changed, quiet]
    assert school.get(path(resource), params={"score_in": "1.25", "id_in": key}).json() == [changed]
    assert school.get(path(resource), params={"sort": "-id", "per_page": 2}).json() == [
        last["row"],
        before[-1],
    ]

    changing.destroy(resource, last["key"], parent=101)
    assert changing.insert(resource, 101)["key"] == last["key"] + 1, "an id is never given twice"
    if resource == SCORES:
        assert changing.insert(resource, 101, first=True)["row"] == everything(school, resource)[0]


@pytest.mark.parametrize("raw", [b'"many"', b"9223372036854775808", b"1.7", b"1.10", b"[1]", b"null", b"1e3"])
@pytest.mark.parametrize("name", ["id", "rank", "course", "score", "updated_at"])
def test_a_broken_value_is_sent_as_it_was_given(
    changing: RunningSimulator, school: httpx.Client, name: str, raw: bytes
) -> None:
    entry = changing.rows(SCORES, 101)[20]
    values: dict[str, Any] = {name: msgspec.Raw(raw)}
    changing.update(SCORES, entry["key"], parent=101, touch=False, **values)
    query: dict[str, Any] = {"id_egt": entry["key"], "id_elt": entry["key"]}
    for extra in ({"expand": "student"}, {"sort": f"{name},-id"}, {}):
        content = school.get(path(SCORES), params=query | extra).raise_for_status().content
        [sent] = msgspec.json.decode(content, type=list[dict[str, msgspec.Raw]])
        assert bytes(sent[name]) == raw
    school.get(path(SCORES), params={"sort": f"-{name}", f"{name}_is_empty": 0}).raise_for_status()
    changing.update(SCORES, entry["key"], parent=101, touch=False, **entry["row"])


def test_fields_come_and_go_and_change(changing: RunningSimulator, school: httpx.Client) -> None:
    bonus = changing.insert(
        "dataset_fields", 101, dataset="course_scores", name="bonus", type="decimal", precision=8, scale=2
    )
    described = metadata(school)["fields"][-1]
    assert (described["name"], described["type"], described["scale"]) == ("bonus", "decimal", 2)
    assert described["position"] == 14
    assert {row["bonus"] for row in everything(school, SCORES)} == {None}
    changing.update(SCORES, 1_010, parent=101, bonus="3.75")
    [row] = school.get(path(SCORES), params={"bonus_egt": 3}).json()
    assert (row["id"], row["bonus"]) == (1_010, "3.75")
    changing.destroy("dataset_fields", bonus["key"], parent=101)
    assert "bonus" not in everything(school, SCORES)[0]
    assert school.get(path(SCORES), params={"bonus_egt": 3}).status_code == 422

    changing.update("dataset_fields", field(changing, "course"), parent=101, max_length=400)
    changing.update("dataset_fields", field(changing, "term"), parent=101, enum=[1, 2, 3])
    described_now = {column["name"]: column for column in metadata(school)["fields"]}
    assert described_now["course"]["max_length"] == 400
    assert described_now["term"]["enum"] == [1, 2, 3]


def test_a_field_changes_its_type(changing: RunningSimulator, school: httpx.Client) -> None:
    key = field(changing, "rank", "big_scores")
    query = {"id_egt": 1, "paginated": 0, "limit": 2_000, "fields": "rank"}
    before = [row["rank"] for row in school.get(path(BIG), params=query).json()]
    changing.update("dataset_fields", key, parent=101, type="text")
    assert [row["rank"] for row in school.get(path(BIG), params=query).json()] == [
        str(rank) for rank in before
    ]
    changing.update("dataset_fields", key, parent=101, type="integer")
    assert [row["rank"] for row in school.get(path(BIG), params=query).json()] == before


def test_datasets_come_and_go(changing: RunningSimulator, school: httpx.Client) -> None:
    key = changing.insert("datasets", 101, name="clubs", label="社团", is_custom=True)["key"]
    changing.insert("dataset_fields", 101, dataset="clubs", name="id", type="integer", primary=True)
    changing.insert("dataset_fields", 101, dataset="clubs", name="title", type="string", max_length=9)
    assert everything(school, "datasets/clubs") == []
    changing.insert("datasets/clubs", 101, title="棋社")
    assert everything(school, "datasets/clubs") == [{"id": 1_001, "title": "棋社"}]
    assert school.get("/v3/uds/datasets").json()[-1]["name"] == "clubs"
    changing.destroy("datasets", key, parent=101)
    assert school.get("/v3/uds/datasets/clubs").status_code == 404


@pytest.mark.parametrize("sort", ["id", "-id"])
@pytest.mark.parametrize(
    ("change", "missed", "twice", "steady"),
    [("shrink", 1, 0, False), ("grow", 0, 1, False), ("balanced", 1, 0, True)],
)
def test_rows_move_while_somebody_pages(
    changing: RunningSimulator,
    school: httpx.Client,
    sort: str,
    change: str,
    missed: int,
    twice: int,
    steady: bool,
) -> None:
    before = {row["id"] for row in truth(changing, SCORES)}
    changing.set_faults({"kind": "moving", "change": change, "times": 1, "path": path(SCORES)})
    seen_ids: list[int] = []
    totals: set[str] = set()
    page = 1
    while rows := (answer := school.get(path(SCORES), params={"sort": sort, "page": page})).json():
        seen_ids += [row["id"] for row in rows]
        totals.add(answer.headers["X-Pagination-Total-Count"])
        page += 1
    after = {row["id"] for row in truth(changing, SCORES)}
    assert len(after) - len(before) == {"shrink": -1, "grow": 1, "balanced": 0}[change]
    assert len((before & after) - set(seen_ids)) == missed
    assert len(seen_ids) - len(set(seen_ids)) == twice
    assert (len(totals) == 1) is steady


def test_there_is_room_for_one_row_in_front_of_the_big_dataset(changing: RunningSimulator) -> None:
    assert changing.insert(BIG, 101, first=True)["row"]["id"] == 0
    with pytest.raises(SimulatorError, match="no id left"):
        changing.insert(BIG, 101, first=True)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"op": "update", "resource": SCORES, "key": 1_001}, "parent"),
        ({"op": "update", "resource": SCORES, "parent": 101}, "key"),
        ({"op": "update", "resource": SCORES, "parent": 101, "key": 4}, "no row"),
        ({"op": "destroy", "resource": BIG, "parent": 101, "key": 10**9}, "no row"),
        ({"op": "delete", "resource": SCORES, "parent": 101, "key": 1_001}, "destroy"),
        ({"op": "insert", "resource": "datasets/nothing", "parent": 101}, "no such dataset"),
        ({"op": "insert", "resource": SCORES, "parent": 101, "values": {"tarif": 1}}, "no field tarif"),
    ],
)
def test_changes_that_make_no_sense_are_refused(
    changing: RunningSimulator, change: dict[str, Any], word: str
) -> None:
    with pytest.raises(SimulatorError, match=word):
        changing.control("POST", "mutate", body=change)
