"""Commit the files of all shards to the Delta tables, and swap the catalogue that names their versions.

Each commit makes a table exactly what the shards' lists say, whatever a killed process has left there. The
catalogue names these commits at once, so its reader sees whole publications only."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import obstore
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from warehouse.lake.delta_log import LOG, Action, mark, write
from warehouse.load.logs.load_log import now
from warehouse.published.catalog import (
    CATALOG,
    FILES,
    PARTITIONS,
    TABLES,
    Catalog,
    columns_of,
    described,
    encoded_files,
    of_schools,
    read_catalog,
    read_files,
    rows_with,
    texts,
)
from warehouse.published.manifest import (
    Manifest,
    later_generation,
    schools_to_read,
    without_models,
    without_tables,
)
from warehouse.published.shards import (
    IN_USE,
    PublicationBroken,
    Shards,
    change,
    delete_objects,
    read_manifest,
    read_object,
    swap_object,
)
from warehouse.stores import storage_options

#: Attempts to commit while another process commits too.
ATTEMPTS = 20
#: Requests at a time.
AT_A_TIME = 8
#: In the paths of the log of a table.
LOG_FOLDER = f"/{LOG}/"
#: Versions between two checkpoints of a log.
CHECKPOINT = 20
#: Timestamps without a zone need this feature of Delta.
WITH_TIMES: dict[str, Any] = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["timestampNtz"],
    "writerFeatures": ["timestampNtz"],
}
WITHOUT_TIMES: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}


class _Overtaken(Exception):
    """Another process has committed at the same time."""


def tables_are_stale(shards: Shards, manifest: Manifest) -> bool:
    """Report whether the catalogue differs from the shards' lists or from the tables, or, without the option,
    is left. Sends a request for each table.

    Raises PublicationBroken, OSError."""
    catalog, tag = read_catalog(shards)
    if not shards.has_tables:
        return tag is not None or bool(manifest.table_files)
    if catalog.made_of != manifest.table_files:
        return True

    def has_later_commit(name: str) -> bool:
        """Whether a process that was killed, or is at work, has committed to a table meanwhile."""
        return mark(shards.objects, _folder(name), catalog.versions[name] + 1) is not None

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return any(pool.map(has_later_commit, catalog.versions))


def publish_tables(shards: Shards, age: timedelta = IN_USE) -> Catalog:
    """Commit the files of the present manifest, and publish their versions. Then unused files are deleted
    that are at least `age` old.

    Raises PublicationBroken, OSError, DeltaError."""
    for _ in range(ATTEMPTS):
        # In this order, no later catalogue is replaced, and the files of the manifest are stored.
        before, tag = read_catalog(shards)
        manifest = read_manifest(shards)
        stored = _stored(shards)
        with suppress(_Overtaken):
            catalog = _commit_all(shards, before, manifest, stored)
            if swap_object(shards, CATALOG, msgspec.json.encode(catalog), tag):
                _clean(shards, stored, age)
                return catalog
        time.sleep(random.uniform(0, 1))
    raise PublicationBroken(
        f"{shards.root}/{CATALOG}: other processes published tables {ATTEMPTS} times meanwhile; publish "
        "again with `campus build`"
    )


def delete_tables(shards: Shards) -> None:
    """Delete the open tables, if there are any. A deletion that was killed is repeated, or finished by the
    next publication. Raises PublicationBroken."""
    deleted = msgspec.json.encode(Catalog(is_deleted=True))
    while not swap_object(shards, CATALOG, deleted, read_object(shards, CATALOG)[1]):
        time.sleep(1)
    change(shards, without_tables, clock=now)
    delete_objects(shards, _stored(shards))
    delete_objects(shards, [CATALOG])


def _commit_all(shards: Shards, before: Catalog, manifest: Manifest, stored: Collection[str]) -> Catalog:
    """Commit the files of a manifest to all tables, and write their list. Returns the catalogue that follows
    `before`. Raises _Overtaken, PublicationBroken."""
    files = _files_of(shards, manifest, stored)
    generation = later_generation(before.generation, now())
    logs = [path for path in stored if LOG_FOLDER in path]
    if before.is_deleted:
        # A log is damaged while files of it are deleted. Unused files of rows are deleted later.
        delete_objects(shards, logs)
        logs = []
    names = texts(files, "table_name")
    versions = {name: _commit(shards, name, rows_with(files, "table_name", [name])) for name in names}
    for name in {_name_of(path) for path in logs}.difference(names):
        _empty(shards, name)
    snapshot = f"{TABLES}/snapshots/{generation}.parquet"
    # A digest would let a reader of one school confirm guesses about small partitions of others.
    obstore.put(shards.objects, snapshot, encoded_files(files.drop_columns(["content"])))
    return Catalog(
        generation, manifest.table_files, versions, snapshot, before.snapshots[: max(shards.keep, 1) - 1]
    )


def _files_of(shards: Shards, manifest: Manifest, stored: Collection[str]) -> pa.Table:
    """The files of all shards; those of a school from the shard that it is read from.

    Raises PublicationBroken if files are missing; their shards are then built without reuse of files."""
    lists, incomplete = [], []
    latest_last = sorted(schools_to_read(manifest).items(), key=lambda item: manifest.generation_of(item[0]))
    for name, school_ids in latest_last:
        if list_ := manifest.table_files.get(name):
            # Rows of no school come from the latest shard, as in the union of the shards.
            of_none = {None} if name == latest_last[-1][0] else set[None]()
            lists.append(of_schools(read_files(shards, list_), school_ids | of_none))
            if not set(texts(lists[-1], "path")).issubset(stored):
                incomplete.append(name)
    if incomplete:
        change(shards, partial(without_models, names=incomplete), clock=now)
        raise PublicationBroken(
            f"{shards.root}/{TABLES}: files of the shards {', '.join(incomplete)} are missing: run `campus "
            "build`, which writes them again"
        )
    files = pa.concat_tables([FILES.empty_table(), *lists])
    # By table, so that a query for one table reads a part of the list.
    return files.take(pc.sort_indices(files["table_name"]))


def _commit(shards: Shards, name: str, files: pa.Table) -> int:
    """Make a table exactly these files. Returns its version. Raises _Overtaken, PublicationBroken."""
    folder = _folder(name)
    schema, description = _schema_of(name, files)
    wanted = {
        row["path"].removeprefix(f"{folder}/"): row for row in files.to_pylist() if row["path"] is not None
    }
    table = _opened(shards, name)
    actions = list[Action]()
    protocol = WITH_TIMES if '"timestamp_ntz"' in schema else WITHOUT_TIMES
    if table is None or table.protocol().min_reader_version < protocol["minReaderVersion"]:
        actions.append({"protocol": protocol})
    if table is None or not _is_described(table, schema, description):
        table_id = str(uuid.uuid4() if table is None else table.metadata().id)
        actions.append(_description(name, schema, description, table_id))
    active = set[str]() if table is None else _active(table)
    at = time.time_ns() // 1_000_000
    by = _partitions_of(schema)
    actions += [_removal(path, at) for path in sorted(active - wanted.keys())]
    actions += [_addition(path, wanted[path], by, at) for path in sorted(wanted.keys() - active)]
    return _append(shards, name, -1 if table is None else table.version(), actions)


def _empty(shards: Shards, name: str) -> None:
    """Remove all files from a table that no shard has any more. Raises _Overtaken."""
    if table := _opened(shards, name):
        at = time.time_ns() // 1_000_000
        _append(shards, name, table.version(), [_removal(path, at) for path in sorted(_active(table))])


def _folder(name: str) -> str:
    return f"{TABLES}/{name.replace('.', '/')}"


def _name_of(path: str) -> str:
    """The table of an object of its log."""
    return path.partition(LOG_FOLDER)[0].removeprefix(f"{TABLES}/").replace("/", ".", 1)


def _opened(shards: Shards, name: str) -> DeltaTable | None:
    """The newest version of a table. None: there is no table."""
    location, options = f"{shards.root}/{_folder(name)}", storage_options(shards.root, shards.patience)
    return _table(shards, name) if DeltaTable.is_deltatable(location, options) else None


def _table(shards: Shards, name: str, version: int | None = None) -> DeltaTable:
    """A version of a table; None: the newest."""
    options = storage_options(shards.root, shards.patience)
    return DeltaTable(f"{shards.root}/{_folder(name)}", version, options)


def _is_described(table: DeltaTable, schema: str, description: str) -> bool:
    has_schema = json.loads(table.schema().to_json()) == json.loads(schema)
    return has_schema and table.metadata().description == description


def _active(table: DeltaTable) -> set[str]:
    """The files of a table, below its folder."""
    return set(texts(pa.table(table.get_add_actions(flatten=True)), "path"))


def _append(shards: Shards, name: str, version: int, actions: list[Action]) -> int:
    """Commit actions after a version. Returns the version of the table then. Raises _Overtaken."""
    if not actions:
        return version
    at = time.time_ns() // 1_000_000
    operation = {"timestamp": at, "operation": "WRITE", "engineInfo": "campus-warehouse"}
    if not write(shards.objects, _folder(name), version + 1, [{"commitInfo": operation}, *actions]):
        raise _Overtaken
    if (version + 1) % CHECKPOINT == 0:
        _table(shards, name).create_checkpoint()
    return version + 1


def _schema_of(name: str, files: pa.Table) -> tuple[str, str]:
    """The latest schema and description of a table. Raises PublicationBroken if files differ in a type."""
    *rows, latest = described(files).to_pylist()
    types = columns_of(latest["schema"])
    for row in rows:
        for column, type_ in columns_of(row["schema"]).items():
            if types.get(column, type_) != type_:
                raise PublicationBroken(
                    f"{name}.{column}: {type_} in one shard, {types[column]} in another, since different "
                    "versions published them: run `campus build` until all shards are published"
                )
    return latest["schema"], latest["description"] or ""


def _description(name: str, schema: str, description: str, table_id: str) -> Action:
    return {
        "metaData": {
            "id": table_id,
            "name": name,
            "description": description,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": _partitions_of(schema),
            "configuration": {},
            "createdTime": time.time_ns() // 1_000_000,
        }
    }


def _partitions_of(schema: str) -> list[str]:
    columns = columns_of(schema)
    return [column for column in PARTITIONS if column in columns]


def _addition(path: str, row: dict[str, Any], by: Iterable[str], at: int) -> Action:
    """Statistics of columns would show values of other schools to a reader of one: the log has none."""
    values = {column: None if row[column] is None else str(row[column]) for column in by}
    return {
        "add": {
            "path": path,
            "partitionValues": values,
            "size": row["bytes"],
            "modificationTime": at,
            "dataChange": True,
            "stats": json.dumps({"numRecords": row["rows"]}),
        }
    }


def _removal(path: str, at: int) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": at, "dataChange": True}}


def _clean(shards: Shards, stored: Mapping[str, datetime], age: timedelta) -> None:
    """Delete the data files and snapshots that neither a kept snapshot nor a shard's list names.

    `stored`: read before the catalogue, since another process may have published meanwhile."""
    catalog, _ = read_catalog(shards)
    in_use = {snapshot.files for snapshot in catalog.snapshots}
    for name in tuple(in_use):
        # Snapshots may be lost; lists of shards never are.
        with suppress(FileNotFoundError):
            in_use.update(texts(read_files(shards, name), "path"))
    for name in read_manifest(shards).table_files.values():
        in_use.update(texts(read_files(shards, name), "path"))
    until = datetime.now(UTC) - age
    unused = (
        path
        for path, at in stored.items()
        if path.endswith(".parquet") and LOG_FOLDER not in path and path not in in_use and at < until
    )
    delete_objects(shards, unused)
    for name, version in catalog.versions.items():
        if version and version % CHECKPOINT == 0:
            oldest = min(snapshot.versions.get(name, version) for snapshot in catalog.snapshots)
            # Deletes what is older than 30 days, and before the last checkpoint of this version.
            _table(shards, name, oldest).cleanup_metadata()


def _stored(shards: Shards) -> dict[str, datetime]:
    """When each object of the tables was stored."""
    pages = obstore.list(shards.objects, TABLES)
    return {entry["path"]: entry["last_modified"] for page in pages for entry in page}
