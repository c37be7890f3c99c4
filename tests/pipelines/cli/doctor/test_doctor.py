"""The doctor has a finding in words for whatever a platform answers, and leaves nothing behind."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipelines.cli.doctor import examination, needed_scopes, run_doctor
from pipelines.lake.opening import lake_of
from pipelines.settings.options import Options
from pipelines.settings.settings import Settings
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
