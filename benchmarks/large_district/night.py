"""A district's night as a simulation: submission, queue, workers, platform, commits and publication."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from benchmarks.large_district import service_times as times
from benchmarks.large_district.events import Process, Server, Simulation
from pipelines.automation.nightly import SCHOOLS_PER_TICK
from pipelines.publication.due_shards import SHARDS_PER_TICK

#: Seconds between two ticks of the sensor of loads, two looks at the queue, and two ticks of the publication.
LOAD_TICK, QUEUE_TICK, PUBLICATION_TICK = 10.0, 5.0, 60.0
#: Requests that a run sends between two looks at the shared rate, in the simulation.
BATCH = 1000


@dataclass(frozen=True)
class District:
    """A district, and what it is given. Settings have the names of campus.yaml."""

    schools: int
    #: Answers a second that the platform agreed to.
    rate: float = 3000.0
    #: Seconds of a response.
    latency: float = times.LATENCY.value
    requests: float = times.REQUESTS.value
    #: Seconds of a run for a school, beside its requests.
    school_seconds: float = times.CPU_A_SCHOOL.value
    workers: int = 20
    loads_at_a_time: int = 20
    builds_at_a_time: int = 4
    schools_per_run: int = 1
    schools_per_shard: int = 16
    #: Semesters in the lake.
    semesters: int = 2
    #: Nights whose events Dagster has. A district that deletes fewer runs than it makes has ever more.
    nights: int = times.KEPT_NIGHTS
    #: Old runs that Dagster's storage loses in a week at most.
    deleted_a_week: int = times.DELETED_A_WEEK
    #: Schools of a group, which has a lake, a Postgres and a daemon of its own. Groups share the workers and
    #: the platform. None: one group.
    schools_per_group: int | None = None
    #: Whether the ticks of sensors read the rows of their own schools alone.
    narrow_ticks: bool = False

    @property
    def groups(self) -> int:
        """The number of groups."""
        return math.ceil(self.schools / self.schools_per_group) if self.schools_per_group else 1

    @property
    def group_schools(self) -> float:
        """The schools of a group."""
        return self.schools / self.groups

    @property
    def runs(self) -> int:
        """The runs of loads in a night."""
        return math.ceil(self.schools / self.schools_per_run)

    @property
    def shards(self) -> int:
        """The shards of all groups."""
        return math.ceil(self.schools / self.schools_per_shard)

    @property
    def slices(self) -> float:
        """The slices of all tables of a group's lake."""
        return self.group_schools * slices_of_a_school(self.semesters)

    @property
    def batch_seconds(self) -> float:
        """Seconds of a worker for a batch of requests, if the platform grants all at once."""
        in_flight = BATCH * self.latency / times.IN_FLIGHT
        return max(in_flight, BATCH * times.CPU_A_REQUEST.value)

    @property
    def run_seconds(self) -> float:
        """Seconds of a run, if nothing makes it wait."""
        return self.start_seconds + self.schools_per_run * (
            self.school_seconds + self.requests / BATCH * self.batch_seconds
        )

    @property
    def start_seconds(self) -> float:
        """Seconds of a run before its first request, and for its first look at each table of the lake."""
        return times.CPU_A_PROCESS.value + self.slices * times.LOOK_A_SLICE.value

    @property
    def load_tick_seconds(self) -> float:
        """Seconds in which a tick of the sensor of loads finds what is due, without its requests."""
        share = min(1.0, SCHOOLS_PER_TICK / self.group_schools) if self.narrow_ticks else 1.0
        a_school = (
            times.NIGHTLY_ASSETS * self.nights * times.PARTITION_ROW.value
            + times.SEMESTERS_A_LOAD_TICK * times.CURRENT_SEMESTER.value
        )
        standings = times.STANDINGS_A_LOAD_TICK * self.standings_seconds
        return share * (self.group_schools * a_school + standings)

    @property
    def standings_seconds(self) -> float:
        """Seconds for a reading of the standings of all schools of a group."""
        return self.slices * times.STANDING_ROW.value

    @property
    def publication_tick_seconds(self) -> float:
        """Seconds in which a tick of the publication looks at some shards."""
        shards = min(SHARDS_PER_TICK, math.ceil(self.shards / self.groups))
        readings = 0.0 if self.narrow_ticks else times.STANDINGS_A_PUBLICATION_TICK * self.standings_seconds
        return readings + self.slices * times.LIST_A_SLICE.value + shards * times.SHARD_LOOK.value


def slices_of_a_school(semesters: int) -> float:
    """The slices of a school in all tables."""
    return times.SLICES_A_SCHOOL + semesters * (times.SLICES_A_SEMESTER + times.WEEK_TABLES * times.WEEKS)


