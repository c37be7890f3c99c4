"""Makes the home of an earlier version, which tests/end_to_end/homes/test_homes.py brings up to date:

    .venv/bin/python tests/kits/programs/make_home.py HEAD tests/end_to_end/homes/0.1.0.tar.xz

That version's own code loads all that this version's simulator has, all of it made up. It is a home as it was
left by the load; what is published is not in it, since any later version makes it anew."""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from simulator.process import running

ROOT = Path(__file__).parents[3]
#: What the home holds, small enough to be kept.
SIZE = {"schools": 1, "students": 12, "semesters": 1, "dataset_rows": 40, "today": "2025-03-07"}
LOAD = """
import pipelines, sys
from pipelines.cli.actions.load import run_load
from pipelines.settings.settings import claim_home, load_settings
assert pipelines.__file__.startswith(sys.argv[1]), pipelines.__file__
claim_home(load_settings())
sys.exit(run_load(load_settings()).status)
"""


def make(commit: str, archive: Path) -> None:
    """Load a home by the code of `commit`, and pack it."""
    with tempfile.TemporaryDirectory() as folder, running(**SIZE) as platform:
        code, home = Path(folder, "code"), Path(folder, "home")
        subprocess.run(["git", "worktree", "add", "--detach", code, commit], cwd=ROOT, check=True)
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(code),
            "CAMPUS_HOME": str(home),
            "CAMPUS_BASE_URL": platform.base_url,
            "CAMPUS_CLIENT_ID": platform.client_id,
            "CAMPUS_CLIENT_SECRET": platform.client_secret,
        }
        try:
            subprocess.run([sys.executable, "-c", LOAD, code], cwd=code, env=environment, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", code], cwd=ROOT, check=True)
        with tarfile.open(archive, "w:xz") as packed:
            for name in ("lake", "dagster", "loaded_from"):
                packed.add(home / name, name)


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]))
