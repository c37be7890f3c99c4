"""Worlds that the tests of a module share, since each costs seconds."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from compiled_home import give_compiled
from world import World, world

from warehouse.publish.dbt_project import Build

NewHome = Callable[[], Path]


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory, compiled_models: Build) -> NewHome:
    """Makes homes in which dbt has compiled its project already, as in any home after the first command."""

    def make() -> Path:
        home = tmp_path_factory.mktemp("home")
        give_compiled(home, compiled_models)
        return home

    return make


@pytest.fixture(scope="module")
def make_world(new_home: NewHome) -> Iterator[Callable[..., World]]:
    """Makes worlds that last as long as the module's tests."""
    with ExitStack() as worlds:

        def make(**options: Any) -> World:
            return worlds.enter_context(world(new_home(), **options))

        yield make
