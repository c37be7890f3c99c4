import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import obstore
import pytest

from tests.kits.lake.small_lake import MARKS, NewLake, lake_at, names_in
from tests.kits.servers.object_store import BUCKET, ObjectStore, object_store
from warehouse.lake.delta import Lake


@pytest.fixture(scope="session")
def s3() -> Iterator[ObjectStore]:
    """An S3 server, found by whatever this process and its children ask."""
    with object_store() as store, pytest.MonkeyPatch.context() as environment:
        for name, value in store.environment.items():
            environment.setenv(name, value)
        yield store


@pytest.fixture(scope="session")
def made_lake(s3: ObjectStore, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The objects of an empty lake in a store, which is copied sooner than made."""
    lake = lake_at(f"s3://{BUCKET}{tmp_path_factory.mktemp('made')}/lake")
    lake.ensure([MARKS])
    return {name: bytes(obstore.get(lake.objects, name).bytes()) for name in names_in(lake)}


@pytest.fixture(scope="session")
def new_lake(tmp_path_factory: pytest.TempPathFactory) -> NewLake:
    """Empty lakes on a disk, which are copied sooner than made."""
    made = Lake(str(tmp_path_factory.mktemp("made") / "lake"))
    made.ensure([MARKS])

    def copy(root: str | Path) -> Lake:
        return Lake(str(shutil.copytree(made.root, root)))

    return copy


#: What speaks to the lake's place itself: it is tried on a store of objects too, where a test takes a second.
ON_STORES = (
    "warehouse/lake/",
    "warehouse/load/test_snapshots.py",
    "warehouse/forgetting/",
    "warehouse/maintenance/",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "lake" in metafunc.fixturenames:
        is_on_stores = any(part in str(metafunc.definition.path) for part in ON_STORES)
        stores = [pytest.param("s3", marks=pytest.mark.slow)] if is_on_stores else []
        metafunc.parametrize("lake", ["disk", *stores], indirect=True)


@pytest.fixture
def lake(request: pytest.FixtureRequest, tmp_path: Path, new_lake: NewLake) -> Lake:
    """An empty lake: on a disk, at a path that quoting would break, or in a store of objects."""
    if request.param == "disk":
        return new_lake(tmp_path / "la ke 100%")
    lake = lake_at(f"s3://{BUCKET}{tmp_path}/lake")
    for name, content in cast(dict[str, bytes], request.getfixturevalue("made_lake")).items():
        obstore.put(lake.objects, name, content)
    return lake
