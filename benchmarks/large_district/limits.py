"""The share of its limit that each component takes, and the number of schools at which it takes all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from benchmarks.large_district import service_times as times
from benchmarks.large_district.night import LOAD_TICK, PUBLICATION_TICK, District
from pipelines.automation.nightly import SCHOOLS_PER_TICK
from pipelines.publication.due_shards import SHARDS_PER_TICK
from pipelines.shared.shares import EXCHANGE_SECONDS

#: The largest district that is looked at.
MOST = 100_000
#: The share of a component's limit: of the seconds of a night, of a tick, of a memory, of a budget.
Share = Callable[[District], float]


def _platform(district: District) -> float:
    return district.schools * district.requests / (district.rate * times.PACE_USED.value) / times.NIGHT


def _workers(district: District) -> float:
    at_a_time = min(district.workers, district.loads_at_a_time * district.groups)
    return district.runs * (district.run_seconds + times.BETWEEN_RUNS.value) / at_a_time / times.NIGHT


def _submission(district: District) -> float:
    """The ticks of a group's daemon."""
    runs = district.runs / district.groups
    ticks = runs * district.schools_per_run / SCHOOLS_PER_TICK
    a_tick = district.load_tick_seconds + SCHOOLS_PER_TICK / district.schools_per_run * times.SUBMISSION.value
    return ticks * max(LOAD_TICK, a_tick) / times.NIGHT


def _launches(district: District) -> float:
    return district.runs / district.groups * times.LAUNCH.value / times.NIGHT


def _deletions(district: District) -> float:
    """A night makes a run a school or group of schools, a run a shard, the discovery and district.duckdb."""
    runs = district.runs + district.shards + 2 * district.groups
    return 7 * runs / district.groups / district.deleted_a_week


def _inserts(district: District) -> float:
    events = district.group_schools * times.EVENTS_A_SCHOOL.value
    return events / times.EVENTS_A_SECOND.value / times.NIGHT


def _exchanges(district: District) -> float:
    """The workers that are busy at a time, if the night takes six hours."""
    busy = district.runs * district.run_seconds / times.NIGHT / district.groups
    return busy / EXCHANGE_SECONDS / times.EXCHANGES.value


def _load_memory(district: District) -> float:
    return (times.RUN_MB.value + district.slices * times.LOOK_MB.value) / times.LOAD_MB


def _sensor_memory(district: District) -> float:
    if district.narrow_ticks:
        return times.DAEMON_BASE_MB.value / times.DAEMON_MB
    return (times.DAEMON_BASE_MB.value + district.slices * times.STANDING_MB.value) / times.DAEMON_MB


def _commits(district: District) -> float:
    commits = district.runs / district.groups * times.COMMITS_A_RUN
    return commits / times.COMMITS_A_SECOND.value / times.NIGHT


def _builds(district: District) -> float:
    seconds = times.BUILD.value * district.schools_per_shard / times.BUILT_SCHOOLS
    at_a_time = min(district.builds_at_a_time * district.groups, district.workers)
    return district.shards * seconds / at_a_time / times.NIGHT


def _shard_ticks(district: District) -> float:
    ticks = district.shards / district.groups / SHARDS_PER_TICK
    return ticks * max(PUBLICATION_TICK, district.publication_tick_seconds) / times.NIGHT


def _district_file(district: District) -> float:
    return district.shards / district.groups * times.DISTRICT_FILE.value / times.NIGHT


def _district_memory(district: District) -> float:
    shards = district.shards / district.groups
    return (times.DISTRICT_MB.value + shards * times.SHARD_MB.value) / times.BUILD_MB


def _network(district: District) -> float:
    gigabit = 125.0
    return district.schools * times.RESPONSE_MB.value / gigabit / times.NIGHT


COMPONENTS: Mapping[str, Share] = MappingProxyType(
    {
        "the platform's rate": _platform,
        "deletion of old runs": _deletions,
        "memory of a load": _load_memory,
        "memory of district.duckdb's build": _district_memory,
        "memory of the sensors": _sensor_memory,
        "a tick of the loads": lambda district: district.load_tick_seconds / times.TICK_ENDS,
        "a tick of the publication": lambda district: district.publication_tick_seconds / times.TICK_ENDS,
        "submission of runs": _submission,
        "launches of runs": _launches,
        "workers": _workers,
        "network, a gigabit a second": _network,
        "builds of shards": _builds,
        "ticks of all shards": _shard_ticks,
        "district.duckdb": _district_file,
        "commits to the busiest table": _commits,
        "exchanges of the shared rate": _exchanges,
        "events in Postgres": _inserts,
    }
)


def limit_of(share: Share, district: District) -> int | None:
    """The largest number of schools with a share of at most 1. None: there is no limit up to MOST."""
    if share(replace(district, schools=MOST)) <= 1:
        return None
    low, high = 0, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if share(replace(district, schools=middle)) <= 1 else (low, middle)
    return low


def limits(district: District) -> dict[str, int]:
    """The limits of all components that have one, the least first."""
    all_limits = {name: limit_of(share, district) for name, share in COMPONENTS.items()}
    return dict(sorted(((n, at) for n, at in all_limits.items() if at is not None), key=lambda pair: pair[1]))
