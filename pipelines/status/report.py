"""The status of each school from the lake and the home: without requests, and without names of children."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campus.registry import ATTENDANCE, BASE_DATA, INPUTS, REPORT_METADATA, SCHOOLS, V1_DATA
from loading.connection.connected import NOTE, is_refused, known_since
from loading.names import school_names
from loading.pushes.inbox import inbox_path, open_inbox
from pipelines.forgetting.account import unproven
from pipelines.lake.opening import lake_of, lake_without_check
from pipelines.runs.storage_failures import disk_problem, storage_message
from pipelines.runs.writer_locks import live_writers
from pipelines.settings.environment import POSTGRES_URL
from pipelines.settings.settings import Settings
from pipelines.status.maintenance import maintenance_of
from pipelines.status.school_groups import first_of, name_schools
from warehouse.age import FAILED, STALE, Age, age_of, incomplete_slices, with_semesters
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import DRIFT
from warehouse.load.logs.drift import in_a_line, latest_drift
from warehouse.load.logs.load_log import last_failures, now, quarantine_rows
from warehouse.load.logs.writer import standing_rows
from warehouse.publish.publish import found_good_at
from warehouse.publish.shards.publication import problems_of
from warehouse.published.problem import last_problem, problem_of_audiences
from warehouse.published.shards import read_manifest
from writeback.notes import notes as roster_notes
from writeback.store.location import store_path
from writeback.store.store import Store

if TYPE_CHECKING:
    from pipelines.nights.failed_runs import FailedRun
    from pipelines.nights.overdue import Night, Overdue

Row = Mapping[str, Any]

#: Days for which changes that pushes missed are counted.
PUSH_DAYS = 7
MAX_NAMES = 5
MISSED = f"not loaded for more than {STALE.total_seconds() / 3600:.0f} hours"
NO_RECORDS = "Dagster's records are not here: which runs failed is not known."
READ_ONLY_RECORDS = (
    "Which runs failed is not known: Dagster opens its records in {folder} only where it may write."
)
GROUPS = {
    **{spec.name: "base data" for spec in (SCHOOLS, *BASE_DATA)},
    **{spec.name: "v1" for spec in V1_DATA},
    **{spec.name: "attendance" for spec in ATTENDANCE},
    **{spec.name: "reports" for spec in REPORT_METADATA},
    **{spec.name: "inputs" for spec in INPUTS},
}


@dataclass(frozen=True)
class SchoolStatus:
    """The status of one school."""

    school_id: int
    name: str
    #: When its last complete load of any slice began (the platform's wall clock).
    last_good: datetime | None
    #: The age of its data, as a whole and by group of resources.
    age: Age
    groups: Mapping[str, Age]
    #: By reason: the slices (resource, slice) that could not be loaded.
    failures: Mapping[str, Sequence[tuple[str, str]]]
    #: By resource: the number of rows in quarantine.
    quarantined: Mapping[str, int]
    #: Whether a slice that could not be loaded has rows of an earlier load.
    has_earlier_rows: bool = False

    @property
    def is_never_loaded(self) -> bool:
        """Whether no slice of the school was ever loaded."""
        return self.last_good is None

    @property
    def failed_slices(self) -> int:
        """How many slices could not be loaded."""
        return sum(map(len, self.failures.values()))

    def is_stale(self, at: datetime) -> bool:
        """Whether the last night passed without a load of a school that was loaded before."""
        return self.last_good is not None and at - self.last_good > STALE

    def problems(self, at: datetime) -> list[str]:
        """What is wrong with the school, in few words; empty: nothing."""
        signs = {
            "never loaded": self.is_never_loaded,
            MISSED: self.is_stale(at),
            "with slices that could not be loaded": bool(self.failures),
            "with tables that were never loaded whole": not self.is_never_loaded
            and bool(_never_loaded(self)),
            "with rows in quarantine": bool(self.quarantined),
        }
        return [problem for problem, is_there in signs.items() if is_there]


@dataclass(frozen=True)
class Status:
    """The status of all schools."""

    #: When it was taken.
    at: datetime
    schools: Sequence[SchoolStatus]
    #: Running loads, drift, missed pushes and slices that were read in part.
    notes: Sequence[str]
    #: What there is to do, the most urgent first.
    to_do: Sequence[str]


def status_of(settings: Settings) -> Status:
    """The status of the warehouse of these settings."""
    (lake, outage), at = _open_lake(settings), now()
    rows = [row for row in standing_rows(lake) if _is_wanted(row["resource"], settings)]
    standings = _by_school(rows)
    failed = _by_school(last_failures(lake, [row for row in rows if row["status"] == "failed"]))
    waiting = _by_school(quarantine_rows(lake))
    names = school_names(lake)
    ids = settings.school_ids or sorted(names.keys() | standings.keys())
    schools = [_school_status(id, names.get(id, ""), standings[id], failed[id], waiting[id]) for id in ids]
    drift = latest_drift(lake) if lake.holds(DRIFT) else []
    writers = [f"{writer} writes in {settings.home} now." for writer in live_writers(settings)]
    drift_notes = [f"{in_a_line(drift)}."] if drift else []
    maintained, unmaintained = maintenance_of(lake, at)
    notes = [
        *writers,
        *drift_notes,
        *_missed_by_pushes(settings),
        *_unreadable(settings),
        *_read_in_part(rows),
    ]
    notes += [maintained] if maintained else []
    night_to_do, night_notes = ([outage], []) if outage else _night_status(settings, lake, schools, rows, at)
    to_do = [*_to_do(settings, schools, at), *night_to_do, *([unmaintained] if unmaintained else [])]
    return Status(at, schools, [*notes, *night_notes], to_do)


def _open_lake(settings: Settings) -> tuple[Lake, str | None]:
    """The lake of the settings, and a message where the district's Postgres does not answer."""
    try:
        return lake_of(settings), None
    except Exception as error:
        # Imported on failure only, as it is slow.
        from sqlalchemy.exc import DBAPIError

        if not isinstance(error, DBAPIError):
            raise
        message = storage_message(error, settings.home)
        unknown = f"Which runs have failed, and whether this lake is the district's, is not known: {message}"
        return lake_without_check(settings), unknown


