"""Loads of one dataset side by side: this sync, dlt, a hand-written loop, and the pages thrown away.

    python -m benchmarks.datasets [--rows 1000000] [--rest-rows 200000] [--values-rows 20000] [--rounds 3]

dlt lives in .venv-bench (see README.md). The loads take turns, so that a slow spell of the machine meets all.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from benchmarks.datasets.loads import CONTENDERS, FLOOR, Figures, environment_of, load, truth
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
        environment = environment_of(platform)
        sums = {rows: truth(rows, environment) for rows in {options.rows, *(rows for _, rows in chosen)}}
        load(FLOOR, sums[options.rows], options.in_flight, environment)  # the simulator keeps what it made
        for _ in range(options.rounds):
            for each, rows in chosen:
                measured[each.name].append(load(each, sums[rows], options.in_flight, environment))
    report(measured)


def report(measured: dict[str, list[Figures]]) -> None:
    """Medians, and for each yardstick the median of the rounds' ratios in rows/s."""
    present = [name for name in YARDSTICKS if name in measured]
    print(f"{'':24}{'rows':>10}{'s':>8}{'rows/s':>10}{'CPU s':>8}{'peak MB':>9}", end="")
    print("".join(f"{'x ' + name:>13}" for name in present))
    for name, rounds in measured.items():
        seconds, cpu, peak = (median(one[figure] for one in rounds) for figure in ("seconds", "cpu", "peak"))
        rows = rounds[0]["rows"]
        print(f"{name:24}{rows:>10,}{seconds:>8.2f}{rows / seconds:>10,.0f}{cpu:>8.2f}{peak:>9.0f}", end="")
        ratios = [median(_ratios(rounds, measured[yardstick])) for yardstick in present]
        print("".join(f"{ratio:>13.3f}" for ratio in ratios))


def _ratios(rounds: list[Figures], yardstick: list[Figures]) -> Iterable[float]:
    for one, other in zip(rounds, yardstick, strict=True):
        yield (one["rows"] / one["seconds"]) / (other["rows"] / other["seconds"])


if __name__ == "__main__":
    main()
