"""Loads one dataset in several ways: this sync, dlt, a hand-written loop, and the bare pages.

    python -m benchmarks.datasets [--rows 1000000] [--rest-rows 200000] [--values-rows 20000] [--rounds 3]

dlt is installed in .venv-bench (see README.md). The loads alternate, so that a slow spell of the machine
affects all. The phases of a load follow it, each as if the load had no other phase.
"""

import argparse
import sys
from collections import defaultdict
from statistics import median

from benchmarks.child import settings_for
from benchmarks.datasets.loads import CONTENDERS, FLOOR, Figures, load, truth
from simulator.process import running

YARDSTICKS = ("loop", "dlt, Arrow")


def main() -> None:
    """Measure and print a table."""
    names = [contender.name for contender in CONTENDERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rest-rows", type=int, default=200_000, help="of dlt's rest_api through Parquet")
    parser.add_argument("--values-rows", type=int, default=20_000, help="of dlt's rest_api with its defaults")
    parser.add_argument("--in-flight", type=int, default=4, help="requests at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    chosen = [
        (contender, getattr(options, contender.rows))
        for contender in CONTENDERS
        if contender.name in options.only
    ]
    measured: dict[str, list[Figures]] = defaultdict(list)
    with running(schools=1, dataset_rows=options.rows, log=False) as platform:
        settings = settings_for(platform)
        sums = {rows: truth(rows, settings) for rows in {options.rows, *(rows for _, rows in chosen)}}
        load(FLOOR, sums[options.rows], options.in_flight, settings)  # fills the simulator's cache
        for _ in range(options.rounds):
            for contender, rows in chosen:
                figures = load(contender, sums[rows], options.in_flight, settings)
                measured[contender.name].append(figures)
                print(f"{contender.name}: {figures.seconds:.2f} s, {figures.cpu:.2f} CPU s", file=sys.stderr)
    report(measured)


def report(measured: dict[str, list[Figures]]) -> None:
    """Medians, and for each yardstick the median of the rounds' ratios in rows/s."""
    present = [name for name in YARDSTICKS if name in measured]
    print(f"{'':24}{'rows':>10}{'CPU s':>8}{'peak MB':>9}{'s':>8}{'rows/s':>10}", end="")
    print("".join(f"{'x ' + name:>13}" for name in present))
    for name, loads in measured.items():
        rows, cpu, peak = (
            loads[0].rows,
            median(figures.cpu for figures in loads),
            median(figures.peak for figures in loads),
        )
        rates = {name: [rows / figures.seconds for figures in loads]}
        rates |= {
            f"  {phase}": [rows / figures.phases[phase] for figures in loads] for phase in loads[0].phases
        }
        cells = f"{rows:>10,}{cpu:>8.2f}{peak:>9.0f}"
        for label, rounds in rates.items():
            rate = median(rounds)
            print(f"{label:24}{cells:27}{rows / rate:>8.2f}{rate:>10,.0f}", end="")
            print("".join(f"{_ratio(rounds, measured[yardstick]):>13.2f}" for yardstick in present))
            cells = ""


def _ratio(rates: list[float], yardstick: list[Figures]) -> float:
    """The median of the ratios, round by round: the loads of a round ran at about the same time."""
    return median(
        rate / (figures.rows / figures.seconds) for rate, figures in zip(rates, yardstick, strict=True)
    )


if __name__ == "__main__":
    main()
