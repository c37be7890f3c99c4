"""Datasets: their metadata, and which records are sent in which reading of what the specification leaves."""

from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.datasets.catalog import BY_NAME
from simulator.settings import Size
from tests.kits.platforms.simulated import SMALL, Local

SCOPE = "school.101 school.102 dataset.read_all"
PATH = "/v3/uds/datasets"
CUSTOM = "家长 问卷: 2025"
Rows = list[dict[str, Any]]


def ask(name: str = "", /, platform: Local | None = None, **query: Any) -> httpx.Response:
    """The list of datasets, or the records of one."""
    path = f"{PATH}/{quote(name, safe='')}/records" if name else PATH
    return (platform or Local()).get(f"{path}?{httpx.QueryParams(query)}", SCOPE)


def records(name: str, /, platform: Local | None = None, **query: Any) -> Rows:
    answer = ask(name, platform, **{"paginated": 0, **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json())


def test_every_school_has_datasets_of_every_kind() -> None:
    for school in ("101", "102"):
        datasets = Local().get(PATH, SCOPE, **{"x-school-id": school}).json()
        assert [dataset["name"] for dataset in datasets] == list(BY_NAME)
        kinds = {
            dataset["name"]: [f["name"] for f in dataset["fields"] if f["primary"]] for dataset in datasets
        }
        assert kinds["course_scores"] == ["id"]
        assert kinds["library_loans"] == ["loan_id"]
        assert kinds["course_catalog"] == ["code"]
        assert kinds["semester_ranks"] == ["semester_id", "student_id"]
        assert kinds["entry_log"] == []
        assert [dataset["name"] for dataset in datasets if dataset["is_custom"]] == [CUSTOM]
        types = {f["type"] for dataset in datasets for f in dataset["fields"]}
        common_types = {"integer", "decimal", "string", "text", "enum", "date", "timestamp", "boolean"}
        assert types == common_types | {"geo_point", "json"}
        untold = {"entry_log", "manual_notes", "empty_awards"}
        assert {dataset["name"] for dataset in datasets if dataset["last_updated_at"] is None} == untold
    path = f"{PATH}/course_scores/records?paginated=0"
    assert Local().get(path, SCOPE, **{"x-school-id": "102"}).json() != records("course_scores")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("short", {"id": "int", "score": "number", "updated_at": "datetime"}),
        ("sql", {"id": "bigint(20) unsigned", "score": "decimal(6,2)", "course": "varchar(100)"}),
        ("java", {"student_id": "java.lang.Long", "passed": "Boolean"}),
        ("upper", {"id": "INTEGER", "level": "ENUM"}),
        ("number", {"id": "number", "score": "number"}),
        ("string_ids", {"id": "string", "student_id": "integer"}),
        ("unknown", {"id": "ganzzahl", "level": "auswahl"}),
    ],
)
def test_types_are_called_as_this_platform_calls_them(words: str, expected: dict[str, str]) -> None:
    local = Local(dataset_type_words=words)
    dataset = local.get(f"{PATH}/course_scores", SCOPE).json()
    types = {field["name"]: field["type"] for field in dataset["fields"]}
    assert expected.items() <= types.items()
    assert records("course_scores", local) == records("course_scores"), "the records are the same"


@pytest.mark.parametrize(
    ("primary", "sent"), [("flag", {True, False}), ("number", {0, 1}), ("text", {"true", "false"})]
)
def test_primary_is_a_flag_a_number_a_text_or_not_there(primary: str, sent: set[Any]) -> None:
    def fields(primary: str) -> Rows:
        dataset = Local(dataset_primary=primary).get(f"{PATH}/course_scores", SCOPE).json()
        return list(dataset["fields"])

    assert {(type(f["primary"]), f["primary"]) for f in fields(primary)} == {
        (type(value), value) for value in sent
    }
    assert not [f for f in fields("absent") if "primary" in f]


