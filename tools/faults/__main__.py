"""The command line of tools.faults."""

import argparse
import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

import tools.faults
from tools.faults.drawing import MODELS, ROOMS, draw
from tools.faults.fault import read_faults, write_faults
from tools.faults.together import changed_tests, try_together
from tools.faults.trial import Trial, read_records, record, try_faults

FIELDS = ("fault", "failed_test", "cpu", "files")


def main() -> None:
    """Draw, record, try, or count."""
    parser = argparse.ArgumentParser(
        "tools.faults", description=tools.faults.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("draw", help="draw the faults anew")
    recording = commands.add_parser("record", help="run the suite once, and record the lines that tests run")
    recording.add_argument("records", type=Path)
    recording.add_argument("options", nargs="*", help="options of pytest, after --")
    trying = commands.add_parser("try", help="try the faults that the results lack")
    trying.add_argument("records", type=Path)
    trying.add_argument("results", type=Path)
    trying.add_argument("--processes", type=int, default=2)
    together = commands.add_parser("together", help="try what was not found with all tests, at once")
    together.add_argument("results", type=Path)
    together.add_argument("new_results", type=Path)
    together.add_argument("--commit", default="HEAD", help="whose tests; results of the same files stay")
    together.add_argument("options", nargs="*", help="options of pytest, after --")
    table = commands.add_parser("table", help="count what was found by room, side by side")
    table.add_argument("results", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "draw":
        write_faults(draw())
    elif options.command == "record":
        record(options.records, options.options)
    elif options.command == "try":
        _try(options.records, options.results, options.processes)
    elif options.command == "together":
        _try_together(options.results, options.new_results, options.commit, options.options)
    else:
        print(_table([_read(path) for path in options.results]))


def _try_together(results: Path, new_results: Path, commit: str, pytest_options: Sequence[str]) -> None:
    """Write the results of a commit: those of files that it has too, and what its tests find."""
    changed = changed_tests(commit)
    rows = {fault: dict(row) for fault, row in _read(results).items()}
    for row in rows.values():
        if row["failed_test"].partition("::")[0] in changed:
            row["failed_test"] = ""

    def save(trial: Trial) -> None:
        rows[str(trial.fault)]["failed_test"] = trial.failed_test
        print(f"{trial.failed_test}: {trial.fault}", flush=True)
        write()

    def write() -> None:
        with new_results.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows.values())

    write()
    suspects = [
        fault for fault in read_faults() if str(fault) in rows and not rows[str(fault)]["failed_test"]
    ]
    try_together(suspects, commit, pytest_options, save)


def _try(records: Path, results: Path, processes: int) -> None:
    """Append a row for each fault without one: a run that was stopped goes on."""
    has_rows = set(_read(results)) if results.exists() else set()
    lock = Lock()
    with results.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        if not has_rows:
            writer.writerow(FIELDS)

        def save(trial: Trial) -> None:
            with lock:
                writer.writerow((trial.fault, trial.failed_test, f"{trial.cpu:.1f}", trial.files))
                file.flush()
                failed_test = trial.failed_test or "no test failed"
                print(f"{failed_test} ({trial.cpu:.0f} s): {trial.fault}", file=sys.stderr)

        faults = [fault for fault in read_faults() if str(fault) not in has_rows]
        try_faults(faults, read_records(records), processes, save)


def _read(path: Path) -> Mapping[str, Mapping[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["fault"]: row for row in csv.DictReader(file, delimiter="\t")}


def _table(results: Sequence[Mapping[str, Mapping[str, str]]]) -> str:
    """Count by room; name each fault that the first result found and the last did not."""
    counts: Mapping[str, Counter[int]] = defaultdict(Counter)
    seconds: Mapping[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for number, result in enumerate(results):
        for fault, row in result.items():
            room = next(room for room in (*ROOMS, MODELS) if fault.startswith(f"{room}/"))
            for name in (room, "all"):
                counts[name][number] += bool(row["failed_test"])
                counts[name][-1] += not number
                seconds[name][number] += float(row["cpu"])
    rooms = [*ROOMS, MODELS, "all"]
    lines = ["| room | faults | found | CPU s |", "|---|---|---|---|"]
    for room in rooms:
        found_counts = " / ".join(str(counts[room][number]) for number in range(len(results)))
        cpu = " / ".join(f"{seconds[room][number]:.0f}" for number in range(len(results)))
        lines.append(f"| {room} | {counts[room][-1]} | {found_counts} | {cpu} |")
    lost = [
        fault
        for fault, row in results[0].items()
        if row["failed_test"] and not results[-1][fault]["failed_test"]
    ]
    return "\n".join([*lines, *(f"lost: {fault}" for fault in lost)])


if __name__ == "__main__":
    main()
