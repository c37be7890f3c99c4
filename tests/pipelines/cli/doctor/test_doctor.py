"""The doctor has a finding in words for whatever a platform answers, and leaves nothing behind."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from campus.registry import BASE_DATA, RESOURCES, V1_DATA
from pipelines.cli.doctor import examination, needed_scopes, run_doctor
from pipelines.lake.opening import lake_of
from pipelines.settings.options import InboxOptions, Options, WriteOptions
from pipelines.settings.settings import Settings
from simulator.process import running
from warehouse.lake.logs.tables import LOGS
from warehouse.load.logs.load_log import now

TOKEN = b'{"access_token": "t", "token_type": "Bearer", "expires_in": 3600}'


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """A platform that issues tokens and has one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._send(TOKEN)

        def _send(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def settings_for(home: Path, base_url: str, client_id: str = "c", client_secret: str = "s") -> Settings:
    return Settings(home=home, base_url=base_url, client_id=client_id, client_secret=SecretStr(client_secret))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'[{"id": 1', "a torn or invalid body"),
        (b'{"data": [{"id": 1}]}', "the answer does not consist of rows"),
        (b"[1, 2]", "the answer does not consist of rows"),
        (b'[{"name": "x"}]', "the rows have no numeric id"),
    ],
)
def test_an_answer_that_is_no_list_of_rows_is_a_finding(
    body: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(body) as base_url:
        status = run_doctor(settings_for(tmp_path / "home", base_url))
    output = capsys.readouterr().out
    assert status == 1 and words in output and "to mend" in output


def test_a_home_that_cannot_be_written_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    home = tmp_path / "file" / "home"
    with answering(b"[]") as base_url:
        status = run_doctor(settings_for(home, base_url))
    assert status == 1
    assert f"CAMPUS_HOME: {home} cannot be written: Not a directory." in capsys.readouterr().out


def test_a_lake_without_maintenance_for_a_week_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    today = now()
    lake_of(Settings(home=tmp_path)).ensure(LOGS)
    with answering(b"[]") as base_url:
        run_doctor(settings_for(tmp_path, base_url))
        assert "not maintained" not in capsys.readouterr().out
        monkeypatch.setattr(examination, "now", lambda: today + timedelta(days=8))
        run_doctor(settings_for(tmp_path, base_url))
    assert f"!! The lake was not maintained since {today:%Y-%m-%d}: " in capsys.readouterr().out


@pytest.mark.parametrize("unlisted", ["ignored", "422"])
def test_all_is_well_and_nothing_is_made(
    unlisted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(schools=1, students=24, semesters=1, unlisted=unlisted) as platform:
        settings = settings_for(
            tmp_path / "home", platform.base_url, platform.client_id, platform.client_secret
        )
        status = run_doctor(settings.model_copy(update={"device_ids": ("nobody's",), "card_ids": ("c/1",)}))
    output = capsys.readouterr().out
    assert status == 0, output
    resources = {spec.name for spec in (*BASE_DATA, *V1_DATA) if not spec.embedded_in}
    assert "ok school 101, answers without rows (2): devices, cards." in output
    [with_rows] = re.findall(r"ok school 101, answers \(\d+\): (.+)\.", output)
    assert sorted([*with_rows.split(", "), "devices", "cards"]) == sorted(resources)
    assert "school 101, datasets: 13 under /v3/uds/datasets, 13 to be read." in output
    assert not settings.home.exists()


def test_how_the_platform_reads_what_is_open_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = {
        "class_scope": "klass.read",
        "archived": "by_status",
        "v1_admin_class_students": "alone",
    }
    with running(schools=1, students=12, semesters=1, **readings) as platform:
        status = run_doctor(
            settings_for(tmp_path, platform.base_url, platform.client_id, platform.client_secret)
        )
    output = capsys.readouterr().out
    assert status == 0, output
    [scopes] = re.findall("school 101: read with the scopes (.+)", output)
    assert {"admin_class.read", "dataset.read_all", "klass.read"} <= set(scopes.split(", "))
    assert "The platform refuses class.read." in output
    assert "structures: the list hides 1 rows that status=archived shows" in output
    assert (
        "v1_admin_classes: the list shows no students, so a sync requests each of its 1 rows alone." in output
    )


@pytest.mark.parametrize("fields", ["by_role", "by_name"])
def test_other_shapes_of_an_answer_are_taken_as_a_sync_takes_them(
    fields: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(
        schools=1, students=12, semesters=1, user_fields=fields, missing_assessment="list"
    ) as platform:
        status = run_doctor(
            settings_for(tmp_path, platform.base_url, platform.client_id, platform.client_secret)
        )
    output = capsys.readouterr().out
    assert status == 0, output
    [with_rows] = re.findall(r"school 101, answers \(\d+\): (.+)\.", output)
    assert {"user_fields", "assessments"} <= set(with_rows.split(", "))


def test_reports_are_held_against_what_they_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        {"report": "student_summary"},
        {"report": "ranks", "schools": [102]},
        {"report": "certificates", "parameters": {"knid": 1}},
    ]
    with running(schools=2, students=12, semesters=1) as platform:
        settings = settings_for(tmp_path, platform.base_url, platform.client_id, platform.client_secret)
        options = Options.model_validate({"datasets": {"include": []}, "reports": wanted})
        status = run_doctor(settings.model_copy(update={"options": options}))
    output = capsys.readouterr().out
    assert status == 1
    for line in (
        "ok all 2 schools, answers (20): v1_semesters, semesters, ",
        "ok school 101, answers (2): assessments, scores.",
        "ok school 102, answers without rows (1): assessments.",
        "ok all 2 schools, report 'student_summary': 2 queries under "
        "/v3/reporting/reports/student_summary/queries, 2 results to be read.",
        "!! school 102 has no report 'ranks'.",
        "!! all 2 schools, report 'certificates': campus.yaml, reports.parameters.knid: there is no such "
        "parameter; did you mean kind?",
    ):
        assert line in output
    assert "school 101 has no report" not in output


def test_a_scope_that_is_not_granted_is_named_with_what_needs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    granted = [scope for scope in every_scope() if scope not in ("dataset.read_all", "grade.read")]
    with running(schools=1, students=12, semesters=1, scopes=granted) as platform:
        settings = settings_for(tmp_path, platform.base_url, platform.client_id, platform.client_secret)
        status = run_doctor(settings)
    output = capsys.readouterr().out
    assert status == 1 and "All is well" not in output
    message = (
        "!! school 101: the scope dataset.read_all is not granted, and datasets, dataset_fields, dataset_r"
    )
    assert message in output
    assert "set datasets.include in campus.yaml to []" in output


def every_scope() -> set[str]:
    return {scope for spec in RESOURCES.values() for scope in spec.scopes}


def test_no_more_scopes_are_asked_for_than_a_sync_needs(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "http://127.0.0.1:9")
    options = Options.model_validate({"datasets": {"include": []}})
    scopes = {
        scope for group in needed_scopes(settings.model_copy(update={"options": options})) for scope in group
    }
    assert "semester.read" in scopes and not {"dataset.read_all", "reporting.read_all"} & scopes
    everything = {
        scope for group in needed_scopes(settings.model_copy(update={"reports": ("51",)})) for scope in group
    }
    assert everything >= scopes | {"dataset.read_all", "reporting.read_all"}


def test_what_does_not_fit_the_datasets_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wishes = {
        "include": ("course_*", "studnets"),
        "tables": {"course_scores": {"fields": ["scor"], "filters": {"level_in": "优秀的"}}},
    }
    with running(schools=1, students=12, semesters=1, v3_prefix="/api/v3") as platform:
        settings = settings_for(tmp_path, platform.base_url, platform.client_id, platform.client_secret)
        options = Options.model_validate({"datasets": wishes})
        status = run_doctor(settings.model_copy(update={"options": options}))
    output = capsys.readouterr().out
    assert status == 1
    assert "datasets: 13 under /api/v3/uds/datasets, 2 to be read." in output
    assert "no dataset matches 'studnets'; did you mean students?" in output
    assert "there is no field 'scor'; did you mean score?" in output
    assert "do not list '优秀的'; did you mean 优秀?" in output


def test_what_is_read_by_pages_is_told_with_its_reason_and_so_are_types_that_nobody_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(schools=1, students=12, semesters=1, dataset_type_words="short") as platform:
        settings = settings_for(tmp_path, platform.base_url, platform.client_id, platform.client_secret)
        status = run_doctor(settings)
    output = capsys.readouterr().out
    assert status == 0, output
    for words in (
        "-- school 101, datasets: unknown types, inferred from the values: "
        "places.location (geo_point: text).",
        "-- school 101, datasets: 4 are read by pages, not by segments: "
        "course_catalog (its primary key is not one integer); "
        "semester_ranks (its primary key is not one integer); "
        "entry_log (it has no primary key); legacy_points (",
    ):
        assert words in output
    assert "legacy_points does not understand id_egt" in output


def test_what_a_write_needs_is_told_and_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    granted = [*every_scope(), "attendance.write"]
    with running(schools=1, students=12, semesters=1, write_scopes="own", scopes=granted) as platform:
        settings = settings_for(
            tmp_path / "home", platform.base_url, platform.client_id, platform.client_secret
        )
        run_doctor(settings)
        assert "CAMPUS_ALLOW_WRITES is not true. A write also needs" in capsys.readouterr().out

        def told(**writes: Any) -> str:
            options = Options(writes=WriteOptions(**writes))
            run_doctor(settings.model_copy(update={"allow_writes": True, "options": options}))
            return " ".join(capsys.readouterr().out.split())

        assert "since writes.scopes of campus.yaml is empty" in told()
        assert "Writes are allowed, with the scopes attendance.write." in told(scopes=("attendance.write",))
        inbox = InboxOptions(folder=tmp_path / "none")
        said = told(scopes=("user.write", "attendance.write"), inbox=inbox)
        assert "the platform refuses the scope user.write, which writes.scopes" in said
        assert f"{tmp_path / 'none'} (writes.inbox.folder) cannot be read: No such file" in said
        assert {entry["method"] for entry in platform.log()} == {"GET", "POST"}
        assert {entry["path"] for entry in platform.log() if entry["method"] == "POST"} == {
            "/api/v3/oauth/tokens"
        }
