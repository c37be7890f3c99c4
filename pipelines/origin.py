"""What a home was loaded from: made-up schools, or a platform and its address. No secret is in it."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from warehouse.files import write_text

NOTE = "loaded_from"
MADE_UP, REAL = "the simulator", "a platform"
#: Begins the line that says how often the demo has corrected grades.
CORRECTIONS = "corrections: "


@dataclass(frozen=True)
class Origin:
    """Where the rows of a home come from."""

    is_made_up: bool
    #: Of a platform; None: made-up schools, or a home of an earlier version.
    address: str | None = None
    #: How often the demo has corrected grades of the made-up schools.
    corrections: int = 0

    @property
    def words(self) -> str:
        """The origin without its address."""
        return MADE_UP if self.is_made_up else REAL


def read_origin(home: Path) -> Origin | None:
    """What a home was loaded from; None: nothing was loaded yet."""
    try:
        words, *details = (home / NOTE).read_text(encoding="utf-8").splitlines() or [""]
    except (FileNotFoundError, NotADirectoryError):
        return None
    if words != MADE_UP:
        return Origin(False, next(iter(details), None))
    counts = [line.removeprefix(CORRECTIONS) for line in details if line.startswith(CORRECTIONS)]
    return Origin(True, corrections=int(counts[0]) if counts else 0)


def write_origin(home: Path, origin: Origin) -> None:
    """Note in a home what it was loaded from."""
    details = [origin.address] if origin.address else []
    if origin.corrections:
        details.append(f"{CORRECTIONS}{origin.corrections}")
    home.mkdir(parents=True, exist_ok=True)
    write_text(home / NOTE, "\n".join([origin.words, *details]))


def plain_address(url: str) -> str:
    """An address without user, password, query and fragment, any of which may be a secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
