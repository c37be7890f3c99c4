"""A request to the platform, its response, and the pagination headers of the response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar
from urllib.parse import unquote

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a write. kind: its content type. secrets: its parts that no message may quote."""

    kind: str
    content: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One request below the base address.

    path: percent-encoded. query: encoded, with its `?`, or empty. content: the body. content_type: of the
    body; empty where there is none. for_token: the request is for a token. repeatable: the request is
    idempotent. secrets: parts of the content that no message may quote. str() names the request, without
    query and content."""

    method: str
    path: str
    school_id: int | None
    query: str = ""
    content: bytes = field(default=b"", repr=False)
    content_type: str = ""
    for_token: bool = False
    repeatable: bool = True
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def writes(self) -> bool:
        """Whether the request changes something on the platform."""
        return self.method != "GET" and not self.for_token

    def __str__(self) -> str:
        school = "" if self.school_id is None else f" for school {self.school_id}"
        return f"{self.method} {unquote(self.path)}{school}"


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response. The names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Pagination:
    """The X-Pagination-* headers of one response; None: absent or invalid."""

    current_page: int | None = None
    page_count: int | None = None
    per_page: int | None = None
    total_count: int | None = None

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Self | None:
        """The pagination in these headers (names in lower case); None where they have none."""
        if "x-pagination-total-count" not in headers and "x-pagination-page-count" not in headers:
            return None
        return cls(
            _count(headers.get("x-pagination-current-page", "")),
            _count(headers.get("x-pagination-page-count", "")),
            _count(headers.get("x-pagination-per-page", "")),
            _count(headers.get("x-pagination-total-count", "")),
        )


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The decoded body of a response, with what came beside it."""

    value: T
    status: int
    #: None: the response had no such headers.
    pagination: Pagination | None


def _count(text: str) -> int | None:
    """A number of at most 18 ASCII digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
