"""Where shards are published: a folder, or a prefix in an object store, with the manifest beside the files.

A file never changes under its name, and is there before a manifest names it. The manifest is replaced as a
whole, and only by who has seen the one that is there: two that publish different shards at once both land.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import ObjectStore

from warehouse.files import flush, locked, make_read_only, put_in_place
from warehouse.published.manifest import Manifest, decoded, encoded, following
from warehouse.stores import PATIENCE, is_remote, store_of

MANIFEST = "manifest.json"
#: How often a manifest that lost a race is changed again.
ATTEMPTS = 50
#: How long a file stays that no kept manifest names: who has read an older manifest may be opening it, and
#: who has just put it may be about to name it.
IN_USE = timedelta(hours=1)


class PublicationBroken(Exception):
    """What is published cannot be read or changed, and what to do."""


@dataclass(frozen=True)
class Shards:
    """A publication in shards. `root`: a folder or s3://bucket/prefix; `cache`: a folder for copies of the
    files of the latter; `keep`: manifests whose files are kept; `patience`: seconds for which a request to
    the store is tried again while it is away. `freeze_after`: how long after its end a semester is published
    in the frozen file of its shard; None: there are no such files."""

    root: str
    cache: Path
    keep: int = 3
    patience: float = PATIENCE
    freeze_after: timedelta | None = None

    @property
    def is_remote(self) -> bool:
        """Whether the files are in an object store, and read as copies."""
        return is_remote(self.root)

    @cached_property
    def objects(self) -> ObjectStore:
        """All that is below the root."""
        return store_of(self.root, self.patience)

    def exists(self) -> bool:
        """Whether anything is published."""
        return bool(manifest(self).files)

    def __str__(self) -> str:
        return f"{self.root}/{MANIFEST}"


#: What a home publishes: one file, or shards.
Published = Path | Shards


def size_of(published: Published) -> int:
    """Bytes of what is published."""
    if isinstance(published, Path):
        return published.stat().st_size
    files = [shard.published for shard in manifest(published).shards if shard.published]
    return sum(file.bytes + (file.frozen.bytes if file.frozen else 0) for file in files)


def manifest(shards: Shards) -> Manifest:
    """The manifest as it is now; an empty one where nothing was published yet. Raises PublicationBroken."""
    return _read(shards)[0]


def change(
    shards: Shards, changed: Callable[[Manifest], Manifest], clock: Callable[[], datetime]
) -> Manifest:
    """Change the manifest, again and again until nobody else has changed it meanwhile; returns the new one,
    or the one that is there where `changed` finds nothing to change. `clock`: names its generation.

    Raises PublicationBroken."""
    for _ in range(ATTEMPTS):
        before, tag = _read(shards)
        wanted = changed(before)
        if wanted == before:
            return before
        wanted = following(wanted, before, clock(), shards.keep)
        if _swap(shards, encoded(wanted), tag):
            return wanted
        time.sleep(random.uniform(0.01, 0.2))
    raise PublicationBroken(
        f"{shards}: others changed it {ATTEMPTS} times meanwhile; publish again with `campus build`"
    )


def put(shards: Shards, file: Path, name: str) -> None:
    """Move a file below the root, to a name that nothing has yet. Nobody reads it before a manifest names
    it."""
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
    """The paths of published files on this machine, in their order: copies where they are elsewhere. Raises
    FileNotFoundError where one is gone, as after a long pause."""
    if shards.is_remote:
        return [_copied(shards, name) for name in names]
    paths = [Path(shards.root) / name for name in names]
    for path in paths:
        path.stat()
    return paths


def _copied(shards: Shards, name: str) -> Path:
    """A copy of a file, made if need be. A file never changes under its name, so that a copy is good for
    ever; those of files that are gone go with them."""
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
    return str(copy.relative_to(shards.cache)) in manifest(shards).kept_files


def clean(shards: Shards, age: timedelta = IN_USE) -> list[str]:
    """Delete the files that neither the manifest nor one of those kept before it names; their names. One that
    is younger than `age` stays."""
    listed = [entry for page in obstore.list(shards.objects) for entry in page]
    kept = manifest(shards).kept_files
    until = datetime.now(UTC) - age
    unused = [
        entry["path"]
        for entry in listed
        if entry["path"].endswith(".duckdb")
        and "/" in entry["path"]
        and entry["path"] not in kept
        and entry["last_modified"] < until
    ]
    if unused:
        obstore.delete(shards.objects, unused)
    return unused


def _read(shards: Shards) -> tuple[Manifest, str | None]:
    """The manifest and the tag of its state; None: there is none yet."""
    if not shards.is_remote and not Path(shards.root).exists():
        return Manifest(), None
    try:
        found = obstore.get(shards.objects, MANIFEST)
        return decoded(bytes(found.bytes())), found.meta["e_tag"]
    except FileNotFoundError:
        return Manifest(), None
    except msgspec.MsgspecError as error:
        raise PublicationBroken(
            f"{shards} is not what this version writes ({error}): move it away, and publish again with "
            "`campus build`"
        ) from error


def _swap(shards: Shards, data: bytes, tag: str | None) -> bool:
    """Put the manifest in the place of the one with this tag; False: that is not there any more."""
    if not shards.is_remote:
        return _swap_file(shards, data, tag)
    try:
        if tag is None:
            obstore.put(shards.objects, MANIFEST, data, mode="create")
        else:
            obstore.put(shards.objects, MANIFEST, data, mode={"e_tag": tag})
    except (AlreadyExistsError, PreconditionError):
        return False
    return True


def _swap_file(shards: Shards, data: bytes, tag: str | None) -> bool:
    """The same on a disk, where a put is a rename and has no condition: a lock stands for that."""
    root = Path(shards.root)
    root.mkdir(parents=True, exist_ok=True)
    with locked(root / ".lock"):
        if _read(shards)[1] != tag:
            return False
        obstore.put(shards.objects, MANIFEST, data)
        flush(root / MANIFEST)
        flush(root)
    return True
