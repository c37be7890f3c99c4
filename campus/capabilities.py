"""How one platform differs from the interface's description, as earlier requests have shown."""

from dataclasses import dataclass, field
from datetime import date, timedelta

import msgspec

#: Findings are discovered anew after this time, since the platform may have been upgraded.
VALID_FOR = timedelta(days=7)

# Further empty answers that must agree with an empty one: where empty answers are common (the scores of an
# item, a session), where they are unusual (much depends on it, or there were rows before), and where the
# platform has sent an empty answer that a later one contradicted.
WHEN_COMMON = 1
WHEN_UNUSUAL = 4
WHEN_CONTRADICTED = 8
# Most repeated requests for a list that is empty in some answers and has rows in others.
MOST_REPEATS = 3 * WHEN_CONTRADICTED


@dataclass(slots=True)
class Confirmation:
    """The number of further responses that must confirm an empty response."""

    #: How many empty answers were contradicted.
    contradicted: int = 0

    def needed(self, *, is_unusual: bool) -> int:
        """The further answers that must be empty too. is_unusual: an empty answer is unusual here."""
        if self.contradicted:
            return WHEN_CONTRADICTED
        return WHEN_UNUSUAL if is_unusual else WHEN_COMMON

    def contradict(self) -> None:
        """Note that there are rows where an earlier answer was empty."""
        self.contradicted += 1


class Rejection(msgspec.Struct, frozen=True, order=True):
    """A parameter that the platform rejects for a path, with one value or (value "") with any value."""

    path: str
    parameter: str
    value: str = ""


class Findings(msgspec.Struct):
    """The capabilities of one platform that are stored between runs."""

    base_url: str
    #: The day of the first finding.
    since: date
    #: The most rows that the platform sends in a page.
    page_size: int | None = None
    #: The prefix of datasets and reports: /v3 or /api/v3.
    prefix: str | None = None
    rejected: set[Rejection] = msgspec.field(default_factory=set)
    #: The last day on which an empty answer was contradicted: until that day ends, each empty answer needs
    #: more confirmation. Homes have it by its first name.
    contradicted_on: date | None = msgspec.field(default=None, name="doubted_on")

    def is_valid(self, base_url: str, today: date) -> bool:
        """Whether the findings are about this platform and not outdated."""
        return self.base_url == base_url and timedelta() <= today - self.since < VALID_FOR


@dataclass
class Capabilities:
    """The parameters that one platform accepts and rejects. All readers with one client share the object."""

    page_size: int | None = None
    prefix: str | None = None
    #: Rejections that later runs know from the start.
    lasting: set[Rejection] = field(default_factory=set)
    #: Rejections that this run alone knows.
    rejected: set[Rejection] = field(default_factory=set)
    confirmation: Confirmation = field(default_factory=Confirmation)

    @classmethod
    def of(cls, findings: Findings, today: date) -> "Capabilities":
        """The capabilities that earlier runs found."""
        confirmation = Confirmation(int(findings.contradicted_on == today))
        return cls(findings.page_size, findings.prefix, set(findings.rejected), confirmation=confirmation)

    def rejects(self, path: str, parameter: str, value: str = "") -> bool:
        """Whether the platform has rejected this parameter. path: as the registry has it."""
        rejection = Rejection(path, parameter, value)
        return rejection in self.lasting or rejection in self.rejected

    def reject(self, path: str, parameter: str, value: str = "", *, lasting: bool = False) -> None:
        """Note that the platform rejects a parameter.

        lasting: later runs do not try the parameter again. Use it only where nothing is left out without the
        parameter, or each run reports what is left out: else a permission that is granted later, or a
        platform that recovers, would go unnoticed."""
        (self.lasting if lasting else self.rejected).add(Rejection(path, parameter, value))