def test_dates_and_booleans_have_several_forms() -> None:
    [plain, *_] = records("course_scores")
    day, begins = plain["exam_date"], Local(dataset_dates="midnight", dataset_booleans="number")
    [other, *_] = records("course_scores", begins)
    assert (other["exam_date"], other["passed"]) == (f"{day} 00:00:00", int(plain["passed"]))
    [zoned, *_] = records("course_scores", Local(dataset_dates="zoned", dataset_booleans="text"))
    assert zoned["exam_date"].endswith("T16:00:00.000Z") and zoned["exam_date"] < day
    assert zoned["passed"] == str(plain["passed"]).lower()


def test_metadata_has_the_fields_of_the_specification() -> None:
    dataset = Local().get(f"{PATH}/course_scores", SCOPE).json()
    about = {"id", "name", "label", "description", "is_custom", "fields", "relations"}
    assert dataset.keys() == about | {"created_at", "updated_at", "last_updated_at"}
    facets = {"id", "name", "label", "description", "type", "position", "primary", "enum"}
    dated = {"created_at", "updated_at"}
    for field in dataset["fields"]:
        assert field.keys() == facets | dated | {"max_length", "precision", "scale"}
        assert (field["enum"] is not None) == (field["type"] == "enum")
        assert (field["max_length"] is not None) == (field["type"] == "string")
        assert (field["scale"] is not None) == (field["type"] == "decimal")
    assert [field["position"] for field in dataset["fields"]] == list(range(1, 14))
    [relation] = dataset["relations"]
    assert relation.keys() == {"id", "name", "label", "ref_name", "related_by"}


@pytest.mark.parametrize("name", BY_NAME)
def test_records_are_what_the_metadata_says(name: str) -> None:
    described = Local().get(f"{PATH}/{quote(name, safe='')}", SCOPE).json()
    rows = records(name)
    assert bool(rows) is (name != "empty_awards")
    kinds: dict[str, type | tuple[type, ...]] = {"integer": int, "boolean": bool, "json": dict}
    for row in rows:
        assert list(row) == [field["name"] for field in described["fields"]]
        for field in described["fields"]:
            value = row[field["name"]]
            if value is None:
                continue
            assert isinstance(value, kinds.get(field["type"], (str, int))), field
            assert field["type"] != "enum" or value in field["enum"]
            assert field["type"] != "string" or len(value) <= field["max_length"]
            if field["type"] == "decimal":
                _, digits, exponent = Decimal(value).as_tuple()
                assert -exponent <= field["scale"] and len(digits) <= field["precision"]
    keys = [f["name"] for f in described["fields"] if f["primary"]]
    assert not keys or len({tuple(row[key] for key in keys) for row in rows}) == len(rows)
    updates = [row["updated_at"] for row in rows if "updated_at" in row]
    if described["last_updated_at"]:
        assert described["last_updated_at"] == max(updates)


def test_without_a_key_rows_are_alike_and_with_clusters_ids_are_far_apart() -> None:
    log = records("entry_log")
    assert log[0] == log[1]
    ids = [row["id"] for row in records("archive_cards")]
    gaps = [b - a for a, b in pairwise(ids)]
    assert sum(gap > 250_000 for gap in gaps) == 3
    assert max(ids) > 2**31


def test_the_list_by_name() -> None:
    assert [dataset["name"] for dataset in ask(name_in=f"big_scores,{CUSTOM},nothing").json()] == [
        CUSTOM,
        "big_scores",
    ]
    assert [dataset["name"] for dataset in Local().get(f"{PATH}?name=places", SCOPE).json()] == ["places"]
    assert Local().get(f"{PATH}?name=nothing", SCOPE).json() == []


def test_what_is_not_there() -> None:
    assert Local().get(f"{PATH}/nothing", SCOPE).status_code == 404
    assert ask("nothing").status_code == 404
    assert Local().get(PATH, "school.101 class.read").status_code == 403


