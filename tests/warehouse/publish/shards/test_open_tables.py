"""Open tables of shards: their rows in each engine, and publications beside each other and after kills."""

import json
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import obstore
import polars as pl
import pytest

from tests.kits.exports.open_tables import (
    NO_AGE,
    open_table,
    publish_number,
    table_numbers,
    write_number,
    write_tables,
)
from warehouse.lake import delta_log
from warehouse.publish.shards.publication import deal
from warehouse.publish.tables import commit
from warehouse.publish.tables.commit import delete_tables, publish_tables, tables_are_stale
from warehouse.published.catalog import CATALOG, Catalog, catalog_sql, opened_for, read_catalog, read_files
from warehouse.published.manifest import Manifest
from warehouse.published.shards import PublicationBroken, Shards, change, delete_objects, read_manifest

#: Each type that a model may have, a semester that is not known, and a table without rows.
EVERYTHING = """
    CREATE TABLE core.everything AS
    SELECT unnest([1, 1, 2]) AS school_id, unnest([10, NULL, 10])::BIGINT AS semester_id,
        'Zoë; ''x''' AS name, 1.5::DOUBLE AS share, 2.50::DECIMAL(9, 2) AS mark, true AS is_late,
        DATE '2026-09-01' AS day, TIMESTAMP '2026-09-01 08:00:00.123456' AS moment, TIME '08:00' AS start,
        [1, 2]::BIGINT[] AS ids, [NULL, 'b'] AS texts, '{"a": 1}'::JSON AS details, 3::HUGEINT AS total;
    CREATE TABLE marts.empty (school_id BIGINT, day DATE);
    COMMENT ON TABLE core.everything IS 'It''s everything'
"""


@pytest.fixture
def open_shards(shards: Shards) -> Shards:
    """A place for shards with open tables."""
    return replace(shards, has_tables=True)


def test_each_engine_reads_the_same_rows(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1, 2], 2)
    write_tables(open_shards, "0001", EVERYTHING, tmp_path)
    catalog = publish_tables(open_shards)
    assert not tables_are_stale(open_shards, read_manifest(open_shards))
    with duckdb.connect() as con:
        con.execute("CREATE SCHEMA core; CREATE SCHEMA marts")
        con.execute(EVERYTHING)
        original = con.sql("FROM core.everything ORDER BY ALL")
        names, types, rows = original.columns, original.types, original.fetchall()
    query = 'WITH e AS (FROM marts.EMPTY) SELECT * FROM Core."everything" JOIN e USING (school_id)'
    with opened_for(open_shards, query) as con:
        shown = con.sql("FROM core.everything ORDER BY ALL")
        assert (shown.columns, shown.types, shown.fetchall()) == (names, types, rows)
        assert con.sql("FROM marts.empty").fetchall() == []
    table = open_table(open_shards, catalog, "core.everything")
    assert table.metadata().partition_columns == ["school_id", "semester_id"]
    assert table.metadata().description == "It's everything"
    comments = {field.name: field.metadata for field in table.schema().fields}
    assert comments["school_id"] == {
        "comment": "Meaning of school_id",
        "is_key": True,
        "refers_to": "core.dim_school.school_id",
    }
    columns = ("school_id", "semester_id", "mark", "moment", "details", "ids")
    polars_rows = pl.scan_delta(table).select(columns).collect()
    expected = {(*row[:2], row[4], row[7], row[11], tuple(row[9])) for row in rows}
    assert {(*row[:5], tuple(row[5])) for row in polars_rows.rows()} == expected
    empty = open_table(open_shards, catalog, "marts.empty")
    assert pl.scan_delta(empty).collect().shape == (0, 2)


