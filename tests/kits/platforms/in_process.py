"""A simulated platform in this process: quicker to set up than one of its own, with the same hand in it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from unittest.mock import patch

import httpx

from campus.http import exchange
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.registry import ResourceSpec
from simulator.app import Application
from simulator.http.faults import FaultPlan
from simulator.process import RunningSimulator
from simulator.readings import Readings
from simulator.settings import Access, Settings, Size
from tests.kits.platforms.app_engine import AppEngine

ADDRESS = "http://platform"
CLIENT_ID, CLIENT_SECRET = "demo-client", "demo-secret"


class _Plain(httpx.BaseTransport):
    """Lets httpx's plain client ask an ASGI application."""

    def __init__(self, app: Application) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app)) as session:
            answer = await session.request(
                request.method, request.url, headers=request.headers, content=request.read()
            )
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@contextmanager
def platform(**options: Any) -> Iterator[tuple[RunningSimulator, httpx.Client]]:
    """A platform with these options of `simulator.process.running`, and a plain session with it. While the
    block lasts, every client of the project asks it."""
    app = _application(options)

    with patch.object(exchange, "open_engine", lambda _: AppEngine(app)), _session(app) as session:
        yield RunningSimulator(ADDRESS, CLIENT_ID, CLIENT_SECRET, session), session


@contextmanager
def platform_beside(**options: Any) -> Iterator[tuple[RunningSimulator, httpx.Client]]:
    """A platform as `platform` makes it, which no client of the project asks."""
    with _session(_application(options)) as session:
        yield RunningSimulator(ADDRESS, CLIENT_ID, CLIENT_SECRET, session), session


def _application(options: Mapping[str, Any]) -> Application:
    defaults = {option.name: option.default for kind in (Size, Access, Readings) for option in fields(kind)}
    return Application(Settings.of(CLIENT_ID, CLIENT_SECRET, **{**defaults, **options}), FaultPlan())


def _session(app: Application) -> httpx.Client:
    return httpx.Client(base_url=ADDRESS, transport=_Plain(app))


def client(specs: Sequence[ResourceSpec], **settings: Any) -> Client:
    """A client of the platform in this process, for these resources."""
    quick = {"max_attempts": 2, "backoff_base": 0.001, **settings}
    config = ClientConfig(ADDRESS, CLIENT_ID, CLIENT_SECRET, **quick)
    return Client(config, [spec.scopes for spec in specs if spec.scopes])
