"""The results of a discovery, and the changes of partitions that follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loading.partition_keys import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
    partition_key,
    semesters_by_school,
)
from loading.slices.commit import RunResults


@dataclass
class DiscoveryResults(RunResults):
    """The contents of schools as discovery found them."""

    #: By school, the semesters that requests to v3 and to v1 name.
    semesters: dict[int, list[int]] = field(default_factory=dict)
    v1_semesters: dict[int, list[int]] = field(default_factory=dict)
    #: By school, partition keys of weeks, dataset segments and results of reports.
    weeks: dict[int, list[str]] = field(default_factory=dict)
    segments: dict[int, list[str]] = field(default_factory=dict)
    report_results: dict[int, list[str]] = field(default_factory=dict)
    #: Messages for the operator to read.
    notes: list[str] = field(default_factory=list)
    #: Schools that were never loaded and that the platform does not list.
    ghosts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ExistingPartitions:
    """The existing partition keys, by school."""

    semesters: dict[int, list[str]]
    v1_semesters: dict[int, list[str]]
    weeks: dict[int, list[str]]
    segments: dict[int, list[str]]
    report_results: dict[int, list[str]]

    @property
    def schools(self) -> set[int]:
        """The schools that have a partition of any kind."""
        kinds = (self.semesters, self.v1_semesters, self.weeks, self.segments, self.report_results)
        return {school_id for kind in kinds for school_id in kind}

    def semesters_of(self, school_id: int) -> list[int]:
        """The semesters that requests to v3 named."""
        return semesters_by_school(self.semesters.get(school_id, [])).get(school_id, [])

    def v1_semesters_of(self, school_id: int) -> list[int]:
        """The semesters that requests to v1 named."""
        return semesters_by_school(self.v1_semesters.get(school_id, [])).get(school_id, [])


@dataclass(frozen=True)
class PartitionChanges:
    """The partition keys of a kind to add and to remove."""

    added: list[str]
    removed: list[str]


def partition_changes(existing: ExistingPartitions, results: DiscoveryResults) -> dict[str, PartitionChanges]:
    """The changes of partitions by kind. Schools that were not discovered keep their partitions."""
    ghosts: dict[int, list[str]] = {school_id: [] for school_id in results.ghosts}
    pairs = {
        SCHOOL_SEMESTERS: (existing.semesters, _semester_keys(results.semesters)),
        V1_SEMESTERS: (existing.v1_semesters, _semester_keys(results.v1_semesters)),
        ATTENDANCE_WEEKS: (existing.weeks, results.weeks),
        DATASET_SEGMENTS: (existing.segments, results.segments),
        REPORT_RESULTS: (existing.report_results, results.report_results),
    }
    return {kind: _changes(before, ghosts | after) for kind, (before, after) in pairs.items()}


def _changes(before: Mapping[int, list[str]], after: Mapping[int, list[str]]) -> PartitionChanges:
    changes = PartitionChanges([], [])
    for school_id, keys in after.items():
        existing = before.get(school_id, [])
        changes.added.extend(key for key in keys if key not in existing)
        changes.removed.extend(sorted(set(existing).difference(keys)))
    return changes


def _semester_keys(semesters: Mapping[int, list[int]]) -> dict[int, list[str]]:
    return {
        school_id: [partition_key(school_id, semester_id) for semester_id in ids]
        for school_id, ids in semesters.items()
    }
