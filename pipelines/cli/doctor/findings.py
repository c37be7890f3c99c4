"""A finding of the doctor."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    #: Whether the check passed; None: neither right nor wrong.
    good: bool | None
    #: What was found, and what to do.
    text: str
    #: The resource that answered, in a finding with nothing else to say.
    resource: str | None = None
