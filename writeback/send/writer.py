"""Sends a write once, also where its answer is lost.

A repeatable write is sent again like a question. Any other write is sent again only after a look has shown
that the write did not happen. The look comes after a pause, as a platform that answered 504 may still be at
work.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec

from campus.http.client import Client, segment
from campus.http.errors import CampusError, NotFound, PlatformUnavailable, Refused, Transient, Unconfirmed
from campus.http.events import Tally
from campus.http.request import Body, Response
from campus.http.retry import backoff
from writeback.operations import Operation, Write

#: What the platform shows of a write: None, where it did not happen.
Look = Callable[[], Awaitable[Any | None]]
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
#: Seconds before the first look; each further pause is twice the one before.
SETTLING = 1.0
WRONG_METHOD, WRONG_FORM = 405, 415


@dataclass(frozen=True, slots=True)
class Written:
    """Proof that a write happened."""

    #: Of the answer; 0: the answer was lost, and a look has shown that the write happened.
    status: int
    #: The answer's JSON, or what the look found; None: neither.
    value: Any
    #: An attempt had no answer: the platform may carry it out even now.
    lost: bool = False
    #: Sent with all values of the row, as the platform takes no less.
    whole: bool = False


class Writer:
    """Carries out writes with one client, whose connections, tokens, rate budget and errors they share.

    settling: seconds that the platform is given before the first look. form_as_json: form fields are sent as
    JSON; which a platform also tells by itself, with 415."""

    def __init__(self, client: Client, *, settling: float = SETTLING, form_as_json: bool = False) -> None:
        self.client = client
        self._settling = settling
        self._form_as_json = form_as_json
        self._methods: dict[str, str] = {}

    async def write(self, write: Write, look: Look | None = None) -> Written:
        """Carry out one write. look: needed where it is not repeatable.

        Raises Unconfirmed where nobody can tell whether it happened, and the errors of `Client.get`. After
        Transient and PlatformUnavailable, a write that is not repeatable did not happen; others may have."""
        tally, lost = Tally(), None
        for attempt in range(1, self.client.config.max_attempts + 1):
            try:
                answer = await self._adapted(write, tally)
            except NotFound:
                # What a first attempt deleted, whose answer was lost.
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
                # Our own first attempt may be why.
                seen = await self._seen(look, lost) if look and lost else None
                if seen is None:
                    raise
                return Written(0, seen, lost=True)
            else:
                whole = write.whole is not None and write.operation.name in self._methods
                return Written(answer.status, _parsed(answer.body), lost=lost is not None, whole=whole)
            if look is None:
                raise lost
            await asyncio.sleep(self._pause(attempt))
            seen = await self._seen(look, lost)
            if seen is not None:
                return Written(0, seen, lost=True)
        assert lost is not None
        raise lost

    async def _seen(self, look: Look, lost: Unconfirmed) -> Any | None:
        """Look once. Raises Unconfirmed where the look fails."""
        try:
            return await look()
        except (CampusError, PlatformUnavailable) as error:
            raise Unconfirmed(f"{lost.message} A look at it failed: {error}", lost.advice) from error

    def _pause(self, attempt: int) -> float:
        return self._settling * 2.0 ** (attempt - 1) + backoff(1, self.client.config.backoff_base, 1.0)

    async def _adapted(self, write: Write, tally: Tally) -> Response:
        """Send it, in the other way where the platform says that it does not take this one."""
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

    async def _send(self, write: Write, method: str, tally: Tally) -> Response:
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
        return await exchange.response()

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
    """The answer's JSON; None where there is none: the status has said that the write happened."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
