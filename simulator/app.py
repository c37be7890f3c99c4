"""The ASGI application: applies faults, checks access, and routes each request to its handler."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl

from simulator.control.control import PREFIX, Control
from simulator.control.log import Log
from simulator.http.access import check_school, check_scope, class_scopes
from simulator.http.cache import PageCache
from simulator.http.faults import (
    HTML_PAGE,
    Fault,
    FaultPlan,
    Faults,
    Strike,
    emptied,
    repeated,
    retry_after,
    truncated,
)
from simulator.http.parameters import check_listed
from simulator.http.routing import Route, Router
from simulator.messages import Headers, Problem, Request, Response, coded, enveloped, problem_response
from simulator.push import Subscriber
from simulator.resources import platform, routes
from simulator.settings import Settings

# The paths whose shape of answers the specification leaves open: base data, and the metadata of datasets.
UNSHOWN = re.compile(r"^/api/v3/(?!oauth/|uds/|reporting/)|/uds/datasets(/[^/]+)?$")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Application:
    """One platform behind ASGI."""

    def __init__(self, settings: Settings, plan: FaultPlan, subscriber: Subscriber | None = None) -> None:
        self.platform = platform(settings)
        self._router = Router(routes(settings.readings))
        self._log = Log(settings.access.log)
        self._control = Control(self.platform, Faults(plan), self._log, subscriber)
        self._cache = PageCache()
        self._second, self._answered = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = await _read(scope, receive)
        torn = False
        if request.path.startswith(PREFIX):
            response = self._control.handle(request)
        else:
            response, fault = await self._answer(request)
            torn = fault is not None and fault.kind == "reset"
            self._log.add(request, response.status, fault.kind if fault else None)
        ahead = self.platform.settings.size.clock_ahead or 0
        dated = (b"date", formatdate(time.time() + ahead, usegmt=True).encode())
        await _write(send, replace(response, headers=[*response.headers, dated]), torn=torn)

    async def _answer(self, request: Request) -> tuple[Response, Fault | None]:
        if self._over_rate():
            return self._refusal(Problem(429, "too many requests"), [(b"Retry-After", b"1")]), None
        if len(request.target) > self.platform.readings.max_url:
            return self._refusal(Problem(414, "the URL is too long")), None
        struck = self._control.faults.strike(request)
        if struck is None:
            return self._respond(request), None
        fault = struck[0]
        if fault.kind == "status":
            return self._refusal(Problem(fault.status, "injected fault"), retry_after(fault)), fault
        if fault.kind == "html":
            return HTML_PAGE, fault
        if fault.kind == "late":
            asyncio.get_running_loop().call_later(fault.seconds, self._respond, request)
            return self._refusal(Problem(fault.status, "injected fault")), fault
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        if fault.kind == "revoked":
            self.platform.tokens.revoke(request)
        response = self._respond(request, struck if fault.kind == "moving" else None)
        if fault.kind == "after":
            return self._refusal(Problem(fault.status, "injected fault")), fault
        if fault.kind == "empty":
            return emptied(response, fault), fault
        if fault.kind == "repeated":
            return repeated(response, fault), fault
        return truncated(response) if fault.kind == "truncated" else response, fault

    def _respond(self, request: Request, moving: Strike | None = None) -> Response:
        """The platform's answer, refusals included."""
        ignored = self.platform.readings.ignored
        if ignored:
            query = {name: text for name, text in request.query.items() if name not in ignored}
            request = replace(request, query=query)
        try:
            route = self._router.find(request)
            self._admit(route, request)
            if self.platform.readings.unlisted != "ignored":
                check_listed(route, request, int(self.platform.readings.unlisted))
            if moving and route.disturb:
                fault, rng = moving
                route.disturb(self.platform, request, fault.change, rng)
            response = self._handle(route, request)
            shape = self.platform.readings.envelope if UNSHOWN.search(request.path) else "none"
            return enveloped(response, shape)
        except Problem as problem:
            return self._refusal(problem)

    def _handle(self, route: Route, request: Request) -> Response:
        if request.method != "GET":
            return route.handler(self.platform, request)
        key = (self.platform.store.version, request.school_id, request.target)
        response = self._cache.get(key)
        if response is None:
            response = route.handler(self.platform, request)
            self._cache.put(key, response)
        return response

    def _admit(self, route: Route, request: Request) -> None:
        if route.anonymous:
            return
        readings = self.platform.readings
        grant = self.platform.tokens.grant(request)
        needs_school = route.needs_school or readings.schools_header == "required"
        request.school_id = check_school(grant, request, required=needs_school)
        writes = readings.write_scopes if route.method != "GET" else "reading"
        scopes = route.v1.alternatives(readings.v1_scopes, writes=writes) if route.v1 else route.scopes
        check_scope(grant, class_scopes(route.path, scopes, readings.class_scope), readings.people_scope)

    def _refusal(self, problem: Problem, headers: Headers | None = None) -> Response:
        readings = self.platform.readings
        if readings.refusals == "code":
            return coded(problem, headers)
        return problem_response(problem, readings.error_body, headers)

    def _over_rate(self) -> bool:
        limit = self.platform.settings.access.rate_limit
        if not limit:
            return False
        second = int(time.monotonic())
        self._answered = self._answered + 1 if second == self._second else 1
        self._second = second
        return self._answered > limit


async def _read(scope: Scope, receive: Receive) -> Request:
    body = b""
    if scope["method"] != "GET":
        has_more = True
        while has_more:
            message = await receive()
            body += message.get("body", b"")
            has_more = message.get("more_body", False)
    text = scope["query_string"].decode("latin-1")
    query = dict(parse_qsl(text, keep_blank_values=True)) if text else {}
    target = f"{scope['path']}?{text}"
    return Request(scope["method"], scope["path"], target, query, dict(scope["headers"]), body)


async def _write(send: Send, response: Response, *, torn: bool) -> None:
    """Send an answer. `torn`: announces the whole length, but closes the connection after half the body."""
    if torn and not response.body:
        response = Response(200, b"ok", response.headers)
    headers = [*response.headers, (b"content-length", b"%d" % len(response.body))]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    body = response.body[: len(response.body) // 2] if torn else response.body
    await send({"type": "http.response.body", "body": body, "more_body": torn})
