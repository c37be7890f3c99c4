"""The figures of the simulation, each with its origin.

measured: as it is in the source. computed: from measured figures, as the source says. assumed: not measured.
"""

from dataclasses import dataclass
from typing import Literal

Origin = Literal["measured", "computed", "assumed"]


@dataclass(frozen=True)
class Figure:
    """A number with its unit and origin."""

    value: float
    unit: str
    origin: Origin
    source: str
    #: Day of the measurement; empty: not measured.
    day: str = ""


#: Seconds of a night, and the times of the settings and the code that no measurement can change.
NIGHT = 6 * 3600.0
#: platform.concurrency, schedule.keep_runs_days, run_retention.MAX_DELETED, and Dagster's seconds for a tick.
IN_FLIGHT, KEPT_NIGHTS, DELETED_A_WEEK, TICK_ENDS = 16, 60, 2000, 60.0
#: Memory of a worker for a load, of a worker for a build, and of the daemon (docs/how-to/district.md).
LOAD_MB, BUILD_MB, DAEMON_MB = 1000.0, 2500.0, 2000.0
#: Tables by school, by semester and by week of a semester (loading/tables.py, without reports), and the weeks
#: of a semester.
SLICES_A_SCHOOL, SLICES_A_SEMESTER, WEEK_TABLES, WEEKS = 23, 10, 2, 20
#: Assets whose loaded partitions a tick reads, and readings of the standings in a tick of either sensor.
NIGHTLY_ASSETS, STANDINGS_A_LOAD_TICK, STANDINGS_A_PUBLICATION_TICK = 29, 3, 3
#: Loads by semester, for each of which a tick looks up the current semesters.
SEMESTERS_A_LOAD_TICK = 3
#: Commits of a run to its busiest table, the standings: one in ten seconds at most, and one at the end.
COMMITS_A_RUN = 6
#: Schools of the measured shard.
BUILT_SCHOOLS = 16

NIGHTS_README = "benchmarks/README.md, nights in a row"
HERE = "python -m benchmarks.large_district.measure"

REQUESTS = Figure(
    12_000,
    "requests a school and night",
    "computed",
    "60 million by 5,000; 6,174 of 1,000 students without changes, twice",
)
LATENCY = Figure(0.05, "s a response", "assumed", "as in benchmarks.district.workers")
PACE_USED = Figure(
    0.93, "of the platform's rate", "measured", "benchmarks/README.md, what workers share", "2026-11-28"
)
CPU_A_PROCESS = Figure(
    3.2, "CPU s a run", "computed", f"{NIGHTS_README}: 5.5 for one school, 14.75 for five", "2026-11-25"
)
CPU_A_REQUEST = Figure(
    0.00098,
    "CPU s a request",
    "computed",
    f"{NIGHTS_README}: 3.75 for 606 requests, 9.2 for 6,174",
    "2026-11-25",
)
CPU_A_SCHOOL = Figure(
    1.7,
    "CPU s a school",
    "computed",
    f"{NIGHTS_README}: 2.3 a further school, less 600 requests",
    "2026-11-25",
)
RESPONSE_MB = Figure(
    150, "MB a school and night", "computed", f"{NIGHTS_README}: 75.3 of 1,000 students, twice", "2026-11-25"
)
SUBMISSION = Figure(
    0.58, "s a run", "measured", "benchmarks/README.md, workers (load 14 to 24)", "2026-11-25"
)
LAUNCH = Figure(0.1, "s a run", "assumed", "Dagster's queue launches one run after the other")
BETWEEN_RUNS = Figure(1, "s between two runs of a worker", "assumed", "its next process is ready")
QUEUED_RUN = Figure(0.000061, "s a queued run and look", "measured", f"{HERE} postgres", "2026-11-28")
PARTITION_ROW = Figure(
    0.0000006, "s an event of a partition", "measured", f"{HERE} postgres, in memory", "2026-11-28"
)
EXCHANGES = Figure(
    1711, "exchanges a second", "measured", f"{HERE} postgres, 12 processes on two cores", "2026-11-28"
)
LOOK_A_SLICE = Figure(
    0.000005, "CPU s a slice and run", "measured", f"{HERE} lake: 1,000 schools less 100", "2026-11-28"
)
LOOK_MB = Figure(
    0.00178, "MB a slice and run", "measured", f"{HERE} lake: 1,000 schools less 100", "2026-11-28"
)
LIST_A_SLICE = Figure(
    0.0000077, "s a slice and tick", "computed", f"{HERE} tables: look and list", "2026-11-28"
)
RUN_MB = Figure(
    500,
    "MB a run without slices",
    "measured",
    f"{NIGHTS_README}: a third night of 1,000 students",
    "2026-11-25",
)
STANDING_ROW = Figure(0.000007, "s a row", "measured", f"{HERE} standings", "2026-11-28")
CURRENT_SEMESTER = Figure(0.00082, "s a school and load", "measured", f"{HERE} semesters", "2026-11-28")
STANDING_MB = Figure(0.00167, "MB a row", "measured", f"{HERE} standings, 250,000 rows", "2026-11-28")
DAEMON_BASE_MB = Figure(
    300, "MB of the sensors' process", "measured", "ps, a district of two schools", "2026-11-28"
)
COMMITS_A_SECOND = Figure(
    46, "commits a second and table", "measured", f"{HERE} commits, 8 processes on two cores", "2026-11-28"
)
CHECKPOINT_MB = Figure(0.000154, "MB a slice", "measured", f"{HERE} tables", "2026-11-28")
EVENTS_A_SCHOOL = Figure(
    195, "events a school", "measured", "four nights of three schools of 20 students", "2026-11-28"
)
EVENTS_A_SECOND = Figure(
    191, "events a second", "measured", f"{HERE} postgres, 4 processes on two cores", "2026-11-28"
)
POSTGRES_MB = Figure(
    0.34, "MB a school in Postgres", "measured", "the same: growth of the database in a night", "2026-11-28"
)
SHARD_LOOK = Figure(1.5, "s a shard", "assumed", "a second or two, by pipelines/publication/due_shards.py")
BUILD = Figure(90, "s a shard on two cores", "measured", "benchmarks/README.md, shards", "2026-11-25")
DISTRICT_FILE = Figure(
    2.43, "s a shard", "computed", "benchmarks/README.md, shards: 7.3 for three", "2026-11-25"
)
DISTRICT_MB = Figure(
    787, "MB without shards", "computed", "benchmarks/README.md, shards: 814 with three", "2026-11-25"
)
SHARD_MB = Figure(9, "MB an open shard", "measured", "benchmarks/README.md, shards", "2026-11-25")

FIGURES = {name: figure for name, figure in globals().items() if isinstance(figure, Figure)}
