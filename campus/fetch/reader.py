"""Reads responses for one school, one by one or as a generator without I/O asks for them.

Such a generator yields readings: single requests, lists, units side by side. It receives what each brings,
and returns its own result. An error is raised where the reading was yielded. `drive_readings` is the loop."""

from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from campus.account import Tally
from campus.capabilities import Capabilities
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.http.request import Answer

T = TypeVar("T")


@dataclass(frozen=True)
class Reader:
    """A client, with what all requests of a reading share.

    For example, the first students of a school:

        reader = Reader(client, 101, STUDENTS.scopes)
        answer = await reader.fetch(STUDENTS.path, {"page": 1}, partial(page_of, STUDENTS))
    """

    client: Client
    #: None: no school.
    school_id: int | None
    #: Permission scopes of which any one suffices, least first.
    scopes: tuple[str, ...] = ()
    #: Counts the requests.
    tally: Tally = field(default_factory=Tally)
    #: Requests have no token.
    anonymous: bool = False

    @property
    def capabilities(self) -> Capabilities:
        """What the platform was found to do differently."""
        return self.client.capabilities

    @property
    def keep_id_numbers(self) -> bool:
        """Whether national id numbers are decoded."""
        return self.client.config.keep_id_numbers

    def fetch(
        self,
        path: str,
        params: Mapping[str, str | int],
        decode: Callable[[bytes], T],
        executor: Executor | None = None,
    ) -> Coroutine[Any, Any, Answer[T]]:
        """GET `path` and decode the body, once it is awaited.

        Args:
            decode: Raises TornBody for a body that a retry may mend, UnexpectedAnswer for any other bad body.
            executor: Decodes large bodies; None: the event loop does.

        Raises CampusError, and PlatformUnavailable where nothing of the platform answers."""
        exchange = self.client.get(
            path,
            params,
            school_id=self.school_id,
            scope=self.scopes,
            tally=self.tally,
            anonymous=self.anonymous,
        )
        return exchange.decoded(decode, executor)


class Reading(Protocol):
    """What may be yielded."""

    async def read(self, reader: Reader) -> Any:
        """Send the requests. Raises CampusError."""


#: Yields readings, receives what they bring, and ends with a T.
Readings = Generator[Reading, Any, T]


@dataclass(frozen=True, slots=True)
class AnswerRequest(Generic[T]):
    """A single request, which brings an Answer[T]."""

    path: str
    params: Mapping[str, str | int]
    #: As `Reader.fetch` takes it.
    decode: Callable[[bytes], T]

    async def read(self, reader: Reader) -> Answer[T]:
        """Send the request. Raises CampusError."""
        return await reader.fetch(self.path, self.params, self.decode)


async def drive_readings(reader: Reader, readings: Readings[T]) -> T:
    """Read what a generator asks for, until it ends. Raises what it raises: CampusError."""
    try:
        reading = next(readings)
        while True:
            try:
                rows = await reading.read(reader)
            except CampusError as error:
                reading = readings.throw(error)
            else:
                reading = readings.send(rows)
                # The generator has the rows now: the next reading may take long.
                del rows
    except StopIteration as end:
        result: T = end.value
        return result
