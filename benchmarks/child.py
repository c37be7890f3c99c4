"""Runs child processes of a benchmark with their settings, and reads their output."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from simulator.process import RunningSimulator


def settings_for(platform: RunningSimulator, home: Path | None = None) -> dict[str, str]:
    """The environment variables to load from the platform, into `home` if given."""
    settings = {
        "CAMPUS_BASE_URL": platform.base_url,
        "CAMPUS_CLIENT_ID": platform.client_id,
        "CAMPUS_CLIENT_SECRET": platform.client_secret,
    }
    if home:
        settings |= {"CAMPUS_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
    return settings


def run_child(module: str, *arguments: str, **settings: str) -> Any:
    """Run a module as `python -m module --child arguments`; returns the JSON in the last line it prints."""
    command = [sys.executable, "-m", module, "--child", *arguments]
    child = subprocess.run(command, env=os.environ | settings, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(child.stdout.splitlines()[-1])
