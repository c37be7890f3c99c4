"""A publication whose object store is away for a while, and for longer than anybody waits."""

import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.runs.storage_failures import storage_message
from tests.kits.exports.published_shards import numbers, publish
from tests.kits.servers.object_store import BUCKET, ObjectStore
from tests.kits.waiting import PATIENCE
from warehouse.publish.shards.publication import deal
from warehouse.published.shards import Shards, read_manifest


@pytest.fixture
def remote(store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shards:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    shards = Shards(f"s3://{BUCKET}/{uuid.uuid4()}", tmp_path / "cache", keep=2)
    deal(shards, {1}, 1)
    return shards


def ride_out(shards: Shards, store: ObjectStore, seconds: float, tmp_path: Path) -> None:
    """Publish while the store is away, and read while it is away again."""
    for number, ask in enumerate((lambda: publish(shards, "0001", 7, tmp_path), lambda: numbers(shards))):
        store.fail(seconds)
        began = time.monotonic()
        ask()
        assert time.monotonic() - began >= seconds, number
    assert numbers(shards) == [(1, 7)]


def test_an_outage_is_ridden_out(remote: Shards, store: ObjectStore, tmp_path: Path) -> None:
    ride_out(remote, store, 6, tmp_path)


@pytest.mark.slow
def test_a_minute_without_the_store_is_ridden_out(remote: Shards, store: ObjectStore, tmp_path: Path) -> None:
    ride_out(remote, store, 60, tmp_path)


def test_a_store_that_stays_away_is_said(remote: Shards, store: ObjectStore, tmp_path: Path) -> None:
    impatient = replace(remote, patience=1)
    store.fail(PATIENCE)
    with pytest.raises(Exception, match="S3") as raised:
        read_manifest(impatient)
    store.fail(0)
    assert storage_message(raised.value, tmp_path) == (
        "the object store of the lake (CAMPUS_LAKE) or of the shards (publish.to) does not answer: "
        "check the store, and that AWS_ENDPOINT_URL is right. Then run the same command again: what was "
        "committed is kept."
    )