def test_statements_show_the_tables_in_any_duckdb(open_shards: Shards, tmp_path: Path) -> None:
    if open_shards.is_remote:
        pytest.skip("a plain DuckDB reads a store with an extension that has to be downloaded")
    deal(open_shards, [1, 2], 2)
    write_tables(open_shards, "0001", EVERYTHING, tmp_path)
    catalog = publish_tables(open_shards)
    with duckdb.connect() as con:
        con.execute("\n".join(catalog_sql(open_shards, catalog)))
        [(comment,)] = con.sql(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'everything' AND column_name = 'mark'"
        ).fetchall()
        assert comment == "Meaning of mark"
        assert con.sql("SELECT count(*), min(start) FROM core.everything").fetchall()[0][0] == 3
        plan = con.sql("EXPLAIN ANALYZE FROM core.everything WHERE school_id = 1 AND semester_id = 10")
        assert "Scanning Files: 1/3" in plan.fetchall()[0][1]
    with duckdb.connect() as con:
        con.execute("\n".join(catalog_sql(open_shards, catalog, [2])))
        assert con.sql("SELECT DISTINCT school_id FROM core.everything").fetchall() == [(2,)]


def test_the_log_shows_nothing_of_rows(open_shards: Shards, tmp_path: Path) -> None:
    """A reader of a single school may read the log."""
    deal(open_shards, [1, 2], 2)
    write_tables(open_shards, "0001", EVERYTHING, tmp_path)
    publish_tables(open_shards)
    name = "tables/core/everything/_delta_log/00000000000000000000.json"
    lines = bytes(obstore.get(open_shards.objects, name).bytes()).splitlines()
    statistics = [json.loads(line)["add"]["stats"] for line in lines if b'"add"' in line]
    assert [json.loads(text) for text in statistics] == [{"numRecords": 1}] * 3


def test_a_night_writes_the_partitions_that_changed(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1, 2], 2)
    sql = "CREATE TABLE core.t AS SELECT unnest([1, 2]) AS school_id, unnest([10, 20]) AS n"
    write_tables(open_shards, "0001", sql, tmp_path)
    first = publish_tables(open_shards, NO_AGE)
    write_tables(open_shards, "0001", sql.replace("[10, 20]", "[10, 21]"), tmp_path)
    second = publish_tables(open_shards, NO_AGE)
    old, new = (_paths(open_shards, catalog) for catalog in (first, second))
    assert {school for school, _ in old & new} == {1}
    assert second.versions == {"core.t": 1} and [snapshot.files for snapshot in second.before] == [
        first.files
    ]
    write_tables(open_shards, "0001", sql.replace("[10, 20]", "[10, 21]"), tmp_path)
    third = publish_tables(open_shards, NO_AGE)
    assert third.versions == second.versions, "without a change there is no commit"
    stored = {path for path in _stored(open_shards) if "school_id=" in path}
    assert stored == {path for _, path in new}, "files that only older snapshots have are deleted"


@pytest.mark.parametrize(
    ("before", "after"),
    [("NULL::BIGINT[]", "[]::BIGINT[]"), ("[NULL]::BIGINT[][]", "[[]]::BIGINT[][]")],
)
def test_a_change_of_lists_is_written(open_shards: Shards, tmp_path: Path, before: str, after: str) -> None:
    """DuckDB's hash is the same for these lists."""
    deal(open_shards, [1], 1)
    for ids in (before, after):
        rows = f"SELECT 1 AS school_id, {ids} AS ids"
        write_tables(open_shards, "0001", f"CREATE TABLE core.t AS {rows}", tmp_path)
        publish_tables(open_shards)
        with opened_for(open_shards, "FROM core.t") as con:
            assert con.sql(f"{rows} EXCEPT ALL FROM core.t").fetchall() == []


def test_columns_may_differ_and_types_must_agree(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1, 2], 1)
    write_tables(open_shards, "0001", "CREATE TABLE core.t AS SELECT 1 AS school_id, 1 AS old", tmp_path)
    write_tables(open_shards, "0002", "CREATE TABLE core.t AS SELECT 2 AS school_id, 2 AS new", tmp_path)
    catalog = publish_tables(open_shards)
    query = "SELECT school_id, old, new FROM core.t ORDER BY 1"
    with opened_for(open_shards, query) as con:
        assert con.sql(query).fetchall() == [(1, 1, None), (2, None, 2)]
    rows = pl.scan_delta(open_table(open_shards, catalog, "core.t")).select("school_id", "new").collect()
    assert set(rows.rows()) == {(1, None), (2, 2)}
    write_tables(open_shards, "0002", "CREATE TABLE core.t AS SELECT 2 AS school_id, 'x' AS old", tmp_path)
    message = (
        r"core\.t\.old: INTEGER in one shard, VARCHAR in another, since different versions published them: "
        "run `campus build`"
    )
    with pytest.raises(PublicationBroken, match=message):
        publish_tables(open_shards)
    assert read_catalog(open_shards)[0] == catalog


