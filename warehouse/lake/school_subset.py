"""A read-only view of the lake as of one moment, limited to some schools, from which a shard is filled.

It can leave out the closed semesters of divided tables, or have nothing but them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from copy import copy
from functools import cached_property
from pathlib import PurePosixPath

import pyarrow as pa
from deltalake import DeltaTable

from warehouse.lake.delta import Lake, relative_files
from warehouse.lake.logs.tables import Log
from warehouse.lake.tables import SCHOOL_ID, SEMESTER_ID, Slice, Stored

_SCHOOL = re.compile(rf"(?:^|/){SCHOOL_ID.name}=(\d+)/")
_SEMESTER = re.compile(rf"(?:^|/){SCHOOL_ID.name}=(\d+)/{SEMESTER_ID}=(\d+)/")
#: By table, semesters as pairs of a school and the semester id in the table's slices.
Semesters = Mapping[str, Collection[tuple[int, int]]]


class LakeSnapshot:
    """Fixes the version of each table at its first use, for several shards of the same publication.

    `versions`: versions by folder, for tables that must be read at an earlier version."""

    def __init__(self, lake: Lake, versions: Mapping[str, int] | None = None) -> None:
        self.lake = lake
        self._versions = dict(versions or {})
        self._tables: dict[str, _OpenTable] = {}

    def table(self, table: Stored) -> _OpenTable:
        """The table at its fixed version."""
        if table.folder not in self._tables:
            opened = self.lake.open(table, self._versions.get(table.folder))
            self._tables[table.folder] = _OpenTable(opened)
        return self._tables[table.folder]


class _OpenTable:
    """An open table, with its files by school."""

    def __init__(self, opened: DeltaTable) -> None:
        self.opened = opened

    @cached_property
    def files(self) -> dict[int | None, list[str]]:
        """File names by school, as their folders say; None: a table that is not divided by school."""
        by_school = defaultdict[int | None, list[str]](list)
        for name in relative_files(self.opened):
            school = _SCHOOL.search(name)
            by_school[int(school[1]) if school else None].append(name)
        return by_school

    @cached_property
    def rows(self) -> dict[str, int]:
        """The number of rows of each file."""
        added = pa.table(self.opened.get_add_actions(flatten=True)).to_pylist()
        return {action["path"]: action["num_records"] for action in added}


class SchoolSubset(Lake):
    """A read-only view of a lake with rows of `schools` alone.

    `without`: by table, semesters whose files are left out. `only`: by table, the semesters whose files are
    read. `used`: by folder, the version of each table read so far; a snapshot of these versions reads the
    same rows again."""

    def __init__(
        self,
        snapshot: LakeSnapshot,
        schools: Collection[int],
        *,
        without: Semesters | None = None,
        only: Semesters | None = None,
    ) -> None:
        super().__init__(snapshot.lake.root, snapshot.lake.copies, snapshot.lake.patience)
        self._schools = frozenset(schools)
        self._without, self._only = without or {}, only or {}
        self.used: dict[str, int] = {}
        self._snapshot = snapshot

    def open(self, table: Stored, version: int | None = None) -> DeltaTable:
        """The table at the snapshot's version; `version` must be None."""
        assert version is None
        opened = self._snapshot.table(table).opened
        self.used[table.folder] = opened.version()
        return copy(opened)

    def names_of(self, table: Stored, opened: DeltaTable, slice: Slice | None = None) -> list[str]:
        """The schools' files; all files of a table that is not divided by school."""
        names = self._files(table)
        return names if slice is None else sorted({*names} & {*relative_files(opened, slice)})

    @property
    def schools(self) -> frozenset[int]:
        """The schools of this view."""
        return self._schools

    def state_of(self, table: Stored, opened: DeltaTable) -> object:
        """A value that changes whenever the schools' rows change.

        A slice's files change only with its rows. A log's files are also compacted; its rows are only added,
        so their number by folder tells."""
        names = self._files(table)
        if not isinstance(table, Log):
            return opened.metadata().id, names
        rows, by_folder = self._snapshot.table(table).rows, defaultdict[str, int](int)
        for name in names:
            by_folder[str(PurePosixPath(name).parent)] += rows[name]
        return opened.metadata().id, sorted(by_folder.items())

    def _files(self, table: Stored) -> list[str]:
        files = self._snapshot.table(table).files
        names = (name for school in (*self.schools, None) for name in files.get(school, ()))
        without, only = self._without.get(table.name, ()), self._only.get(table.name)
        return sorted(
            name
            for name in names
            if (semester := _semester(name)) not in without and (only is None or semester in only)
        )


def _semester(name: str) -> tuple[int, int] | None:
    """School and semester of a file, as its folders say; None: the table is not divided by semester."""
    match = _SEMESTER.search(name)
    return (int(match[1]), int(match[2])) if match else None
