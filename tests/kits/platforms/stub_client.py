"""A stand-in for the client, whose answers a function gives, and slices read from it."""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar, cast

import pyarrow as pa

from campus.account import Account
from campus.capabilities import Capabilities
from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.config import ClientConfig
from campus.http.errors import TornBody, UnexpectedAnswer
from campus.http.events import Event
from campus.http.request import Answer, Pagination, Response
from campus.plan.units import SliceQuery
from campus.registry import RESOURCES
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice

Params = dict[str, str]
T = TypeVar("T")


class Platform:
    """Stands in for the client: `answer` gives JSON, bytes or an error for a path and parameters."""

    def __init__(self, answer: Callable[[str, Params], Any], headers: bool = True) -> None:
        self.config = ClientConfig("http://platform", "id", "secret", concurrency=4)
        self.page_size = self.config.per_page
        self.limit_page_size = lambda size: None
        self.capabilities = Capabilities()
        self.asked: list[tuple[str, Params]] = []
        self._answer = answer
        self._headers = headers

    def get(self, path: str, params: Mapping[str, str | int], **_: Any) -> "Exchange":
        return Exchange(self, path, {name: str(value) for name, value in params.items()})

    def respond(self, path: str, params: Params) -> Response:
        self.asked.append((path, params))
        answer = self._answer(path, params)
        if isinstance(answer, Exception):
            raise answer
        headers = {}
        if self._headers and isinstance(answer, list):
            counts = {"current-page": 1, "page-count": 1, "per-page": 1000, "total-count": len(answer)}
            headers = {f"x-pagination-{name}": str(value) for name, value in counts.items()}
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return Response(200, headers, body)


class Exchange:
    """Stands in for a request: one attempt."""

    def __init__(self, platform: Platform, path: str, params: Params) -> None:
        self.request = f"GET {path}"
        self._respond = partial(platform.respond, path, params)

    async def decoded(self, decode: Callable[[bytes], T], executor: Executor | None = None) -> Answer[T]:
        await asyncio.sleep(0)
        response = self._respond()
        try:
            value = decode(response.body)
            return Answer(value, response.status, Pagination.of(response.headers))
        except TornBody as torn:
            raise TornBody(f"a torn or invalid body ({torn})") from None
        except UnexpectedAnswer as error:
            raise UnexpectedAnswer(f"{self.request}: {error.message}", error.advice) from None


def table_of(name: str, batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.Table.from_batches(
        batches, batch_schema(RESOURCES[name].contract)
    ).to_pylist()
    return rows


def load(
    platform: Platform, name: str, query: SliceQuery, listener: Callable[[Event], None] | None = None
) -> tuple[list[dict[str, Any]], Account]:
    batches: list[pa.RecordBatch] = []
    collector = Collector(RESOURCES[name], "here", batches.append, listener)
    asyncio.run(read_slice(cast(Client, platform), query, [collector]))
    return table_of(name, batches), collector.account


def load_assessments(
    answer: Callable[[str, Params], Any], class_ids: tuple[int, ...] = (7,)
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], Account, Account]:
    received: dict[str, list[pa.RecordBatch]] = {"assessments": [], "assessment_items": []}
    collectors = [Collector(RESOURCES[name], "here", received[name].append) for name in received]
    query = SliceQuery(101, 1, class_ids)
    asyncio.run(read_slice(cast(Client, Platform(answer)), query, collectors))
    assessments, items = (table_of(name, batches) for name, batches in received.items())
    return assessments, items, collectors[0].account, collectors[1].account
