"""Runs a command and measures the peak memory of all its processes."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PERIOD = 0.03  # seconds between two looks


class CommandFailed(Exception):
    """The command failed; the text is its error output."""


def run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, float]:
    """Run the command; return its output and its peak memory in MB.

    The peak is the greater of two: the memory of all processes of its session at any look (shared pages count
    in each), and the peak of the first process. Raises CommandFailed.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=errors, start_new_session=True
        )
        peak = 0
        while process.poll() is None:
            together = sum(_memory(pid, "VmRSS") for pid in _session(process.pid))
            peak = max(peak, _memory(process.pid, "VmHWM"), together)
            time.sleep(PERIOD)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise CommandFailed(f"{' '.join(command)}: {errors.read()[-4000:]}")
        return output.read(), peak / 1024


def _session(leader: int) -> list[int]:
    pids = []
    for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
        with suppress(ProcessLookupError):
            if os.getsid(pid) == leader:
                pids.append(pid)
    return pids


def _memory(pid: int, name: str) -> int:
    """A figure of /proc/PID/status in kB; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
