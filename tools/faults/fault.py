"""A fault: one line of the product, and what stands there in its stead."""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).parent / "faults.tsv"
#: Rooms whose lines are recorded.
RECORDED_ROOMS = ("campus", "loading", "warehouse", "writeback")


class FaultMissing(ValueError):
    """The code has changed since the faults were drawn."""


@dataclass(frozen=True)
class Fault:
    """line: its number when the fault was drawn; text, changed: the line before and after."""

    path: str
    line: int
    kind: str
    text: str
    changed: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.text.strip()} -> {self.changed.strip()}"


def write_faults(faults: Iterable[Fault]) -> None:
    """Write the list as tab-separated values."""
    with FAULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(field.name for field in fields(Fault))
        writer.writerows(astuple(fault) for fault in faults)


def read_faults() -> list[Fault]:
    """Read the list."""
    with FAULTS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [
            Fault(row["path"], int(row["line"]), row["kind"], row["text"], row["changed"]) for row in rows
        ]


def line_of(fault: Fault, tree: Path) -> int:
    """The number of the line now: of equal lines, the nearest. Raises FaultMissing."""
    lines = (tree / fault.path).read_text(encoding="utf-8").splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if _code(fault, line) == fault.text]
    if not numbers:
        raise FaultMissing(f"{fault}: {fault.path} has no such line now. Draw the faults anew.")
    return min(numbers, key=lambda number: abs(number - fault.line))


def _code(fault: Fault, line: str) -> str:
    return line.partition("--")[0].rstrip() if fault.path.endswith(".sql") else line


@contextmanager
def planted(faults: Sequence[Fault], tree: Path, number: int) -> Iterator[None]:
    """Change the lines in a worktree until the block ends.

    Args:
        number: Of this trial: files that differ get times that differ, or Python would take cached bytecode.
    """
    with ExitStack() as stack:
        for fault in faults:
            stack.enter_context(_changed_file(tree / fault.path, fault, line_of(fault, tree), number))
        yield


@contextmanager
def _changed_file(path: Path, fault: Fault, line: int, number: int) -> Iterator[None]:
    content, before = path.read_text(encoding="utf-8"), path.stat()
    lines = content.split("\n")
    lines[line - 1] = fault.changed
    path.write_text("\n".join(lines), encoding="utf-8")
    os.utime(path, (1_000_000_000 + number,) * 2)
    try:
        yield
    finally:
        path.write_text(content, encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
