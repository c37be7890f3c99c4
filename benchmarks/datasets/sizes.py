"""Whether the cost of a load is linear in its rows, and its memory bounded.

python -m benchmarks.datasets.sizes [--millions 1 2 4 5] [--rounds 3] [--of "sync, lake"]
"""

import argparse
from statistics import median

from benchmarks.datasets.loads import CONTENDERS, Figures, environment_of, load, truth
from simulator.process import running


def main() -> None:
    """Measure and print a table."""
    contenders = {each.name: each for each in CONTENDERS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 2, 4, 5])
    parser.add_argument("--in-flight", type=int, default=4, help="requests at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--of", choices=contenders, default="sync, lake")
    options = parser.parse_args()
    sizes = [int(millions * 1_000_000) for millions in options.millions]
    measured: dict[int, list[Figures]] = {}
    for rows in sizes:
        with running(schools=1, dataset_rows=rows, log=False) as platform:
            environment = environment_of(platform)
            sums = truth(rows, environment)
            of = contenders[options.of]
            measured[rows] = [load(of, sums, options.in_flight, environment) for _ in range(options.rounds)]
    print(f"{options.of}, medians of {options.rounds}")
    print(f"{'rows':>10}{'s':>8}{'CPU s':>8}{'rows/s':>10}{'peak MB':>9}{'s a row':>10}{'CPU a row':>11}")
    first = {figure: _median(measured[sizes[0]], figure) / sizes[0] for figure in ("seconds", "cpu")}
    for rows, loads in measured.items():
        seconds, cpu, peak = (_median(loads, figure) for figure in ("seconds", "cpu", "peak"))
        relative = f"{seconds / rows / first['seconds']:>10.2f}{cpu / rows / first['cpu']:>11.2f}"
        print(f"{rows:>10,}{seconds:>8.2f}{cpu:>8.2f}{rows / seconds:>10,.0f}{peak:>9.0f}{relative}")


def _median(loads: list[Figures], figure: str) -> float:
    return median(getattr(one, figure) for one in loads)


if __name__ == "__main__":
    main()
