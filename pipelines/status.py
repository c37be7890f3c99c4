"""How the warehouse stands, school by school, from the lake and the home alone: nothing is asked of the
platform, and no child is named."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campus.registry import ATTENDANCE, BASE_DATA, REPORT_METADATA, SCHOOLS, V1_DATA
from loading.names import school_names
from loading.outage import NOTE, is_refused, known_since
from loading.pushes.inbox import inbox_path, opened
from pipelines.forgetting.account import unproven
from pipelines.lake import lake_of, lake_without_check
from pipelines.of_schools import named
from pipelines.settings import Settings
from pipelines.storage_trouble import in_words as storage_in_words
from pipelines.storage_trouble import no_room
from pipelines.writers import living
from warehouse.age import FAILED, STALE, Age, age_of, read_in_part, with_semesters
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import DRIFT
from warehouse.load.drift import in_a_line, latest
from warehouse.load.load_log import last_failures, now, quarantine_rows
from warehouse.load.log_writer import standing_rows
from warehouse.publish.shards.publication import problems_of
from warehouse.published.problem import last_problem, problem_of_audiences
from warehouse.published.shards import manifest
from writeback.notes import notes as roster_notes
from writeback.store.location import store_path
from writeback.store.store import Store

if TYPE_CHECKING:
    from pipelines.nights.failed_runs import FailedRun
    from pipelines.nights.overdue import Overdue

Row = Mapping[str, Any]

#: Days over which what pushes have missed is counted.
PUSH_DAYS = 7
MOST_SLICES = 5
NO_RECORDS = "Dagster's records are not here: which runs failed is not known."
GROUPS = {
    **{spec.name: "base data" for spec in (SCHOOLS, *BASE_DATA)},
    **{spec.name: "v1" for spec in V1_DATA},
    **{spec.name: "attendance" for spec in ATTENDANCE},
    **{spec.name: "reports" for spec in REPORT_METADATA},
}


@dataclass(frozen=True)
class SchoolStatus:
    """One school. `last_good`: when its last complete load of anything began (the platform's wall clock);
    `age`: how old its data are, `groups`: those of each group of resources; `failures`: the slices (resource,
    slice) that could not be loaded, by the reason; `quarantined`: rows a resource; `has_earlier_rows`: a
    slice that could not be loaded has rows of an earlier load."""

    school_id: int
    name: str
    last_good: datetime | None
    age: Age
    groups: Mapping[str, Age]
    failures: Mapping[str, Sequence[tuple[str, str]]]
    quarantined: Mapping[str, int]
    has_earlier_rows: bool = False

    @property
    def is_unheard_of(self) -> bool:
        """Whether nothing was ever loaded of it, not even its name: its id may be mistyped."""
        return self.last_good is None and not self.name

    def is_stale(self, at: datetime) -> bool:
        """Whether a night has passed without a load."""
        return self.last_good is None or at - self.last_good > STALE


@dataclass(frozen=True)
class Status:
    """All schools; what is loaded right now, what is new in what the platform sends, what pushes missed; and
    what there is to do, in the order of its weight."""

    at: datetime
    schools: Sequence[SchoolStatus]
    notes: Sequence[str]
    to_do: Sequence[str]


def status_of(settings: Settings) -> Status:
    """How the warehouse of these settings stands."""
    (lake, away), at = _lake_to_show(settings), now()
    rows = [row for row in standing_rows(lake) if _is_wanted(row["resource"], settings)]
    standings = _by_school(rows)
    failed = _by_school(last_failures(lake, [row for row in rows if row["status"] == "failed"]))
    waiting = _by_school(quarantine_rows(lake))
    names = school_names(lake)
    ids = settings.school_ids or sorted(names.keys() | standings.keys())
    schools = [
        _school(each, names.get(each, ""), standings[each], failed[each], waiting[each]) for each in ids
    ]
    drift = latest(lake) if lake.holds(DRIFT) else []
    writers = [f"{writer} writes in {settings.home} now." for writer in living(settings)]
    missed = _missed_by_pushes(settings)
    news = [f"{in_a_line(drift)}."] if drift else []
    notes = [*writers, *news, *missed, *_read_in_part(rows)]
    night_to_do, night_notes = ([away], []) if away else _of_nights(settings, lake, schools, rows, at)
    to_do = [*_to_do(settings, schools, at), *night_to_do]
    return Status(at, schools, [*notes, *night_notes], to_do)


def _lake_to_show(settings: Settings) -> tuple[Lake, str | None]:
    """The lake of the settings, and what is not known of it since the district's Postgres does not answer."""
    try:
        return lake_of(settings), None
    except Exception as error:
        # A home without Postgres need not wait for this import.
        from sqlalchemy.exc import DBAPIError

        if not isinstance(error, DBAPIError):
            raise
        words = storage_in_words(error, settings.home)
        unknown = f"Which runs have failed, and whether this lake is the district's, is not known: {words}"
        return lake_without_check(settings), unknown


def ago(moment: datetime, at: datetime) -> str:
    """How long that is, in one number."""
    hours = max((at - moment).total_seconds(), 0.0) / 3600
    return f"{hours / 24:.0f} d" if hours >= 48 else f"{hours:.0f} h" if hours >= 1 else "<1 h"


def in_words(slices: Sequence[tuple[str, str]], reason: str) -> str:
    """Which slices (resource, slice) could not be loaded, and why."""
    return f"{_some([' '.join(each) for each in slices])}: {reason}"


def _some(texts: Sequence[str]) -> str:
    """The first of some texts, and how many more there are."""
    more = len(texts) - MOST_SLICES
    return ", ".join(texts[:MOST_SLICES]) + (f" and {more} more" if more > 0 else "")


def _by_school(rows: Iterable[Row]) -> defaultdict[int, list[Row]]:
    schools: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        schools[row["_school_id"]].append(row)
    return schools


def _school(
    school_id: int, name: str, standings: Iterable[Row], failed: Iterable[Row], waiting: Iterable[Row]
) -> SchoolStatus:
    """`standings`, `failed` and `waiting`: rows of this school alone."""
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
        {group: age_of(own) for group, own in groups.items()},
        reasons,
        Counter(row["resource"] for row in waiting),
        any(row["status"] == FAILED and row["complete_at"] is not None for row in rows),
    )


