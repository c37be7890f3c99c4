"""Runs that have failed and that nothing has made up for: the load log knows nothing of a run that could not
write to it."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from assets.resource_assets import SLICES_FAILED, is_halted
from pipelines.definitions import DISCOVERY, DISTRICT_JOB, PUBLISH
from pipelines.due import RANGE_END, RANGE_START, SCHOOLS_TAG, SELECTED_TAG, schools_in
from pipelines.export_automation import EXPORTS
from pipelines.interrupted import UNFINISHED
from pipelines.nights.loads import LOADS
from pipelines.nights.school_night import SCHOOL_NIGHT
from pipelines.notices.automation import MORNING
from pipelines.notices.notice import THEIR_WORDS
from pipelines.pushes.automation import PUSHES
from pipelines.storage_trouble import is_full, is_of_storage, store_in_words
from warehouse.age import STALE
from warehouse.lake.tables import PLATFORM_ZONE

LOAD_JOBS = {load.job for load in LOADS}
#: What Dagster calls a run of assets that a person has chosen.
ASSETS = "__ASSET_JOB"
#: The jobs whose failure nothing else tells of, and what makes up for it.
MENDED_BY = {
    **dict.fromkeys([DISCOVERY, SCHOOL_NIGHT, *LOAD_JOBS], "campus sync loads what is lacking"),
    **dict.fromkeys([PUBLISH, DISTRICT_JOB], "campus build builds and publishes"),
    EXPORTS: "launch the job exports again in campus ui; campus export --all writes the files meanwhile",
    PUSHES: "the next push, or the night, reads what it names",
    MORNING: "launch the job morning again in campus ui; campus notify sends the message meanwhile",
    ASSETS: "materialize them again",
}
#: The jobs that no night makes up for: how their last run ended counts, as long as it is not older.
LASTING, LOOKED_BACK = (EXPORTS, PUSHES, MORNING), timedelta(days=14)
#: What makes two runs the same piece of work, beside the job.
SAME_WORK = (SCHOOLS_TAG, SELECTED_TAG, "dagster/partition", RANGE_START, RANGE_END)
#: Says that slices have failed, each of which the load log has.
SLICES = re.compile(rf"^\d+ {re.escape(SLICES_FAILED)}", re.MULTILINE)
LONGEST_REASON = 200


@dataclass(frozen=True)
class FailedRun:
    """A run that has failed."""

    job: str
    #: The schools that it loads, as far as is known.
    schools: tuple[int, ...]
    #: When it ended, by the platform's wall clock.
    at: datetime
    #: Why, by step; "" for the run as a whole.
    reasons: Mapping[str, str]
    #: It could ask the platform nothing more.
    is_halted: bool

    @property
    def why(self) -> str:
        """The reasons in a line."""
        return "; ".join(f"{step}: {reason}" if step else reason for step, reason in self.reasons.items())


def failed_runs(instance: dg.DagsterInstance, said: Collection[str] = ()) -> list[FailedRun]:
    """The runs that have failed and that no later run makes up for: those of the last night and day, and of
    each job that no night makes up for the last run. `said`: reasons that the load log gives, which need not
    be told again."""
    since = datetime.now(UTC) - STALE
    failures = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], updated_after=since)
    jobs = MENDED_BY.keys() - set(LASTING)
    recent = [each for each in instance.get_run_records(failures) if each.dagster_run.job_name in jobs]
    first = min((each.create_timestamp for each in recent), default=None)
    later = instance.get_run_records(dg.RunsFilter(created_after=first)) if first else []
    failed = [each for each in recent if not _is_made_up_for(each, later)]
    found: list[FailedRun] = []
    told: set[tuple[str | None, ...]] = set()
    for record in [*failed, *_last_failures(instance)]:
        run = record.dagster_run
        if _work(run) in told:
            continue
        told.add(_work(run))
        reasons = _reasons(instance, run.run_id, said)
        if reasons:
            ended = record.end_time or record.update_timestamp.timestamp()
            at = datetime.fromtimestamp(ended, PLATFORM_ZONE).replace(tzinfo=None)
            found.append(
                FailedRun(run.job_name, tuple(schools_in(run.tags)), at, reasons, is_halted(run.tags))
            )
    return found


def _last_failures(instance: dg.DagsterInstance) -> Iterator[dg.RunRecord]:
    """The last run of each job that no night makes up for, where it has failed."""
    statuses = [*UNFINISHED, dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE]
    since = datetime.now(UTC) - LOOKED_BACK
    for job in LASTING:
        runs = dg.RunsFilter(job_name=job, statuses=statuses, created_after=since)
        for record in instance.get_run_records(runs, limit=1):
            if record.dagster_run.status is dg.DagsterRunStatus.FAILURE:
                yield record


def is_of_slices(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether a run has failed by slices alone, and by no error of this machine's storage: the platform
    refuses them, or sends what cannot be read."""
    entries = instance.all_logs(run_id, of_type={dg.DagsterEventType.STEP_FAILURE})
    events = [entry.dagster_event for entry in entries if entry.dagster_event]
    failures = [getattr(event.event_specific_data, "user_failure_data", None) for event in events]
    words = [str(failure.description or "") if failure else "" for failure in failures]
    return bool(words) and all(SLICES.search(each) and not is_of_storage(each) for each in words)


