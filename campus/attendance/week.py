"""One week of attendance on its way to the lake."""

from dataclasses import dataclass, field

from campus.attendance.checks import Check
from campus.sources.gathered import Collector


@dataclass
class Week:
    """What is read of a week: rows, and how far the platform agrees with itself about its sessions
    (statistics with records) and about its records (one route with the other)."""

    sessions: Collector
    records: Collector
    of_sessions: list[Check] = field(default_factory=list)
    of_records: list[Check] = field(default_factory=list)
