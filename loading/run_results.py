"""The results of a run that loads slices."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from campus.http.errors import PlatformUnavailable
from loading.slices.commit import Loaded

#: Takes a slice as soon as it is committed, with its partitions, and metadata beside its counts.
Report = Callable[[Loaded, Iterable[str], Mapping[str, str | int]], None]


@dataclass
class RunResults:
    """The loaded slices of a run, and the reasons why other slices could not be loaded."""

    loaded: list[Loaded] = field(default_factory=list)
    #: Messages about what failed beside slices.
    problems: list[str] = field(default_factory=list)
    #: Why schools, or all schools, were read no further.
    halts: list[PlatformUnavailable] = field(default_factory=list)

    def is_halted(self, school_id: int) -> bool:
        """Whether a school is read no further."""
        return any(halt.concerns(school_id) for halt in self.halts)
