"""The state of a table as of its last commit, for commits that replace slices.

deltalake reads the names of all files of a table again in each commit. Here they are read once, then updated
by the files that each commit adds and removes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa
from obstore.store import ObjectStore

from warehouse.lake import delta_log
from warehouse.lake.delta_log import Commit, Mark
from warehouse.lake.tables import Slice

#: After more new commits, a table is opened anew.
FAR = 50


@dataclass(frozen=True)
class TableState:
    """A table as of one version."""

    version: int
    #: Identifies the commit of the version. None: the commit does not exist.
    mark: Mark | None
    #: All columns in the lake, also those of no contract.
    schema: pa.Schema
    #: The file names (below the table) by folder.
    names: Mapping[str, Sequence[str]]
    #: The last version of each application transaction.
    transactions: Mapping[str, int]

    def files(self, slice: Slice) -> list[str]:
        """A slice's files below the table, sorted."""
        return sorted(self.names.get(slice.folder, ()))

    def stands(self, objects: ObjectStore, folder: str) -> bool:
        """Whether the table in `folder` still has the commit from which this state was read."""
        return self.mark is not None and self.mark == delta_log.mark(objects, folder, self.version)

    def followed(self, objects: ObjectStore, folder: str) -> TableState | None:
        """The state now. None: the table has to be opened anew."""
        if not self.stands(objects, folder):
            return None
        commits = list(islice(delta_log.since(objects, folder, self.version), FAR + 1))
        if len(commits) > FAR or any(commit.alters for commit in commits):
            return None
        return self._after(commits) if commits else self

    def _after(self, commits: Sequence[Commit]) -> TableState:
        names, transactions = dict(self.names), dict(self.transactions)
        for commit in commits:
            for folder, gone in by_folder(commit.removed).items():
                names[folder] = [name for name in names.get(folder, ()) if name not in gone]
            for folder, come in by_folder(commit.added).items():
                names[folder] = [*{*names.get(folder, ()), *come}]
            transactions |= commit.transactions
        last = commits[-1]
        return replace(self, version=last.version, mark=last.mark, names=names, transactions=transactions)


def by_folder(names: Iterable[str]) -> dict[str, Sequence[str]]:
    """Group file names by folder."""
    folders = defaultdict[str, list[str]](list)
    for name in names:
        folders[name.rpartition("/")[0]].append(name)
    return dict(folders)
