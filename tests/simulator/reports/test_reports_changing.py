"""Reports whose rows and metadata change, as a running process serves them."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from simulator.process import RunningSimulator, running
from tests.kits.platforms.simulated import client

PIVOT = "成绩透视表"
ROWS = "reports/521"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def changing() -> Iterator[RunningSimulator]:
    with running(schools=2, students=60) as started:
        yield started


@pytest.fixture(scope="module")
def school(changing: RunningSimulator) -> Iterator[httpx.Client]:
    with client(changing, scope="school.101 school.102 reporting.read_all") as session:
        yield session


def ask(session: httpx.Client, report: str, query: int, params: Any = None, **options: Any) -> httpx.Response:
    path = f"/v3/reporting/reports/{report}/queries/{query}/records"
    return session.get(path, params={"params": json.dumps(params or {}), "paginated": 0, **options})


def read(
    session: httpx.Client, report: str, query: int, params: Any = None, **options: Any
) -> dict[str, Any]:
    return dict(ask(session, report, query, params, **options).raise_for_status().json())


def certificates(session: httpx.Client, **params: Any) -> Rows:
    return list(read(session, "certificates", 521, params)["rows"])


def key_of(simulator: RunningSimulator, resource: str, **values: Any) -> int:
    entries = simulator.rows(resource, 101)
    return next(int(e["key"]) for e in entries if values.items() <= e["row"].items())


def test_rows_change(changing: RunningSimulator, school: httpx.Client) -> None:
    before = certificates(school)
    truth = changing.rows(ROWS, 101)
    assert [entry["row"] for entry in truth] == before
    changing.update(ROWS, truth[0]["key"], parent=101, title="新标题", file={"broken": [1.50]})
    added = changing.insert(ROWS, 101, title="新增", kind=4, period="2025-05-16")["row"]
    changing.destroy(ROWS, truth[1]["key"], parent=101)
    after = certificates(school)
    assert after[0] == before[0] | {"title": "新标题", "file": {"broken": [1.5]}}
    assert after[1:] == [*before[2:], added]
    assert certificates(school, kind=[4], period=["2025-05-16", "2025-05-16"]) == [added]


def test_a_pivot_gains_and_loses_columns(changing: RunningSimulator, school: httpx.Client) -> None:
    before = read(school, PIVOT, 511, {"semester": 20242})
    fields = "report_fields/511"
    new = changing.insert(
        fields,
        101,
        kind="decimal",
        name="extra.mean",
        label="平均分",
        label_in_path=["新学科", "平均分"],
        is_dynamic=True,
        shown_for={"semester": [20242]},
    )
    old = before["fields"][-1]["name"]
    changing.destroy(fields, key_of(changing, fields, name=old), parent=101)
    row = changing.rows("reports/511", 101)[-1]
    changing.update("reports/511", row["key"], parent=101, **{"extra.mean": "81.5"})
    after = read(school, PIVOT, 511, {"semester": 20242})
    names = [field["name"] for field in after["fields"]]
    assert names == [field["name"] for field in before["fields"][:-1]] + ["extra.mean"]
    assert after["fields"][-1]["position"] == new["row"]["position"]
    assert [r["extra.mean"] for r in after["rows"]] == [None, "81.5"]
    assert "extra.mean" not in str(read(school, PIVOT, 511, {"semester": 20241})["fields"])


def test_a_field_changes_its_kind(changing: RunningSimulator, school: httpx.Client) -> None:
    key = key_of(changing, "report_fields/502", name="students")
    changing.update("report_fields/502", key, parent=101, kind="decimal", label="学生人数")
    answer = read(school, "student_summary", 502)
    assert (answer["fields"][1]["kind"], answer["fields"][1]["label"]) == ("decimal", "学生人数")
    assert all(isinstance(row["students"], str) for row in answer["rows"])


def test_parameters_queries_and_reports_come_and_go(changing: RunningSimulator, school: httpx.Client) -> None:
    kind = key_of(changing, "report_parameters", report_id=52, name="kind")
    changing.update("report_parameters", kind, parent=101, required=True, options=[{"key": 1, "label": "一"}])
    assert ask(school, "certificates", 521).status_code == 422
    assert ask(school, "certificates", 521, {"kind": [2]}).status_code == 422
    assert certificates(school, kind=[1])

    added = changing.insert("report_queries", 101, report_id=52, label="另一个")["key"]
    assert read(school, "certificates", added, {"kind": [1]}) == {"fields": [], "rows": []}
    changing.insert(f"report_fields/{added}", 101, name="n", kind="int")
    changing.insert(f"reports/{added}", 101, n=7)
    assert read(school, "certificates", added, {"kind": [1]})["rows"] == [{"n": 7}]
    changing.destroy("report_queries", added, parent=101)
    assert ask(school, "certificates", added).status_code == 404

    changing.destroy("reports", key_of(changing, "reports", name="attendance_days"), parent=101)
    assert ask(school, "attendance_days", 551).status_code == 404
    elsewhere = school.get("/v3/reporting/reports/attendance_days/queries", headers={"x-school-id": "102"})
    assert elsewhere.status_code == 200


@pytest.mark.parametrize(("change", "grown"), [("shrink", -1), ("grow", 1), ("balanced", 0)])
def test_rows_move_while_somebody_pages(
    changing: RunningSimulator, school: httpx.Client, change: str, grown: int
) -> None:
    before = read(school, "field_kinds", 531)["rows"]
    changing.set_faults({"kind": "moving", "change": change, "path": "*/records", "times": 1})
    pages = [read(school, "field_kinds", 531, paginated=1, page=page) for page in (1, 2)]
    changing.set_faults()
    assert pages[0]["rows"] == before[:20]
    after = read(school, "field_kinds", 531)["rows"]
    assert len(after) == len(before) + grown
    assert pages[1]["rows"] == after[20:40]


def test_other_faults_strike_reports_too(changing: RunningSimulator, school: httpx.Client) -> None:
    changing.set_faults({"kind": "truncated", "path": "*/records", "times": 1})
    with pytest.raises(json.JSONDecodeError):
        read(school, "field_kinds", 531)
    assert read(school, "field_kinds", 531)["rows"]
