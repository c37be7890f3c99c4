"""What a user does wrong ends in one line and an exit status, never in a traceback."""

import json
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
from tests.kits.programs.command_line import campus
from tests.kits.programs.processes import environment_for, run, started
from warehouse.lake.delta import SchemaConflict
from warehouse.publish.models.dbt_project import ModelsBroken

SECRET = "sk-do-not-tell"


def published(home: Path) -> str:
    home.mkdir(exist_ok=True)
    duckdb.connect(str(home / "campus.duckdb")).close()
    return str(home)


@pytest.mark.parametrize("command", ["sync", "build", "ui"])
@pytest.mark.parametrize("below", ["", "home"])
def test_a_home_that_is_a_file_or_below_one_is_told(command: str, below: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = campus(tmp_path, command, CAMPUS_HOME=str(file / below))
    [line] = done.stderr.splitlines()
    assert done.exit_code == 2
    assert line == f"campus: CAMPUS_HOME: {file / below} cannot be written: Not a directory"


def test_a_dotenv_that_is_no_utf8_is_told_without_its_content(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(f"CAMPUS_CLIENT_SECRET={SECRET}\xff".encode("latin-1"))
    # As its user would: nothing but a process shows all that it says.
    environment = environment_for(tmp_path, CAMPUS_HOME="")
    done = run(["campus", "sql", "SELECT 1"], environment, tmp_path)
    [line] = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith("campus: .env cannot be read as UTF-8 text")
    assert SECRET not in line


@pytest.mark.parametrize(
    "host", [f"u:{SECRET}@school.example", f"{SECRET}@school.example:80/x", f"u:{SECRET}/@h"]
)
def test_a_user_name_in_the_address_is_refused_and_not_shown(host: str, tmp_path: Path) -> None:
    given = {"CAMPUS_HOME": "", "CAMPUS_CLIENT_ID": "warehouse", "CAMPUS_CLIENT_SECRET": "s"}
    done = campus(tmp_path, "doctor", CAMPUS_BASE_URL=f"http://{host}", **given)
    [line] = done.stderr.splitlines()
    assert done.exit_code == 2 and line.startswith("campus: CAMPUS_BASE_URL: expected an address without")
    assert SECRET not in line + done.stdout


def test_an_empty_home_is_the_default_one(tmp_path: Path) -> None:
    published(tmp_path / "data")
    assert campus(tmp_path, "sql", "SELECT 1", CAMPUS_HOME="").exit_code == 0


@pytest.mark.parametrize("query", ["", "  ", "/* nothing */"])
def test_an_empty_query_is_told(query: str, tmp_path: Path) -> None:
    done = campus(tmp_path, "sql", query, CAMPUS_HOME=published(tmp_path / "home"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "campus: there is no statement in the query\n"


def test_json_keeps_columns_of_the_same_name(tmp_path: Path) -> None:
    query = "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS b"
    done = campus(tmp_path, "sql", query, "--format", "json", CAMPUS_HOME=published(tmp_path / "home"))
    assert json.loads(done.stdout) == [{"a": 1, "a_1": 2, "a_1_1": 3, "b": 4}]


#: Its answer is longer than what a pipe holds.
LONG_ANSWER = ["campus", "sql", "FROM range(50_000)", "--format", "csv"]


def test_all_that_is_printed_arrives(tmp_path: Path) -> None:
    home, errors = Path(published(tmp_path / "home")), tmp_path / "errors"
    with (
        errors.open("w") as file,
        started(LONG_ANSWER, environment_for(home), tmp_path, errors=file) as program,
    ):
        lines = program.stdout.readlines()
        assert (program.wait(), len(lines), errors.read_text()) == (0, 50_001, "")


def test_a_reader_that_goes_is_not_told(tmp_path: Path) -> None:
    home, errors = Path(published(tmp_path / "home")), tmp_path / "errors"
    with (
        errors.open("w") as file,
        started(LONG_ANSWER, environment_for(home), tmp_path, errors=file) as program,
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
    assert isinstance(done.exception, SystemExit)
