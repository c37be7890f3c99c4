"""Reads and writes the commits of a Delta table's log: objects that are written once, named by version.

Our commits need a small part of Delta's protocol: added and removed files, and application transactions.
deltalake does everything else, checkpoints too. Errors of the store are raised as OSError.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice
from typing import Any

import obstore
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore

from warehouse.stores import store_errors_as_os_errors

#: The folder of a table's log, below the table's folder.
LOG = "_delta_log"

#: An action in the log: its fields by its kind.
Action = Mapping[str, Mapping[str, Any]]
#: Identifies a commit: its ETag and time. A table that was made anew or restored has another commit under the
#: same version.
Mark = tuple[str | None, datetime]


@dataclass(frozen=True)
class Commit:
    """A commit of a table."""

    version: int
    mark: Mark
    #: Files, named below the table.
    added: frozenset[str]
    removed: frozenset[str]
    #: Versions of application transactions, by name.
    transactions: Mapping[str, int]
    #: Whether it changed columns, properties or the protocol.
    alters: bool
    #: The writer's description.
    info: Mapping[str, Any]


def mark(objects: ObjectStore, folder: str, version: int) -> Mark | None:
    """The mark of a version's commit; None: it does not exist, or was deleted."""
    try:
        with store_errors_as_os_errors():
            head = obstore.head(objects, _name(folder, version))
    except FileNotFoundError:
        return None
    return head["e_tag"], head["last_modified"]


def since(objects: ObjectStore, folder: str, version: int) -> Iterator[Commit]:
    """The commits after a version, in order. Raises DeltaError for a damaged commit."""
    for later in count(version + 1):
        name = _name(folder, later)
        stored = _read(objects, name)
        if stored is None:
            return
        content, mark = stored
        try:
            actions = [json.loads(line) for line in content.splitlines() if line]
        except ValueError as error:
            raise DeltaError(f"{name} is damaged: {error}") from error
        yield _commit(later, mark, actions)


def write(objects: ObjectStore, folder: str, version: int, actions: Sequence[Action]) -> bool:
    """Write the commit of a version; False: another process has written it."""
    content = "\n".join(json.dumps(action, ensure_ascii=False) for action in actions)
    with store_errors_as_os_errors():
        try:
            # The condition holds for a single request only, so no multipart upload.
            obstore.put(objects, _name(folder, version), content.encode(), mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
    return True


def transactions(objects: ObjectStore, folder: str, version: int) -> dict[str, int] | None:
    """The last version of every application transaction, by name, as of a version of the table.

    deltalake looks up a single transaction at a time. None: the last checkpoint is of a later version, or a
    part of the log is gone."""
    versions, last = dict[str, int](), -1
    pointer = _read(objects, f"{folder}/{LOG}/_last_checkpoint")
    if pointer is not None:
        last = int(json.loads(pointer[0])["version"])
        checkpoint = _read(objects, f"{folder}/{LOG}/{last:020}.checkpoint.parquet")
        if last > version or checkpoint is None:
            return None
        with pq.ParquetFile(io.BytesIO(checkpoint[0])) as file:
            column: Any = file.read(["txn"], use_threads=False)["txn"].combine_chunks().drop_null()
        ids, numbers = column.field("appId").to_pylist(), column.field("version").to_pylist()
        versions = dict(zip(ids, numbers, strict=True))
    for commit in islice(since(objects, folder, last), version - last):
        versions |= commit.transactions
        last = commit.version
    return versions if last == version else None


def _read(objects: ObjectStore, name: str) -> tuple[bytes, Mark] | None:
    try:
        with store_errors_as_os_errors():
            stored = obstore.get(objects, name)
            content = bytes(stored.bytes())
    except FileNotFoundError:
        return None
    return content, (stored.meta["e_tag"], stored.meta["last_modified"])


def _name(folder: str, version: int) -> str:
    return f"{folder}/{LOG}/{version:020}.json"


def _commit(version: int, mark: Mark, actions: Sequence[Action]) -> Commit:
    return Commit(
        version,
        mark,
        added=frozenset(action["add"]["path"] for action in actions if "add" in action),
        removed=frozenset(action["remove"]["path"] for action in actions if "remove" in action),
        transactions={
            action["txn"]["appId"]: action["txn"]["version"] for action in actions if "txn" in action
        },
        alters=any("metaData" in action or "protocol" in action for action in actions),
        info=next((action["commitInfo"] for action in actions if "commitInfo" in action), {}),
    )