def _group(resource: str) -> str:
    """The group of resources that a table belongs to; of datasets and reports that is in its name."""
    return GROUPS.get(resource) or ("reports" if resource.startswith("report") else "datasets")


def _is_wanted(resource: str, settings: Settings) -> bool:
    """Whether the settings ask for a table at all. That datasets could not be read is no news any more where
    none are wanted: nothing is asked of them, so that no load ever takes it back."""
    return bool(settings.options.datasets.include) or _group(resource) != "datasets"


def _read_in_part(standings: Sequence[Row]) -> list[str]:
    """How many slices may be older than the last load, as it did not read all of them."""
    found = [row for row in read_in_part(standings) if row["complete_at"] is not None]
    if not found:
        return []
    since = min((row["whole_at"] for row in found if row["whole_at"]), default=None)
    oldest = f"; the oldest was last read whole on {since:%Y-%m-%d}" if since else ""
    return [
        f"Read in part by the last load: {len(found)} of {len(standings)} slices{oldest}. "
        f"quality.freshness says what of them may be old."
    ]


def _missed_by_pushes(settings: Settings) -> list[str]:
    if not inbox_path(settings.home).exists():
        return []
    since = now().timestamp() - PUSH_DAYS * 86_400
    with opened(settings.home) as inbox:
        counts = inbox.misses_since(since)
    changed, missed = sum(rows for _, rows, _ in counts), sum(lost for *_, lost in counts)
    if not missed:
        return []
    return [f"Pushes announced {changed - missed} of {changed} rows that changed in {PUSH_DAYS} days."]


