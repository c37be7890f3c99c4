"""Builds the published file from a lake, and measures each part.

python -m benchmarks.marts.build HOME      with the lake in HOME/lake; prints one line of JSON
"""

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from loading.semesters import calendar_rows
from loading.tables import ENDPOINTS, TABLES
from pipelines.settings.options import Options
from warehouse.lake.delta import Lake
from warehouse.publish.build import build_models, project_of
from warehouse.publish.fill import build_raw
from warehouse.publish.models.dbt_project import PROJECT, Build
from warehouse.publish.models.model_runner import Built, Checked
from warehouse.publish.publish import publish


def main() -> None:
    """Measure and print."""
    home = Path(sys.argv[1])
    build = build_in(home)
    started = time.monotonic()
    lake = Lake(str(home / "lake"))
    tables = list(TABLES.values())
    changed = build_raw(lake, tables, build.file, calendars=calendar_rows(lake, {}, "auto"))
    raw = time.monotonic()
    nodes = seconds_by_node(build_models(build, project_of(build), changed, tables, ENDPOINTS))
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


def seconds_by_node(done: Iterable[Built | Checked]) -> dict[str, float]:
    """Run the nightly build; return the seconds of each node.

    Raises RuntimeError if the file must not be published."""
    seconds, last = dict[str, float](), time.monotonic()
    for node in done:
        is_check = isinstance(node, Checked)
        if node.forbids if isinstance(node, Checked) else node.problem:
            raise RuntimeError(str(node))
        name = node.check.name if isinstance(node, Checked) else node.model.name.partition(".")[2]
        seconds[f"{'test' if is_check else 'model'} {name}"] = time.monotonic() - last
        last = time.monotonic()
    return seconds


if __name__ == "__main__":
    main()
