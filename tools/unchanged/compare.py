"""Differences between the records of two versions in words (record.py writes the records)."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from tools.unchanged.clock import uncertain_times
from tools.unchanged.record import MESSAGES, REQUESTS
from tools.unchanged.steps import World
from tools.unchanged.tables import Window, change, database_differences

#: A time of the day, in texts of a step whose clock runs.
TIME_OF_DAY = re.compile(r"\b\d\d:\d\d(:\d\d(\.\d+)?)?\b")
#: Lines of each file or database that are printed; the report has all.
SHOWN_LINES = 4


@dataclass
class Finding:
    """What differs in one file or database of a step."""

    #: The world, the step and the file.
    title: str
    lines: list[str]

    def report(self) -> Iterator[str]:
        """All lines."""
        yield f"{self.title}:"
        yield from (f"  {line}" for line in self.lines)

    def short(self) -> Iterator[str]:
        """The first lines, for the terminal."""
        yield f"{self.title}:"
        yield from (f"  {line}" for line in self.lines[:SHOWN_LINES])
        if len(self.lines) > SHOWN_LINES:
            yield f"  … and {len(self.lines) - SHOWN_LINES} more lines"


@dataclass
class Comparison:
    """The findings, and how much was compared."""

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def compare_world(world: World, base: Path, present: Path) -> Comparison:
    """Compare the records of a world, step by step."""
    comparison = Comparison()
    uncertain = None
    for number, step in enumerate(world.steps, 1):
        # Later steps show times of earlier ones.
        uncertain = uncertain or uncertain_times(step.start, clock_runs=step.clock_runs)
        folders = base / f"{number}", present / f"{number}"
        for name in file_names(*folders):
            files = folders[0] / name, folders[1] / name
            if lines := list(file_differences(*files, comparison.counts, uncertain)):
                comparison.findings.append(Finding(f"{world.name}, {step.title}, {name}", lines))
    return comparison


def file_differences(
    base: Path, present: Path, counts: Counter[str], uncertain: Window | None
) -> Iterator[str]:
    """A line for each difference between two files of a record. Adds what was compared to `counts`."""
    if not base.exists() or not present.exists():
        yield "the file is new" if present.exists() else "the file is gone"
    elif base.suffix == ".duckdb":
        yield from database_differences(base, present, counts, uncertain)
    else:
        lines = [path.read_text(encoding="utf-8").splitlines() for path in (base, present)]
        if uncertain:
            lines = [[TIME_OF_DAY.sub("TIME", line) for line in text] for text in lines]
        if base.name == REQUESTS:
            counts["requests"] += len(lines[1])
            yield from request_differences(*lines)
        else:
            counts["messages" if base.name == MESSAGES else "files"] += 1
            counts["lines"] += len(lines[1])
            yield from text_differences(*lines)


def file_names(base: Path, present: Path) -> list[str]:
    """The names of the files that any of two records has."""
    return sorted(
        {
            str(path.relative_to(folder))
            for folder in (base, present)
            for path in folder.rglob("*")
            if path.is_file()
        }
    )


def request_differences(base: list[str], present: list[str]) -> Iterator[str]:
    """How many more or fewer times each request was sent."""
    counts = Counter(present)
    counts.subtract(Counter(base))
    differing = sorted((request, number) for request, number in counts.items() if number)
    if differing:
        yield f"{len(base)} requests -> {len(present)}"
    for request, number in differing:
        yield f"{abs(number)} {'more' if number > 0 else 'fewer'}: {request}"


def text_differences(base: list[str], present: list[str]) -> Iterator[str]:
    """Each group of lines that differ, with the number of its first line in the present text."""
    for kind, first, last, start, end in SequenceMatcher(None, base, present, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gone, new = base[first:last], present[start:end]
        for offset, (before, after) in enumerate(zip(gone, new, strict=False), start + 1):
            yield f"line {offset}: {change(before, after)}"
        common = min(len(gone), len(new))
        yield from (f"line {start + common + 1}: gone: {line}" for line in gone[common:])
        yield from (
            f"line {offset}: new: {line}" for offset, line in enumerate(new[common:], start + common + 1)
        )
