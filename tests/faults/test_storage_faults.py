"""A disk that is full before a run: one plain sentence, and nothing is begun."""

import os
import subprocess
import sys
from pathlib import Path

from disks import small_disk

CAMPUS = Path(sys.executable).parent / "campus"


def test_nothing_is_begun_without_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=16) as disk:
        environment = {"PATH": os.environ["PATH"], "CAMPUS_HOME": str(disk / "home")}
        done = subprocess.run(
            [CAMPUS, "build"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith(f"campus: The disk of {disk}/home is full, 16 MB are free. Make room there")
        assert [*disk.rglob("*")] == [disk / "home"], "nothing is written"