def _work(run: dg.DagsterRun) -> tuple[str | None, ...]:
    chosen = ",".join(sorted(key.to_user_string() for key in run.asset_selection or ()))
    return (run.job_name, chosen, *(run.tags.get(tag) for tag in SAME_WORK))


def _is_made_up_for(failed: dg.RunRecord, later: Sequence[dg.RunRecord]) -> bool:
    """Whether the same work was done since, or is being done, or a night has loaded all of its schools."""
    run = failed.dagster_run
    after = [
        each.dagster_run
        for each in later
        if each.create_timestamp > failed.create_timestamp or each.dagster_run.run_id == _retry_of(run)
    ]
    if any(_work(each) == _work(run) and (each.is_success or each.status in UNFINISHED) for each in after):
        return True
    if run.job_name == DISCOVERY:
        return any(_is_whole(each, DISCOVERY) and SCHOOLS_TAG not in each.tags for each in after)
    if run.job_name in LOAD_JOBS or run.job_name in (SCHOOL_NIGHT, ASSETS):
        nights = (schools_in(each.tags) for each in after if _is_whole(each, SCHOOL_NIGHT))
        mine = set(schools_in(run.tags))
        return bool(mine) and mine <= {school_id for schools in nights for school_id in schools}
    return False


def _retry_of(run: dg.DagsterRun) -> str | None:
    return run.tags.get("dagster/auto_retry_run_id")


def _is_whole(run: dg.DagsterRun, job: str) -> bool:
    """Whether a run of the job has done all that a night does."""
    return run.job_name == job and run.is_success and SELECTED_TAG not in run.tags


def _reasons(instance: dg.DagsterInstance, run_id: str, said: Collection[str]) -> dict[str, str]:
    """Why a run has failed, by step, without what is said already."""
    kinds = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.RUN_FAILURE}
    events = [entry.dagster_event for entry in instance.all_logs(run_id, of_type=kinds)]
    steps = [event for event in events if event and event.is_step_failure]
    if not steps:
        ends = [event.message or "" for event in events if event]
        return {"": _in_words(ends[-1] if ends else "")}
    reasons: dict[str, str] = {}
    for event in steps:
        data: Any = event.event_specific_data
        if data.user_failure_data:
            reason = _own_words(str(data.user_failure_data.description or ""), said)
        else:
            error = data.error.cause or data.error
            # Text of an error that nobody foresaw may hold a row.
            reason = _storage(error.message) or f"an error that nobody foresaw ({error.cls_name})"
        if reason:
            reasons[event.step_key or ""] = reason
    return reasons


def _own_words(description: str, said: Collection[str]) -> str:
    """What an asset says of its failure, without the slices and reasons that the load log has."""
    slices = SLICES.search(description)
    before = description[: slices.start()] if slices else description
    lines = [line for line in before.splitlines() if not any(reason in line for reason in said)]
    rest = [*lines, *([description] if _storage(description) and not lines else [])]
    return _in_words(" ".join(rest)) if rest else ""


def _in_words(words: str) -> str:
    """The words in short, without those of the platform."""
    short = _storage(words) or " ".join(words.partition(THEIR_WORDS)[0].split()) or "the run says no reason"
    return short if len(short) <= LONGEST_REASON else f"{short[: LONGEST_REASON - 1]}…"


def _storage(words: str) -> str | None:
    """A full disk or a store that is away in plain words; None: it is neither."""
    return "the disk was full" if is_full(words) else store_in_words(words)
