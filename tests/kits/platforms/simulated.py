"""Asking a simulator, in this process or another."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from simulator.app import Application
from simulator.http.faults import FaultPlan
from simulator.process import RunningSimulator
from simulator.readings import Readings
from simulator.resources import RESOURCES
from simulator.settings import Access, Settings, Size

#: The greater scope of each path of v3.
SCOPES = " ".join(
    dict.fromkeys(path.scopes[0] for resource in RESOURCES.values() for path in resource.paths if path.scopes)
)
ALL = f"school.101 school.102 {SCOPES}"
SMALL = Size(schools=2, students=60)


def token_request(scope: str = ALL, **changes: Any) -> dict[str, Any]:
    """The body of a token request."""
    credentials = {"client_id": "demo-client", "client_secret": "demo-secret"}
    return {"grant_type": "client_credentials", "scope": scope, **credentials, **changes}


@contextmanager
def client(simulator: RunningSimulator, scope: str = ALL, school: int | None = 101) -> Iterator[httpx.Client]:
    """A client of a running simulator, with a token of its own."""
    with httpx.Client(base_url=simulator.base_url, trust_env=False, verify=False, timeout=60) as session:
        token = session.post("/api/v3/oauth/tokens", json=token_request(scope)).raise_for_status().json()
        session.headers["authorization"] = f"Bearer {token['access_token']}"
        if school is not None:
            session.headers["x-school-id"] = str(school)
        yield session


class Local:
    """A platform in this process, asked through ASGI: quick to set up with any reading."""

    def __init__(self, size: Size = SMALL, access: Access | None = None, **readings: Any) -> None:
        self.app = Application(Settings(size, access or Access(), Readings(**readings)), FaultPlan())
        self.headers = {"x-school-id": "101"}

    def get(self, target: str, scope: str = ALL, **headers: str) -> httpx.Response:
        """One GET with a fresh token."""
        return asyncio.run(self._ask("GET", target, scope, headers, {}))

    def write(self, method: str, target: str, scope: str = ALL, **body: Any) -> httpx.Response:
        """One write with a fresh token; body: as httpx takes it."""
        return asyncio.run(self._ask(method, target, scope, {}, body))

    async def _ask(
        self, method: str, target: str, scope: str, headers: dict[str, str], body: dict[str, Any]
    ) -> httpx.Response:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://platform"
        ) as session:
            answer = await session.post("/api/v3/oauth/tokens", json=token_request(scope))
            if answer.is_error:
                return answer
            bearer = {"authorization": f"Bearer {answer.json()['access_token']}"}
            everything = {**self.headers, **bearer, **headers}
            return await session.request(method, target, headers=everything, **body)
