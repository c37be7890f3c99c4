"""The file of a home that records its origin: made-up schools, or a platform and its address."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from warehouse.files import write_text

NOTE = "loaded_from"
MADE_UP, REAL = "the simulator", "a platform"
#: Start of the line that counts the demo's corrections of grades.
CORRECTIONS = "corrections: "


@dataclass(frozen=True)
class Origin:
    """The origin of a home's rows."""

    is_made_up: bool
    #: The platform's address; None: made-up schools, or no address was set.
    address: str | None = None
    #: How often the demo corrected grades of the made-up schools.
    corrections: int = 0

    @property
    def words(self) -> str:
        """The origin in words, without its address."""
        return MADE_UP if self.is_made_up else REAL


def read_origin(home: Path) -> Origin | None:
    """Read what a home was loaded from; None: nothing was loaded yet."""
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
    """An address without user, password, query and fragment: each may be a secret."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
