"""Reading by page numbers, proven where it can be."""

from dataclasses import dataclass

from campus.paging.protocol import Outcome, PageRequest, PageSeen


@dataclass(frozen=True, slots=True)
class PageNames:
    """What a generation of the interface calls its paging parameters; whole: the one that turns paging off."""

    page: str = "page"
    per_page: str = "per_page"
    whole: tuple[str, int] | None = ("paginated", 0)


V3_NAMES = PageNames()
V1_NAMES = PageNames("$page", "$per-page", None)


class PageNumbers:
    """(being written) see protocol.Paging"""

    def __init__(
        self,
        per_page: int = 1000,
        unpaged_limit: int = 50_000,
        max_passes: int = 4,
        ladder: tuple[int, ...] = (1000, 100, 20),
        names: PageNames = V3_NAMES,
    ) -> None:
        raise NotImplementedError

    def pending(self) -> tuple[PageRequest, ...]:
        raise NotImplementedError

    def receive(self, request: PageRequest, seen: PageSeen) -> None:
        raise NotImplementedError

    def refused(self, request: PageRequest) -> None:
        raise NotImplementedError

    @property
    def done(self) -> bool:
        raise NotImplementedError

    @property
    def outcome(self) -> Outcome:
        raise NotImplementedError


class Unpaged(PageNumbers):
    """(being written) Unpaged(names=V3_NAMES)"""

    def __init__(self, names: PageNames = V3_NAMES) -> None:
        raise NotImplementedError