@dataclass
class Night:
    """The times and the load of a simulated night. Times are seconds since the end of the discovery."""

    first_start: float = 0.0
    loads_end: float = 0.0
    ends: float = 0.0
    requested: float = 0.0
    longest_queue: int = 0
    #: The servers, by name: their `utilisation` is that of the whole night.
    servers: dict[str, Server] = field(default_factory=dict)


def simulated(district: District) -> Night:
    """Simulate a night, from the end of the discovery to district.duckdb."""
    return _Simulated(district).run()


class _Simulated:
    def __init__(self, district: District) -> None:
        self.district, self.night, self.simulation = district, Night(), Simulation()
        self.workers = Server(self.simulation, district.workers)
        self.platform = Server(self.simulation)
        self.table = Server(self.simulation)
        self.postgres = Server(self.simulation)
        self.builds = Server(self.simulation, min(district.builds_at_a_time, district.workers))
        self.left = district.runs

    def run(self) -> Night:
        groups = self.district.groups
        for group in range(groups):
            runs = self.district.runs // groups + (group < self.district.runs % groups)
            shards = self.district.shards // groups + (group < self.district.shards % groups)
            queue = deque[int]()
            state = _Group(runs, runs, shards, queue)
            self.simulation.start(self.request(state))
            self.simulation.start(self.dequeue(state))
        self.night.ends = self.simulation.run()
        self.night.servers = {
            "workers": self.workers,
            "platform": self.platform,
            "commits to the busiest table": self.table,
            "Postgres": self.postgres,
            "builds": self.builds,
        }
        return self.night

    def request(self, group: _Group) -> Process:
        """The sensor of loads: ticks that request the runs of some schools."""
        a_tick = max(1, SCHOOLS_PER_TICK // self.district.schools_per_run)
        for first in range(0, group.runs, a_tick):
            began = self.simulation.now
            yield self.district.load_tick_seconds
            for _ in range(min(a_tick, group.runs - first)):
                yield times.SUBMISSION.value
                group.queue.append(1)
                self.night.longest_queue = max(self.night.longest_queue, len(group.queue))
            yield max(0.0, began + LOAD_TICK - self.simulation.now)
        self.night.requested = max(self.night.requested, self.simulation.now)

    def dequeue(self, group: _Group) -> Process:
        """Dagster's queue: it reads all queued runs, and launches as many as the limit allows."""
        while group.unfinished:
            yield QUEUE_TICK + len(group.queue) * times.QUEUED_RUN.value
            for _ in range(min(len(group.queue), self.district.loads_at_a_time - group.running)):
                group.queue.popleft()
                group.running += 1
                yield times.LAUNCH.value
                self.simulation.start(self.load(group))
        self.simulation.start(self.publish(group))

    def load(self, group: _Group) -> Process:
        """A worker's run."""
        district = self.district
        yield self.workers.take()
        self.night.first_start = self.night.first_start or self.simulation.now
        yield district.start_seconds
        for _ in range(district.schools_per_run):
            yield district.school_seconds
            left = district.requests
            while left > 0:
                batch, began = min(BATCH, left), self.simulation.now
                yield from self.platform.use(batch / (district.rate * times.PACE_USED.value))
                need = district.batch_seconds * batch / BATCH
                yield max(0.0, began + need - self.simulation.now)
                left -= batch
        for _ in range(times.COMMITS_A_RUN):
            yield from self.table.use(1 / times.COMMITS_A_SECOND.value)
        events = district.schools_per_run * times.EVENTS_A_SCHOOL.value
        yield from self.postgres.use(events / times.EVENTS_A_SECOND.value)
        group.running -= 1
        group.unfinished -= 1
        self.night.loads_end = self.simulation.now
        yield times.BETWEEN_RUNS.value
        self.workers.free()

    def publish(self, group: _Group) -> Process:
        """The sensor of the publication: ticks that look at some shards and request their builds."""
        if not group.shards:
            return
        for first in range(0, group.shards, SHARDS_PER_TICK):
            yield max(PUBLICATION_TICK, self.district.publication_tick_seconds)
            for _ in range(min(SHARDS_PER_TICK, group.shards - first)):
                self.simulation.start(self.build(group))

    def build(self, group: _Group) -> Process:
        """The build of a shard; the last one of a group is followed by district.duckdb."""
        yield from self.builds.use(times.BUILD.value * self.district.schools_per_shard / times.BUILT_SCHOOLS)
        group.unbuilt -= 1
        if not group.unbuilt:
            yield PUBLICATION_TICK + group.shards * times.DISTRICT_FILE.value


@dataclass
class _Group:
    """The state of a group's daemon."""

    runs: int
    unfinished: int
    shards: int
    queue: deque[int]
    running: int = 0
    unbuilt: int = field(init=False)

    def __post_init__(self) -> None:
        self.unbuilt = self.shards
