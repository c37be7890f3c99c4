"""What the doctor says of one thing that it has looked at."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `good`: None where it is neither right nor wrong."""

    good: bool | None
    text: str
