"""Sends a write once, even if its response is lost.

A repeatable write is retried like a read. Any other write is sent again only after a look has shown that the
write did not happen. The look comes after a pause, since a platform that responded 504 may still be at work.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec

from campus.account import Tally
from campus.http.client import Client, segment
from campus.http.errors import CampusError, NotFound, PlatformUnavailable, Refused, Transient, Unconfirmed
from campus.http.request import Answer, Body
from campus.http.retry import backoff
from writeback.operations import Operation, Write

#: Reads the effect of a write from the platform. None: the write did not happen.
Look = Callable[[], Awaitable[Any | None]]
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
#: Seconds before the first look. Each further pause is twice the last pause.
SETTLING = 1.0
WRONG_METHOD, WRONG_FORM = 405, 415


@dataclass(frozen=True, slots=True)
class Written:
    """Proof that a write happened."""

    #: The status of the response; 0: the response was lost, and a look has shown that the write happened.
    status: int
    #: The JSON of the response, or the result of the look; None: neither.
    value: Any
    #: Whether an attempt had no response: the platform may still carry it out.
    lost: bool = False
    #: Whether the write had all values of the row, since the platform refused less.
    whole: bool = False


class Writer:
    """Carries out writes with one client, whose connections, tokens, rate budget and errors they share.

    settling: seconds to wait before the first look. form_as_json: form fields are sent as
    JSON; which a platform also tells by itself, with 415."""

    def __init__(self, client: Client, *, settling: float = SETTLING, form_as_json: bool = False) -> None:
        self.client = client
        self._settling = settling
        self._form_as_json = form_as_json
        self._methods: dict[str, str] = {}

    async def write(self, write: Write, look: Look | None = None) -> Written:
        """Carry out one write. look: needed for writes that are not repeatable.

        Raises Unconfirmed if the write may or may not have happened, and the errors of `Client.get`. After
        Transient and PlatformUnavailable, a write that is not repeatable did not happen; others may have."""
        tally, lost = Tally(), None
        for attempt in range(1, self.client.config.max_attempts + 1):
            try:
                answer = await self._adapted(write, tally)
            except NotFound:
                # An earlier attempt, whose response was lost, has deleted it.
                if write.operation.method == "DELETE" and tally.retries:
                    return Written(404, None)
                raise
            except Unconfirmed as error:
                lost = error
            except (Transient, PlatformUnavailable) as error:
                if lost is None:
                    raise
                raise Unconfirmed(f"{lost.message} Then: {error}", lost.advice) from error
            except Refused:
                # The reason may be our own first attempt.
                seen = await self._seen(look, lost) if look and lost else None
                if seen is None:
                    raise
                return Written(0, seen, lost=True)
            else:
                whole = write.whole is not None and write.operation.name in self._methods
                return Written(answer.status, answer.value, lost=lost is not None, whole=whole)
            if look is None:
                raise lost
            await asyncio.sleep(self._pause(attempt))
            seen = await self._seen(look, lost)
            if seen is not None:
                return Written(0, seen, lost=True)
        assert lost is not None
        raise lost

    async def _seen(self, look: Look, lost: Unconfirmed) -> Any | None:
        """Look once. Raises Unconfirmed if the look fails."""
        try:
            return await look()
        except (CampusError, PlatformUnavailable) as error:
            raise Unconfirmed(f"{lost.message} A look at it failed: {error}", lost.advice) from error

    def _pause(self, attempt: int) -> float:
        return self._settling * 2.0 ** (attempt - 1) + backoff(1, self.client.config.backoff_base, 1.0)

    async def _adapted(self, write: Write, tally: Tally) -> Answer[Any]:
        """Send a write. If the platform rejects its method or format, send it with the other one."""
        operation = write.operation
        method = self._methods.get(operation.name, operation.method)
        try:
            return await self._send(write, method, tally)
        except Refused as error:
            if operation.otherwise and method == operation.method and error.status == WRONG_METHOD:
                self._methods[operation.name] = operation.otherwise
            elif operation.in_form and not self._form_as_json and error.status == WRONG_FORM:
                self._form_as_json = True
            else:
                raise
        return await self._send(write, self._methods.get(operation.name, method), tally)

    async def _send(self, write: Write, method: str, tally: Tally) -> Answer[Any]:
        operation = write.operation
        path = operation.path.replace("{id}", segment("" if write.id is None else write.id))
        exchange = self.client.write(
            method,
            path,
            write.params,
            self._body(operation, write, method),
            school_id=write.school_id,
            scope=operation.scopes,
            repeatable=operation.repeatable,
            tally=tally,
        )
        return await exchange.decoded(_parsed)

    def _body(self, operation: Operation, write: Write, method: str) -> Body | None:
        content = write.content
        if method == operation.otherwise and write.whole is not None:
            content = write.whole
        if content is None:
            return None
        if operation.in_form and not self._form_as_json:
            return Body(FORM, urlencode(content).encode(), write.secrets)
        return Body(JSON, msgspec.json.encode(content), write.secrets)


def _parsed(body: bytes) -> Any:
    """The JSON of the response; None: there is none. The status proves the write anyway."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
