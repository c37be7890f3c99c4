"""A request to the platform and its response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a write. kind: its content type. secrets: its parts that no message may quote."""

    kind: str
    content: bytes = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """One request below the base address.

    path: percent-encoded. query: encoded, with its `?`, or empty. headers: all but those of a token.
    content: the body. for_token: the request is for a token. repeatable: the request is idempotent. secrets:
    parts of the content that no message may quote. str() names the request, without query and content."""

    method: str
    path: str
    school_id: int | None
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)
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
    """A whole response. The names of headers match in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
