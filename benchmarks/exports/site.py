"""Writes the site of a school of 2,000 students twice, and opens its pages. A plain loop does the same.

    python -m benchmarks.exports.site [--home FOLDER] [--role head] [--plain 100]

The school is that of `benchmarks.marts`: a semester with 1.2 million records of attendance. Each writer is a
separate process from its start to its end. The plain loop (`benchmarks.exports.plain_site`) writes at most
`--plain` pages of each kind, from which the seconds for all pages follow. Needs chromium and chromedriver.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import get_args

from benchmarks.datasets.measure import run
from benchmarks.marts.lake import fill
from exports.site.folders import Role
from tests.kits.servers.browser import browser
from warehouse.lake.delta import Lake

WRITE = """
import sys
from pathlib import Path
from exports.export import Options, Written, export
file, folder, role = sys.argv[1:]
[written] = export(Path(file), ["site"], None, Options(Path(folder), roles=(role,)))
assert isinstance(written, Written), written
print(dict(written.rows))
"""
OPENINGS = 5
#: Milliseconds from the start of a navigation until the page is painted, and until it is loaded.
PAINTED_AND_LOADED = """
const [page] = performance.getEntriesByType("navigation");
let paint;
while (!paint) {
  await new Promise(done => setTimeout(done, 50));
  [paint] = performance.getEntriesByName("first-contentful-paint");
}
return [paint.startTime, page.loadEventEnd];
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--home", type=Path, help="folder to keep; default: a temporary one")
    parser.add_argument("--role", default="head", choices=get_args(Role))
    parser.add_argument("--plain", type=int, default=100, help="pages of each kind by the plain loop")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch)
        published = home / "campus.duckdb"
        if not published.exists():
            fill(Lake(str(home / "lake")), 1)
            run([sys.executable, "-m", "benchmarks.marts.build", str(home)], os.environ)
        print(f"load average {os.getloadavg()[0]:.0f}")
        site = Path(scratch) / "site"
        print(f"{'':14}{'s':>8}{'CPU s':>8}{'peak MB':>9}")
        write = [sys.executable, "-c", WRITE, str(published), str(site), options.role]
        first = measure("first run", write)
        times = times_of(site)
        measure("second run", write)
        rewritten = [path.name for path, at in times_of(site).items() if times.get(path) != at]
        command = [sys.executable, "-m", "benchmarks.exports.plain_site", str(published)]
        plain = json.loads(measure("plain loop", [*command, scratch, str(options.plain)]))
        print(f"plain loop, for all pages: {plain['seconds']:.0f} s, {plain['cpu']:.0f} CPU s")
        print(f"first run: {first.strip()}; {size_of(times):.0f} MB in {len(times):,} files")
        print(f"second run: rewrote {len(rewritten)} files {rewritten[:5]}")
        print_openings(next(site.glob(f"*/{options.role}")))


def measure(name: str, command: Sequence[str]) -> str:
    """Run a command, print its seconds, CPU seconds and peak memory, and return what it prints."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    printed, peak = run(command, os.environ)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:14}{seconds:>8.1f}{cpu:>8.1f}{peak:>9.0f}", flush=True)
    return printed


def times_of(folder: Path) -> dict[Path, int]:
    """When each file of a folder was written, in nanoseconds."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def size_of(paths: Sequence[Path]) -> float:
    """The size of files, in MB."""
    return sum(path.stat().st_size for path in paths) / 1e6


def print_openings(folder: Path) -> None:
    """Open the largest page of each kind from the disk, and print the medians.

    CPU time is that of the page's main thread, which also scripts, styles and lays out the page."""
    kinds = defaultdict[str, list[Path]](list)
    for path in folder.rglob("*.html"):
        kinds[path.stem if path.parent == folder else path.parent.name].append(path)
    print(f"{'the largest':14}{'kB':>8}{'painted ms':>12}{'loaded ms':>11}{'CPU ms':>8}{'pages':>8}")
    with browser() as window:
        window.command("Performance.enable", {"timeDomain": "threadTicks"})
        for kind, paths in sorted(kinds.items()):
            largest = max(paths, key=lambda path: path.stat().st_size)
            measured = []
            for _ in range(OPENINGS):
                window.open("about:blank")
                window.open(largest.as_uri())
                times = window.run(PAINTED_AND_LOADED)
                metrics = window.command("Performance.getMetrics", {})["metrics"]
                cpu = next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")
                measured.append((*times, 1000 * cpu))
            painted, loaded, cpu = (median(column) for column in zip(*measured, strict=True))
            size = largest.stat().st_size / 1e3
            print(f"{kind:14}{size:>8.0f}{painted:>12.0f}{loaded:>11.0f}{cpu:>8.0f}{len(paths):>8}")


if __name__ == "__main__":
    main()
