"""Reports: what settings name is loaded as the platform has it today, and what is wrong stops only itself."""

import json
import textwrap
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
import yaml

from assets.loads import REPORT_RECORDS
from assets.shared.partitions import REPORT_RESULTS
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.registry import REPORT_METADATA
from loading.reports.tables import Result, held_tables, result_tables
from loading.tables import TABLES
from pipelines.settings.options import Options
from pipelines.status.report import status_of
from tests.kits.worlds.world import Load, World
from warehouse.publish.fill import build_raw

SAMPLE = Path(__file__).parents[3] / "docs" / "campus.yaml"
ONLY_REPORTS = 'key:"reports/records"'
PIVOT = "成绩透视表"


@dataclass
class Reports:
    """Two schools, and what is asked of their reports. `built`: the file has what was loaded last."""

    world: World
    built: bool = False

    def sync(self, text: str = "reports: []", **keywords: Any) -> Load:
        """Sync what campus.yaml says, and nothing else that can be left out."""
        chosen = Options.model_validate({"datasets": {"include": []}, **yaml.safe_load(text)})
        options = self.world.settings.options.model_copy(
            update={"datasets": chosen.datasets, "reports": chosen.reports}
        )
        self.built = False
        return self.world.load(select=ONLY_REPORTS, options=options, **keywords)

    def partitions(self) -> set[str]:
        return set(self.world.instance.get_dynamic_partitions(REPORT_RESULTS.name or ""))

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """What a query of the published file would give now, without any model."""
        path = self.world.home / "seen.duckdb"
        if not self.built:
            raw = [TABLES[spec.name] for spec in REPORT_METADATA]
            build_raw(self.world.lake, raw, path, defined=result_tables(self.world.lake))
            self.built = True
        with closing(duckdb.connect(str(path), read_only=True)) as con:
            return con.execute(text).fetchall()

    def tables(self) -> set[str]:
        names = self.query("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'reports'")
        return {name for (name,) in names}

    def columns(self, table: str) -> list[str]:
        return [name for name, *_ in self.query(f'DESCRIBE reports."{table}"')]

    def shown(self, partition: str) -> dict[str, Any]:
        """What Dagster shows of a result's last load."""
        [record] = self.world.instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=REPORT_RECORDS, asset_partitions=[partition]),
            limit=1,
        ).records
        assert record.asset_materialization is not None
        return {name: value.value for name, value in record.asset_materialization.metadata.items()}


@pytest.fixture(scope="module")
def reports(make_world: Callable[..., World]) -> Reports:
    """Nothing is synced yet. What a test changes, the next one finds changed."""
    return Reports(make_world("district"))


def sample() -> str:
    """The reports of the annotated campus.yaml."""
    text = SAMPLE.read_text(encoding="utf-8")
    lines = text.split("as the simulator has them:\n")[1].split("\nreports: []")[0].splitlines()
    return textwrap.dedent("\n".join(line.removeprefix("#") for line in lines))


def test_the_annotated_sample_is_what_the_simulator_has(reports: Reports) -> None:
    load = reports.sync(sample())
    assert load.problems == []
    pivots = {f"{PIVOT}:{query}:semester={key}" for query in (511, 512) for key in (20241, 20242)}
    of_all = {"student_summary:501", "certificates:521", *pivots}
    assert reports.partitions() == {
        f"{school}:{partition}" for school in (101, 102) for partition in of_all
    } | {"101:attendance_days:551"}
    assert reports.tables() == {
        "student_summary__501",
        "certificates__521",
        "attendance_days__551",
        f"{PIVOT}__511",
        f"{PIVOT}__512",
    }
    columns = reports.columns("student_summary__501")
    assert columns[:3] == ["_row_number", "usin", "name"]
    assert columns[-4:] == ["_school_id", "_synced_at", "_deleted_at", "_extra"]
    shown = reports.shown("101:student_summary:501")
    [(rows,)] = reports.query("SELECT count(*) FROM reports.student_summary__501 WHERE _school_id = 101")
    assert shown["dagster/partition_row_count"] == shown["received"] == rows > 0
    assert (shown["label"], shown["pages"]) == ("学生明细", 1)
    assert json.loads(shown["parameters"])["grade"] == ["2025"]


def test_rows_are_in_the_platforms_order_and_numbered(reports: Reports) -> None:
    sent = reports.world.platform.rows("reports/521", 101)
    actual = reports.query("""
        SELECT _row_number, usin, name, title FROM reports.certificates__521
        WHERE _school_id = 101 ORDER BY ALL
    """)
    rows = [entry["row"] for entry in sent if entry["row"]["issued_at"] >= "2025"]
    assert actual == [(place, row["usin"], row["name"], row["title"]) for place, row in enumerate(rows, 1)]


def pivot(school: int, *semesters: int) -> str:
    """An entry of campus.yaml."""
    return (
        f"{{report: {PIVOT}, schools: [{school}], queries: [511], matrix: {{semester: {list(semesters)}}}}}"
    )