def test_the_prefix_is_a_reading() -> None:
    assert Local().get("/api/v3/uds/datasets", SCOPE).status_code == 404
    other = Local(v3_prefix="/api/v3")
    assert other.get("/api/v3/uds/datasets", SCOPE).status_code == 200
    assert other.get("/v3/uds/datasets", SCOPE).status_code == 404


def test_the_list_paged_or_bare() -> None:
    answer = Local().get(f"{PATH}?per_page=2", SCOPE)
    assert len(answer.json()) == len(BY_NAME)
    assert "X-Pagination-Total-Count" not in answer.headers
    paged = Local(dataset_list="paged").get(f"{PATH}?per_page=2&page=2", SCOPE)
    assert [dataset["name"] for dataset in paged.json()] == list(BY_NAME)[2:4]
    assert paged.headers["X-Pagination-Total-Count"] == str(len(BY_NAME))
    bare = Local(dataset_list_fields="bare")
    assert not {"fields", "relations"} & ask(platform=bare).json()[0].keys()
    assert bare.get(f"{PATH}/course_scores", SCOPE).json()["fields"]


@pytest.mark.parametrize("size", [1, 7, 1000, 10_000])
@pytest.mark.parametrize("name", ["course_scores", "library_loans", "archive_cards", "empty_awards", CUSTOM])
def test_the_full_sync_procedure_yields_all(name: str, size: int) -> None:
    platform = Local()
    key = "loan_id" if name == "library_loans" else "id"
    rows: Rows = []
    first = 0
    while page := records(name, platform, id_egt=first, sort="id", limit=size):
        rows += page
        first = page[-1][key] + 1
        if size == 1 and len(rows) == 30:
            return
    assert rows == records(name, platform)


