"""A night by two workers of which everything it stands on goes away for a while, and one of the workers for
good: benchmarks/district/faults.py with two small schools and short times."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: What is installed where these programs are, by Debian's names.
NEEDED = {
    "postgresql": Path("/usr/lib/postgresql").is_dir() or shutil.which("initdb"),
    "rabbitmq-server": Path("/usr/lib/rabbitmq/lib").is_dir() or shutil.which("rabbitmq-server"),
    "redis-server": shutil.which("redis-server"),
}
ABSENT = [name for name, installed in NEEDED.items() if not installed]


@pytest.mark.slow
@pytest.mark.skipif(bool(ABSENT), reason=f"a night by workers is left out: install {', '.join(ABSENT)}")
def test_a_night_without_store_worker_broker_and_postgres_loads_what_a_sync_does() -> None:
    arguments = ["--schools", "2", "--latency", "0.05", "--share", "0.15"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.district.faults", *arguments],
        cwd=ROOT,
        # The home is the night's own.
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for fault in ("store away", "worker killed", "broker away", "postgres away"):
        assert f"s  {fault}\n" in done.stdout
    assert "different from campus sync on a disk: none" in done.stdout
    assert "read again: none" in done.stdout
