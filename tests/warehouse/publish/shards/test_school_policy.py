"""The policy of docs/how-to/open-tables.md lets a reader see one school. moto checks its actions and objects,
and ignores its conditions (the page says so)."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import duckdb
import httpx
import polars as pl
import pytest
from obstore.fsspec import FsspecStore

from tests.kits.exports.open_tables import open_table, publish_number
from tests.kits.servers.nginx import free_port
from tests.kits.waiting import until_listening
from warehouse.publish.shards.publication import deal
from warehouse.published.catalog import catalog_sql, read_catalog
from warehouse.published.shards import Shards
from warehouse.stores import store_of

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[4] / "docs/how-to/open-tables.md"
USER = "reader_of_101"


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server for S3 and IAM, which lets everybody do everything until it is told otherwise."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    variables = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "operator",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "moto.server", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        until_listening(port, server)
        yield address
        server.kill()


def test_a_reader_of_one_school_sees_no_other(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boto3.client("s3").create_bucket(Bucket="bucket")
    shards = Shards("s3://bucket/prefix", tmp_path / "cache", patience=1, has_tables=True)
    deal(shards, [101, 102], 2)
    publish_number(shards, "0001", 7, tmp_path)
    iam = boto3.client("iam")
    [policy] = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    iam.create_user(UserName=USER)
    policy = policy.replace("BUCKET", "bucket").replace("PREFIX", "prefix")
    iam.put_user_policy(UserName=USER, PolicyName="school", PolicyDocument=policy)
    key = iam.create_access_key(UserName=USER)["AccessKey"]
    assert httpx.post(f"{address}/moto-api/reset-auth", content=b"0").status_code == 200
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])

    reader = Shards(shards.root, tmp_path / "reader", patience=1, has_tables=True)
    rows = pl.scan_delta(open_table(reader, read_catalog(reader)[0], "core.first"))
    assert set(rows.filter(school_id=101).select("number").collect()["number"]) == {7}
    with pytest.raises(OSError, match=r"(?i)forbidden|denied|403"):
        rows.filter(school_id=102).collect()
    catalog, _ = read_catalog(reader)
    with duckdb.connect() as con:
        con.register_filesystem(FsspecStore("s3"))
        con.execute("\n".join(catalog_sql(reader, catalog, [101])))
        assert con.sql("SELECT DISTINCT school_id, number FROM core.first").fetchall() == [(101, 7)]
        with pytest.raises((duckdb.Error, OSError), match=r"(?i)forbidden|denied|403"):
            con.execute("\n".join(catalog_sql(reader, catalog, [102])))
    objects = store_of(shards.root, 1)
    with pytest.raises(Exception, match=r"(?i)forbidden|denied|403"):
        objects.get("manifest.json")
    with pytest.raises(Exception, match=r"(?i)forbidden|denied|403"):
        objects.put("catalog.json", b"{}")
