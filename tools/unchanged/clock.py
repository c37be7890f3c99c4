"""The clock of a step: a date and time at the school, by libfaketime."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

#: The zone of the clock.
ZONE = "Asia/Shanghai"
LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
#: How long a step takes at most if its clock runs.
LONGEST_STEP = timedelta(hours=2)


#: The environment of a fork server whose processes have a clock of their own. Without libfaketime, they have
#: the true time.
SERVER_CLOCK: Mapping[str, str] = (
    {}
    if LIBRARY is None
    else {
        "LD_PRELOAD": str(LIBRARY),
        # A fork reads its time from its environment.
        "FAKETIME": "+0",
        "FAKETIME_NO_CACHE": "1",
        # Waits last as long as ever.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        # Otherwise waiting threads use as much CPU as the command itself.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "NO_FAKE_STAT": "1",
    }
)


def clock_environment(time: datetime, *, clock_runs: bool) -> Mapping[str, str]:
    """The environment of a process at this time, beside SERVER_CLOCK."""
    offset = (time.replace(tzinfo=ZoneInfo(ZONE)) - datetime.now(UTC)).total_seconds()
    return {"FAKETIME": f"{offset:+f}" if clock_runs else f"{time:%Y-%m-%d %H:%M:%S}"}


def uncertain_times(time: datetime, *, clock_runs: bool) -> tuple[datetime, datetime] | None:
    """The first and the last time that depend on how fast a step was; None: all times are the same."""
    if LIBRARY is None:
        now = datetime.now().replace(microsecond=0)
        return now - LONGEST_STEP, now + LONGEST_STEP
    return (time, time + LONGEST_STEP) if clock_runs else None


def set_file_times(folder: Path, since: float, time: datetime) -> None:
    """Give files written since a time (in seconds since 1970) the time of the clock, since old files are
    deleted by their age."""
    seconds = time.replace(tzinfo=ZoneInfo(ZONE)).timestamp()
    for path in folder.rglob("*") if LIBRARY else ():
        if path.is_file() and not path.is_symlink() and path.stat().st_mtime >= since:
            os.utime(path, (seconds, seconds))
