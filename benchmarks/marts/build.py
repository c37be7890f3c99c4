"""One build of the published file from a lake, in this process and dbt's: what each part of it takes.

python -m benchmarks.marts.build HOME      with the lake in HOME/lake; prints one line of JSON
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from assets.models import BUILD
from loading.semesters import calendar_rows
from loading.tables import TABLES
from pipelines.options import Options
from warehouse.lake.delta import Lake
from warehouse.publish.dbt_runner import EXECUTABLE, PROJECT, Build
from warehouse.publish.publish import build_raw, publish


def main() -> None:
    """Measure and print."""
    home = Path(sys.argv[1])
    build = build_in(home)
    started = time.monotonic()
    lake = Lake(str(home / "lake"))
    build_raw(lake, list(TABLES.values()), build.file, calendars=calendar_rows(lake, {}, "auto"))
    raw = time.monotonic()
    nodes = run_dbt(build)
    models = time.monotonic()
    generation = publish(build.file, home, keep=1)
    figures = {
        "raw": raw - started,
        "models": models - raw,
        "publication": time.monotonic() - models,
        "bytes": generation.path.stat().st_size,
        "nodes": nodes,
        "marts": sorted(path.stem for path in (PROJECT / "models" / "marts").glob("*.sql")),
    }
    print(json.dumps(figures))


def build_in(home: Path) -> Build:
    """The build of an installation with default options."""
    publishing = Options().publish
    return Build(home, publishing.threads, publishing.memory_limit)


def run_dbt(build: Build) -> dict[str, float]:
    """The nightly build; seconds by node. Raises CalledProcessError where a check stands in the way."""
    folders = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    target = build.target
    subprocess.run(
        [str(EXECUTABLE), "--quiet", *BUILD, *folders],
        env={
            **os.environ,
            **build.environment,
            "DBT_TARGET_PATH": str(target),
            "DBT_LOG_PATH": str(target),
        },
        check=True,
        stdout=sys.stderr,
    )
    results: list[dict[str, Any]] = json.loads((target / "run_results.json").read_text())["results"]
    return {_name(result["unique_id"]): result["execution_time"] for result in results}


def _name(unique_id: str) -> str:
    """model.campus.NAME, test.campus.NAME.HASH"""
    kind, _project, name, *_ = unique_id.split(".")
    return f"{kind} {name}"


if __name__ == "__main__":
    main()