def _never(school: SchoolStatus) -> list[str]:
    return with_semesters({name: ids for name, ids in school.age.never.items() if name in GROUPS})


def _swipes_waiting(home: Path) -> Iterable[str]:
    if store_path(home).exists():
        with Store(home) as store:
            for school_id, count in store.outbox.schools_waiting().items():
                yield (
                    f"Swipes of school {school_id} wait to be sent, {count:,}: "
                    f"campus swipes send --school {school_id}."
                )


def _of_nights(
    settings: Settings, lake: Lake, schools: Sequence[SchoolStatus], standings: Sequence[Row], at: datetime
) -> tuple[list[str], list[str]]:
    """What there is to do, and notes, about what the load log cannot say: runs that failed, and slices that
    were due and that nobody tried."""
    full = no_room(settings.home)
    to_do = [full] if full else []
    if not _has_runs(settings):
        return to_do, [NO_RECORDS] if standings else []
    # Dagster takes seconds to import, which a home without runs need not wait for.
    from pipelines.district.pauses import pausing_workers
    from pipelines.instance import open_instance
    from pipelines.nights.failed_runs import failed_runs
    from pipelines.nights.overdue import look_for_overdue

    try:
        with open_instance(settings) as instance:
            failed = failed_runs(instance, [reason for each in schools for reason in each.failures])
            due = look_for_overdue(settings, lake, instance, standings)
        pausing = pausing_workers(settings)
    except Exception as error:
        words = storage_in_words(error, settings.home)
        if words is None:
            raise
        return [*to_do, f"Which runs have failed is not known: {words}"], []
    to_do += [f"The worker {worker} takes no runs: {why.rstrip('.')}." for worker, why in pausing.items()]
    to_do += _failures_of(failed, settings)
    stale = {each.school_id for each in schools if each.is_stale(at)}
    to_do += [
        f"Due in the night of {night:%Y-%m-%d %H:%M} and not loaded: {'; '.join(places)}. What "
        f"was loaded before stays. See that the daemon and its workers run; campus sync loads them."
        for night, places in _by_night(due.left_out, stale).items()
    ]
    return to_do, list(_not_judged(due, stale))


def _not_judged(due: "Overdue", stale: Set[int]) -> Iterable[str]:
    """The schools of which it is not known what a night has left out, but for those that are stale as a
    whole."""
    if going_on := sorted(due.not_ended - stale):
        yield f"The last night of {named(going_on)} has not ended: what it leaves out is not known yet."
    if unknown := sorted(due.not_known - stale):
        yield (
            f"What the last night of {named(unknown)} has left out is not known: Dagster's records of the "
            f"last {2 * STALE.total_seconds() / 3600:.0f} hours have no night, or sync, that has ended."
        )


def _failures_of(failed: Sequence["FailedRun"], settings: Settings) -> Iterable[str]:
    """The runs that have failed, those of a job for the same reason in one line."""
    from pipelines.definitions import PUBLISH
    from pipelines.nights.failed_runs import MENDED_BY

    silent = bool(settings.base_url) and (settings.home / NOTE).exists()
    runs: dict[tuple[str, str], list[FailedRun]] = defaultdict(list)
    for run in failed:
        if not (run.is_halted and silent) and not (run.job == PUBLISH and last_problem(settings.home)):
            runs[run.job, run.why].append(run)
    for (job, why), alike in runs.items():
        ids = sorted({school_id for run in alike for school_id in run.schools})
        of = f" of school {', '.join(map(str, ids))}" if ids else ""
        count = f"{len(alike)} runs of {job}" if len(alike) > 1 else f"The run {job}"
        yield (
            f"{count}{of} failed, last at {max(run.at for run in alike):%m-%d %H:%M}: {why.rstrip('.')}. "
            f"Then {MENDED_BY[job]}."
        )


