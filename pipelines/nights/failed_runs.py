"""Failed runs that no later run repeats. The load log lacks runs that could not write to it."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from assets.loads import LOADS
from assets.shared.dagster_private import CHOSEN_ASSETS
from assets.shared.load_kind import SLICES_FAILED, is_halted
from pipelines.nights.overtaken import is_overtaken
from pipelines.notices.notice import PLATFORM_QUOTE
from pipelines.runs.interrupted_runs import UNFINISHED
from pipelines.runs.jobs import (
    DELIVER,
    DISCOVERY,
    DISTRICT_JOB,
    EXPORTS,
    MAINTENANCE,
    MORNING,
    PUBLISH,
    PUSHES,
    SCHOOL_NIGHT,
    SITE_JOB,
)
from pipelines.runs.partition_selection import RANGE_END, RANGE_START, SCHOOLS_TAG, SELECTED_TAG, schools_in
from pipelines.runs.storage_failures import is_full, is_of_storage, store_message
from warehouse.age import STALE
from warehouse.lake.tables import PLATFORM_ZONE

LOAD_JOBS = {load.name for load in LOADS}
#: The jobs whose failures only this module reports, and what repairs each.
REMEDIES = {
    **dict.fromkeys([DISCOVERY, SCHOOL_NIGHT, *LOAD_JOBS], "campus sync loads what is lacking"),
    **dict.fromkeys([PUBLISH, DISTRICT_JOB], "campus build builds and publishes"),
    MAINTENANCE: "campus sync, or the next night, maintains the lake again",
    EXPORTS: "launch the job exports again in campus ui; campus export --all writes the files meanwhile",
    SITE_JOB: "launch the job site again in campus ui; campus export --all writes the pages meanwhile",
    DELIVER: "campus deliver sends the mails that are still due",
    PUSHES: "the next push, or the night, reads what it names",
    MORNING: "launch the job morning again in campus ui; campus notify sends the message meanwhile",
    CHOSEN_ASSETS: "materialize them again",
}
#: The jobs that no night repeats: only the last run of each counts, within the lookback.
JOBS_OUTSIDE_NIGHTS, LOOKBACK = (EXPORTS, SITE_JOB, DELIVER, PUSHES, MORNING), timedelta(days=14)
#: Two runs of a job with the same values of these tags do the same work.
WORK_TAGS = (SCHOOLS_TAG, SELECTED_TAG, "dagster/partition", RANGE_START, RANGE_END)
#: The start of a list of failed slices, all of which are in the load log.
SLICE_FAILURES = re.compile(rf"^\d+ {re.escape(SLICES_FAILED)}", re.MULTILINE)
LONGEST_REASON = 200


@dataclass(frozen=True)
class FailedRun:
    """A run that has failed."""

    job: str
    #: The schools that the run loads, as far as its tags say.
    schools: tuple[int, ...]
    #: When the run ended, by the platform's wall clock.
    at: datetime
    #: Why, by step; "" for the run as a whole.
    reasons: Mapping[str, str]
    #: The platform was unavailable, so the run stopped reading.
    is_halted: bool

    @property
    def why(self) -> str:
        """The reasons in a line."""
        return "; ".join(f"{step}: {reason}" if step else reason for step, reason in self.reasons.items())


def failed_runs(
    instance: dg.DagsterInstance, logged_reasons: Collection[str] = (), published_at: float = 0.0
) -> list[FailedRun]:
    """Failed runs of the last night and day that no later run repeats, and the last run of each job outside
    the nights if it failed, without the runs that later good runs have overtaken.

    `logged_reasons`: reasons of the load log, which are left out here. `published_at`: when the published
    file was made or found up to date, in seconds since 1970."""
    since = datetime.now(UTC) - STALE
    failures = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since)
    jobs = REMEDIES.keys() - set(JOBS_OUTSIDE_NIGHTS)
    recent = [record for record in instance.get_run_records(failures) if record.dagster_run.job_name in jobs]
    first = min((record.create_timestamp for record in recent), default=None)
    later = instance.get_run_records(dg.RunsFilter(created_after=first)) if first else []
    records = [record for record in recent if not _is_repeated(record, later)]
    failed: list[FailedRun] = []
    seen: set[tuple[str | None, ...]] = set()
    for record in [*records, *_last_failures(instance)]:
        run = record.dagster_run
        if _work_key(run) in seen or is_overtaken(instance, record, published_at):
            continue
        seen.add(_work_key(run))
        reasons = _reasons(instance, run.run_id, logged_reasons)
        if reasons:
            ended = record.end_time or record.update_timestamp.timestamp()
            at = datetime.fromtimestamp(ended, PLATFORM_ZONE).replace(tzinfo=None)
            failed.append(
                FailedRun(run.job_name, tuple(schools_in(run.tags)), at, reasons, is_halted(run.tags))
            )
    return failed


def _last_failures(instance: dg.DagsterInstance) -> Iterator[dg.RunRecord]:
    """The last run of each job outside the nights, if it failed."""
    statuses = [*UNFINISHED, dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    since = datetime.now(UTC) - LOOKBACK
    for job in JOBS_OUTSIDE_NIGHTS:
        runs = dg.RunsFilter(job_name=job, statuses=statuses, created_after=since)
        for record in instance.get_run_records(runs, limit=1):
            if record.dagster_run.status is dg.DagsterRunStatus.FAILURE:
                yield record


def failed_only_by_slices(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether each failed step of a run names failed slices, and no storage error of this machine. The
    platform then refuses the slices, or sends rows that cannot be read."""
    entries = instance.all_logs(run_id, of_type={dg.DagsterEventType.STEP_FAILURE})
    events = [entry.dagster_event for entry in entries if entry.dagster_event]
    failures = [getattr(event.event_specific_data, "user_failure_data", None) for event in events]
    texts = [str(failure.description or "") if failure else "" for failure in failures]
    return bool(texts) and all(SLICE_FAILURES.search(text) and not is_of_storage(text) for text in texts)


