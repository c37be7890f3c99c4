"""The control requests of tests, under /_simulator/: faults, the request log, true rows and changes."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from simulator.control import true_rows
from simulator.control.log import Log
from simulator.control.push_keys import pushed_keys
from simulator.http.faults import FaultPlan, Faults
from simulator.http.platform import Platform
from simulator.messages import Problem, Request, Response, json_response, problem_response
from simulator.push import Op, Pusher, Subscriber
from simulator.resources.tables import registries
from simulator.school.rows import Row, Values

PREFIX = "/_simulator/"

#: The name of each change in a push.
OPS: dict[str, Op] = {
    "insert": "created",
    "update": "updated",
    "delete": "deleted",
    "restore": "updated",
    "destroy": "deleted",
}

T = TypeVar("T")


class Mutation(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A change of a row. The platform then sends `values` unchanged, even if they are invalid.

    `parent` of an insert: the school, semester, class, item or session of the new row (0 for a school).
    Datasets and reports always need their school as `parent`, since their keys repeat between schools."""

    op: Literal["insert", "update", "delete", "restore", "destroy"]
    resource: str
    key: int | None = None
    parent: int | None = None
    values: dict[str, msgspec.Raw] = {}
    touch: bool = True
    first: bool = False


class Control:
    """Answers the control endpoints."""

    def __init__(
        self, platform: Platform, faults: Faults, log: Log, subscriber: Subscriber | None = None
    ) -> None:
        self.faults = faults
        self._platform = platform
        self._log = log
        self._pusher = Pusher(subscriber, platform.readings) if subscriber else None
        platform.announce = self._announce
        self._handlers: dict[tuple[str, str], Callable[[Request], Any]] = {
            ("POST", "faults"): self._set_faults,
            ("DELETE", "faults"): self._clear_faults,
            ("GET", "log"): lambda _: self._log.entries(),
            ("DELETE", "log"): lambda _: self._log.clear(),
            ("GET", "rows"): self._rows,
            ("POST", "mutate"): self._mutate,
            ("POST", "days"): self._let_days_pass,
            ("POST", "subscriber"): self._subscribe,
        }

    def handle(self, request: Request) -> Response:
        """Answer a control request. Problems always have a message, whatever the platform's own errors."""
        handler = self._handlers.get((request.method, request.path.removeprefix(PREFIX)))
        try:
            if handler is None:
                raise Problem(404, f"no such control: {request.method} {request.path}")
            return json_response(handler(request))
        except Problem as problem:
            return problem_response(problem, "message")

    def _set_faults(self, request: Request) -> FaultPlan:
        self.faults = Faults(_decode(request.body, FaultPlan))
        return self.faults.plan

    def _clear_faults(self, _: Request) -> FaultPlan:
        self.faults = Faults(FaultPlan())
        return self.faults.plan

    def _rows(self, request: Request) -> list[Values]:
        """Every row of a resource in a school or a semester, as the platform sends it, and its parent."""
        school_id = request.integer("school_id", self._platform.store.school_ids[0])
        assert school_id is not None  # it has a default
        name = request.query.get("resource", "")
        if registries.has_registry(name):
            first, last = request.integer("first"), request.integer("last")
            return true_rows.entries(self._platform, name, school_id, first, last)
        resource = self._existing(name)
        store, expand = self._platform.store, request.names("expand")
        entries: list[Values] = []
        for parent in store.parents(resource, school_id, request.integer("semester_id")):
            hidden = store.is_hidden(resource, parent)
            entries += [self._entry(resource, row, hidden, expand) for row in store.rows(resource, parent)]
        return entries

    def _entry(self, resource: str, row: Row, hidden: bool = False, expand: Sequence[str] = ()) -> Values:
        return {
            "key": row.key,
            "parent": self._platform.store.sources[resource].keys.parent_of(row.key),
            "trashed": hidden or row.deleted_at is not None,
            "row": self._platform.wire.rows(resource, [row], expand)[0],
        }

    def _existing(self, resource: str) -> str:
        resources = self._platform.store.sources
        if resource not in resources:
            raise Problem(422, f"resource must be one of {', '.join(resources)}, not {resource!r}")
        return resource

    def _mutate(self, request: Request) -> Values:
        change = _decode(request.body, Mutation)
        entry = self._mutated(change)
        if self._pusher:
            self._pusher.announce(OPS[change.op], *pushed_keys(self._platform, change.resource, entry))
        return entry

    def _announce(self, op: Op, school_id: int, resource: str, keys: list[int]) -> None:
        if self._pusher:
            self._pusher.announce(op, school_id, resource, keys)

    def _mutated(self, change: Mutation) -> Values:
        if registries.has_registry(change.resource):
            return self._mutate_table(change)
        resource, store = self._existing(change.resource), self._platform.store
        if change.op == "insert":
            if change.parent is None:
                raise Problem(422, "insert needs a parent")
            row = store.insert(resource, change.parent, _values(change), first=change.first)
            return self._entry(resource, row)
        if change.key is None:
            raise Problem(422, f"{change.op} needs a key")
        try:
            if change.op == "update":
                row = store.update(resource, change.key, _values(change), touch=change.touch)
            else:
                act = {"delete": store.delete, "restore": store.restore, "destroy": store.destroy}[change.op]
                row = act(resource, change.key)
            return self._entry(resource, row)
        except KeyError as error:
            raise Problem(404, str(error.args[0])) from error

    def _mutate_table(self, change: Mutation) -> Values:
        resource = change.resource
        registry = registries.registry_of(self._platform, resource)
        if change.parent is None:
            raise Problem(422, f"{change.op} in {resource} needs a parent: the school")
        if change.op == "insert":
            row = registry.insert(change.parent, resource, _values(change), first=change.first)
        elif change.key is None:
            raise Problem(422, f"{change.op} needs a key")
        elif change.op == "update":
            row = registry.update(change.parent, resource, change.key, _values(change), touch=change.touch)
        elif change.op == "destroy":
            row = registry.destroy(change.parent, resource, change.key)
        else:
            raise Problem(422, f"rows of {resource} are deleted for good: op destroy, not {change.op}")
        return true_rows.entry(self._platform, resource, change.parent, row)

    def _subscribe(self, request: Request) -> str:
        subscriber = _decode(request.body, Subscriber)
        self._pusher = Pusher(subscriber, self._platform.readings)
        return subscriber.url

    def _let_days_pass(self, request: Request) -> str:
        days = _decode(request.body, int)
        if days < 1:
            raise Problem(422, f"days must be at least 1, not {days}")
        self._platform.store.let_days_pass(days)
        return self._platform.store.today.isoformat()


def _values(change: Mutation) -> Values:
    return {name: _verbatim(raw) for name, raw in change.values.items()}


def _verbatim(raw: msgspec.Raw) -> Any:
    """The value for the same bytes: decoded for the filters if that loses nothing, else raw."""
    value = msgspec.json.decode(raw)
    return value if not isinstance(value, float) and msgspec.json.encode(value) == bytes(raw) else raw.copy()


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise Problem(422, str(error)) from error