def test_fields_say_where_they_are_and_comments_what_they_mean(reports: Reports) -> None:
    [(table, column, path)] = reports.query("""
        SELECT table_name, column_name, label_in_path FROM raw.report_fields
        WHERE _school_id = 101 AND query_id = 511 AND params = 'semester=20241' AND name = '语文.1.mean'
    """)
    assert (table, column, path) == (f"{PIVOT}__511", "语文_1_mean", ["语文", "期中考试", "平均分"])
    [(comment, kind)] = reports.query(f"""
        SELECT comment, data_type FROM duckdb_columns()
        WHERE schema_name = 'reports' AND table_name = '{table}' AND column_name = '{column}'
    """)
    assert comment.startswith("语文 / 期中考试 / 平均分") and kind == "DECIMAL(38,18)"
    [first, _] = [entry["row"] for entry in reports.world.platform.rows("reports/511", 101)]
    assert reports.query(f"""
        SELECT {column} FROM reports.{table} WHERE _params = 'semester=20241' AND _school_id = 101
    """) == [(Decimal(first["语文.1.mean"]),)]


def test_a_pivot_changes_its_columns_from_one_night_to_the_next(reports: Reports) -> None:
    platform, table = reports.world.platform, f"{PIVOT}__511"
    fields = {e["row"]["name"]: e["key"] for e in platform.rows("report_fields/511", 101)}
    for name in ("语文.1.mean", "语文.2.mean"):
        platform.destroy("report_fields/511", fields[name], parent=101)
    path = ["语文", "另一个", "平均分"]
    new = {"kind": "decimal", "label": "平均分", "label_in_path": path, "is_dynamic": True}
    platform.insert("report_fields/511", 101, name="语文-1.mean", shown_for={"semester": [20242]}, **new)
    [_, current] = platform.rows("reports/511", 101)
    platform.update("reports/511", current["key"], parent=101, **{"语文-1.mean": "81.5"})
    platform.update("report_fields/511", fields["students"], parent=101, kind="decimal")

    text = f"reports: [{pivot(101, 20241, 20242)}, {pivot(102, 20242)}]"
    load = reports.sync(text)
    assert load.problems == []
    assert "语文_2_mean" not in reports.columns(table), "neither school has it any more"
    # The other school calls another field by the name that this one's new field would have.
    assert reports.query(f"""
        SELECT _school_id, _params, 语文_1_mean IS NOT NULL, 语文_1_mean_2, students FROM reports.{table}
        ORDER BY ALL
    """) == [
        (101, "semester=20241", False, None, 12),
        (101, "semester=20242", False, Decimal("81.5"), 12),
        (102, "semester=20242", True, None, 12),
    ]
    drift = [row for row in reports.world.log("drift") if row["resource"] == f"reports.{table}"]
    assert {(row["kind"], row["field"], row["value"]) for row in drift} == {
        ("field_retyped", "students", "int -> decimal")
    }
    again = reports.sync(text)
    assert again.problems == [] and again.total("unchanged") == again.total("loaded") > 0
    assert [again.total(count) for count in ("new", "changed", "vanished")] == [0, 0, 0]


def test_what_is_not_wanted_any_more_is_retired(reports: Reports) -> None:
    gone = Result.of(f"101:{PIVOT}:511:semester=20241")
    load = reports.sync(f"reports: [{pivot(101, 20242)}, {pivot(102, 20242)}]")
    assert load.problems == []
    assert reports.partitions() == {f"{school}:{PIVOT}:511:semester=20242" for school in (101, 102)}
    retired = {(row["resource"], row["slice"]) for row in load.log if row["status"] == "retired"}
    assert retired == {(name, str(gone.slice)) for name in ("report_fields", f"reports.{gone.table_name}")}
    rows = reports.query(f"SELECT _school_id, _params FROM reports.{gone.table_name} ORDER BY ALL")
    assert rows == [(101, "semester=20242"), (102, "semester=20242")]


