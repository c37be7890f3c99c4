"""What the tests of faults share: a platform with news, homes to interrupt, and the table of the kills."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kits.kills.killing import Victims
from tests.kits.kills.kills import ROW, Copy
from tests.kits.worlds.world import EARLY, World, world

#: One dataset that is read by segments, and one by pages.
SETTINGS = "platform: {max_attempts: 4}\ndatasets: {include: [course_scores, entry_log]}\n"
SMALL = {"students": 12, "today": str(EARLY)}


@pytest.fixture(scope="module")
def make_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], World]]:
    """Makes worlds that last as long as the module's tests."""
    with ExitStack() as worlds:

        def make(**options: Any) -> World:
            home = tmp_path_factory.mktemp("home")
            (home / "campus.yaml").write_text(SETTINGS)
            return worlds.enter_context(world(home, **SMALL | options))

        yield make


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Victims:
    """What runs the project's programs."""
    folder = tmp_path_factory.mktemp("programs")
    return Victims(folder / "output", folder / "stacks")


@contextmanager
def _copies(homes: Path) -> Iterator[Copy]:
    def copy(home: Path) -> Path:
        number = len(list(homes.iterdir())) if homes.exists() else 0
        return Path(shutil.copytree(home, homes / str(number)))

    yield copy
    shutil.rmtree(homes, ignore_errors=True)


@pytest.fixture(scope="module")
def module_copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """Makes copies of homes that last as long as the module's tests."""
    with _copies(tmp_path_factory.mktemp("homes")) as copy:
        yield copy


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    """Makes copies of homes, which go with the test: fifty of them would be gigabytes."""
    with _copies(tmp_path / "homes") as copy:
        yield copy


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show where the kills fell, and what was found after each."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    rows = sorted(row for report in reports for name, row in report.user_properties if name == ROW)
    if rows:
        terminalreporter.section("kills: which, when, where, what stood there, what the next run said, equal")
        for row in rows:
            terminalreporter.line(row)
