"""Writes a table of 200,000 rows and 20 columns as a workbook with this project, pandas and openpyxl.

    python -m benchmarks.exports [--rows 200000] [--rounds 3] [--only WRITER ...]

pandas and openpyxl are installed in .venv-bench (`make bench-setup`). The writers alternate, each in a
separate process.
"""

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from benchmarks.datasets.measure import run
from benchmarks.exports.table import make
from benchmarks.exports.writers import WRITERS

ROOT = Path(__file__).parents[2]
BENCH = ROOT / ".venv-bench" / "bin" / "python"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=WRITERS, default=list(WRITERS))
    options = parser.parse_args()
    figures: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        published = Path(folder) / "campus.duckdb"
        make(published, options.rows)
        for _ in range(options.rounds):
            for name in options.only:
                figures[name].append(measure(name, published, Path(folder) / "out.xlsx"))
                print("{}: {:.1f} s, {:.1f} CPU s".format(name, *figures[name][-1]), file=sys.stderr)
    print(f"{'':24}{'s':>8}{'CPU s':>8}{'peak MB':>9}{'file MB':>9}")
    for name, measured in figures.items():
        seconds, cpu, peak, size = (median(column) for column in zip(*measured, strict=True))
        print(f"{name:24}{seconds:>8.1f}{cpu:>8.1f}{peak:>9.0f}{size:>9.1f}")


def measure(name: str, published: Path, target: Path) -> tuple[float, ...]:
    """Write once; return seconds, CPU seconds, peak memory in MB and size in MB."""
    python = sys.executable if name == "campus" else str(BENCH)
    command = [python, "-m", "benchmarks.exports.writers", name, str(published), str(target)]
    printed, peak = run(command, {**os.environ, "PYTHONPATH": str(ROOT)})
    return *map(float, printed.split()), peak, target.stat().st_size / 1e6


if __name__ == "__main__":
    main()