def ago(moment: datetime, at: datetime) -> str:
    """The time since a moment, in days or hours."""
    hours = max((at - moment).total_seconds(), 0.0) / 3600
    return f"{hours / 24:.0f} d" if hours >= 48 else f"{hours:.0f} h" if hours >= 1 else "<1 h"


def failure_line(slices: Sequence[tuple[str, str]], reason: str) -> str:
    """Say which slices (resource, slice) could not be loaded, and why."""
    return f"{first_of([' '.join(slice_) for slice_ in slices], MAX_NAMES)}: {reason}"


def _ids(school_ids: Iterable[int]) -> str:
    return first_of([str(school_id) for school_id in school_ids])


def _by_school(rows: Iterable[Row]) -> defaultdict[int, list[Row]]:
    schools: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        schools[row["_school_id"]].append(row)
    return schools


def _school_status(
    school_id: int, name: str, standings: Iterable[Row], failed: Iterable[Row], waiting: Iterable[Row]
) -> SchoolStatus:
    """The status of a school from its own rows."""
    rows = list(standings)
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[_group(row["resource"])].append(row)
    reasons: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in failed:
        reasons[row["message"] or "the load log does not say why"].append((row["resource"], row["slice"]))
    return SchoolStatus(
        school_id,
        name,
        max((row["complete_at"] for row in rows if row["complete_at"] is not None), default=None),
        age_of(rows),
        {group: age_of(group_rows) for group, group_rows in groups.items()},
        reasons,
        Counter(row["resource"] for row in waiting),
        any(row["status"] == FAILED and row["complete_at"] is not None for row in rows),
    )


def _group(resource: str) -> str:
    """The group of resources that a table belongs to; tables of datasets and reports go by their names."""
    return GROUPS.get(resource) or ("reports" if resource.startswith("report") else "datasets")


