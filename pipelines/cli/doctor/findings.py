"""A finding of the doctor. A bad finding says what to do."""

from dataclasses import dataclass

from campus.http.errors import ASK_OPERATOR, CampusError, PlatformUnavailable


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    #: Whether the check passed; None: neither right nor wrong.
    good: bool | None
    #: What was found, and what to do.
    text: str
    #: The resource that answered, in a finding with nothing else to say.
    resource: str | None = None


def refused(label: str, error: CampusError) -> Finding:
    """The finding about a request that failed."""
    return Finding(False, f"{label}: {error}{'' if error.advice else f' {ASK_OPERATOR}'}")


def unavailable(halt: PlatformUnavailable) -> Finding:
    """The finding about a platform, or a school of it, that cannot be read."""
    again = " See that the platform is up, then run campus doctor again." if halt.outage else ""
    return Finding(False, f"{halt}{again}")
