"""How `make test` deals the tests to its three processes: two cores, and one that waits.

A file is not divided: its tests share what is costly to make, such as a world or a browser. The files of
tests/warehouse/models count as one, since they share builds. The cases of DIVIDED share nothing. One
process takes the files that mostly wait, one after the other: while two wait at once, a core has nothing to
do. The others take the rest, and all three take what is left at the end. What takes longest comes first, so
that no process waits long for the others at the end. A fixture of scope `session` is made once a process.
"""

import gc
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter
from alembic.config import Config
from alembic.script import ScriptDirectory
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from warehouse.files import UMASK

if TYPE_CHECKING:
    from tests.kits.worlds.world import World

# The machine may be busy.
hypothesis.settings.register_profile("busy", deadline=None)
hypothesis.settings.load_profile("busy")
# A shell ignores SIGINT in the background, and Dagster then ignores SIGTERM too: programs of tests stay.
signal.signal(signal.SIGINT, signal.default_int_handler)
# That of each process of campus.
os.umask(os.umask(UMASK) | UMASK)

#: When the time of a run is up, in seconds since 1970 (.ci/run): slow tests that have not begun are left out.
END = float(os.environ.get("TESTS_END", "inf"))
UNDIVIDED = "tests/warehouse/models/"
DIVIDED = ("tests/end_to_end/requests/test_two_nights.py", "tests/pipelines/cli/test_transcripts.py")
# What mostly waits: for a browser, a kill, a second try, a platform or a server that is away.
WAITING = (
    "tests/pipelines/ui/test_ui.py",
    "tests/pipelines/cli/writing/test_write_commands.py",
    "tests/end_to_end/datasets/test_faults.py",
    "tests/end_to_end/faults/",
    "tests/end_to_end/scenarios/",
    "tests/warehouse/publish/shards/",
    "tests/pipelines/shared/test_workers.py",
    "tests/end_to_end/readings/test_faults.py",
    "tests/pipelines/writes/test_roster_warehouse.py",
    "tests/pipelines/notices/",
    "tests/pipelines/cli/doctor/",
    "tests/pipelines/pushes/",
    "tests/warehouse/lake/test_object_store.py",
    "tests/campus/http/test_client.py",
)
# What computes longest.
LONGEST = (
    UNDIVIDED,
    "tests/pipelines/publication/test_publishing.py",
    "tests/end_to_end/platforms/test_awkward_platform.py",
    "tests/end_to_end/attendance/test_attendance.py",
    "tests/end_to_end/syncs/test_incremental.py",
    "tests/end_to_end/",
    "tests/pipelines/",
    "tests/warehouse/",
    "",
)