def test_where_no_report_is_named_nothing_is_asked_for(
    reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    scopes: list[str] = []

    class Asking(Client):
        def __init__(self, config: ClientConfig, wanted: Sequence[tuple[str, ...]], *arguments: Any) -> None:
            scopes.extend(scope for group in wanted for scope in group)
            super().__init__(config, wanted, *arguments)

    monkeypatch.setattr("campus.http.client.Client", Asking)
    reports.world.platform.clear_log()
    assert reports.sync().problems == []
    assert "semester.read" in scopes and "reporting.read_all" not in scopes
    assert [request for request in reports.world.platform.log() if "/reporting/" in request["path"]] == []
    assert (reports.partitions(), reports.tables()) == (set(), set())
    cleaned = {table.name for table in held_tables(reports.world.lake)}
    assert {"reports.student_summary__501", f"reports.{PIVOT}__511"} < cleaned
    for name in ("report_queries", "report_parameters", "report_fields"):
        assert reports.world.held(name) == []
    assert reports.query("SELECT count(*) > 0 FROM raw.report_queries WHERE _deleted_at IS NOT NULL") == [
        (True,)
    ]


def test_a_name_that_was_misspelt_is_told_until_it_is_mended(reports: Reports) -> None:
    settings = reports.world.settings
    assert reports.sync("reports: [{report: student_sumary}]").problems
    assert "could not be loaded" in "".join(status_of(settings).to_do)
    assert reports.sync().problems == []
    assert "could not be loaded" not in "".join(status_of(settings).to_do)


def test_each_mistake_is_told_and_stops_its_report_only(reports: Reports) -> None:
    reports.world.platform.destroy("reports", 55, parent=102)
    text = f"""
    reports:
      - {{report: student_sumary}}
      - {{report: {PIVOT}}}
      - {{report: student_summary, queries: [学生明系], parameters: {{grade: 高三, grad: "2025"}}}}
      - {{report: score_details, queries: [540]}}
      - {{report: certificates, parameters: {{kind: [4]}}}}
      - {{report: attendance_days}}
    """
    load = reports.sync(text)
    [problem] = load.problems
    lines = problem.splitlines()
    place = "school 101, report 'student_summary': campus.yaml, reports"
    for line in (
        "school 101 has no report 'student_sumary'. Check its name or id",
        "school 102 has no report 'attendance_days'.",
        f"{place}.queries: there is no query '学生明系'; did you mean 学生明细?",
        f"{place}.parameters.grade: '高三' is the label of an option; its key is '2025'",
        f"{place}.parameters.grad: there is no such parameter; did you mean grade?",
        "report 'score_details': campus.yaml, reports.queries: there is no query '540'; did you mean 541?",
        f"school 101, report '{PIVOT}': campus.yaml, reports.parameters.semester: a value is required (学期)",
    ):
        assert [problem_line for problem_line in lines if line in problem_line], (line, problem)
    assert len(lines) == len(set(lines)), "once each"
    assert [end.job for end in load.ends if end.problem] == ["discovery"]
    assert reports.tables() == {"attendance_days__551", "certificates__521"}
    entry = [row for row in load.log if row["resource"] == "reports.certificates__521"]
    assert {(row["status"], row["message"], row["received"]) for row in entry} == {
        ("ok", "no rows: the platform has none for these parameters", 0)
    }
    assert reports.query("SELECT count(*) FROM reports.certificates__521") == [(0,)]
    assert "usin" in reports.columns("certificates__521")


def test_a_report_that_fails_keeps_its_rows_and_partitions(reports: Reports) -> None:
    platform, before = reports.world.platform, reports.query("FROM reports.attendance_days__551 ORDER BY ALL")
    platform.set_faults(
        {"kind": "status", "status": 403, "path": "/v3/reporting/reports/attendance_days/*"},
        {"kind": "status", "status": 403, "path": "/v3/reporting/reports/student_summary/*"},
    )
    refused = reports.sync(
        "reports: [{report: attendance_days}, {report: student_summary}, {report: certificates}]"
    )
    platform.set_faults()
    assert [end.job for end in refused.ends if end.problem] == ["discovery", "reports"]
    lines = refused.problems[0].splitlines()
    assert [line.endswith("The same holds of student_summary.") for line in lines] == [True, True]
    assert all(
        "reporting.read_all" in problem and "attendance_days" in problem for problem in refused.problems
    )
    assert "101:attendance_days:551" in reports.partitions()
    assert reports.query("FROM reports.attendance_days__551 ORDER BY ALL") == before
    assert reports.query("SELECT count(*) > 0 FROM reports.certificates__521") == [(True,)]


def test_a_row_sent_twice_counts_as_often_as_the_platform_counts_it(reports: Reports) -> None:
    platform, text = reports.world.platform, "reports: [{report: certificates, schools: [101]}]"
    rows = "SELECT * EXCLUDE (_synced_at) FROM reports.certificates__521 WHERE _school_id = 101 ORDER BY ALL"
    assert reports.sync(text).problems == []
    before = reports.query(rows)
    for counted in (False, True):
        platform.set_faults({"kind": "repeated", "counted": counted, "path": "*/521/records"})
        load = reports.sync(text)
        platform.set_faults()
        entry = load.entry("reports.certificates__521")
        assert (entry["status"], entry["message"]) == ("ok", "")
        assert entry["received"] == len(before) + 1 == entry["loaded"] + entry["duplicates"]
        assert entry["server_total"] == entry["loaded"] == len(before) + counted
        assert counted or reports.query(rows) == before
    assert reports.sync(text).problems == []
    assert reports.query(rows) == before


def test_a_retry_asks_only_for_what_was_not_committed(reports: Reports) -> None:
    platform = reports.world.platform
    text = "reports: [{report: certificates}, {report: attendance_days, schools: [101]}]"
    records = "/v3/reporting/reports/attendance_days/queries/551/records"
    platform.set_faults({"kind": "status", "status": 403, "path": records})
    assert "attendance_days.551" in reports.sync(text, sync_id="night").problems[0]
    platform.set_faults()
    platform.clear_log()
    assert reports.sync(text, sync_id="night").problems == []
    assert [request["path"] for request in platform.log() if request["path"].endswith("/records")] == [
        records
    ]
