"""Publications in shards, each in a folder of its own."""

from pathlib import Path

import pytest

from warehouse.published.shards import Shards


@pytest.fixture
def shards(tmp_path: Path) -> Shards:
    """A place where nothing is published yet."""
    return Shards(str(tmp_path / "published"), tmp_path / "cache", keep=2)
