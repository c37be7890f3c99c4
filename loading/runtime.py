"""What every asset runs with, and why it runs: the resource `campus`, and the cause of a run."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from campus.http.config import ClientConfig
from campus.http.events import Event, Listener
from loading.attendance.weeks import AttendanceSettings
from loading.datasets.tables import DatasetSettings
from loading.pushes.names import PushSettings
from loading.reports.tables import WantedReport
from warehouse.lake.delta import Lake
from warehouse.load.commit import Guard
from warehouse.load.load_log import now
from warehouse.load.watermark import Incremental
from warehouse.published.audiences import Audience

SYNC_ID_TAG = "campus/sync_id"
# true: read everything again; false: a night or a sync, which reads what is due; without: a person's choice.
FULL_TAG = "campus/full"
# Tags that Dagster sets itself, from the widest cause to the narrowest.
CAUSE_TAGS = (SYNC_ID_TAG, "dagster/backfill", "dagster/root_run_id")


@dataclass(frozen=True)
class Runtime:
    """The value of the Dagster resource `campus`: where to read from and where to write to.

    `school_ids`: the schools that the settings name; None: all that the platform lists. `device_ids` and
    `card_ids`: what to ask for, as nothing lists them. `keep_id_numbers`: national id numbers are stored.
    `incremental`: how changes alone are read. `keep_runs`: how long Dagster remembers runs,
    and `keep_loads` the load log what changed nothing. `keep_personal`: how long after a deletion a row keeps
    its personal columns, and `keep_history` how long the past of rows is kept; None: for ever."""

    client: ClientConfig
    lake: Lake
    guard: Guard
    home: Path
    term_types: tuple[str, ...]
    school_ids: tuple[int, ...] | None
    device_ids: tuple[str, ...]
    card_ids: tuple[str, ...]
    keep_id_numbers: bool
    keep_generations: int
    #: Whose files are published beside campus.duckdb.
    audiences: tuple[Audience, ...]
    keep_runs: timedelta
    keep_loads: timedelta
    datasets: DatasetSettings
    reports: tuple[WantedReport, ...]
    attendance: AttendanceSettings
    pushes: PushSettings
    incremental: Incremental = field(default_factory=Incremental)
    keep_personal: timedelta | None = None
    keep_history: timedelta | None = None
    listener: Listener | None = None
    #: Why nothing can be asked of a platform: the settings name none; None: they do.
    no_platform: str | None = None

    @property
    def scratch(self) -> Path:
        """Where readings wait for their commit."""
        return self.home / "scratch"


@dataclass(frozen=True)
class Cause:
    """Why rows are read: one night, command or backfill (`sync_id`), the run that serves it, and since when
    (the platform's wall clock). `full`: everything is read again, whatever is known of changes. `only_due`:
    what was asked for stands for what is due of it, as no person chose it."""

    sync_id: str
    run_id: str
    started_at: datetime
    full: bool = False
    only_due: bool = False


def cause_of(run_id: str, tags: Mapping[str, str]) -> Cause:
    """The cause of a run. A retry has the cause of what it retries, and so skips what that has committed."""
    sync_id = next((tags[tag] for tag in CAUSE_TAGS if tag in tags), run_id)
    full = tags.get(FULL_TAG)
    return Cause(sync_id, run_id, now(), full=full == "true", only_due=full == "false")


def told(runtime: Runtime, log: logging.Logger) -> Runtime:
    """The runtime with somebody who listens: the terminal where there is one, else the run's own log."""
    return runtime if runtime.listener else replace(runtime, listener=partial(_log_event, log))


def _log_event(log: logging.Logger, event: Event) -> None:
    """Whole slices are worth a line, and what holds a load up; each single question is not."""
    if event.kind == "progress":
        if event.done >= event.total:
            log.info(f"read {event.resource} {event.slice}: {event.rows} rows")
    elif event.kind == "plan":
        log.info(event.message)
    elif event.kind in ("drift", "note", "retry", "throttled"):
        log.warning(event.message)
