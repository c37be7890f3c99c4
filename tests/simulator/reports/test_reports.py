"""Reports: their parameters, their queries and what these answer, in each reading of what is left open."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.reports.catalog import REPORTS
from simulator.reports.kinds import CERTIFICATES, VALUES
from tests.kits.platforms.simulated import ALL, Local

SCOPE = "school.101 school.102 reporting.read_all"
PIVOT = "成绩透视表"
FIRST, CURRENT = 20241, 20242  # the semesters, by year and half
Rows = list[dict[str, Any]]
KINDS = {"int", "float", "decimal", "string", "text", "date", "timestamp", "enum", "attachment"}
PLAIN = Local()


def get(path: str, platform: Local = PLAIN, prefix: str = "/v3", **query: Any) -> httpx.Response:
    return platform.get(f"{prefix}/reporting/reports/{path}?{httpx.QueryParams(query)}", SCOPE)


def ask(
    report: str, query: int, params: Any = None, platform: Local = PLAIN, **paging: Any
) -> httpx.Response:
    given = {} if params is None else {"params": json.dumps(params, ensure_ascii=False)}
    return get(f"{quote(report)}/queries/{query}/records", platform, **given, **paging)


def read(
    report: str, query: int, params: Any = None, platform: Local = PLAIN, **paging: Any
) -> dict[str, Any]:
    answer = ask(report, query, params, platform, **{"paginated": 0, **paging})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def rows(report: str, query: int, params: Any = None, platform: Local = PLAIN, **paging: Any) -> Rows:
    return list(read(report, query, params, platform, **paging)["rows"])


def parameters(report: str, platform: Local = PLAIN) -> dict[str, dict[str, Any]]:
    return {parameter["name"]: parameter for parameter in get(f"{quote(report)}/parameters", platform).json()}


def test_reports_have_the_fields_of_the_specification() -> None:
    types, kinds = set(), set()
    for report in REPORTS:
        for parameter in parameters(report.name).values():
            assert parameter.keys() == {"type", "name", "label", "required", "options", "default_value"}
            assert (parameter["options"] is not None) == ("select" in parameter["type"])
            types.add(parameter["type"])
        queries = get(f"{quote(report.name)}/queries").json()
        for query in queries:
            assert query.keys() == {"id", "school_id", "report_id", "label"}
            params = {"semester": CURRENT} if report.name == PIVOT else {}
            answer = read(report.name, query["id"], params)
            assert answer.keys() == {"fields", "rows"}
            for position, field in enumerate(answer["fields"], 1):
                assert field.keys() == {"kind", "position", "name", "label", "label_in_path", "is_dynamic"}
                assert field["label_in_path"][-1] == field["label"]
                kinds.add(field["kind"])
                assert report.name == PIVOT or field["position"] == position
            for row in answer["rows"]:
                assert list(row) == [field["name"] for field in answer["fields"]]
    assert types == {"input", "select", "multi-select", "date-range"}
    assert kinds == KINDS


def test_a_report_is_found_by_name_or_id_in_its_school() -> None:
    by_name, by_id = get(f"{quote(PIVOT)}/queries"), get("51/queries")
    assert [query["id"] for query in by_id.json()] == [511, 512]
    assert by_name.json() == by_id.json()
    other = Local()
    other.headers = {"x-school-id": "102"}
    assert get("51/queries", other).json()[0]["school_id"] == 102
    assert rows("certificates", 521, platform=other) != rows("certificates", 521)
    own = Local(report_ids="own")
    assert [query["id"] for query in get("student_summary/queries", own).json()] == [101501, 101502]
    assert rows("101050", 101502, platform=own) == rows("student_summary", 502)


def test_who_may_ask() -> None:
    path = "/v3/reporting/reports/student_summary/queries"
    assert PLAIN.get(path, SCOPE).status_code == 200
    assert PLAIN.get(path, ALL).status_code == 403
    assert PLAIN.get(path, SCOPE, **{"x-school-id": ""}).status_code == 422


def test_the_prefix_is_a_reading() -> None:
    other = Local(v3_prefix="/api/v3")
    assert get("student_summary/queries", other, "/api/v3").status_code == 200
    assert get("student_summary/queries", other).status_code == 404
    assert get("student_summary/queries", PLAIN, "/api/v3").status_code == 404


@pytest.mark.parametrize("status", [404, 422, 400])
def test_what_is_not_there(status: int) -> None:
    platform = Local(report_unknown=str(status))
    for path in ("nothing/parameters", "nothing/queries", "student_summary/queries/511/records"):
        assert get(path, platform).status_code == status
    assert get("student_summary/queries/first/records", platform).status_code == 422


def test_figures_agree_with_the_base_data_and_with_each_other() -> None:
    students = rows("student_summary", 501)
    base = PLAIN.get("/api/v3/reflection/students?paginated=0").json()
    assert sorted((s["usin"] or "", s["name"]) for s in students) == sorted(
        (s["usin"] or "", s["name"]) for s in base
    )
    classes = rows("student_summary", 502)
    for row in classes:
        mine = [s for s in students if s["class_name"] == row["class_name"]]
        assert len(mine) == row["students"]
        for name in ("recorded", "absent", "late"):
            assert sum(s[name] for s in mine) == row[name] > 0
        assert row["attendance_rate"] == round(100 * (1 - row["absent"] / row["recorded"]), 2)
        points = sum(Decimal(s["mean_score"] or 0) * s["courses"] for s in mine)
        assert abs(points / sum(s["courses"] for s in mine) - Decimal(row["mean_score"])) < Decimal("0.01")
    days = rows("attendance_days", 551, {"period": ["2025-02-01", "2025-07-31"]})
    assert sum(row["recorded"] for row in days) == sum(row["recorded"] for row in classes)


def test_parameters_filter_rows() -> None:
    everything = rows("student_summary", 501)
    assert rows("student_summary", 501, {"semester": FIRST}) != everything
    assert rows("student_summary", 501, {"grade": ["2025"]}) == everything
    name = everything[7]["name"]
    assert {row["name"] for row in rows("student_summary", 501, {"keyword": name})} == {name}
    assert rows("student_summary", 501, {"keyword": "没有此人"}) == []
    labels = {option["key"]: option["label"] for option in parameters("certificates")["kind"]["options"]}
    assert labels == CERTIFICATES
    assert rows("certificates", 521, {"kind": [4]}) == []
    assert {row["class_name"] for row in rows("attendance_days", 551, {"class": "1015001"})} == {"高三(1)班"}


AWARDS = rows("certificates", 521)
DAYS = st.sampled_from(sorted({award["issued_at"][:10] for award in AWARDS}))


@settings(max_examples=40, deadline=None)
@given(st.sets(st.sampled_from(range(1, 5))), st.none() | st.lists(DAYS, min_size=2, max_size=2).map(sorted))
def test_parameters_do_what_a_plain_model_does(kinds: set[int], period: list[str] | None) -> None:
    labels = {CERTIFICATES[kind] for kind in kinds} or set(CERTIFICATES.values())
    first, last = period or ("", "9")
    expected = [a for a in AWARDS if a["category"] in labels and first <= a["issued_at"][:10] <= last]
    assert rows("certificates", 521, {"kind": list(kinds), "period": period}) == expected


def test_defaults() -> None:
    assert parameters("student_summary")["semester"]["default_value"] == str(CURRENT)
    whole = rows("student_summary", 501, {"semester": CURRENT})
    assert rows("student_summary", 501) == rows("student_summary", 501, {"semester": None}) == whole
    assert parameters("attendance_days")["period"]["default_value"] == ["2025-04-16", "2025-05-16"]
    assert rows("attendance_days", 551)[0]["date"] == "2025-04-16"
    hints = Local(report_defaults="ignored")
    assert ask("student_summary", 501, platform=hints).status_code == 422
    assert len(rows("score_details", 541, platform=hints)) > len(rows("score_details", 541))


def test_what_params_must_be() -> None:
    wrong: tuple[Any, ...] = ({"semester": [FIRST]}, {"grade": "2025"}, {"keyword": {}}, [], "semester")
    for params in wrong:
        assert ask("student_summary", 501, params).status_code == 422
    assert get("student_summary/queries/501/records", params="{semester").status_code == 422
    for period in (["2025-01-01"], ["2025-01-01", "2025-1-31"], ["2025-02-01", "2025-01-01"], "2025-01-01"):
        assert ask("certificates", 521, {"period": period}).status_code == 422


def test_required_parameters() -> None:
    answer = ask(PIVOT, 511)
    assert answer.status_code == 422
    assert "semester" in answer.text
    lax = read(PIVOT, 511, platform=Local(report_missing="ignored"))
    assert len(lax["rows"]) == 4  # two classes in two semesters


def test_options_and_names_that_do_not_exist() -> None:
    wrong: dict[str, Any] = {"semester": 1}
    assert ask("student_summary", 501, wrong).status_code == 422
    assert ask("certificates", 521, {"kind": [1, "志愿服务"]}).status_code == 422
    empty, ignoring = Local(report_options="empty"), Local(report_options="ignored")
    assert rows("student_summary", 501, wrong, empty) == []
    assert len(rows("student_summary", 501, wrong, ignoring)) == 2 * len(rows("student_summary", 501))
    for platform in (empty, ignoring):
        some = rows("certificates", 521, {"kind": [1, 99]}, platform)
        assert some == rows("certificates", 521, {"kind": [1]})
    assert ask("certificates", 521, {"类别": [1]}).status_code == 422
    lax = Local(report_names="ignored")
    assert rows("certificates", 521, {"类别": [1]}, lax) == rows("certificates", 521)


def test_keys_of_options() -> None:
    assert rows("certificates", 521, {"kind": ["1"]}) == rows("certificates", 521, {"kind": [1]})
    assert ask("field_kinds", 531, {"group": 1}).status_code == 422  # the key is "01"
    strict = Local(report_keys="strict")
    assert ask("certificates", 521, {"kind": ["1"]}, strict).status_code == 422
    assert rows("certificates", 521, {"kind": [1]}, strict)
    assert ask("student_summary", 501, {"grade": [2025]}, strict).status_code == 422
    assert rows("student_summary", 501, {"grade": ["2025"]}, strict), "and the default, a string, holds"


def test_forms_of_a_range_of_dates() -> None:
    period = ["2024-10-01", "2025-01-31"]
    forms = {"array": period, "text": ",".join(period), "object": {"start": period[0], "end": period[1]}}
    expected = rows("certificates", 521, {"period": period})
    for form in forms:
        platform = Local(report_date_range=form)
        for sent, value in forms.items():
            answer = ask("certificates", 521, {"period": value}, platform, paginated=0)
            assert answer.status_code == (200 if sent == form else 422)
            assert sent != form or answer.json()["rows"] == expected
        assert rows("attendance_days", 551, platform=platform), "the default is an array in any case"


def test_a_pivot_has_the_columns_of_its_semester() -> None:
    past, current = (read(PIVOT, 511, {"semester": semester}) for semester in (FIRST, CURRENT))
    names = [{field["name"]: field for field in semester["fields"]} for semester in (past, current)]
    assert names[1].keys() < names[0].keys()
    missing = [names[0][name]["label_in_path"] for name in names[0].keys() - names[1].keys()]
    assert {path[1] for path in missing} == {"期末考试"}  # which the current semester has still to come
    depths = {len(field["label_in_path"]) for field in past["fields"] if field["is_dynamic"]}
    assert depths == {2, 3}
    assert ["语文", "期中考试", "平均分"] in [field["label_in_path"] for field in past["fields"]]
    assert [field["is_dynamic"] for field in past["fields"]].count(False) == 3
    positions = [field["position"] for field in current["fields"]]
    assert positions == sorted(positions)
    subject = next(o for o in parameters(PIVOT)["subject"]["options"] if o["label"] == "数学")
    maths = read(PIVOT, 512, {"semester": FIRST, "subject": [subject["key"]]})
    assert {f["label_in_path"][0] for f in maths["fields"] if f["is_dynamic"]} == {"数学"}
    assert len(maths["rows"]) == 1


def test_a_pivot_agrees_with_the_scores_behind_it() -> None:
    [field] = [
        f
        for f in read(PIVOT, 511, {"semester": CURRENT})["fields"]
        if f["label_in_path"] == ["数学", "期中考试", "平均分"]
    ]
    scores = [
        (row["class_name"], Decimal(row["score"]))
        for row in rows("score_details", 541)
        if (row["course"], row["item"], row["valid"]) == ("高三数学", "期中考试", "有效") and row["score"]
    ]
    for row in rows(PIVOT, 511, {"semester": CURRENT}):
        mine = [score for class_name, score in scores if class_name == row["class_name"]]
        assert abs(sum(mine) / len(mine) - Decimal(row[field["name"]])) <= Decimal("0.005")


def test_every_kind_of_value_is_sent_as_it_is() -> None:
    records = rows("field_kinds", 531)
    assert len({row["serial"] for row in records}) == 60
    for name, choices in VALUES.items():
        values = [row[name] for row in records]
        assert [repr(value) for value in values[: len(choices)]] == [repr(choice) for choice in choices]
    exact = ask("field_kinds", 531, platform=Local(decimals="number"), paginated=0).text
    assert '"amount":12345678901234567890.123456789012345678' in exact
    unheard = read("field_kinds", 531, platform=Local(report_kinds="unknown"))
    assert {field["kind"] for field in unheard["fields"]} - KINDS == {"rich_text"}
    other = read("field_kinds", 531, platform=Local(report_kinds="other"))
    assert {"INTEGER", "double precision", "datetime"} <= {field["kind"] for field in other["fields"]}
    groups = [rows("field_kinds", 531, {"group": key}) for key in ("01", "02")]
    assert sum(map(len, groups)) == 60
    assert {row["code"] for row in rows("field_kinds", 531, {"code": "SUM"})} == {"@SUM(A1)"}


def test_attachments() -> None:
    links = [row["file"] for row in rows("certificates", 521)]
    assert None in links
    objects = [row["file"] for row in rows("certificates", 521, platform=Local(report_attachments="object"))]
    lists = [row["file"] for row in rows("certificates", 521, platform=Local(report_attachments="list"))]
    for link, attachment, several in zip(links, objects, lists, strict=True):
        assert link == (attachment and attachment["url"])
        assert several == (attachment and [attachment])
        assert link is None or (link.startswith("https://") and attachment["name"].endswith(".pdf"))


def test_pages_and_their_headers() -> None:
    everything = rows("score_details", 541)
    total = len(everything)
    assert total > 3_000
    answer = ask("score_details", 541)
    assert answer.json()["rows"] == everything[:20]
    assert {k: v for k, v in answer.headers.items() if k.startswith("x-p")} == {
        "x-pagination-current-page": "1",
        "x-pagination-page-count": str(-(-total // 20)),
        "x-pagination-per-page": "20",
        "x-pagination-total-count": str(total),
    }
    wide = Local(max_per_page=1_000)
    paged_rows: Rows = []
    page = 1
    while part := rows("score_details", 541, platform=wide, paginated=1, page=page, per_page=1_000):
        paged_rows, page = paged_rows + part, page + 1
    assert paged_rows == everything
    assert len(rows("score_details", 541, paginated=1, per_page=1_000)) == 100
    bare = ask("score_details", 541, platform=Local(pagination_headers="absent"))
    assert not [name for name in bare.headers if name.startswith("x-p")]
    assert ask("score_details", 541, platform=Local(unpaged="refused"), paginated=0).status_code == 422


def test_the_order_of_rows_may_be_another_for_each_request() -> None:
    shuffled = Local(report_order="shuffled")
    pages = [rows("certificates", 521, platform=shuffled, paginated=1, page=page) for page in (1, 2)]
    everything = rows("certificates", 521)
    assert sorted(pages[0] + pages[1], key=str) != sorted(everything, key=str)
    assert sorted(rows("certificates", 521, platform=shuffled), key=str) == sorted(everything, key=str)


def test_what_fields_and_rows_are_where_there_is_little() -> None:
    first = Local(report_fields_on="first_page")
    assert read("certificates", 521, platform=first, paginated=1)["fields"]
    assert read("certificates", 521, platform=first)["fields"]
    assert read("certificates", 521, platform=first, paginated=1, page=2)["fields"] == []
    none = {"kind": [4]}
    plain = read("certificates", 521, none)
    assert plain["rows"] == []
    assert len(plain["fields"]) == 7
    bare = Local(report_empty_fields="empty", report_empty_rows="null")
    assert read("certificates", 521, none, bare) == {"fields": [], "rows": None}
    assert len(read("certificates", 521, platform=bare)["fields"]) == 7


def test_nulls_extra_keys_and_paths() -> None:
    for row, short in zip(
        rows("certificates", 521),
        rows("certificates", 521, platform=Local(report_nulls="omitted")),
        strict=True,
    ):
        assert short == {name: value for name, value in row.items() if value is not None}
    extra = rows("certificates", 521, platform=Local(extra_fields="some"))[0]
    assert extra.keys() - rows("certificates", 521)[0].keys() == {"x_source", "x_note"}
    by_reading = {}
    for reading in ("null", "omitted"):
        fields = read("field_kinds", 531, platform=Local(report_label_path=reading))["fields"]
        by_reading[reading] = [field.get("label_in_path", "omitted") for field in fields]
        assert by_reading[reading].count(["时间", "日期"]) == 1
    assert by_reading["null"].count(None) == by_reading["omitted"].count("omitted") == 7


def test_base_data_that_a_test_has_broken_breaks_no_report() -> None:
    platform = Local()
    store = platform.app.platform.store
    for resource, place in (
        ("students", 3),
        ("terms", -1),
        ("structures", -1),
        ("admin_classes", 0),
        ("classes", 2),
        ("assessment_items", 1),
        ("scores", 2),
        ("grades", 2),
        ("attendance_records", 2),
    ):
        parent = store.parents(resource, 101)[0]
        row = store.rows(resource, parent)[place]
        key_fields = ("id", "student_id")
        store.update(
            resource, row.key, {name: {"broken": 1} for name in row.values if name not in key_fields}
        )
    store.destroy("students", store.rows("students", 101)[5].key)
    for report in REPORTS:
        params = {"semester": FIRST} if report.name == PIVOT else {}
        for query in get(f"{quote(report.name)}/queries", platform).json():
            assert rows(report.name, query["id"], params, platform)


@pytest.mark.parametrize("path", ["parameters", "queries", "queries/501/records"])
def test_a_strict_platform_refuses_parameters_that_the_interface_does_not_list(path: str) -> None:
    strict = Local(unlisted="422")
    report = quote(REPORTS[0].name)
    assert get(f"{report}/{path}", strict).status_code == 200
    assert get(f"{report}/{path}", strict, fields="id").status_code == 422
    assert get(f"{report}/{path}", fields="id").status_code == 200


def test_a_strict_platform_takes_the_parameters_of_records() -> None:
    strict = Local(unlisted="422")
    assert ask(REPORTS[0].name, 501, {}, strict, page=1, per_page=5).status_code == 200
    assert ask(REPORTS[0].name, 501, {}, strict, paginated=0).status_code == 200
