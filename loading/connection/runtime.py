"""The Dagster resource `campus` that every asset runs with, and the cause of a run."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
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
from warehouse.load.logs.load_log import now
from warehouse.load.slice_reading import Cause
from warehouse.load.watermark import Incremental
from warehouse.published.audiences import Audience

SYNC_ID_TAG = "campus/sync_id"
# true: read everything again. false: a night or a sync, which reads due slices. Absent: a person's choice.
FULL_TAG = "campus/full"
# Tags that Dagster sets itself, from the widest cause to the narrowest.
CAUSE_TAGS = (SYNC_ID_TAG, "dagster/backfill", "dagster/root_run_id")


@dataclass(frozen=True)
class Runtime:
    """The value of the Dagster resource `campus`: where to read from and where to write to."""

    client: ClientConfig
    lake: Lake
    guard: Guard
    home: Path
    term_types: tuple[str, ...]
    #: The schools that the settings name. None: all schools that the platform lists.
    school_ids: tuple[int, ...] | None
    #: The devices and cards that the settings name, since the platform lists neither.
    device_ids: tuple[str, ...]
    card_ids: tuple[str, ...]
    #: Whether national id numbers are stored.
    keep_id_numbers: bool
    keep_generations: int
    #: The audiences whose files are published beside campus.duckdb.
    audiences: tuple[Audience, ...]
    #: How long Dagster keeps runs.
    keep_runs: timedelta
    #: How long the load log keeps loads that changed nothing.
    keep_loads: timedelta
    datasets: DatasetSettings
    reports: tuple[WantedReport, ...]
    attendance: AttendanceSettings
    pushes: PushSettings
    incremental: Incremental = field(default_factory=Incremental)
    #: How long after its deletion a row keeps its personal columns. None: for ever.
    keep_personal: timedelta | None = None
    #: How long past rows are kept. None: for ever.
    keep_history: timedelta | None = None
    listener: Listener | None = None
    #: Why there is no platform to read from. None: the settings name one.
    no_platform: str | None = None

    @property
    def scratch(self) -> Path:
        """The folder of staged files."""
        return self.home / "scratch"

    def notify(self, event: Event) -> None:
        """Tell the listener, if there is one."""
        if self.listener:
            self.listener(event)


def cause_of(run_id: str, tags: Mapping[str, str]) -> Cause:
    """The cause of a run. A retry has the cause of the first run, and skips what that run has committed."""
    sync_id = next((tags[tag] for tag in CAUSE_TAGS if tag in tags), run_id)
    full = tags.get(FULL_TAG)
    return Cause(sync_id, run_id, now(), full=full == "true", only_due=full == "false")


def with_listener(runtime: Runtime, log: logging.Logger) -> Runtime:
    """The runtime with a listener: the terminal where there is one, else the run's log."""
    return runtime if runtime.listener else replace(runtime, listener=partial(_log_event, log))


def _log_event(log: logging.Logger, event: Event) -> None:
    """Log each finished slice, and each event that delays a load."""
    if event.kind == "progress":
        if event.done >= event.total:
            log.info(f"read {event.resource} {event.slice}: {event.rows} rows")
    elif event.kind == "plan":
        log.info(event.message)
    elif event.kind in ("drift", "note", "retry", "throttled"):
        log.warning(event.message)
