"""Says in words what users see differently since a commit: make unchanged BASE=<commit>.

Runs the worlds of worlds.py through the commit and through the files of this folder, side by side. Compares
tables, the lake, requests, exports and messages. `python -m tools.unchanged COMMIT WORLD...` compares these
worlds alone. Exit status: 0 nothing differs, 1 something differs, 2 not comparable, 130 interrupted."""

import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NoReturn

from simulator.launch import SimulatorError
from tools.unchanged import versions
from tools.unchanged.clock import LIBRARY
from tools.unchanged.compare import Comparison, Finding, compare_world, text_differences
from tools.unchanged.record import RECORD, record_world, write_lines
from tools.unchanged.steps import World
from tools.unchanged.versions import CannotCompare, Stopped, Version
from tools.unchanged.worlds import WORLDS
from tools.worktree import ROOT, worktree

#: Files of the repository that users copy.
SAMPLES = ("docs/campus.yaml", "docs/how-to/roster.csv")
#: What must have been compared, so that the comparison was not empty.
COMPARED = ("tables", "cells", "requests", "messages", "files")
DIFFERS, NOT_COMPARABLE, INTERRUPTED = 1, 2, 130


def main(arguments: list[str]) -> int:
    """Compare the present version with a commit. Returns the exit status."""
    # A terminated comparison removes its worktree, too.
    signal.signal(signal.SIGTERM, interrupt)
    commit, *names = arguments or [""]
    worlds = [world for world in WORLDS if not names or world.name in names]
    if not commit or not worlds:
        print("Which commit? make unchanged BASE=<commit>")
        print(f"Worlds: {', '.join(world.name for world in WORLDS)}")
        return NOT_COMPARABLE
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="unchanged-"))
    try:
        comparison = compare_versions(commit, worlds, folder)
    except (CannotCompare, SimulatorError) as error:
        print(f"Not comparable: {error}\nThe records: {folder}")
        return NOT_COMPARABLE
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        print("Interrupted.")
        return INTERRUPTED
    return conclude(comparison, folder, time.monotonic() - started)


def compare_versions(commit: str, worlds: Sequence[World], folder: Path) -> Comparison:
    """Run the worlds through both versions below `folder`, and compare."""
    for line in versions.remarks(commit):
        print(line, flush=True)
    if LIBRARY is None:
        print(
            "libfaketime is missing: all nights are today, and times of loads are not compared.", flush=True
        )
    # Names of equal length: lines of messages break at the same column.
    sides = folder / "base", folder / "next"
    for side in sides:
        side.mkdir()
    comparison = Comparison()
    with worktree(commit) as base_root:
        compare_samples(comparison, base_root)
        base = Version.of("base", base_root, sides[0])
        present = Version.of("present", ROOT, sides[1])
        surprises = run_worlds(worlds, {sides[0]: base, sides[1]: present})
    with ThreadPoolExecutor(2) as pool:
        records = ([world_folder(side, world) / RECORD for world in worlds] for side in sides)
        for result in pool.map(compare_world, worlds, *records):
            comparison.findings += result.findings
            comparison.counts += result.counts
    # What only one version does differently is a difference.
    if unexpected := sorted(set.intersection(*surprises.values())):
        raise CannotCompare("a world is no longer what it should be:\n  " + "\n  ".join(unexpected))
    if len(worlds) == len(WORLDS):
        require_counts(comparison.counts)
    return comparison


def run_worlds(worlds: Sequence[World], sides: dict[Path, Version]) -> dict[Path, set[str]]:
    """Record all worlds, two at a time. Returns by side how commands ended unlike the world says."""
    with ThreadPoolExecutor(2) as pool:
        recordings: dict[Future[list[str]], Path] = {
            pool.submit(record_world, world, version, world_folder(side, world)): side
            for world in worlds
            for side, version in sides.items()
        }
        try:
            wait(recordings, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            # A failure of one side, or Ctrl-C, ends the commands of both.
            for version in sides.values():
                version.server.stop()
    failures = [recording.exception() for recording in recordings if not recording.cancelled()]
    for failure in sorted(filter(None, failures), key=lambda error: isinstance(error, Stopped)):
        raise failure
    surprises: dict[Path, set[str]] = {side: set() for side in sides}
    for recording, side in recordings.items():
        surprises[side].update(recording.result())
    return surprises


def compare_samples(comparison: Comparison, base_root: Path) -> None:
    """Compare the files of the repository that users copy."""
    for name in SAMPLES:
        base, present = (
            path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            for path in (base_root / name, ROOT / name)
        )
        comparison.counts["files"] += 1
        if lines := list(text_differences(base, present)):
            comparison.findings.append(Finding(name, lines))


def require_counts(counts: Counter[str]) -> None:
    """Raises CannotCompare if there was nothing of a kind to compare."""
    if missing := [name for name in COMPARED if not counts[name]]:
        raise CannotCompare(f"there were no {', '.join(missing)} to compare")


def conclude(comparison: Comparison, folder: Path, seconds: float) -> int:
    """Print the findings and what was compared. Returns the exit status."""
    for finding in comparison.findings:
        print("\n".join(finding.short()))
    counts = ", ".join(f"{number:,} {name}" for name, number in sorted(comparison.counts.items()))
    print(f"Compared in {seconds:.0f} s: {counts}.")
    if not comparison.findings:
        shutil.rmtree(folder)
        print("Nothing differs.")
        return 0
    report = folder / "differences.txt"
    write_lines(report, [line for finding in comparison.findings for line in finding.report()])
    print(f"{len(comparison.findings)} files or databases differ. All differences: {report}")
    print(f"The records of both versions: {folder}")
    return DIFFERS


def world_folder(side: Path, world: World) -> Path:
    """The folder in which a world runs with a version."""
    return side / world.name.replace(" ", "-")


def interrupt(_signal: int, _frame: object) -> NoReturn:
    """Handle SIGTERM as Ctrl-C."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
