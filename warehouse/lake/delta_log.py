"""The log of a Delta table, commit by commit: each is an object that is written once, named by its version.

It is Delta's protocol, of which our commits need little: files that come and go, and application
transactions. All else that changes a table is left to deltalake, checkpoints too. A store that fails raises
OSError.
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

from warehouse.stores import told_plainly

#: Where a table has its log, below its folder.
LOG = "_delta_log"

#: An action as the log has it: its kind, and what it says.
Action = Mapping[str, Mapping[str, Any]]
#: What an object is known by: a table can be deleted and made anew, or restored, and then has another commit
#: of the same version.
Mark = tuple[str | None, datetime]


@dataclass(frozen=True)
class Commit:
    """What a commit did. Files are named below the table; `alters`: it changed columns, properties or the
    protocol; `info`: what its writer says of it."""

    version: int
    mark: Mark
    added: frozenset[str]
    removed: frozenset[str]
    transactions: Mapping[str, int]
    alters: bool
    info: Mapping[str, Any]


def mark(objects: ObjectStore, folder: str, version: int) -> Mark | None:
    """What the commit of a version is known by; None: it is not there, or not any more."""
    try:
        with told_plainly():
            head = obstore.head(objects, _name(folder, version))
    except FileNotFoundError:
        return None
    return head["e_tag"], head["last_modified"]


def since(objects: ObjectStore, folder: str, version: int) -> Iterator[Commit]:
    """The commits after a version, in their order. Raises DeltaError for one that is damaged."""
    for each in count(version + 1):
        name = _name(folder, each)
        found = _read(objects, name)
        if found is None:
            return
        content, mark = found
        try:
            actions = [json.loads(line) for line in content.splitlines() if line]
        except ValueError as error:
            raise DeltaError(f"{name} is damaged: {error}") from error
        yield _commit(each, mark, actions)


def write(objects: ObjectStore, folder: str, version: int, actions: Sequence[Action]) -> bool:
    """Make the commit of a version; False: somebody else has made it."""
    content = "\n".join(json.dumps(action, ensure_ascii=False) for action in actions)
    with told_plainly():
        try:
            # As a whole, however large: the condition is one request's.
            obstore.put(objects, _name(folder, version), content.encode(), mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
    return True


def transactions(objects: ObjectStore, folder: str, version: int) -> dict[str, int] | None:
    """The last version of each application transaction, by its name, as of a version of the table. deltalake
    looks up one at a time. None: the last checkpoint is of a later version, or a part of the log is gone."""
    found, last = dict[str, int](), -1
    told = _read(objects, f"{folder}/{LOG}/_last_checkpoint")
    if told is not None:
        last = int(json.loads(told[0])["version"])
        stored = _read(objects, f"{folder}/{LOG}/{last:020}.checkpoint.parquet")
        if last > version or stored is None:
            return None
        with pq.ParquetFile(io.BytesIO(stored[0])) as file:
            column: Any = file.read(["txn"], use_threads=False)["txn"].combine_chunks().drop_null()
        found = dict(zip(column.field("appId").to_pylist(), column.field("version").to_pylist(), strict=True))
    for commit in islice(since(objects, folder, last), version - last):
        found |= commit.transactions
        last = commit.version
    return found if last == version else None


def _read(objects: ObjectStore, name: str) -> tuple[bytes, Mark] | None:
    try:
        with told_plainly():
            found = obstore.get(objects, name)
            content = bytes(found.bytes())
    except FileNotFoundError:
        return None
    return content, (found.meta["e_tag"], found.meta["last_modified"])


def _name(folder: str, version: int) -> str:
    return f"{folder}/{LOG}/{version:020}.json"


def _commit(version: int, mark: Mark, actions: Sequence[Action]) -> Commit:
    return Commit(
        version,
        mark,
        added=frozenset(each["add"]["path"] for each in actions if "add" in each),
        removed=frozenset(each["remove"]["path"] for each in actions if "remove" in each),
        transactions={each["txn"]["appId"]: each["txn"]["version"] for each in actions if "txn" in each},
        alters=any("metaData" in each or "protocol" in each for each in actions),
        info=next((each["commitInfo"] for each in actions if "commitInfo" in each), {}),
    )
