"""Measures whether the cost of a load grows linearly with its rows, and whether its memory is bounded.

python -m benchmarks.datasets.sizes [--millions 1 2 4 5] [--rounds 3] [--of "sync, lake"]
"""

import argparse
import sys
from contextlib import AbstractContextManager, ExitStack
from statistics import median

from benchmarks.child import settings_for
from benchmarks.datasets.loads import CONTENDERS, Figures, load, truth
from simulator.process import RunningSimulator, running


def main() -> None:
    """Measure and print a table."""
    contenders = {contender.name: contender for contender in CONTENDERS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 2, 4, 5])
    parser.add_argument("--in-flight", type=int, default=4, help="requests at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--of", choices=contenders, default="sync, lake")
    options = parser.parse_args()
    sizes = [int(millions * 1_000_000) for millions in options.millions]
    measured: dict[int, list[Figures]] = {rows: [] for rows in sizes}
    contender = contenders[options.of]
    with ExitStack() as stack:
        settings = {rows: settings_for(stack.enter_context(_platform(rows))) for rows in sizes}
        sums = {rows: truth(rows, settings[rows]) for rows in sizes}
        for _ in range(options.rounds):
            for rows in sizes:
                figures = load(contender, sums[rows], options.in_flight, settings[rows])
                measured[rows].append(figures)
                print(f"{rows:,}: {figures.seconds:.2f} s, {figures.cpu:.2f} CPU s", file=sys.stderr)
    print(f"{options.of}, medians of {options.rounds}; µs and CPU µs of each row beyond the first size")
    print(f"{'rows':>10}{'s':>8}{'CPU s':>8}{'rows/s':>10}{'peak MB':>9}{'µs':>8}{'CPU µs':>8}")
    fewest = measured[sizes[0]]
    for rows, loads in measured.items():
        seconds, cpu, peak = (_median(loads, figure) for figure in ("seconds", "cpu", "peak"))
        print(f"{rows:>10,}{seconds:>8.2f}{cpu:>8.2f}{rows / seconds:>10,.0f}{peak:>9.0f}", end="")
        if further_rows := rows - sizes[0]:
            print(f"{(seconds - _median(fewest, 'seconds')) / further_rows * 1e6:>8.2f}", end="")
            print(f"{(cpu - _median(fewest, 'cpu')) / further_rows * 1e6:>8.2f}", end="")
        print()


def _platform(rows: int) -> AbstractContextManager[RunningSimulator]:
    return running(schools=1, dataset_rows=rows, log=False)


def _median(loads: list[Figures], name: str) -> float:
    return median(getattr(figures, name) for figures in loads)


if __name__ == "__main__":
    main()
