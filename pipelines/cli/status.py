"""The command `campus status`."""

from pipelines.cli.display import console, show
from pipelines.settings import Settings
from pipelines.status import SchoolStatus, Status, ago, status_of

GROUPS = ("base data", "v1", "attendance", "datasets", "reports")


def run_status(settings: Settings) -> int:
    """Show how each school stands and what there is to do. The exit status: 1 where there is something."""
    status = status_of(settings)
    if status.schools:
        columns = ["school", "name", "last good load", *GROUPS, "failures", "quarantine"]
        show(f"As of {status.at:%Y-%m-%d %H:%M}", columns, [_row(each, status) for each in status.schools])
    for school in status.schools:
        for line in school.failures:
            console.print(f"school {school.school_id}: {line}", markup=False, soft_wrap=True)
    for note in status.notes:
        console.print(note, markup=False, soft_wrap=True)
    if not status.to_do:
        console.print("Nothing is to be done.")
    for line in status.to_do:
        console.print(f"To do: {line}", markup=False, soft_wrap=True)
    return int(bool(status.to_do))


def _row(school: SchoolStatus, status: Status) -> list[str | int]:
    last = f"{school.last_good:%Y-%m-%d %H:%M}" if school.last_good else "never"
    ages = [ago(school.groups[group], status.at) if group in school.groups else "-" for group in GROUPS]
    waiting = ", ".join(f"{rows} {resource}" for resource, rows in sorted(school.quarantined.items()))
    return [str(school.school_id), school.name, last, *ages, str(len(school.failures)), waiting or "-"]