def _is_wanted(resource: str, settings: Settings) -> bool:
    """Whether the settings include a table. A failure of datasets that are no longer included is left out,
    since no later load would clear it."""
    return bool(settings.options.datasets.include) or _group(resource) != "datasets"


def _read_in_part(standings: Sequence[Row]) -> list[str]:
    """Say how many slices the last load read in part, so that some rows may be older."""
    partial = [row for row in incomplete_slices(standings) if row["complete_at"] is not None]
    if not partial:
        return []
    since = min((row["whole_at"] for row in partial if row["whole_at"]), default=None)
    oldest = f"; the oldest was last read whole on {since:%Y-%m-%d}" if since else ""
    return [
        f"The last load read {len(partial)} of {len(standings)} slices in part{oldest}. "
        f"quality.freshness shows what may be old."
    ]


def _unreadable(settings: Settings) -> list[str]:
    """Say what is not known to a user who may not read the files with pushes and writes."""
    files = {
        inbox_path(settings.home): "What pushes missed",
        store_path(settings.home): "Which writes wait or were interrupted",
    }
    return [
        f"{subject} is not known: {file} is not for this user to read."
        for file, subject in files.items()
        if file.exists() and not os.access(file, os.R_OK)
    ]


def _missed_by_pushes(settings: Settings) -> list[str]:
    if not os.access(inbox_path(settings.home), os.R_OK):
        return []
    since = now().timestamp() - PUSH_DAYS * 86_400
    with open_inbox(settings.home) as inbox:
        counts = inbox.misses_since(since)
    changed, missed = sum(rows for _, rows, _ in counts), sum(lost for *_, lost in counts)
    if not missed:
        return []
    return [f"Pushes announced {changed - missed} of {changed} rows that changed in {PUSH_DAYS} days."]


def _never_loaded(school: SchoolStatus) -> list[str]:
    return with_semesters({name: ids for name, ids in school.age.never.items() if name in GROUPS})


def _swipes_waiting(home: Path) -> Iterable[str]:
    if os.access(store_path(home), os.R_OK):
        with Store(home) as store:
            if waiting := store.outbox.schools_waiting():
                yield (
                    f"Swipes of school {_ids(waiting)} wait to be sent, {sum(waiting.values()):,}: "
                    f"run campus swipes send --school {next(iter(waiting)) if len(waiting) == 1 else 'ID'}."
                )


def _night_status(
    settings: Settings, lake: Lake, schools: Sequence[SchoolStatus], standings: Sequence[Row], at: datetime
) -> tuple[list[str], list[str]]:
    """Things to do, and notes, beyond the load log: failed runs, and due slices that no load tried."""
    problem = disk_problem(settings.home)
    to_do = [problem] if problem else []
    folder = _folder_of_runs(settings)
    if folder is not None and not (folder / "dagster.yaml").exists():
        # Opening a folder without records would create them.
        return to_do, [NO_RECORDS] if standings else []
    if folder is not None and not os.access(folder, os.W_OK):
        return to_do, [READ_ONLY_RECORDS.format(folder=folder)]
    # Imported only where there are runs: Dagster takes seconds to import.
    from pipelines.nights.failed_runs import failed_runs
    from pipelines.nights.overdue import look_for_overdue
    from pipelines.nights.stalled_queue import stalled_queue
    from pipelines.runs.instance import open_instance

    try:
        with open_instance(settings) as instance:
            reasons = [reason for school in schools for reason in school.failures]
            published_at = 0.0 if settings.shards else found_good_at(settings.home)
            failed = failed_runs(instance, reasons, published_at)
            due = look_for_overdue(settings, lake, instance, standings)
            stalled = stalled_queue(instance)
        pausing = _pausing_workers(settings)
    except Exception as error:
        message = storage_message(error, settings.home)
        if message is None:
            raise
        return [*to_do, f"Which runs have failed is not known: {message}"], []
    to_do += [stalled] if stalled else []
    to_do += [f"The worker {worker} takes no runs: {why.rstrip('.')}." for worker, why in pausing.items()]
    to_do += _failed_run_lines(failed, settings)
    # Other lines are about these schools as a whole.
    stale = {school.school_id for school in schools if school.is_stale(at) or school.is_never_loaded}
    to_do += _left_out_lines(due, stale, standings)
    to_do += _not_whole_lines(due, stale, settings.options.incremental.whole_days)
    return to_do, list(_unknown_nights(due, stale))


