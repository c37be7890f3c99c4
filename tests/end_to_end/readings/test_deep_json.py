"""JSON that is nested too deeply to be read is a message, in each command."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from pipelines.cli.doctor import run_doctor
from pipelines.definitions import load_definitions
from pipelines.nights.sync import load
from pipelines.resources import open_runtime
from pipelines.settings.options import Options, PlatformOptions
from pipelines.settings.settings import Settings
from pipelines.status.report import status_of
from tests.kits.servers.answering import answering
from tests.kits.worlds.world import give_ready_lake, instance_at

DEEP = b"[" * 10_000 + b"]" * 10_000
OBJECTS = b'{"a":' * 10_000 + b"1" + b"}" * 10_000


@pytest.mark.parametrize(
    "body",
    [
        DEEP,
        OBJECTS,
        b'{"data": %b}' % DEEP,
        b'[{"id": 1, "name": %b}]' % DEEP,
        b'[{"id": 1, "name": "n", "note": %b}]' % OBJECTS,
        b'[{"id": 1, "start_at": "2026-09-01", "end_at": "2027-01-20", "is_current": true, "note": %b}]'
        % DEEP,
        b'{"name": "scores", "fields": [%b], "relations": [], "label": %b}' % (DEEP, OBJECTS),
        b'[{"name": "scores", "fields": [{"name": "id", "type": %b}]}]' % DEEP,
    ],
)
def test_deep_json_is_a_message(body: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(body) as base_url, instance_at(tmp_path) as instance:
        settings = Settings(
            home=tmp_path,
            base_url=base_url,
            client_id="c",
            client_secret=SecretStr("s"),
            school_ids=(1,),
            options=Options(platform=PlatformOptions(max_attempts=2)),
        )
        give_ready_lake(settings)
        with open_runtime(settings) as runtime:
            ends = list(load(runtime, load_definitions(settings, runtime), instance, "sync-1"))
        problems = [end.problem for end in ends if end.problem]
        assert problems and not any("Traceback" in problem for problem in problems)
        assert status_of(settings).to_do
        assert run_doctor(settings) == 1
    for text in (*problems, capsys.readouterr().out):
        assert "recursion" not in text.lower()
