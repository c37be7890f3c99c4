"""An engine of the client that sends to an application in this process."""

from collections.abc import Callable
from typing import Any

import httpx


class AppEngine(httpx.AsyncBaseTransport):
    """Sends each request to an ASGI application. note: called with each request and its target."""

    def __init__(self, app: Any, note: Callable[[str, str], None] = lambda method, target: None) -> None:
        self._transport = httpx.ASGITransport(app)
        self._note = note

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        target = request.extensions["target"]
        self._note(request.method, target.decode())
        request.url = request.url.copy_with(raw_path=target)
        return await self._transport.handle_async_request(request)
