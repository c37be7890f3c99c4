"""A platform that answers everything without rows deletes nothing."""

from collections.abc import Callable

import pytest

from pipelines.settings.options import DatasetOptions
from tests.kits.worlds.dataset_world import Published, differences, sync
from tests.kits.worlds.world import World

OPTIONS = {"include": ("big_scores",), "segment_rows": 100}


@pytest.fixture(scope="module")
def synced(make_world: Callable[..., World]) -> World:
    """A dataset whose last segment has one row."""
    world = make_world("datasets", dataset_rows=200)
    assert sync(world, **OPTIONS).problems == []
    return world


@pytest.mark.parametrize("school_ids", [None, (101,)], ids=["all schools", "a school of the settings"])
@pytest.mark.parametrize("full", [False, True])
def test_rows_stay_while_the_platform_lists_nothing(
    synced: World, school_ids: tuple[int, ...] | None, full: bool
) -> None:
    before = Published(synced).rows("big_scores")
    synced.platform.set_faults({"kind": "empty", "path": "/*"})
    options = synced.settings.options.model_copy(update={"datasets": DatasetOptions(**OPTIONS)})
    load = synced.load(select=None, full=full, school_ids=school_ids, options=options)
    synced.platform.set_faults()
    assert load.problems and load.total("vanished") == load.total("deleted") == 0
    no_schools = (
        "the platform lists no schools. Nothing is read, and all rows stay. Ask its operator, or set "
        "CAMPUS_SCHOOL_IDS."
    )
    assert (load.problems == [no_schools]) is (school_ids is None), "nothing else is read then"
    assert Published(synced).rows("big_scores") == before
    assert sync(synced, **OPTIONS).problems == [] and differences(synced) == {}