def _pausing_workers(settings: Settings) -> dict[str, str]:
    """Why workers take no runs, by worker name; empty without workers."""
    if settings.broker_url is None:
        return {}
    # Imported only for a district, whose libraries take long to import.
    from pipelines.district.pauses import Pauses

    return Pauses(os.environ[POSTGRES_URL]).all()


def _not_whole_lines(due: "Overdue", stale: Set[int], whole_days: int) -> Iterable[str]:
    """Say which slices were not read whole in time, except of wholly stale schools."""
    schools: dict[str, list[int]] = defaultdict(list)
    for school_id in due.not_whole.keys() - stale:
        rows = due.not_whole[school_id]
        weeks = {row["slice"] for row in rows if _group(row["resource"]) == "attendance"}
        slices = [row["resource"] for row in rows if _group(row["resource"]) != "attendance"]
        counts = [f"{len(weeks)} weeks of attendance"] if weeks else []
        if slices:
            counts.append(f"{len(slices)} slices of {first_of(list(dict.fromkeys(slices)), MAX_NAMES)}")
        oldest = min(row["whole_at"] for row in rows)
        schools[f"{' and '.join(counts)}, the oldest on {oldest:%Y-%m-%d}"].append(school_id)
    for text, school_ids in schools.items():
        yield (
            f"Last read whole more than {whole_days} days ago, of {name_schools(sorted(school_ids))}: "
            f"{text}. Late corrections may be missing. Run campus sync without --select; check that the "
            f"schedule or crontab loads everything each night."
        )


def _unknown_nights(due: "Overdue", stale: Set[int]) -> Iterable[str]:
    """Say of which schools it is unknown what the last night left out, except of wholly stale schools."""
    if running := sorted(due.not_ended - stale):
        yield f"The last night of {name_schools(running)} has not ended: what it leaves out is not known yet."
    if unknown := sorted(due.not_known - stale):
        yield (
            f"What the last night of {name_schools(unknown)} left out is not known: Dagster's records of the "
            f"last {2 * STALE.total_seconds() / 3600:.0f} hours have no night or sync that ended."
        )


def _failed_run_lines(failed: Sequence["FailedRun"], settings: Settings) -> Iterable[str]:
    """A line for each job and reason of failed runs."""
    from pipelines.nights.failed_runs import REMEDIES
    from pipelines.runs.jobs import PUBLISH

    is_outage = bool(settings.base_url) and (settings.home / NOTE).exists()
    groups: dict[tuple[str, str], list[FailedRun]] = defaultdict(list)
    for run in failed:
        if not (run.is_halted and is_outage) and not (run.job == PUBLISH and last_problem(settings.home)):
            groups[run.job, run.why].append(run)
    for (job, why), runs in groups.items():
        ids = sorted({school_id for run in runs for school_id in run.schools})
        of = f" of school {_ids(ids)}" if ids else ""
        count = f"{len(runs)} runs of {job}" if len(runs) > 1 else f"The run {job}"
        yield (
            f"{count}{of} failed, last at {max(run.at for run in runs):%m-%d %H:%M}: {why.rstrip('.')}. "
            f"Then {REMEDIES[job]}."
        )


