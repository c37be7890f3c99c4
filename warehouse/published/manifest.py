"""The manifest of a publication in shards: which file holds which schools. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta

import msgspec

#: Generations are named by their times, so that they sort by age.
NAME = "%Y%m%dT%H%M%S.%f"
#: The end of the name of a shard's list of files of open tables.
TABLE_FILES = ".tables.parquet"


class FrozenFile(msgspec.Struct, frozen=True):
    """A shard's file of closed semesters: rows of its tables that the shard's main file lacks."""

    generation: str
    #: Path below the root.
    file: str
    bytes: int
    #: As `fill.contents_of` returns it.
    contents: dict[str, str] = {}


class ShardFile(msgspec.Struct, frozen=True):
    """A published file of a shard."""

    #: Named by the time of publication.
    generation: str
    #: Path below the root.
    file: str
    #: The schools that it was built from.
    schools: tuple[int, ...]
    #: The models_version.
    models: str
    bytes: int
    #: By folder of the lake, the version that was read.
    versions: dict[str, int] = {}
    #: As `fill.contents_of` returns it.
    contents: dict[str, str] = {}
    #: As `fill.days_of` returns it.
    days: dict[int, date] = {}
    #: The file of closed semesters; None: all rows are in the main file.
    frozen: FrozenFile | None = None
    #: Schools with rows that belong to two semesters, so that none of their rows are frozen.
    mixed: tuple[int, ...] = ()
    #: The list of its files of open tables; empty: its models are not published as open tables.
    table_files: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the main file, the frozen file and the list of files of open tables."""
        frozen = self.frozen.file if self.frozen else ""
        return tuple(filter(None, (self.file, frozen, self.table_files)))


class Shard(msgspec.Struct, frozen=True):
    """Schools that are published together."""

    name: str
    schools: tuple[int, ...]
    #: None: not published yet.
    published: ShardFile | None = None
    #: Why the last build was not published; empty: it was.
    problem: str = ""

    def table_files_of(self, models: str) -> str:
        """The list of its files of open tables if these models made them, else empty."""
        published = self.published
        return published.table_files if published and published.models == models else ""


class DistrictFile(msgspec.Struct, frozen=True):
    """The published district.duckdb."""

    generation: str
    #: Path below the root.
    file: str
    bytes: int
    #: By shard, the file that it was made from.
    made_of: dict[str, str]


class Manifest(msgspec.Struct, frozen=True):
    """The published files of all shards, and the district's."""

    #: Named by the time of the last change.
    generation: str = ""
    schools_per_shard: int = 0
    shards: tuple[Shard, ...] = ()
    district: DistrictFile | None = None
    #: The files that each earlier manifest named, the latest manifest first.
    before: tuple[tuple[str, ...], ...] = ()

    def shard(self, name: str) -> Shard:
        """The shard of this name. Raises KeyError."""
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
        """The published file by shard name."""
        return {shard.name: file.file for shard, file in _published(self.shards)}

    @property
    def frozen_files(self) -> dict[str, str]:
        """The file of closed semesters by shard name, for shards that have such a file."""
        return {shard.name: file.frozen.file for shard, file in _published(self.shards) if file.frozen}

    @property
    def table_files(self) -> dict[str, str]:
        """The list of files of open tables by shard name, for shards that have such a list."""
        return {shard.name: file.table_files for shard, file in _published(self.shards) if file.table_files}

    @property
    def without_table_files(self) -> list[str]:
        """The published shards that have no list of files of open tables."""
        return sorted(shard.name for shard, file in _published(self.shards) if not file.table_files)

    @property
    def kept_files(self) -> set[str]:
        """The files that this manifest or an earlier one names."""
        return set(self.files).union(*self.before)


def assigned(manifest: Manifest, schools: Collection[int], schools_per_shard: int) -> Manifest:
    """The manifest with a shard for each of `schools`.

    A school stays in its shard. New schools fill the last shard, then new shards; places that schools leave
    in earlier shards stay empty. If `schools_per_shard` changes, all schools go to shards with new names; the
    old shards' files are read until the new files are published."""
    shards = list(manifest.shards)
    if manifest.schools_per_shard != schools_per_shard:
        shards = [msgspec.structs.replace(shard, schools=()) for shard in shards]
        homeless = sorted(schools)
    else:
        shards = [
            msgspec.structs.replace(shard, schools=tuple(id for id in shard.schools if id in schools))
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
    """The manifest with a newly published file of a shard; without effect if the shard no longer exists."""
    shards = (
        msgspec.structs.replace(shard, published=file, problem="") if shard.name == name else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=_in_use(shards))


def without_tables(manifest: Manifest) -> Manifest:
    """The manifest without any open tables."""
    shards = tuple(
        msgspec.structs.replace(shard, published=msgspec.structs.replace(shard.published, table_files=""))
        if shard.published
        else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=shards)


def without_models(manifest: Manifest, names: Collection[str]) -> Manifest:
    """The manifest in which some shards need a build that reuses no files."""
    shards = tuple(
        msgspec.structs.replace(shard, published=msgspec.structs.replace(shard.published, models=""))
        if shard.name in names and shard.published
        else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=shards)


def with_problem(manifest: Manifest, name: str, problem: str) -> Manifest:
    """The manifest with the reason why a shard was not published; empty: nothing is wrong with it."""
    shards = tuple(
        msgspec.structs.replace(shard, problem=problem) if shard.name == name else shard
        for shard in manifest.shards
    )
    return msgspec.structs.replace(manifest, shards=shards)


def schools_to_read(manifest: Manifest) -> dict[str, frozenset[int]]:
    """The schools to read from each published shard: every school from exactly one shard. That is its own
    shard if its published file has the school, else the shard published last that has it."""
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


def later_generation(before: str, moment: datetime) -> str:
    """The name of a generation at a moment, later than that of the generation before; "": there is none."""
    if before:
        moment = max(moment, datetime.strptime(before, NAME) + timedelta(microseconds=1))
    return moment.strftime(NAME)


def following(manifest: Manifest, before: Manifest, moment: datetime, keep: int) -> Manifest:
    """The changed manifest as the successor of `before`, with a later generation.

    `keep`: the number of manifests whose files are kept, this one included."""
    files = before.before if before.files == manifest.files else (before.files, *before.before)
    generation = later_generation(before.generation, moment)
    return msgspec.structs.replace(manifest, generation=generation, before=files[: max(keep, 1) - 1])


def encoded(manifest: Manifest) -> bytes:
    """The manifest as JSON."""
    return msgspec.json.encode(manifest)


def decoded(data: bytes) -> Manifest:
    """The manifest that `encoded` made. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(data, type=Manifest)


def _published(shards: Iterable[Shard]) -> list[tuple[Shard, ShardFile]]:
    return [(shard, shard.published) for shard in shards if shard.published]


def _in_use(shards: Iterable[Shard]) -> tuple[Shard, ...]:
    """Drop the shards without schools whose published schools are all in files of other shards."""
    shards = tuple(shards)
    covered = {school for shard, file in _published(shards) if shard.schools for school in file.schools}
    return tuple(
        shard
        for shard in shards
        if shard.schools or (shard.published and not covered.issuperset(shard.published.schools))
    )
