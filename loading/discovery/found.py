"""The input and the result of discovery."""

from dataclasses import dataclass, field

from campus.http.errors import PlatformUnavailable
from loading.commit import Loaded
from loading.partition_keys import semesters_by_school


@dataclass
class Found:
    """What discovery found."""

    #: By school, the semesters that requests to v3 and to v1 name.
    semesters: dict[int, list[int]] = field(default_factory=dict)
    v1_semesters: dict[int, list[int]] = field(default_factory=dict)
    #: By school, partition keys of weeks, dataset segments and results of reports.
    weeks: dict[int, list[str]] = field(default_factory=dict)
    segments: dict[int, list[str]] = field(default_factory=dict)
    results: dict[int, list[str]] = field(default_factory=dict)
    loaded: list[Loaded] = field(default_factory=list)
    #: Messages for the operator to read.
    notes: list[str] = field(default_factory=list)
    #: Messages about what the operator has to mend.
    problems: list[str] = field(default_factory=list)
    #: Why schools, or all schools, were not discovered further.
    halts: list[PlatformUnavailable] = field(default_factory=list)
    #: Schools that were never loaded and that the platform does not list.
    ghosts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """The existing partition keys, by school."""

    semesters: dict[int, list[str]]
    v1_semesters: dict[int, list[str]]
    weeks: dict[int, list[str]]
    segments: dict[int, list[str]]
    results: dict[int, list[str]]

    @property
    def schools(self) -> set[int]:
        """The schools that have a partition of any kind."""
        kinds = (self.semesters, self.v1_semesters, self.weeks, self.segments, self.results)
        return {school_id for kind in kinds for school_id in kind}

    def semesters_of(self, school_id: int) -> list[int]:
        """The semesters that requests to v3 named."""
        return semesters_by_school(self.semesters.get(school_id, [])).get(school_id, [])

    def v1_semesters_of(self, school_id: int) -> list[int]:
        """The semesters that requests to v1 named."""
        return semesters_by_school(self.v1_semesters.get(school_id, [])).get(school_id, [])
