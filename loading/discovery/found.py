"""What discovery starts from, and what it comes back with."""

from dataclasses import dataclass, field

from campus.http.errors import PlatformUnavailable
from loading.commit import Loaded
from loading.partition_keys import semesters_by_school


@dataclass
class Found:
    """What discovery found: the semesters that v3 and v1 are asked for, and keys of weeks, dataset segments
    and results of reports, by school; the outcome of each slice (`loaded`), what an operator should know
    (`notes`), what stood in the way (`problems`), and why schools, or all of them, were looked at no further
    (`halts`)."""

    semesters: dict[int, list[int]] = field(default_factory=dict)
    v1_semesters: dict[int, list[int]] = field(default_factory=dict)
    weeks: dict[int, list[str]] = field(default_factory=dict)
    segments: dict[int, list[str]] = field(default_factory=dict)
    results: dict[int, list[str]] = field(default_factory=dict)
    loaded: list[Loaded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    halts: list[PlatformUnavailable] = field(default_factory=list)
    #: Schools that were never loaded and that the platform does not list.
    ghosts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Known:
    """The partition keys that there are, by school."""

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
        """The semesters that v3 was asked for."""
        return semesters_by_school(self.semesters.get(school_id, [])).get(school_id, [])

    def v1_semesters_of(self, school_id: int) -> list[int]:
        """Those that v1 was asked for. An earlier version asked it for v3's, and had no keys of its own."""
        keys = self.v1_semesters.get(school_id) or self.semesters.get(school_id, [])
        return semesters_by_school(keys).get(school_id, [])
