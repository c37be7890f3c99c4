"""The client of the platform's interface: one GET with all that makes it dependable."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self, TypeVar

from campus.config import ClientConfig
from campus.events import Listener, Tally
from campus.paging import Pagination

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What the parser made of the body, and the pagination headers that came with it (None: none)."""

    value: T
    pagination: Pagination | None


class Client:
    """(being written) An async context manager; one for all schools of a platform."""

    def __init__(
        self, config: ClientConfig, scopes: Iterable[tuple[str, ...]] = (), listener: Listener | None = None
    ) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise NotImplementedError

    async def get(
        self,
        path: str,
        params: Mapping[str, str | int],
        *,
        school_id: int | None,
        scope: tuple[str, ...] = (),
        parse: Callable[[bytes], T],
        tally: Tally | None = None,
        anonymous: bool = False,
    ) -> Answer[T]:
        """GET `path` (percent-encoded where a segment comes from data: see `segment`)."""
        raise NotImplementedError

    @property
    def clock_skew(self) -> float | None:
        """Seconds that the platform's clock is ahead of ours, by the last token answer's Date header."""
        raise NotImplementedError


def segment(value: str | int) -> str:
    """One path segment made of data (a name in any script, an id), percent-encoded."""
    raise NotImplementedError
