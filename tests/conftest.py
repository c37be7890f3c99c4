"""How `make test` deals the tests to its three processes: two cores, and one that waits.

A file is never divided: its tests share what is costly to make, such as a world or a browser. The files of
tests/models count as one, since they share dbt's builds. One process takes the files that mostly wait, one
after the other: while two wait at once, a core has nothing to do. The others take the rest, and all three
take what is left at the end. What takes longest comes first, so that no process waits long for the others at
the end. A fixture of scope `session` is made once in each process.
"""

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from warehouse.files import UMASK

# The machine may be busy.
hypothesis.settings.register_profile("busy", deadline=None)
hypothesis.settings.load_profile("busy")
# That of each process of campus. The folder tests/pipelines hides the package that sets it.
os.umask(os.umask(UMASK) | UMASK)

UNDIVIDED = "tests/models/"
# What mostly waits: for a browser, a kill, a second try, a platform or a server that is away.
WAITING = (
    "tests/pipelines/test_ui.py",
    "tests/pipelines/test_write_commands.py",
    "tests/pipelines/test_dataset_faults.py",
    "tests/pipelines/test_pushes.py",
    "tests/faults/",
    "tests/pipelines/test_faults.py",
    "tests/shards/",
    "tests/pipelines/test_shared_workers.py",
    "tests/reading/test_reading_faults.py",
    "tests/pipelines/test_roster_warehouse.py",
    "tests/notices/",
    "tests/pipelines/test_doctor",
    "tests/push/",
    "tests/warehouse/test_object_store.py",
    "tests/campus/test_client.py",
)
# What computes longest.
LONGEST = (
    UNDIVIDED,
    "tests/pipelines/test_publishing.py",
    "tests/pipelines/test_awkward_platform.py",
    "tests/pipelines/test_attendance.py",
    "tests/pipelines/test_incremental.py",
    "tests/pipelines/",
    "tests/warehouse/",
    "tests/datasets/",
    "",
)


class ByFile(LoadFileScheduling):
    """Deals out files, UNDIVIDED as if it were one. The first process gets those that mostly wait."""

    def _split_scope(self, nodeid: str) -> str:
        return UNDIVIDED if nodeid.startswith(UNDIVIDED) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        is_first = node is self.nodes[0]
        next_file = next((file for file in self.workqueue if file.startswith(WAITING) == is_first), None)
        if next_file is not None:
            self.workqueue.move_to_end(next_file, last=False)
        super()._assign_work_unit(node)


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return next(rank for rank, start in enumerate(WAITING + LONGEST) if item.nodeid.startswith(start))


@pytest.fixture(scope="session", autouse=True)
def _revisions_read_once() -> Iterator[None]:
    """Dagster's records are made anew for hundreds of tests, and each time alembic would read the sixty
    revisions of their schema: three quarters of what it costs to make them in memory."""
    read, kept = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

    def read_once(config: Config) -> ScriptDirectory:
        folder = config.get_main_option("script_location")
        if folder not in kept:
            kept[folder] = read(config)
        return kept[folder]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", read_once)
        yield


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes empty homes."""
    return lambda: tmp_path_factory.mktemp("home")


@pytest.fixture
def own_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each home has its own runs, whatever a test before has put into the environment."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
