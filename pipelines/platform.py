"""The platform of the settings: how to reach it, and what to read there. It does not need Dagster."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from campus.http.config import ClientConfig, SharedState
from campus.registry import TERM_TYPES
from campus.reports.selection import ReportSelection
from loading.attendance.weeks import AttendanceSettings
from loading.reports.tables import WantedReport
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings, needs_platform
from pipelines.settings.simulated_platform import made_up_platform


@contextmanager
def open_platform(settings: Settings) -> Iterator[ClientConfig]:
    """The client configuration for the platform. For made-up schools, the simulator runs while the block
    lasts. Raises SettingsError where no platform is named."""
    needs_platform(settings)
    if settings.embedded:
        with made_up_platform(settings.home) as simulated:
            yield _client(settings, simulated.base_url, simulated.client_id, simulated.client_secret)
    else:
        assert settings.base_url and settings.client_id and settings.client_secret
        yield _client(
            settings, settings.base_url, settings.client_id, settings.client_secret.get_secret_value()
        )


def term_types(settings: Settings) -> tuple[str, ...]:
    """The vocabularies to read: those of the specification, and the operator's own."""
    return tuple(dict.fromkeys((*TERM_TYPES, *settings.options.terms.extra_types)))


def wanted_reports(settings: Settings) -> tuple[WantedReport, ...]:
    """The reports to read. Those of CAMPUS_REPORTS come first, so that an entry of campus.yaml overrides them
    for its schools."""
    wanted = [
        *(WantedReport(ReportSelection(name)) for name in settings.reports),
        *(WantedReport(entry.selection, entry.schools) for entry in settings.options.reports),
    ]
    date_ranges = settings.options.platform.date_ranges
    return tuple(
        replace(report, selection=replace(report.selection, date_ranges=date_ranges)) for report in wanted
    )


def attendance_settings(settings: Settings) -> AttendanceSettings:
    """How attendance is read."""
    options = settings.options.attendance
    return AttendanceSettings(
        timedelta(days=options.window_days),
        options.weeks_begin,
        options.week_condition,
        settings.options.semesters.v3_ids,
    )


def _client(settings: Settings, base_url: str, client_id: str, client_secret: str) -> ClientConfig:
    options = settings.options.platform
    return ClientConfig(
        base_url=base_url,
        client_id=client_id,
        client_secret=client_secret,
        concurrency=options.concurrency,
        per_page=options.per_page,
        unpaged_limit=options.unpaged_limit,
        archived_statuses=options.archived_statuses,
        extra_scopes=options.extra_scopes,
        max_attempts=options.max_attempts,
        retry_after_cap=options.retry_after_cap,
        read_timeout=options.timeout,
        max_answer_bytes=options.max_answer_mb << 20,
        keep_id_numbers=settings.keep_id_numbers,
        one_token=options.one_token,
        school_ids=settings.school_ids or (),
        # Not for made-up schools: their simulator belongs to this process alone.
        shared=None if settings.embedded else _shared(base_url, client_id, client_secret),
    )


def _shared(base_url: str, client_id: str, client_secret: str) -> SharedState | None:
    """What the workers of a district share, in its Postgres; None: there is no Postgres."""
    if not (url := os.environ.get(POSTGRES_URL)):
        return None
    # Only a district needs its database, whose library takes long to import.
    from pipelines.shared.workers import workers

    return workers(url, base_url, client_id, client_secret)
