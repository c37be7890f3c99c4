"""What a user does wrong ends in one line and an exit status, never in a traceback."""

import os
import signal
import sys
from pathlib import Path

import click
import duckdb
import pytest
from click.testing import CliRunner
from deltalake.exceptions import DeltaError

from pipelines.cli.main import main
from simulator.launch import SimulatorError
from tests.kits.programs.processes import environment_for, run, started
from warehouse.lake.delta import SchemaConflict
from warehouse.publish.models.dbt_project import ModelsBroken

SECRET = "sk-do-not-tell"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a published file."""
    duckdb.connect(str(tmp_path / "campus.duckdb")).close()
    return tmp_path


def test_a_dotenv_that_is_no_utf8_is_told_without_its_content(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(f"CAMPUS_CLIENT_SECRET={SECRET}\xff".encode("latin-1"))
    # As its user would: nothing but a process shows all that it says.
    environment = environment_for(tmp_path, CAMPUS_HOME="")
    done = run(["campus", "sql", "SELECT 1"], environment, tmp_path)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith("campus: .env cannot be read as UTF-8 text")
    assert SECRET not in line


#: Its answer is longer than what a pipe holds.
LONG_ANSWER = ["campus", "sql", "FROM range(50_000)", "--format", "csv"]


def test_all_that_is_printed_arrives(home: Path) -> None:
    errors = home / "errors"
    with (
        errors.open("w") as file,
        started(LONG_ANSWER, environment_for(home), home, errors=file) as program,
    ):
        lines = program.stdout.readlines()
        assert (program.wait(), len(lines), errors.read_text()) == (0, 50_001, "")


def test_a_reader_that_goes_is_not_told(home: Path) -> None:
    errors = home / "errors"
    with (
        errors.open("w") as file,
        started(LONG_ANSWER, environment_for(home), home, errors=file) as program,
    ):
        program.stdout.readline()
        program.stdout.close()
        program.wait()
        assert errors.read_text() == ""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(28, "No space left on device", "lake"), 1),
        (DeltaError("Could not create local directory"), 1),
        (SchemaConflict("the lake holds score as text"), 1),
        (ModelsBroken("dbt cannot parse"), 1),
        (SimulatorError("the simulator did not start"), 1),
        (KeyboardInterrupt(), 128 + signal.SIGINT),
    ],
)
def test_what_no_command_handles_is_one_line(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def broken() -> None:
        raise error

    monkeypatch.setitem(main.commands, "broken", broken)
    # An interrupt ends the process outright, which here would be that of the tests.
    monkeypatch.setattr(os, "_exit", sys.exit)
    done = CliRunner().invoke(main, ["broken"])
    assert done.exit_code == status
    interrupted = "interrupted: what is finished is kept; run the same command again for the rest"
    assert (interrupted in done.stderr) is isinstance(error, KeyboardInterrupt)
    assert isinstance(done.exception, SystemExit)