#: Left to `make test-slow`: they take half of the suite's CPU seconds, and run few lines that no others run.
SLOW = (
    "tests/end_to_end/attendance/test_attendance.py",
    "tests/end_to_end/attendance/test_teaching_weeks.py",
    "tests/end_to_end/datasets/test_faults.py",
    "tests/end_to_end/datasets/test_syncs.py",
    "tests/end_to_end/datasets/test_words.py",
    "tests/end_to_end/deletions/test_rejoining.py",
    "tests/end_to_end/deletions/test_who_left.py",
    "tests/end_to_end/exports/",
    "tests/end_to_end/homes/",
    "tests/end_to_end/platforms/",
    "tests/end_to_end/privacy/",
    "tests/end_to_end/readings/test_faults.py",
    "tests/end_to_end/scenarios/",
    "tests/end_to_end/syncs/test_closed_semesters.py",
    "tests/end_to_end/syncs/test_drift.py",
    "tests/end_to_end/syncs/test_followed_changes.py",
    "tests/end_to_end/syncs/test_incremental.py",
    "tests/end_to_end/syncs/test_log_commits.py",
    "tests/end_to_end/syncs/test_sync.py",
    "tests/end_to_end/syncs/test_v1.py",
    "tests/house/test_site.py",
    "tests/pipelines/automation/test_automation.py",
    "tests/pipelines/cli/commands/test_extracts.py",
    "tests/pipelines/nights/test_missed_nights.py",
    "tests/pipelines/nights/test_nights.py",
    "tests/pipelines/publication/test_audiences.py",
    "tests/pipelines/publication/test_published_levels.py",
    "tests/pipelines/publication/test_publishing.py",
    "tests/pipelines/settings/test_file_modes.py",
    "tests/pipelines/shared/test_rates.py",
    "tests/pipelines/ui/test_process.py",
    "tests/pipelines/ui/test_ui.py",
    "tests/pipelines/writes/test_roster_warehouse.py",
    "tests/simulator/datasets/test_datasets.py",
    "tests/simulator/school/test_school.py",
    "tests/warehouse/lake/test_open_tables.py",
    "tests/warehouse/lake/test_processes.py",
    "tests/warehouse/models/exports/test_accessibility.py",
    "tests/warehouse/models/exports/test_board_across_years.py",
    "tests/warehouse/models/exports/test_board_of_all.py",
    "tests/warehouse/models/exports/test_nightly_site.py",
    "tests/warehouse/models/exports/test_site.py",
    "tests/warehouse/models/exports/walks/",
    "tests/warehouse/models/marts/early_warning/test_backtest.py",
    "tests/warehouse/models/marts/early_warning/test_known_when.py",
    "tests/warehouse/models/marts/early_warning/test_early_warning_history.py",
    "tests/warehouse/models/marts/test_credit_readings.py",
    "tests/warehouse/models/marts/test_grade_levels.py",
    "tests/warehouse/models/marts/test_never_loaded.py",
    "tests/warehouse/models/marts/test_score_readings.py",
    "tests/warehouse/models/other_programs/test_contract.py",
    "tests/warehouse/models/quality/test_as_of.py",
    "tests/writeback/roster/test_kill.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out a slow test, and say so, rather than have the whole run stopped."""
    if time.time() > END and item.get_closest_marker("slow"):
        pytest.skip("left out, since the time of this run is up (TESTS_END)")


class ByFile(LoadFileScheduling):
    """Deals out files, UNDIVIDED as if it were one. The first process gets those that mostly wait."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(DIVIDED):
            return nodeid
        return UNDIVIDED if nodeid.startswith(UNDIVIDED) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        is_first = node is self.nodes[0]
        next_file = next((file for file in self.workqueue if file.startswith(WAITING) == is_first), None)
        if next_file is not None:
            self.workqueue.move_to_end(next_file, last=False)
        super()._assign_work_unit(node)


class FailuresAtOnce:
    """Names each failed test when it fails: a suite that is stopped before its end prints no summary."""

    def __init__(self, terminal: TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            errors = [line for line in report.longreprtext.splitlines() if line.startswith("E")]
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)")
            self._terminal.write_line("\n".join(errors[:3]))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """The processes of xdist have no terminal of their own."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(terminal))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Files in the order of the collection, not by the number of their tests."""
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays until the end. The garbage collector would look through it again
    and again: a twentieth of the CPU."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests would be left out, unless the command names it."""
    name = collection_path.relative_to(config.rootpath).as_posix()
    return True if config.option.markexpr == "not slow" and f"{name}/".startswith(SLOW) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first."""
    items.sort(key=_rank)
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)


def _rank(item: pytest.Item) -> int:
    return next(rank for rank, start in enumerate(WAITING + LONGEST) if item.nodeid.startswith(start))


@pytest.fixture(scope="session", autouse=True)
def _revisions_read_once() -> Iterator[None]:
    """Dagster's records are made anew for hundreds of tests, and each time alembic would read the sixty
    revisions of their schema: three quarters of what it costs to make them in memory."""
    read, scripts = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

    def read_once(config: Config) -> ScriptDirectory:
        folder = config.get_main_option("script_location")
        if folder not in scripts:
            scripts[folder] = read(config)
        return scripts[folder]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", read_once)
        yield


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes empty homes."""
    return lambda: tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def make_world(new_home: Callable[[], Path]) -> "Iterator[Callable[..., World]]":
    """Makes worlds that last as long as the module's tests: `make_world("small", week_start="start")`."""
    # They import Dagster, which takes seconds.
    from tests.kits.worlds.named import WORLDS
    from tests.kits.worlds.world import world

    with ExitStack() as worlds:

        def make(name: str, **options: Any) -> "World":
            return worlds.enter_context(world(new_home(), **WORLDS[name] | options))

        yield make


@pytest.fixture(scope="module")
def load_world(make_world: "Callable[..., World]") -> "Callable[..., World]":
    """Makes worlds that were loaded once. `select`: these assets, by default base data; None: all."""
    from tests.kits.worlds.world import BASE_ONLY

    def load(name: str, *, select: str | None = BASE_ONLY, **options: Any) -> "World":
        world = make_world(name, **options)
        assert world.load(select=select).problems == []
        return world

    return load


@pytest.fixture
def own_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each home has its own runs, whatever a test before has put into the environment."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