def test_a_type_that_tables_lack_is_named(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    sql = "CREATE TABLE core.t AS SELECT 1 AS school_id, INTERVAL 1 DAY AS pause"
    with pytest.raises(NotImplementedError, match="column pause: open tables have no type for INTERVAL"):
        write_tables(open_shards, "0001", sql, tmp_path)


@pytest.mark.parametrize("columns", ["1 AS day", "1 AS school_id, 2 AS semester_id"])
def test_a_table_without_needed_columns_is_named(open_shards: Shards, tmp_path: Path, columns: str) -> None:
    deal(open_shards, [1], 1)
    with pytest.raises(NotImplementedError, match=r"core\.t: open tables need a column school_id"):
        write_tables(open_shards, "0001", f"CREATE TABLE core.t AS SELECT {columns}", tmp_path)


def test_rows_of_no_school_are_published_once(open_shards: Shards, tmp_path: Path) -> None:
    """Each shard has them; as in the union of the shards, the latest shard's rows are shown."""
    deal(open_shards, [1, 2], 1)
    for school, number in ((1, 1), (2, 2), (2, 3)):
        rows = f"SELECT unnest([{school}, NULL]) AS school_id, unnest([{school}, {number}]) AS number"
        write_tables(open_shards, f"000{school}", f"CREATE TABLE core.t AS {rows}", tmp_path)
        publish_tables(open_shards)
    assert table_numbers(open_shards, "core.t") == {(1, 1), (2, 2), (None, 3)}
    with opened_for(open_shards, "FROM core.t") as con:
        assert set(con.sql("FROM core.t").fetchall()) == {(1, 1), (2, 2), (None, 3)}


def test_the_protocol_of_a_table_never_falls(open_shards: Shards, tmp_path: Path) -> None:
    """Delta forbids it while the log has columns that need the feature."""
    deal(open_shards, [1], 1)
    protocols = []
    for columns in ("1 AS n", "[TIMESTAMP '2026-09-01 08:00:00'] AS moments", "1 AS n"):
        sql = f"CREATE TABLE core.t AS SELECT 1 AS school_id, {columns}"
        write_tables(open_shards, "0001", sql, tmp_path)
        table = open_table(open_shards, publish_tables(open_shards), "core.t")
        assert pl.scan_delta(table).collect().height == 1
        protocols.append((table.protocol().min_reader_version, table.protocol().reader_features))
    assert protocols == [(1, None), (3, ["timestampNtz"]), (3, ["timestampNtz"])]


def test_without_the_option_the_tables_go(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    publish_number(open_shards, "0001", 1, tmp_path)
    off = replace(open_shards, has_tables=False)
    assert tables_are_stale(off, read_manifest(off))
    delete_tables(off)
    assert _stored(off) == set() and not read_manifest(off).table_files
    assert read_catalog(off) == (Catalog(), None) and not tables_are_stale(off, read_manifest(off))
    delete_tables(off)


def test_a_deletion_may_be_killed_at_any_file(
    open_shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are switched on again afterwards."""
    if open_shards.is_remote:
        pytest.skip("takes 20 seconds, and is the same")
    deal(open_shards, [1], 1)
    for number in range(2):
        publish_number(open_shards, "0001", number, tmp_path)
    count = 0
    while True:
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(commit, "delete_objects", partial(_delete_until_killed, count))
            delete_tables(open_shards)
            break
        assert tables_are_stale(replace(open_shards, has_tables=False), read_manifest(open_shards))
        publish_number(open_shards, "0001", count + 3, tmp_path)
        assert table_numbers(open_shards, "core.first") == {(1, count + 3)}
        count += 1
    assert _stored(open_shards) == set() and count > 5


def test_a_killed_deletion_is_repeated(
    open_shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables have no catalogue yet, since their first publication was killed."""
    deal(open_shards, [1], 1)
    publish_number(open_shards, "0001", 1, tmp_path)
    delete_objects(open_shards, [CATALOG])
    off = replace(open_shards, has_tables=False)

    def killed(*arguments: Any, **options: Any) -> None:
        change(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(commit, "change", killed)
        delete_tables(off)
    assert tables_are_stale(off, read_manifest(off))
    delete_tables(off)
    assert _stored(off) == set() and not tables_are_stale(off, read_manifest(off))


def _delete_until_killed(count: int, shards: Shards, names: Iterable[str]) -> None:
    """Delete the first files, in an order in which the rest of a Delta log is damaged."""
    names = sorted(names)
    delete_objects(shards, names[:count])
    if len(names) > count:
        raise KeyboardInterrupt


def test_a_lost_snapshot_does_not_matter(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    first = publish_number(open_shards, "0001", 1, tmp_path)
    delete_objects(open_shards, [first.files])
    publish_number(open_shards, "0001", 2, tmp_path)
    assert table_numbers(open_shards, "core.first") == {(1, 2)}


def test_files_that_are_gone_are_deleted(shards: Shards) -> None:
    """Another process may have deleted them."""
    for name in "ac":
        obstore.put(shards.objects, f"tables/{name}", b"")
    delete_objects(shards, ["tables/a", "tables/b", "tables/c"])
    assert _stored(shards) == set()


def test_cleaning_spares_a_later_catalogue(
    open_shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process publishes, and a third writes the files of a shard, before this one cleans."""
    deal(open_shards, [1], 1)
    clean = commit._clean

    def overtaken(*arguments: Any) -> None:
        monkeypatch.setattr(commit, "_clean", clean)
        publish_number(open_shards, "0001", 2, tmp_path)
        write_number(open_shards, "0001", 3, tmp_path)
        clean(*arguments)

    write_number(open_shards, "0001", 1, tmp_path)
    monkeypatch.setattr(commit, "_clean", overtaken)
    publish_tables(replace(open_shards, keep=1), NO_AGE)
    assert table_numbers(open_shards, "core.first") == {(1, 2)}


def test_lost_files_are_written_again(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1, 2], 2)
    before = publish_number(open_shards, "0001", 1, tmp_path)
    _, lost = min(_paths(open_shards, before))
    delete_objects(open_shards, [lost])
    with pytest.raises(PublicationBroken, match="files of the shards 0001 are missing: run `campus build`"):
        publish_number(open_shards, "0001", 1, tmp_path)
    assert read_catalog(open_shards)[0] == before
    assert read_manifest(open_shards).shard("0001").table_files_of("models") == ""
    publish_number(open_shards, "0001", 1, tmp_path)
    assert table_numbers(open_shards, "core.first") == {(1, 1), (2, 1)}


def test_commits_after_the_catalogue_are_mended(open_shards: Shards, tmp_path: Path) -> None:
    """A process with an older manifest was killed after another process had published."""
    deal(open_shards, [1], 1)
    catalog = publish_number(open_shards, "0001", 1, tmp_path)
    removals = [
        {"remove": {"path": path.removeprefix("tables/core/first/"), "dataChange": True}}
        for _, path in _paths(open_shards, catalog)
        if "/first/" in path
    ]
    assert not tables_are_stale(open_shards, read_manifest(open_shards))
    assert delta_log.write(open_shards.objects, "tables/core/first", 1, removals)
    assert tables_are_stale(open_shards, read_manifest(open_shards))
    assert publish_tables(open_shards).versions["core.first"] == 2
    assert table_numbers(open_shards, "core.first") == {(1, 1)}
    assert not tables_are_stale(open_shards, read_manifest(open_shards))


def test_an_older_manifest_replaces_no_later_catalogue(
    open_shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process publishes after this one has read the manifest."""
    deal(open_shards, [1], 1)
    write_number(open_shards, "0001", 1, tmp_path)

    def overtaken(shards: Shards) -> Manifest:
        manifest = read_manifest(shards)
        monkeypatch.setattr(commit, "read_manifest", read_manifest)
        publish_number(shards, "0001", 2, tmp_path)
        return manifest

    monkeypatch.setattr(commit, "read_manifest", overtaken)
    publish_tables(open_shards)
    assert table_numbers(open_shards, "core.first") == {(1, 2)}


def test_the_table_of_a_removed_model_is_emptied(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    before = publish_number(open_shards, "0001", 1, tmp_path)
    sql = "CREATE TABLE core.first AS SELECT 1 AS school_id, 2 AS number"
    write_tables(open_shards, "0001", sql, tmp_path)
    for _ in range(2):
        assert publish_tables(open_shards).versions == {"core.first": 1}
        newest = Catalog(versions={"marts.second": 1})
        assert _numbers_at(open_shards, newest, "marts.second") == set()
    assert _numbers_at(open_shards, before, "marts.second") == {(1, 1)}


def test_queries_of_other_tables_read_the_published_files(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    publish_number(open_shards, "0001", 1, tmp_path)
    for query in (
        "FROM raw.students",
        "SELECT * FROM core.first WHERE number IN (SELECT id FROM raw.students)",
        "FROM core.first, marts.metric_rate(by := 'class')",
        "FROM campus.core.first",
        "FROM core.first; FROM quality.load_log",
        "SHOW ALL TABLES",
        "SELECT 1",
        "SELEC",
    ):
        with pytest.raises((OSError, duckdb.Error)), opened_for(open_shards, query):
            pytest.fail(f"{query}: there is no published file in this test")


def test_a_lost_file_is_told_in_a_line(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    publish_number(open_shards, "0001", 1, tmp_path)
    paths = [entry["path"] for page in obstore.list(open_shards.objects, "tables") for entry in page]
    with (
        pytest.raises((PublicationBroken, duckdb.IOException)) as raised,
        opened_for(open_shards, "FROM core.first") as con,
    ):
        obstore.delete(open_shards.objects, [path for path in paths if path.endswith(".parquet")])
        con.sql("FROM core.first").fetchall()
    message = str(raised.value)
    assert "Traceback" not in message and open_shards.root in message and message.count("\n") == 0


def test_queries_read_the_shards_while_tables_are_older(open_shards: Shards, tmp_path: Path) -> None:
    deal(open_shards, [1], 1)
    catalog = publish_number(open_shards, "0001", 1, tmp_path)
    assert "content" not in read_files(open_shards, catalog.files).column_names
    with opened_for(open_shards, "FROM core.first") as con:
        assert con.sql("SELECT DISTINCT number FROM core.first").fetchall() == [(1,)]
    write_tables(
        open_shards, "0001", "CREATE TABLE core.first AS SELECT 1 AS school_id, 2 AS number", tmp_path
    )
    with pytest.raises((OSError, duckdb.Error)), opened_for(open_shards, "FROM core.first"):
        pytest.fail("there is no published file in this test")


def _publish_numbers(root: str, cache: str, name: str, folder: str) -> None:
    shards = Shards(root, Path(cache), keep=3, has_tables=True)
    for number in range(1, 6):
        publish_number(shards, name, number, Path(folder))


def test_publications_at_once_show_whole_ones(shards: Shards, tmp_path: Path) -> None:
    """Three processes publish numbers while this one reads both tables of each catalogue."""
    open_shards = replace(shards, has_tables=True, keep=3)
    deal(open_shards, [1, 2, 3], 1)
    names = ["0001", "0002", "0003"]
    for name in names:
        publish_number(open_shards, name, 0, tmp_path)
    spawn = get_context("spawn")
    arguments = (open_shards.root, str(open_shards.cache))
    writers = [
        spawn.Process(target=_publish_numbers, args=(*arguments, name, str(tmp_path))) for name in names
    ]
    for writer in writers:
        writer.start()
    looks = 0
    while any(writer.is_alive() for writer in writers):
        catalog, _ = read_catalog(open_shards)
        first, second = (_numbers_at(open_shards, catalog, name) for name in ("core.first", "marts.second"))
        assert first == second
        looks += 1
    for writer in writers:
        writer.join()
    assert looks and [writer.exitcode for writer in writers] == [0, 0, 0]
    publish_tables(open_shards)
    assert table_numbers(open_shards, "core.first") == {(1, 5), (2, 5), (3, 5)}


def _publish_until_killed(root: str, cache: str, folder: str, commits: int) -> None:
    shards = Shards(root, Path(cache), keep=3, has_tables=True)
    left = iter(range(commits))

    def write(*arguments: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return delta_log.write(*arguments)

    with patch("warehouse.publish.tables.commit.write", write):
        publish_number(shards, "0001", 2, Path(folder))
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("commits", [0, 1])
def test_a_kill_between_commits_shows_nothing(open_shards: Shards, tmp_path: Path, commits: int) -> None:
    deal(open_shards, [1, 2], 1)
    for name in ("0001", "0002"):
        before = publish_number(open_shards, name, 1, tmp_path)
    arguments = (open_shards.root, str(open_shards.cache), str(tmp_path), commits)
    victim = get_context("spawn").Process(target=_publish_until_killed, args=arguments)
    victim.start()
    victim.join()
    assert victim.exitcode == -signal.SIGKILL
    assert read_catalog(open_shards)[0] == before
    for name in ("core.first", "marts.second"):
        assert table_numbers(open_shards, name) == {(1, 1), (2, 1)}
    assert tables_are_stale(open_shards, read_manifest(open_shards))
    publish_tables(open_shards)
    for name in ("core.first", "marts.second"):
        assert table_numbers(open_shards, name) == {(1, 2), (2, 1)}


def test_a_long_log_has_checkpoints(shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "CHECKPOINT", 2)
    open_shards = replace(shards, has_tables=True)
    deal(open_shards, [1], 1)
    for number in range(5):
        publish_number(open_shards, "0001", number, tmp_path)
    log = {path for path in _stored(open_shards) if path.startswith("tables/core/first/_delta_log/")}
    assert any(path.endswith("00000000000000000004.checkpoint.parquet") for path in log)
    assert table_numbers(open_shards, "core.first") == {(1, 4)}


def test_old_commits_of_a_log_are_deleted(
    shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions that a kept catalogue names can still be read."""
    if shards.is_remote:
        pytest.skip("nobody can make an object of a store older")
    monkeypatch.setattr(commit, "CHECKPOINT", 2)
    open_shards = replace(shards, has_tables=True, keep=2)
    deal(open_shards, [1], 1)
    for number in range(9):
        catalog = publish_number(open_shards, "0001", number, tmp_path)
        for path in (Path(shards.root) / "tables/core/first/_delta_log").iterdir():
            at = path.stat().st_mtime - 40 * 86400
            os.utime(path, (at, at))
    [before] = catalog.before
    assert (catalog.versions["core.first"], before.versions["core.first"]) == (8, 7)
    assert table_numbers(open_shards, "core.first") == {(1, 8)}
    assert _numbers_at(open_shards, Catalog(versions=before.versions), "core.first") == {(1, 7)}
    log = {path[-25:] for path in _stored(open_shards) if path.startswith("tables/core/first/_delta_log/")}
    assert {path for path in log if path.endswith(".json")} == {
        f"{version:020}.json" for version in (6, 7, 8)
    }


@pytest.mark.parametrize("content", [b"{", b""])
def test_a_damaged_catalogue_says_what_to_do(open_shards: Shards, content: bytes) -> None:
    obstore.put(open_shards.objects, CATALOG, content)
    with pytest.raises(PublicationBroken, match=r"catalog\.json is not a catalogue .* delete it"):
        read_catalog(open_shards)


def _numbers_at(shards: Shards, catalog: Catalog, name: str) -> set[tuple[int, int]]:
    rows = pl.scan_delta(open_table(shards, catalog, name)).select("school_id", "number")
    return set(rows.collect().rows())


def _paths(shards: Shards, catalog: Catalog) -> set[tuple[int, str]]:
    rows = read_files(shards, catalog.files).to_pylist()
    return {(row["school_id"], row["path"]) for row in rows if row["path"]}


def _stored(shards: Shards) -> set[str]:
    return {entry["path"] for page in obstore.list(shards.objects, "tables") for entry in page}