def _left_out_lines(due: "Overdue", stale: Collection[int], standings: Sequence[Row]) -> Iterable[str]:
    """Say which slices each night left out, except of wholly stale schools."""
    stored = {(row["resource"], row["slice"]) for row in standings if row["complete_at"] is not None}
    nights: dict[Night, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    has_rows: dict[Night, bool] = defaultdict(bool)
    for school_id, (night, slices) in due.left_out.items():
        if school_id not in stale:
            tables = list(dict.fromkeys(resource for resource, _ in slices))
            count = "1 slice" if len(slices) == 1 else f"{len(slices)} slices"
            nights[night][f"{count} of {first_of(tables, MAX_NAMES)}"].append(school_id)
            has_rows[night] |= not stored.isdisjoint(slices)
    for night, groups in nights.items():
        listed = "; ".join(f"{name_schools(schools)}: {text}" for text, schools in groups.items())
        rows_stay = " Rows of earlier loads stay." if has_rows[night] else ""
        if night.is_sync:
            yield (
                f"The campus sync of {night.began:%Y-%m-%d %H:%M} ended early, and did not load: {listed}."
                f"{rows_stay} Run campus sync again."
            )
        else:
            yield (
                f"Due in the night of {night.began:%Y-%m-%d %H:%M} and not loaded: {listed}.{rows_stay} "
                f"Check that the daemon and its workers run; campus sync loads the slices."
            )


def _folder_of_runs(settings: Settings) -> Path | None:
    """The folder of Dagster's records; None: they are in the Postgres of a district."""
    if settings.postgres_address is not None:
        return None
    return Path(os.environ.get("DAGSTER_HOME") or settings.home / "dagster")


def _to_do(settings: Settings, schools: Sequence[SchoolStatus], at: datetime) -> Iterable[str]:
    if settings.base_url and known_since(settings.home / NOTE, settings.base_url, math.inf) is not None:
        yield "The platform did not answer the last request: campus doctor tries again."
    if settings.base_url and is_refused(settings.home / NOTE, settings.base_url):
        yield (
            "No request to the platform was possible: check CAMPUS_BASE_URL, CAMPUS_CLIENT_ID and "
            "CAMPUS_CLIENT_SECRET; campus doctor says which is wrong."
        )
    yield from unproven(settings.home)
    if not schools:
        yield "Nothing has been loaded yet: run campus sync."
    never_loaded = [school for school in schools if school.is_never_loaded]
    if failed := [school.school_id for school in never_loaded if school.failures]:
        yield (
            f"School {_ids(failed)} was never loaded, for the reasons above; docs/reference/messages.md says "
            "what to do about each. The next campus sync removes a school that the platform does not list "
            "and no setting names."
        )
    if untried := [school.school_id for school in never_loaded if not school.failures]:
        yield f"School {_ids(untried)} was never loaded: run campus sync, or correct the id."
    schools = [school for school in schools if not school.is_never_loaded]
    stale = [school.school_id for school in schools if school.is_stale(at)]
    if stale:
        yield (
            f"No load for more than {STALE.total_seconds() / 3600:.0f} hours of school {_ids(stale)}: "
            "check that the schedule or crontab runs; then run campus sync."
        )
    failing = [school.school_id for school in schools if school.failures]
    if failing:
        rest = " Rows of earlier loads stay." if any(school.has_earlier_rows for school in schools) else ""
        yield (
            f"Slices of school {_ids(failing)} could not be loaded, for the reasons above; "
            f"docs/reference/messages.md says what to do about each.{rest}"
        )
    for never, group in groupby(sorted(schools, key=_never_loaded), key=_never_loaded):
        if never:
            yield (
                f"Never loaded whole, of school {_ids(school.school_id for school in group)}: "
                f"{', '.join(never)}. Numbers made of these are missing or incomplete."
            )
    if waiting := [school.school_id for school in schools if school.quarantined]:
        yield (
            f"Rows of school {_ids(waiting)} wait in quarantine: campus quarantine list shows them; once the "
            "platform has corrected them, run campus quarantine replay."
        )
    if os.access(store_path(settings.home), os.R_OK):
        yield from (note.words for note in roster_notes(settings.home))
    yield from _swipes_waiting(settings.home)
    if settings.shards:
        yield from (
            f"The last build was not published for {problem}"
            for problem in problems_of(read_manifest(settings.shards))
        )
    elif problem := last_problem(settings.home):
        yield f"The last build was not published, and campus.duckdb is an older one: {problem}"
    if settings.audiences and (problem := problem_of_audiences(settings.home)):
        yield f"The files of audiences differ from campus.yaml: {problem}. Then run campus build."
    if schools and not settings.published.exists():
        yield f"{settings.published} is not there: run campus build."
