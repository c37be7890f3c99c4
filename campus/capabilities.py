"""What one platform does differently from the interface's description, as far as it was found out.

Findings are kept for a week, so that a platform that was upgraded is asked again."""

from dataclasses import dataclass, field
from datetime import date, timedelta

import msgspec

#: After so long a time all is found out anew.
VALID_FOR = timedelta(days=7)


# Further answers that must agree: where empty answers are common (one item's scores, one session), where much
# depends on it or there were rows before, and with a platform that has been caught.
COMMON = 1
GRAVE = 4
CAUGHT = 8
# A list that is empty in some answers and not in others is asked for no more often than this.
MOST_DOUBTS = 3 * CAUGHT


@dataclass(slots=True)
class Doubt:
    """How far a platform is believed that says there are no rows. `lies`: how often it was wrong."""

    lies: int = 0

    def needed(self, *, grave: bool) -> int:
        """How many further answers must agree that there are no rows. `grave`: much depends on it."""
        if self.lies:
            return CAUGHT
        return GRAVE if grave else COMMON

    def contradict(self) -> None:
        """Note that there were rows where an answer had none."""
        self.lies += 1


class Rejection(msgspec.Struct, frozen=True, order=True):
    """A parameter that the platform rejects for a path, with one value or (value "") with any value."""

    path: str
    parameter: str
    value: str = ""


class Findings(msgspec.Struct):
    """What is kept of the capabilities of one platform between runs."""

    base_url: str
    #: The day of the first finding.
    since: date
    #: The greatest page that the platform sends.
    page_size: int | None = None
    #: The prefix of datasets and reports: /v3 or /api/v3.
    prefix: str | None = None
    rejected: set[Rejection] = msgspec.field(default_factory=set)
    #: The day on which an empty response was contradicted last: empty responses are doubted until it ends.
    doubted_on: date | None = None

    def is_valid(self, base_url: str, today: date) -> bool:
        """Whether the findings are about this platform, and not outdated."""
        return self.base_url == base_url and timedelta() <= today - self.since < VALID_FOR


@dataclass
class Capabilities:
    """What one platform is known to take and to reject; all who read with one client share the object."""

    page_size: int | None = None
    prefix: str | None = None
    #: Rejections that later runs need not find out again.
    lasting: set[Rejection] = field(default_factory=set)
    #: Rejections that count for this run alone.
    rejected: set[Rejection] = field(default_factory=set)
    doubt: Doubt = field(default_factory=Doubt)

    @classmethod
    def of(cls, findings: Findings, today: date) -> "Capabilities":
        """The capabilities that earlier runs found."""
        doubt = Doubt(int(findings.doubted_on == today))
        return cls(findings.page_size, findings.prefix, set(findings.rejected), doubt=doubt)

    def rejects(self, path: str, parameter: str, value: str = "") -> bool:
        """Whether the platform has rejected this parameter. path: as the registry has it."""
        rejection = Rejection(path, parameter, value)
        return rejection in self.lasting or rejection in self.rejected

    def reject(self, path: str, parameter: str, value: str = "", *, lasting: bool = False) -> None:
        """Note that the platform rejects a parameter.

        lasting: later runs need not try it. Only where each of them still reports what is left out, or
        nothing is left out: a permission that is granted, or a platform that recovers, would go unnoticed."""
        (self.lasting if lasting else self.rejected).add(Rejection(path, parameter, value))
