"""The rows and checks of one week of attendance."""

from dataclasses import dataclass, field

from campus.attendance.checks import Check
from campus.sources.gathered import Collector


@dataclass
class Week:
    """The rows and checks of one week."""

    sessions: Collector
    records: Collector
    #: Statistics against records.
    session_checks: list[Check] = field(default_factory=list)
    #: One route against the other.
    record_checks: list[Check] = field(default_factory=list)