def _work_key(run: dg.DagsterRun) -> tuple[str | None, ...]:
    chosen = ",".join(sorted(key.to_user_string() for key in run.asset_selection or ()))
    return (run.job_name, chosen, *(run.tags.get(tag) for tag in WORK_TAGS))


def _is_repeated(failed: dg.RunRecord, later: Sequence[dg.RunRecord]) -> bool:
    """Whether a later run did or does the same work, or a later night loaded all schools of the run."""
    run = failed.dagster_run
    retry_id = run.tags.get("dagster/auto_retry_run_id")
    after = [
        record.dagster_run
        for record in later
        if record.create_timestamp > failed.create_timestamp or record.dagster_run.run_id == retry_id
    ]
    repeats = [other for other in after if _work_key(other) == _work_key(run)]
    if any(other.is_success or other.status in UNFINISHED for other in repeats):
        return True
    if run.job_name == DISCOVERY:
        return any(_is_whole(other, DISCOVERY) and SCHOOLS_TAG not in other.tags for other in after)
    if run.job_name in LOAD_JOBS or run.job_name in (SCHOOL_NIGHT, CHOSEN_ASSETS):
        nights = (schools_in(other.tags) for other in after if _is_whole(other, SCHOOL_NIGHT))
        schools = set(schools_in(run.tags))
        return bool(schools) and schools <= {school_id for night in nights for school_id in night}
    return False


def _is_whole(run: dg.DagsterRun, job: str) -> bool:
    """Whether a run of the job succeeded and loaded all that a night loads."""
    return run.job_name == job and run.is_success and SELECTED_TAG not in run.tags


def _reasons(instance: dg.DagsterInstance, run_id: str, logged_reasons: Collection[str]) -> dict[str, str]:
    """Why a run failed, by step, without the reasons that the load log has."""
    kinds = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}
    events = [entry.dagster_event for entry in instance.all_logs(run_id, of_type=kinds)]
    steps = [event for event in events if event and event.is_step_failure]
    if not steps:
        ends = [event.message or "" for event in events if event]
        return {"": _short_reason(ends[-1] if ends else "")}
    reasons: dict[str, str] = {}
    for event in steps:
        data: Any = event.event_specific_data
        if data.user_failure_data:
            reason = _unlogged_reason(str(data.user_failure_data.description or ""), logged_reasons)
        else:
            error = data.error.cause or data.error
            # The text of an unexpected error may quote a row.
            reason = _storage_reason(error.message) or f"an unexpected error ({error.cls_name})"
        if reason:
            reasons[event.step_key or ""] = reason
    return reasons


def _unlogged_reason(description: str, logged_reasons: Collection[str]) -> str:
    """The failure that an asset describes, without the slices and reasons of the load log."""
    slices = SLICE_FAILURES.search(description)
    before = description[: slices.start()] if slices else description
    lines = [line for line in before.splitlines() if not any(reason in line for reason in logged_reasons)]
    rest = [*lines, *([description] if _storage_reason(description) and not lines else [])]
    return _short_reason(" ".join(rest)) if rest else ""


def _short_reason(text: str) -> str:
    """A reason of at most LONGEST_REASON characters, without the platform's own words."""
    own_words = " ".join(text.partition(PLATFORM_QUOTE)[0].split())
    short = _storage_reason(text) or own_words or "the run gives no reason"
    return short if len(short) <= LONGEST_REASON else f"{short[: LONGEST_REASON - 1]}…"


def _storage_reason(text: str) -> str | None:
    """A message for a full disk or an unavailable store; None: the text is about neither."""
    return "the disk was full" if is_full(text) else store_message(text)
