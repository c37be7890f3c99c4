"""The manifest of a publication in shards: which file holds which schools, as one small object. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta

import msgspec

#: How generations are named: by times, which sort as they follow each other.
NAME = "%Y%m%dT%H%M%S.%f"


class FrozenFile(msgspec.Struct, frozen=True):
    """The closed semesters of a shard, in a file of their own: of the tables that it has, the rows that the
    shard's file lacks. `file`: below the root; `contents`: as `fill.contents_of` has them."""

    generation: str
    file: str
    bytes: int
    contents: dict[str, str] = {}


class ShardFile(msgspec.Struct, frozen=True):
    """A published file of a shard. `generation`: the time of its publication, which names it; `file`: below
    the root; `schools`: that it was built of; `models`: the models_version; `versions`: by folder of the lake
    the version that was read; `contents` and `days`: as `fill.contents_of` and `days_of` have them; `frozen`:
    the file with the rest of it; None: it is whole. `mixed`: schools with rows that lie in two semesters, so
    that none of theirs is frozen."""

    generation: str
    file: str
    schools: tuple[int, ...]
    models: str
    bytes: int
    versions: dict[str, int] = {}
    contents: dict[str, str] = {}
    days: dict[int, date] = {}
    frozen: FrozenFile | None = None
    mixed: tuple[int, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that it consists of."""
        return (self.file, *([self.frozen.file] if self.frozen else []))


class Shard(msgspec.Struct, frozen=True):
    """Schools that are published together. `published`: None: not yet. `problem`: why the last build of it
    was not published; empty: it was."""

    name: str
    schools: tuple[int, ...]
    published: ShardFile | None = None
    problem: str = ""


class DistrictFile(msgspec.Struct, frozen=True):
    """The published district.duckdb. `made_of`: the file of each shard that it was made of."""

    generation: str
    file: str
    bytes: int
    made_of: dict[str, str]


class Manifest(msgspec.Struct, frozen=True):
    """`generation`: its own name, of the time of the last change. `before`: the files that each of the
    manifests before it named, the latest first."""

    generation: str = ""
    schools_per_shard: int = 0
    shards: tuple[Shard, ...] = ()
    district: DistrictFile | None = None
    before: tuple[tuple[str, ...], ...] = ()

    def shard(self, name: str) -> Shard:
        """Raises KeyError where there is none of that name."""
        return {shard.name: shard for shard in self.shards}[name]

    def generation_of(self, name: str) -> str:
        """The generation of a shard's file; "": it has none."""
        published = self.shard(name).published
        return published.generation if published else ""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are published."""
        named = [name for _, file in _published(self.shards) for name in file.files]
        return (*named, *([self.district.file] if self.district else []))

    @property
    def files_of_shards(self) -> dict[str, str]:
        """By name of the shard its published file."""
        return {shard.name: file.file for shard, file in _published(self.shards)}

    @property
    def frozen_files(self) -> dict[str, str]:
        """By name of the shard the file of its closed semesters, where it has one."""
        return {shard.name: file.frozen.file for shard, file in _published(self.shards) if file.frozen}

    @property
    def kept_files(self) -> set[str]:
        """The files that this manifest or one before it names."""
        return set(self.files).union(*self.before)


def assigned(manifest: Manifest, schools: Collection[int], schools_per_shard: int) -> Manifest:
    """The manifest with a shard for each of `schools`.

    A school stays where it is. New ones fill the last shard, then further ones; a place that a school leaves
    stays empty, but in the last shard. With another number of schools per shard all are dealt anew, to shards
    of new names; the old ones' files are read until the new ones are there."""
    shards = list(manifest.shards)
    if manifest.schools_per_shard != schools_per_shard:
        shards = [msgspec.structs.replace(shard, schools=()) for shard in shards]
        homeless = sorted(schools)
    else:
        shards = [
            msgspec.structs.replace(shard, schools=tuple(one for one in shard.schools if one in schools))
            for shard in shards
        ]
        homeless = sorted(set(schools).difference(*(shard.schools for shard in shards)))
        if shards and shards[-1].schools:
            room = schools_per_shard - len(shards[-1].schools)
            joined = (*shards[-1].schools, *homeless[:room])
            shards[-1] = msgspec.structs.replace(shards[-1], schools=joined)
            homeless = homeless[room:]
    last = max((int(shard.name) for shard in shards), default=0)
    added = [
        Shard(f"{last + number:04}", tuple(homeless[start : start + schools_per_shard]))
        for number, start in enumerate(range(0, len(homeless), schools_per_shard), 1)
    ]
    return msgspec.structs.replace(
        manifest, schools_per_shard=schools_per_shard, shards=_in_use([*shards, *added])
    )


def with_file(manifest: Manifest, name: str, file: ShardFile) -> Manifest:
    """The manifest with a file of a shard published. A shard that is there no more stays away."""
    shards = (
        msgspec.structs.replace(shard, published=file, problem="") if shard.name == name else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=_in_use(shards))


def with_problem(manifest: Manifest, name: str, problem: str) -> Manifest:
    """The manifest that says why a shard was not published; empty: nothing is wrong with it."""
    shards = tuple(
        msgspec.structs.replace(shard, problem=problem) if shard.name == name else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=shards)


def schools_to_read(manifest: Manifest) -> dict[str, frozenset[int]]:
    """By published shard the schools that are read of it: each school of one shard alone, of its own where
    that has it already, else of the one that was published last."""
    published = sorted(_published(manifest.shards), key=lambda pair: pair[1].generation)
    owner: dict[int, str] = {}
    for shard, file in published:
        owner |= dict.fromkeys(file.schools, shard.name)
    for shard, file in published:
        owner |= dict.fromkeys({*file.schools} & {*shard.schools}, shard.name)
    return {
        shard.name: frozenset(school for school, name in owner.items() if name == shard.name)
        for shard, _ in published
    }


def following(manifest: Manifest, before: Manifest, moment: datetime, keep: int) -> Manifest:
    """The changed manifest as the one that follows `before`: with a name of its own, later than that one's.
    `keep`: manifests whose files are kept, itself included."""
    if before.generation:
        moment = max(moment, datetime.strptime(before.generation, NAME) + timedelta(microseconds=1))
    files = before.before if before.files == manifest.files else (before.files, *before.before)
    return msgspec.structs.replace(
        manifest, generation=moment.strftime(NAME), before=files[: max(keep, 1) - 1]
    )


def encoded(manifest: Manifest) -> bytes:
    """The manifest as JSON."""
    return msgspec.json.encode(manifest)


def decoded(data: bytes) -> Manifest:
    """The manifest that `encoded` made. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(data, type=Manifest)


def _published(shards: Iterable[Shard]) -> list[tuple[Shard, ShardFile]]:
    return [(shard, shard.published) for shard in shards if shard.published]


def _in_use(shards: Iterable[Shard]) -> tuple[Shard, ...]:
    """The shards without those that have no school any more, once others' files hold what theirs does."""
    shards = tuple(shards)
    held = {school for shard, file in _published(shards) if shard.schools for school in file.schools}
    return tuple(
        shard
        for shard in shards
        if shard.schools or (shard.published and not held.issuperset(shard.published.schools))
    )
