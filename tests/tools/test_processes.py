"""The kit that starts programs of the project: they behave as if their users had started them."""

import os
import re
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kits.programs.processes import PATIENCE, ROOT, environment_for, run, started

RECEIVER, SETTINGS = ["campus", "push-receiver"], {"CAMPUS_PUSH_TOKEN": "a", "CAMPUS_PUSH_PORT": "0"}
#: Starts a receiver, prints its process id, and waits.
CALLER = f"""
import sys
from pathlib import Path
from tests.kits.programs.processes import started
with started({RECEIVER}, {SETTINGS}, Path.cwd()) as program:
    program.stdout.readline()
    print(program.pid, flush=True)
    sys.stdin.read()
"""


def test_output_and_status_of_a_program_arrive(tmp_path: Path) -> None:
    ended = run(["campus", "sql", "--help"], environment_for(tmp_path), tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "") and ended.stdout.startswith("Usage: campus sql")
    ended = run(["campus", "sql", "SELECT 1"], environment_for(tmp_path), tmp_path)
    assert ended.returncode != 0 and ended.stdout == "" and ended.stderr.startswith("campus: ")


@pytest.mark.parametrize(("umask", "mode"), [(0, 0o640), (0o077, 0o600)])
def test_programs_restrict_the_umask_of_the_order(umask: int, mode: int, tmp_path: Path) -> None:
    file = tmp_path / "interventions.csv"
    ended = run(["campus", "inputs", "template", str(file)], environment_for(tmp_path), tmp_path, umask=umask)
    assert ended.returncode == 0, ended.stderr
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_programs_run_together_and_end_by_a_signal(tmp_path: Path) -> None:
    environment = environment_for(tmp_path, **SETTINGS)
    with (
        started(RECEIVER, environment, tmp_path) as first,
        started(RECEIVER, environment, tmp_path) as second,
    ):
        for program in (first, second):
            assert "listening on" in program.stdout.readline()
            assert os.getpgid(program.pid) == program.pid
        first.send_signal(signal.SIGKILL)
        assert (first.wait(), second.poll()) == (-signal.SIGKILL, None)
    assert not Path(f"/proc/{second.pid}").exists()


def test_server_and_programs_end_with_a_killed_caller(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command, pipe = [sys.executable, "-c", CALLER], subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=pipe, stdout=pipe) as caller:
        assert caller.stdout is not None
        program = int(caller.stdout.readline())
        status = Path(f"/proc/{program}/status").read_text()
        server = int(re.findall(r"^PPid:\s+(\d+)$", status, re.MULTILINE)[0])
        pidfds = [os.pidfd_open(pid) for pid in (program, server)]
        caller.kill()
    for pidfd in pidfds:
        assert select.select([pidfd], [], [], PATIENCE)[0], "it has ended"
        os.close(pidfd)
