"""The place where shards are published: a folder, or a prefix in an object store, with the manifest.

A file never changes under its name, and exists before a manifest names it. Writers replace the whole manifest
with compare-and-swap, so two processes can publish different shards at once.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import ObjectStore

from warehouse.files import flush, locked, make_read_only, put_in_place
from warehouse.published.manifest import TABLE_FILES, Manifest, decoded, encoded, following
from warehouse.stores import PATIENCE, is_remote, store_of

MANIFEST = "manifest.json"
#: Attempts to change the manifest while other processes change it.
ATTEMPTS = 50
#: How long a file stays that no kept manifest names. A reader of an older manifest may be opening it, or its
#: writer may be about to name it.
IN_USE = timedelta(hours=1)


class PublicationBroken(Exception):
    """The publication cannot be read or changed; the message says what to do."""


@dataclass(frozen=True)
class Shards:
    """A publication in shards."""

    #: A folder or s3://bucket/prefix.
    root: str
    #: The folder for local copies of an object store's files.
    cache: Path
    #: The number of manifests whose files are kept.
    keep: int = 3
    #: Seconds for which a request is retried while the store is unreachable.
    patience: float = PATIENCE
    #: The time after its end when a semester moves to the frozen file of its shard; None: no frozen files.
    freeze_after: timedelta | None = None
    #: Whether the models are published as open tables too.
    has_tables: bool = False

    @property
    def is_remote(self) -> bool:
        """Whether the files are in an object store, and read as local copies."""
        return is_remote(self.root)

    @cached_property
    def objects(self) -> ObjectStore:
        """The objects below the root."""
        return store_of(self.root, self.patience)

    def exists(self) -> bool:
        """Whether anything is published."""
        return bool(read_manifest(self).files)

    def __str__(self) -> str:
        return f"{self.root}/{MANIFEST}"


#: A home publishes a single file, or shards.
Published = Path | Shards


def size_of(published: Published) -> int:
    """Bytes of the published files."""
    if isinstance(published, Path):
        return published.stat().st_size
    files = [shard.published for shard in read_manifest(published).shards if shard.published]
    return sum(file.bytes + (file.frozen.bytes if file.frozen else 0) for file in files)


def read_manifest(shards: Shards) -> Manifest:
    """Read the present manifest; an empty one if nothing was published yet. Raises PublicationBroken."""
    return _read(shards)[0]


def change(
    shards: Shards, changed: Callable[[Manifest], Manifest], clock: Callable[[], datetime]
) -> Manifest:
    """Replace the manifest by `changed` of it; retries if another process changes it at the same time.

    Returns the manifest that is published then. `clock`: gives the time that names its generation.

    Raises PublicationBroken."""
    for _ in range(ATTEMPTS):
        before, tag = _read(shards)
        after = changed(before)
        if after == before:
            return before
        after = following(after, before, clock(), shards.keep)
        if swap_object(shards, MANIFEST, encoded(after), tag):
            return after
        time.sleep(random.uniform(0.01, 0.2))
    raise PublicationBroken(
        f"{shards}: other processes changed it {ATTEMPTS} times meanwhile; publish again with `campus build`"
    )


def put(shards: Shards, file: Path, name: str) -> None:
    """Move a file to a new name below the root. Nobody reads the file before a manifest names it."""
    if shards.is_remote:
        obstore.put(shards.objects, name, file)
        file.unlink()
        return
    target = Path(shards.root) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    make_read_only(file)
    shutil.move(file, target)
    flush(target)
    flush(target.parent)


def fetched(shards: Shards, names: Sequence[str]) -> list[Path]:
    """Local paths of published files, in the order of `names`; files of an object store are copied.

    Raises FileNotFoundError if a file is gone, as after a long pause."""
    if shards.is_remote:
        return [_copied(shards, name) for name in names]
    paths = [Path(shards.root) / name for name in names]
    for path in paths:
        path.stat()
    return paths


def _copied(shards: Shards, name: str) -> Path:
    """The local copy of a file, made if missing. A copy never expires, since no file changes under its name;
    copies of deleted files are deleted too."""
    target = shards.cache / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.iterdir():
        if time.time() - old.stat().st_mtime > IN_USE.total_seconds() and not _is_kept(shards, old):
            old.unlink(missing_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    with unfinished.open("wb") as file:
        for chunk in obstore.get(shards.objects, name).stream():
            file.write(chunk)
    put_in_place(unfinished, target)
    return target


def _is_kept(shards: Shards, copy: Path) -> bool:
    return str(copy.relative_to(shards.cache)) in read_manifest(shards).kept_files


def clean(shards: Shards, age: timedelta = IN_USE) -> list[str]:
    """Delete the files that no kept manifest names and that are at least `age` old; returns their names."""
    listed = [entry for page in obstore.list(shards.objects) for entry in page]
    kept_files = read_manifest(shards).kept_files
    until = datetime.now(UTC) - age
    unused = [
        entry["path"]
        for entry in listed
        if entry["path"].endswith((".duckdb", TABLE_FILES))
        and "/" in entry["path"]
        and entry["path"] not in kept_files
        and entry["last_modified"] < until
    ]
    delete_objects(shards, unused)
    return unused


def delete_objects(shards: Shards, names: Iterable[str]) -> None:
    """Delete files below the root; another process may delete them at the same time."""
    names = list(names)
    if not shards.is_remote:
        for name in names:
            (Path(shards.root) / name).unlink(missing_ok=True)
    elif names:
        obstore.delete(shards.objects, names)


def _read(shards: Shards) -> tuple[Manifest, str | None]:
    """The manifest and its ETag; None: there is no manifest yet."""
    try:
        data, tag = read_object(shards, MANIFEST)
        return (Manifest() if tag is None else decoded(data)), tag
    except msgspec.MsgspecError as error:
        raise PublicationBroken(
            f"{shards} is not a manifest of this version ({error}): move it away, and publish again with "
            "`campus build`"
        ) from error


def read_object(shards: Shards, name: str) -> tuple[bytes, str | None]:
    """The content and the ETag of an object that `swap_object` wrote; (b"", None): it does not exist."""
    if not shards.is_remote and not Path(shards.root).exists():
        return b"", None
    try:
        stored = obstore.get(shards.objects, name)
        return bytes(stored.bytes()), stored.meta["e_tag"]
    except FileNotFoundError:
        return b"", None


def swap_object(shards: Shards, name: str, data: bytes, tag: str | None) -> bool:
    """Replace the object with this ETag; None: create it. False: another process has replaced it."""
    if not shards.is_remote:
        return _swap_file(shards, name, data, tag)
    try:
        if tag is None:
            obstore.put(shards.objects, name, data, mode="create")
        else:
            obstore.put(shards.objects, name, data, mode={"e_tag": tag})
    except (AlreadyExistsError, PreconditionError):
        return False
    return True


def _swap_file(shards: Shards, name: str, data: bytes, tag: str | None) -> bool:
    """The same on a disk: a put there is a rename without a condition, so a lock guards it."""
    root = Path(shards.root)
    root.mkdir(parents=True, exist_ok=True)
    with locked(root / ".lock"):
        if read_object(shards, name)[1] != tag:
            return False
        obstore.put(shards.objects, name, data)
        flush(root / name)
        flush((root / name).parent)
    return True