def _by_night(
    missing: Mapping[int, tuple[datetime, Sequence[tuple[str, str]]]], stale: Collection[int]
) -> dict[datetime, list[str]]:
    """What nights have left out of schools that are not stale as a whole, in words."""
    nights: dict[datetime, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for school_id, (night, places) in missing.items():
        if school_id not in stale:
            tables = list(dict.fromkeys(resource for resource, _ in places))
            slices = "1 slice" if len(places) == 1 else f"{len(places)} slices"
            nights[night][f"{slices} of {_some(tables)}"].append(school_id)
    return {
        night: [f"{named(schools)}: {words}" for words, schools in alike.items()]
        for night, alike in nights.items()
    }


def _has_runs(settings: Settings) -> bool:
    """Whether there are records of Dagster to look at: those of a district are in Postgres, others where
    Dagster was set up on this machine. To open records that are not there would set it up."""
    if settings.postgres_address is not None:
        return True
    home = Path(os.environ.get("DAGSTER_HOME") or settings.home / "dagster")
    return (home / "dagster.yaml").exists()


def _to_do(settings: Settings, schools: Sequence[SchoolStatus], at: datetime) -> Iterable[str]:
    if settings.base_url and known_since(settings.home / NOTE, settings.base_url, math.inf) is not None:
        yield "The platform answered nothing when it was last asked: campus doctor asks it again."
    if settings.base_url and is_refused(settings.home / NOTE, settings.base_url):
        yield (
            "Nothing could be asked of the platform: check CAMPUS_BASE_URL, CAMPUS_CLIENT_ID and "
            "CAMPUS_CLIENT_SECRET; campus doctor says which it is."
        )
    yield from unproven(settings.home)
    if not schools:
        yield "Nothing has been loaded yet: run campus sync."
    ghosts = [each.school_id for each in schools if each.is_unheard_of and not settings.school_ids]
    if ghosts:
        yield (
            f"School {', '.join(map(str, ghosts))} was never loaded. Was it a mistyped --school? The next "
            f"campus sync takes it out where the platform does not list it."
        )
    schools = [each for each in schools if each.school_id not in ghosts]
    stale = [each.school_id for each in schools if each.is_stale(at)]
    if stale:
        yield (
            f"No load for more than {STALE.total_seconds() / 3600:.0f} hours of school "
            f"{', '.join(map(str, stale))}: see that the schedule, or the crontab, runs; then campus sync."
        )
    failing = [each.school_id for each in schools if each.failures]
    if failing:
        rest = " Rows of earlier loads stay." if any(each.has_earlier_rows for each in schools) else ""
        yield (
            f"Slices of school {', '.join(map(str, failing))} could not be loaded, for the reasons above; "
            f"docs/reference/messages.md says what to do about each.{rest}"
        )
    for never, alike in groupby(sorted(schools, key=_never), key=_never):
        if never:
            yield (
                f"Never loaded whole, of school {', '.join(str(each.school_id) for each in alike)}: "
                f"{', '.join(never)}. What is made of these is not known, or known of a part only."
            )
    if any(each.quarantined for each in schools):
        yield "Rows wait in quarantine: campus quarantine list; once mended, campus quarantine replay."
    yield from (note.words for note in roster_notes(settings.home))
    yield from _swipes_waiting(settings.home)
    if settings.shards:
        yield from (
            f"The last build was not published of {each}" for each in problems_of(manifest(settings.shards))
        )
    elif problem := last_problem(settings.home):
        yield f"The last build was not published, and campus.duckdb is an older one: {problem}"
    if settings.audiences and (problem := problem_of_audiences(settings.home)):
        yield f"The files of audiences are not as campus.yaml has them: {problem}. Then run campus build."
    if schools and not settings.published.exists():
        yield f"{settings.published} is not there: run campus build."
