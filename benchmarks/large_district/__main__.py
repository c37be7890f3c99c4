"""Simulates nights of a district of up to 5,000 schools: what breaks first, when, and what moves the limit.

    .venv/bin/python -m benchmarks.large_district [--schools 50 500 1000 2000 5000] [--draw docs/pictures]
    .venv/bin/python -m benchmarks.large_district --figures

--draw: writes the curves into a folder. --figures: prints each figure behind the simulation with its origin.
Takes some ten seconds of one core, and measures nothing.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.large_district.drawing import Axis, Curve, chart
from benchmarks.large_district.limits import COMPONENTS, limits
from benchmarks.large_district.night import District, simulated
from benchmarks.large_district.service_times import FIGURES, NIGHT

SCHOOLS = (50, 500, 1000, 2000, 5000)
#: The schools of the curves.
CURVE = (50, 100, 200, 350, 500, 700, 1000, 1400, 2000, 2800, 4000, 5000, 7000, 10_000)
#: The largest curves that the picture of the limits has room for.
DRAWN = 8


@dataclass(frozen=True)
class Step:
    """A change, after the changes before it."""

    name: str
    #: Whether it is a setting, an agreement or a deployment of today, or needs a change of the code.
    needs: str
    changes: Mapping[str, Any] = field(default_factory=dict)


#: A district as docs/how-to/district.md describes it, on a platform of 100 answers a second.
DOCUMENTED = District(schools=5000, rate=100.0)
STEPS = (
    Step("as documented, 100 answers/s", ""),
    Step("3,000 answers/s", "an agreement", {"rate": 3000.0}),
    Step("old runs deleted as they come", "code", {"deleted_a_week": 10**9}),
    Step("groups of 500 schools", "a deployment", {"schools_per_group": 500}),
    Step("5,000 answers/s, 12 builds", "an agreement, a setting", {"rate": 5000.0, "builds_at_a_time": 12}),
)
#: Changes alone, each to the district with 3,000 answers a second.
ALONE = (
    Step("four semesters in the lake instead of two", "time", {"semesters": 4}),
    Step("the three settings that save requests", "a setting", {"requests": 4000.0}),
    Step("runs of 5 schools", "a setting", {"schools_per_run": 5}),
    Step("runs of 25 schools", "a setting", {"schools_per_run": 25}),
    Step("32 schools a shard", "a setting", {"schools_per_shard": 32}),
    Step("1 build at a time, the default", "a setting", {"builds_at_a_time": 1}),
    Step("4 workers and loads at a time, the default", "a setting", {"workers": 4, "loads_at_a_time": 4}),
    Step("sensors read only the rows of their own schools", "code", {"narrow_ticks": True}),
    Step("groups of 500 schools", "a deployment", {"schools_per_group": 500}),
)


def districts() -> list[tuple[Step, District]]:
    """The steps, each with the district after it."""
    district, after = DOCUMENTED, []
    for step in STEPS:
        district = replace(district, **step.changes)
        after.append((step, district))
    return after


def main() -> None:
    """Print the tables, and write the curves."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--schools", type=int, nargs="+", default=SCHOOLS)
    arguments.add_argument("--draw", type=Path, metavar="FOLDER")
    arguments.add_argument("--figures", action="store_true")
    options = arguments.parse_args()
    if options.figures:
        for name, figure in FIGURES.items():
            day = f", {figure.day}" if figure.day else ""
            print(f"{name}: {figure.value:g} {figure.unit} ({figure.origin}; {figure.source}{day})")
        return
    print_nights(options.schools)
    print_shares(options.schools)
    print_changes()
    if options.draw:
        options.draw.mkdir(parents=True, exist_ok=True)
        for name, drawing in drawings().items():
            (options.draw / name).write_text(drawing, encoding="utf-8")


def print_nights(counts: list[int]) -> None:
    """Print the hours of nights by schools, after each step."""
    print("Hours until the last load, and until district.duckdb, by schools")
    print(f"{'after':34}" + "".join(f"{count:>16,}" for count in counts))
    for step, district in districts():
        nights = [simulated(replace(district, schools=count)) for count in counts]
        cells = [f"{night.loads_end / 3600:.1f}, {night.ends / 3600:.1f}" for night in nights]
        print(f"{step.name:34}" + "".join(f"{cell:>16}" for cell in cells))


def print_shares(counts: list[int]) -> None:
    """Print the share of its limit that each component takes, with 3,000 answers a second."""
    district = districts()[1][1]
    ordered = limits(district)
    print("\nShare of the limit by schools, at 3,000 answers/s, and the number of schools at 100%")
    print(f"{'':34}" + "".join(f"{count:>9,}" for count in counts) + f"{'100% at':>10}")
    for name in (*ordered, *(COMPONENTS.keys() - ordered)):
        cells = "".join(f"{COMPONENTS[name](replace(district, schools=count)):9.1%}" for count in counts)
        print(f"{name:34}{cells}{ordered.get(name, 0) or '':>10}")


def print_changes() -> None:
    """Print the first limits after each step, and after each change alone."""
    second = districts()[1][1]
    alone = [(step, replace(second, **step.changes)) for step in ALONE]
    for title, rows in (("after each step", districts()), ("each change alone, at 3,000 answers/s", alone)):
        print(f"\nFirst limits, in schools: {title}")
        for step, district in rows:
            first = list(limits(district).items())[:4]
            print(f"{step.name:50}" + "; ".join(f"{name} {at:,}" for name, at in first))


def drawings() -> dict[str, str]:
    """The curves, by the name of their file."""
    schools = Axis("schools", CURVE[0], CURVE[-1], (50, 100, 200, 500, 1000, 2000, 5000, 10_000))
    nights = [Curve(step.name, _hours(district), _first_break(district)) for step, district in districts()]
    hours = Axis("hours of the night", 0.1, 100, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))
    second = districts()[1][1]
    shares = [
        Curve(name, [(n, 100 * COMPONENTS[name](replace(second, schools=n))) for n in CURVE])
        for name in list(limits(second))[:DRAWN]
    ]
    percent = Axis("% of the limit", 1, 1000, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000))
    return {
        "large_district_night.svg": chart(
            "Hours of a night by schools", schools, hours, nights, NIGHT / 3600, "six hours"
        ),
        "large_district_limits.svg": chart(
            "Share of each limit by schools", schools, percent, shares, 100, "the limit"
        ),
    }


def _hours(district: District) -> list[tuple[float, float]]:
    return [(count, simulated(replace(district, schools=count)).ends / 3600) for count in CURVE]


def _first_break(district: District) -> list[tuple[float, float]]:
    """The point of the first limit, on the curve of the hours."""
    at = next(iter(limits(district).values()))
    return [(at, simulated(replace(district, schools=at)).ends / 3600)] if at <= CURVE[-1] else []


if __name__ == "__main__":
    main()
