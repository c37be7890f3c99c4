"""Publications in shards, each in a place of its own: a folder, or an object store."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kits.servers.object_store import BUCKET, ObjectStore, object_store
from warehouse.published.shards import Shards


@pytest.fixture(scope="session")
def store() -> Iterator[ObjectStore]:
    """An S3 server."""
    with object_store() as server:
        yield server


@pytest.fixture(params=["folder", "store"])
def shards(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shards:
    """A place where nothing is published yet."""
    if request.param == "folder":
        return Shards(str(tmp_path / "published"), tmp_path / "cache", keep=2)
    for name, value in request.getfixturevalue("store").environment.items():
        monkeypatch.setenv(name, value)
    return Shards(f"s3://{BUCKET}/{uuid.uuid4()}", tmp_path / "cache", keep=2)
