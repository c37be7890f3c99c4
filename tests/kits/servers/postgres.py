"""A PostgreSQL of the tests' own, which they may stop."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kits.waiting import PATIENCE

USER = "postgres"


@dataclass(frozen=True)
class Postgres:
    """A server that asks for no password, and only answers this machine."""

    programs: Path
    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql+psycopg2://{USER}@127.0.0.1:{self.port}/{USER}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        options += " -c fsync=off -c max_connections=300"
        self._run("pg_ctl", "-w", "-D", self._data, "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """End it at once, as a crash would."""
        self._run("pg_ctl", "-w", "-D", self._data, "-m", "immediate", "stop")

    def wait_for_a_client(self) -> None:
        """Wait until somebody wants to connect, while the server is stopped."""
        with socket.create_server(("127.0.0.1", self.port)) as away:
            away.settimeout(PATIENCE)
            away.accept()[0].close()

    def initialize(self) -> None:
        """Make its files."""
        self._run("initdb", "-D", self._data, "-U", USER, "--auth=trust", "--no-sync")

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        # It refuses to be run by root.
        other = ["runuser", "-u", USER, "--"] if os.getuid() == 0 else []
        subprocess.run(
            [*other, self.programs / program, *arguments],
            check=True,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server that has just been set up; the test is skipped where PostgreSQL is not installed."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = str(installed[-1]) if installed else shutil.which("initdb")
    if program is None:
        pytest.skip("PostgreSQL is not installed on this machine")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if os.getuid() == 0:
            shutil.chown(folder, USER)
        server = Postgres(Path(program).parent, Path(folder), port)
        try:
            server.initialize()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"PostgreSQL cannot be set up here: {error.stderr.strip()}")
        server.start()
        try:
            yield server
        finally:
            server.stop()
