"""Loads of one dataset side by side: this sync, dlt, a hand-written loop, and the pages thrown away.

    python -m benchmarks.datasets [--rows 1000000] [--rest-rows 200000] [--values-rows 20000] [--rounds 3]

dlt lives in .venv-bench (see README.md). The loads take turns, so that a slow spell of the machine meets all.
What a load did in phases follows it, each as if its rows had taken no other time.
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
    names = [each.name for each in CONTENDERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rest-rows", type=int, default=200_000, help="of dlt's rest_api through Parquet")
    parser.add_argument("--values-rows", type=int, default=20_000, help="of dlt's rest_api as it comes")
    parser.add_argument("--in-flight", type=int, default=4, help="requests at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args()
    chosen = [(each, getattr(options, each.rows)) for each in CONTENDERS if each.name in options.only]
    measured: dict[str, list[Figures]] = defaultdict(list)
    with running(schools=1, dataset_rows=options.rows, log=False) as platform:
        settings = settings_for(platform)
        sums = {rows: truth(rows, settings) for rows in {options.rows, *(rows for _, rows in chosen)}}
        load(FLOOR, sums[options.rows], options.in_flight, settings)  # the simulator keeps what it made
        for _ in range(options.rounds):
            for each, rows in chosen:
                one = load(each, sums[rows], options.in_flight, settings)
                measured[each.name].append(one)
                print(f"{each.name}: {one.seconds:.2f} s, {one.cpu:.2f} CPU s", file=sys.stderr)
    report(measured)


def report(measured: dict[str, list[Figures]]) -> None:
    """Medians, and for each yardstick the median of the rounds' ratios in rows/s."""
    present = [name for name in YARDSTICKS if name in measured]
    print(f"{'':24}{'rows':>10}{'CPU s':>8}{'peak MB':>9}{'s':>8}{'rows/s':>10}", end="")
    print("".join(f"{'x ' + name:>13}" for name in present))
    for name, loads in measured.items():
        rows, cpu, peak = loads[0].rows, median(one.cpu for one in loads), median(one.peak for one in loads)
        rates = {name: [rows / one.seconds for one in loads]}
        rates |= {f"  {phase}": [rows / one.phases[phase] for one in loads] for phase in loads[0].phases}
        figures = f"{rows:>10,}{cpu:>8.2f}{peak:>9.0f}"
        for what, rounds in rates.items():
            rate = median(rounds)
            print(f"{what:24}{figures:27}{rows / rate:>8.2f}{rate:>10,.0f}", end="")
            print("".join(f"{_ratio(rounds, measured[yardstick]):>13.2f}" for yardstick in present))
            figures = ""


def _ratio(rates: list[float], yardstick: list[Figures]) -> float:
    """The median over the rounds, each of which met the same spell of the machine."""
    return median(rate / (one.rows / one.seconds) for rate, one in zip(rates, yardstick, strict=True))


if __name__ == "__main__":
    main()