def test_pages_and_their_headers() -> None:
    answer = ask("course_scores")
    everything = records("course_scores")
    assert answer.json() == everything[:20]
    total = len(everything)
    assert {k: v for k, v in answer.headers.items() if k.startswith("x-p")} == {
        "x-pagination-current-page": "1",
        "x-pagination-page-count": str(-(-total // 20)),
        "x-pagination-per-page": "20",
        "x-pagination-total-count": str(total),
    }
    assert ask("course_scores", page=2, per_page=30).json() == everything[30:60]
    assert ask("course_scores", per_page=1000).headers["x-pagination-per-page"] == "100"
    assert ask("course_scores", Local(max_per_page=5000), per_page=1000).json() == everything
    assert ask("course_scores", page=2, per_page=7, limit=3).json() == everything[7:14]


def test_limits() -> None:
    size = Size(students=60, dataset_rows=10_050)
    plain = Local(size)
    assert len(records("big_scores", plain, limit=10_000)) == 10_000
    assert len(records("big_scores", plain, limit=10_001)) == 10_000
    assert len(records("big_scores", plain)) == 10_050
    assert (
        ask("big_scores", Local(size, dataset_limit="refused"), paginated=0, limit=10_001).status_code == 422
    )
    assert len(records("big_scores", Local(size, dataset_no_limit="10000"))) == 10_000
    assert len(records("big_scores", Local(size, dataset_no_limit="20"))) == 20
    assert ask("big_scores", plain, paginated=0, limit=0).status_code == 422


def test_pagination_headers_of_what_is_not_paged() -> None:
    assert "x-pagination-total-count" not in ask("course_scores", paginated=0, limit=10).headers
    answer = ask("course_scores", Local(dataset_unpaged_headers="present"), paginated=0, limit=10)
    assert answer.headers["x-pagination-total-count"] == str(len(records("course_scores")))
    assert answer.headers["x-pagination-per-page"] == "10"


def test_sort() -> None:
    rows = records("course_scores")
    assert rows == sorted(rows, key=lambda row: row["id"])
    assert records("course_scores", sort="-id") == rows[::-1]
    assert records("course_scores", sort="-id", limit=1) == rows[-1:]
    by_date = sorted(rows, key=lambda row: (row["exam_date"], -row["student_id"]))
    assert records("course_scores", sort="exam_date,-student_id") == by_date
    ranks = [row["rank"] for row in records("course_scores", sort="rank")]
    assert None in ranks
    assert ranks == sorted(ranks, key=lambda rank: (rank is not None, rank))
    codes = [row["code"] for row in records("course_catalog", sort="code")]
    assert codes == sorted(codes) != [row["code"] for row in records("course_catalog")]


def test_the_order_without_sort_may_be_any() -> None:
    shuffled = Local(dataset_order="shuffled")
    rows = records("course_scores", shuffled)
    assert rows != records("course_scores")
    assert sorted(rows, key=lambda row: row["id"]) == records("course_scores")
    assert records("course_scores", shuffled, sort="id") == records("course_scores")


def test_names_that_do_not_exist() -> None:
    everything = records("course_scores")
    for query in ({"nothing_in": 1}, {"score_between": 1}, {"foo": 1}, {"sort": "nothing"}):
        assert ask("course_scores", paginated=0, **query).status_code == 422
        assert records("course_scores", Local(dataset_names="ignored"), **query) == everything
    assert ask("course_scores", fields="id,课程").status_code == 422
    assert records("course_scores", Local(dataset_names="ignored"), fields="id,课程")[0].keys() == {"id"}
    assert ask("course_scores", rank_egt="many").status_code == 422
    assert ask("course_scores", updated_at_egt="yesterday").status_code == 422


def test_ids_of_a_key_with_another_name() -> None:
    rows = records("library_loans")
    assert records("library_loans", id_egt=1100, id_elt=1120) == [
        r for r in rows if 1100 <= r["loan_id"] <= 1120
    ]
    assert records("library_loans", loan_id_egt=1100) == [r for r in rows if r["loan_id"] >= 1100]
    assert records("library_loans", id_in="1003,1005,4") == rows[1:3]
    by_field = Local(dataset_id="field")
    assert ask("library_loans", by_field, id_egt=0).status_code == 422
    assert ask("library_loans", by_field, sort="id").status_code == 422
    assert records("library_loans", by_field, loan_id_egt=1100, sort="-loan_id")[-1]["loan_id"] == 1101


def test_datasets_without_segments() -> None:
    for name in ("legacy_points", "course_catalog", "semester_ranks", "entry_log"):
        assert ask(name, id_egt=0).status_code == 422
        ignoring = Local(dataset_unsegmented="ignored", dataset_names="ignored")
        assert records(name, ignoring, id_egt=10**9) == records(name)
    assert len(records("legacy_points", id_in="1001,1002")) == 2


def test_fields() -> None:
    assert records("course_scores", fields="score,id")[0].keys() == {"score", "id"}
    assert records("course_scores", fields="score")[0].keys() == {"score"}
    assert records("course_scores", Local(dataset_fields_key="added"), fields="score")[0].keys() == {
        "score",
        "id",
    }
    assert records(CUSTOM, fields="id,满意度,意见 建议")[0].keys() == {"id", "满意度", "意见 建议"}


def test_relations() -> None:
    students = {row["id"]: row for row in records("students")}
    for row in records("course_scores", expand="student"):
        assert row["student"] == students[row["student_id"]]
    assert ask("course_scores", expand="student,teacher").status_code == 422
    ignoring = Local(dataset_relations="ignored")
    assert "student" in records("course_scores", ignoring, expand="student,teacher")[0]
    assert records("course_scores", ignoring, expand="teacher") == records("course_scores")


def test_decimals_enums_and_extra_fields() -> None:
    short = records("big_scores", fields="score", limit=200)
    fixed = records("big_scores", Local(decimals="fixed"), fields="score", limit=200)
    number = records("big_scores", Local(decimals="number"), fields="score", limit=200)
    scored = [i for i, row in enumerate(short) if row["score"] is not None]
    assert 100 < len(scored) < 200
    for i in scored:
        assert fixed[i]["score"] == f"{Decimal(short[i]['score']):.2f}"
        assert number[i]["score"] == float(short[i]["score"])
    odd = records("course_scores", Local(enums="unknown"))
    assert 0 < sum(row["level"] == "unheard_of" for row in odd) < len(odd) / 5
    extra = records("course_scores", Local(extra_fields="some"))[0]
    assert extra.keys() - records("course_scores")[0].keys() == {"x_source", "x_note"}


def test_more_operators() -> None:
    for query in (
        {"rank_gt": 100},
        {"rank_lt": 100},
        {"rank_eq": 7},
        {"rank_neq": 7},
        {"rank_not_in": "1,2"},
    ):
        assert ask("course_scores", **query).status_code == 422
    platform = Local(dataset_operators="more")
    ranks = [row["rank"] for row in records("course_scores")]
    assert [r["rank"] for r in records("course_scores", platform, rank_gt=100)] == [
        r for r in ranks if r and r > 100
    ]
    assert [r["rank"] for r in records("course_scores", platform, rank_not_in="1,2")] == [
        r for r in ranks if r not in (1, 2)
    ]


def test_a_big_dataset_has_gaps_and_fresh_rows_as_told() -> None:
    size = Size(students=60, dataset_rows=3_500, dataset_gap=500_000, dataset_fresh=30)
    platform = Local(size)
    rows = records("big_scores", platform)
    assert [row["id"] for row in rows[998:1002]] == [999, 1000, 501_001, 501_002]
    assert len(rows) == 3_500
    fresh = records("big_scores", platform, updated_at_egt="2025-05-16 00:00:00")
    assert fresh == [row for row in rows if row["updated_at"] >= "2025-05-16"]
    assert 0.28 < len(fresh) / len(rows) < 0.32
    assert records("big_scores", platform, id_egt=1001, id_elt=501_001) == rows[1000:1001]
    assert len({tuple(row.values())[1:] for row in rows}) == 3_500, "rows differ in more than their ids"


def model(rows: Rows, field: str, operator: str, text: str) -> Rows:
    """The filters as the specification describes them, the plain way."""

    def passes(value: Any) -> bool:
        if operator == "is_empty":
            return (value in (None, "")) is (text == "1")
        if value is None:
            return False
        if operator == "like":
            return text in str(value)
        bounds: list[Any] = text.split(",")
        if field in ("rank", "id"):
            bounds = [int(part) for part in bounds]
        elif field in ("score", "weight"):
            value, bounds = Decimal(value), [Decimal(part) for part in bounds]
        elif field == "term":
            value = str(value)
        return {"in": value in bounds, "egt": value >= bounds[0], "elt": value <= bounds[0]}[operator]

    return [row for row in rows if passes(row[field])]


LOCAL = Local(SMALL)
SCORES = records("course_scores", LOCAL)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_filters_do_what_a_plain_model_does(data: st.DataObject) -> None:
    expected, query = SCORES, {}
    for _ in range(data.draw(st.integers(1, 3))):
        field = data.draw(
            st.sampled_from(
                ["id", "rank", "score", "weight", "course", "term", "exam_date", "remark", "updated_at"]
            )
        )
        operator = data.draw(st.sampled_from(["in", "egt", "elt", "like", "is_empty"]))
        values = [str(row[field]) for row in SCORES if row[field] not in (None, "")]
        text = data.draw(st.sampled_from(values))
        if operator == "is_empty":
            text = data.draw(st.sampled_from("01"))
        elif operator == "in":
            text += "," + data.draw(st.sampled_from([v for v in values if "," not in v]))
        if f"{field}_{operator}" not in query:
            query[f"{field}_{operator}"] = text
            expected = model(expected, field, operator, text)
    assert records("course_scores", LOCAL, **query) == expected
