"""The lake as some of its schools alone would have it, as of one moment: what a shard is filled from; or as
these would have it without their closed semesters, or with nothing else."""

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
from warehouse.lake.log_tables import Log
from warehouse.lake.tables import SCHOOL_ID, SEMESTER_ID, Slice, Stored

_SCHOOL = re.compile(rf"(?:^|/){SCHOOL_ID.name}=(\d+)/")
_SEMESTER = re.compile(rf"(?:^|/){SCHOOL_ID.name}=(\d+)/{SEMESTER_ID}=(\d+)/")
#: By table, which of its semesters: school and the id by which the table's slices name the semester.
Semesters = Mapping[str, Collection[tuple[int, int]]]


class Moment:
    """The tables of a lake as they were when each was first asked for, or at the `versions` given by folder:
    what several shards of one publication are read of."""

    def __init__(self, lake: Lake, versions: Mapping[str, int] | None = None) -> None:
        self.lake = lake
        self._wanted = dict(versions or {})
        self._held: dict[str, _Held] = {}

    def table(self, table: Stored) -> _Held:
        if table.folder not in self._held:
            opened = self.lake.open(table, self._wanted.get(table.folder))
            self._held[table.folder] = _Held(opened)
        return self._held[table.folder]


class _Held:
    """A table that is open. A school's files are known by their folders."""

    def __init__(self, opened: DeltaTable) -> None:
        self.opened = opened

    @cached_property
    def files(self) -> dict[int | None, list[str]]:
        """The names of the files by school; None: of tables that are not divided by school."""
        found = defaultdict[int | None, list[str]](list)
        for name in relative_files(self.opened):
            school = _SCHOOL.search(name)
            found[int(school[1]) if school else None].append(name)
        return found

    @cached_property
    def rows(self) -> dict[str, int]:
        """The number of rows of each file."""
        told = pa.table(self.opened.get_add_actions(flatten=True)).to_pylist()
        return {each["path"]: each["num_records"] for each in told}


class LakeOfSchools(Lake):
    """What a lake would be that had only `schools`, to be read alone. `used`: the version of each table that
    was read so far, by its folder: with these as the moment's versions, the same is read again.
    Of tables that `without` names it lacks the files of these semesters; of those that `only` names it has no
    others."""

    def __init__(
        self,
        moment: Moment,
        schools: Collection[int],
        *,
        without: Semesters | None = None,
        only: Semesters | None = None,
    ) -> None:
        super().__init__(moment.lake.root, moment.lake.copies, moment.lake.patience)
        self._schools = frozenset(schools)
        self._without, self._only = without or {}, only or {}
        self.used: dict[str, int] = {}
        self._moment = moment

    def open(self, table: Stored, version: int | None = None) -> DeltaTable:
        """The table as of the moment, which no other version is asked of."""
        assert version is None
        opened = self._moment.table(table).opened
        self.used[table.folder] = opened.version()
        return copy(opened)

    def names_of(self, table: Stored, opened: DeltaTable, slice: Slice | None = None) -> list[str]:
        """The files of the schools; of a table that is not divided by school all."""
        names = self._files(table)
        return names if slice is None else sorted({*names} & {*relative_files(opened, slice)})

    @property
    def schools(self) -> frozenset[int]:
        """Those of which alone there are rows."""
        return self._schools

    def state_of(self, table: Stored, opened: DeltaTable) -> object:
        """What is other where the schools' rows are other. Files of a slice are replaced with its rows alone;
        those of a log, to which rows are added and no row is changed, are joined now and then."""
        names = self._files(table)
        if not isinstance(table, Log):
            return opened.metadata().id, names
        rows, counted = self._moment.table(table).rows, defaultdict[str, int](int)
        for name in names:
            counted[str(PurePosixPath(name).parent)] += rows[name]
        return opened.metadata().id, sorted(counted.items())

    def _files(self, table: Stored) -> list[str]:
        files = self._moment.table(table).files
        names = (name for school in (*self.schools, None) for name in files.get(school, ()))
        without, only = self._without.get(table.name, ()), self._only.get(table.name)
        return sorted(
            name
            for name in names
            if (semester := _semester(name)) not in without and (only is None or semester in only)
        )


def _semester(name: str) -> tuple[int, int] | None:
    """School and semester of a file, by its folders; None: of a table that is not divided by semester."""
    found = _SEMESTER.search(name)
    return (int(found[1]), int(found[2])) if found else None
