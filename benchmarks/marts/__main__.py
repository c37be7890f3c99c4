"""Builds the published file from a lake of generated schools: seconds, memory, size, and each mart's share.

    python -m benchmarks.marts [--records 1000000 10000000 50000000] [--rounds 5] [--home FOLDER]

Needs about 3 GB of disk for 50 million records. An existing lake in the folder is used.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.datasets.measure import run
from benchmarks.marts.build import build_in
from benchmarks.marts.by_hand import compare
from benchmarks.marts.lake import fill, schools_of
from warehouse.lake.delta import Lake


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[1_000_000, 10_000_000, 50_000_000])
    parser.add_argument("--rounds", type=int, default=5, help="of marts beside hand-written queries; 0: none")
    parser.add_argument("--home", type=Path, help="folder to keep; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for records in options.records:
            home = (options.home or Path(scratch)) / f"{schools_of(records)} schools"
            if not (home / "lake").exists():
                fill(Lake(str(home / "lake")), schools_of(records))
            report_build(records, measure(home))
            if options.rounds:
                report_pairs(home, options.rounds)


def measure(home: Path) -> dict[str, Any]:
    """Build in a separate process; return the figures of benchmarks.marts.build, CPU and peak memory."""
    before, started = _children_cpu(), time.monotonic()
    output, peak = run([sys.executable, "-m", "benchmarks.marts.build", str(home)], os.environ)
    figures: dict[str, Any] = json.loads(output)
    return {**figures, "seconds": time.monotonic() - started, "cpu": _children_cpu() - before, "peak": peak}


def report_build(records: int, figures: dict[str, Any]) -> None:
    """Print the whole build, its stages, and each mart's share of the time of all nodes."""
    nodes = figures["nodes"]
    total = sum(nodes.values())
    print(f"\n{records:,} records, load average {os.getloadavg()[0]:.0f}")
    print(f"{figures['seconds']:.1f} s, CPU {figures['cpu']:.1f} s, peak {figures['peak']:.0f} MB, ", end="")
    print(f"file {figures['bytes'] / 1e6:.0f} MB; ", end="")
    print(", ".join(f"{stage} {figures[stage]:.1f} s" for stage in ("raw", "models", "publication")))
    tests = sum(seconds for node, seconds in nodes.items() if node.startswith("test "))
    marts = {
        node.split()[1]: seconds for node, seconds in nodes.items() if node.split()[1] in figures["marts"]
    }
    rest = total - tests - sum(marts.values())
    for name, seconds in [("staging and core", rest), ("checks", tests), *sorted(marts.items())]:
        print(f"  {name:32}{seconds:8.2f} s{seconds / total:8.1%}")


def report_pairs(home: Path, rounds: int) -> None:
    """Compare marts with hand-written queries for the same numbers."""
    print(f"  {'CPU s':32}{'mart':>8}{'by hand':>9}{'ratio':>7}")
    for pair in compare(build_in(home), rounds):
        print(f"  {pair.mart:32}{min(pair.models):8.2f}{min(pair.queries):9.2f}{pair.ratio:7.2f}")


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
