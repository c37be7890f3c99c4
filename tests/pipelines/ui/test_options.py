"""Where the UI may start runs, and the processes that its commands become."""

import fcntl
from pathlib import Path

import click
import pytest

from pipelines.cli.commands.ui import may_launch
from pipelines.cli.main import main
from pipelines.district import programs
from pipelines.runs.daemon_lock import FILE, lock_daemon
from pipelines.settings.settings import Settings
from tests.kits.programs.command_line import campus


@pytest.mark.parametrize(
    ("arguments", "host", "port", "launches"),
    [
        ([], "127.0.0.1", 3000, True),
        (["-p", "3001"], "127.0.0.1", 3001, True),
        (["--host", "0.0.0.0"], "0.0.0.0", 3000, False),
        (["--host", "::1", "-p", "3001", "--read-only"], "::1", 3001, False),
        (["--host", "10.0.0.5", "--allow-launch"], "10.0.0.5", 3000, True),
        (["--host", "campus.school.example"], "campus.school.example", 3000, False),
    ],
)
def test_runs_are_started_from_this_machine_alone(
    arguments: list[str], host: str, port: int, launches: bool
) -> None:
    for command in (main.commands["ui"], main.commands["district"].commands["webserver"]):  # type: ignore[attr-defined]
        context: click.Context = command.make_context(command.name, [*arguments])
        assert (context.params["host"], context.params["port"]) == (host, port)
        assert may_launch(host, context.params["allow_launch"]) is launches


def test_the_webserver_is_behind_the_guard_everywhere() -> None:
    assert "pipelines.ui.webserver" in programs.webserver("127.0.0.1", 3000, True)
    assert programs.webserver("0.0.0.0", 3000, False)[-1] == "--read-only"


def test_a_second_daemon_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    settings = Settings(home=tmp_path)
    first = lock_daemon(settings)
    assert first is not None and lock_daemon(settings) is None
    with (tmp_path / "dagster" / FILE).open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    "host", ["*", "http://campus.school.example", "campus.school.example:443", "a/b", ""]
)
def test_hosts_are_names_alone(tmp_path: Path, host: str) -> None:
    (tmp_path / "campus.yaml").write_text(f'ui: {{hosts: ["{host}"]}}\n')
    done = campus(tmp_path, "ui", CAMPUS_HOME=str(tmp_path))
    assert done.exit_code == 2 and "expected names such as campus.school.example" in done.output
