"""The definition of a resource, and the answer to a request for its list."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from simulator.http.filters import Filter
from simulator.http.paging import PAGING, V1_PAGING, Page, of_v1, page_of, v1_page_of
from simulator.http.platform import Platform
from simulator.http.routing import Route, V1Scope
from simulator.messages import Headers, Problem, Request, Response, json_response, parse_moment
from simulator.readings import Readings
from simulator.school.rows import TIME_FORMAT, Row
from simulator.store.store import Source
from simulator.wire.wire import Form

STATUS_FILTERS = {"status", "archived_at_is_empty"}
ID_FILTERS = {"id", "id_in"}
UPDATED_SINCE = "updated_at_egt"
PLATFORM_AHEAD_OF_UTC = timedelta(hours=8)


def of_school(_: Platform, request: Request) -> list[int]:
    """The parent of a school's collection: the request's school."""
    return [request.school_id]


def as_it_came(_: Platform, request: Request) -> Request:
    """The unchanged request, for lists that no reading affects."""
    return request


def never(_: Row) -> bool:
    """Whether a row is archived, for resources without an archive."""
    return False


@dataclass(frozen=True)
class Listing:
    """The list of a resource in the specification: its path, scopes and parameters."""

    path: str
    scopes: tuple[str, ...] = ()  # any of them suffices
    v1: V1Scope | None = None  # of lists of v1
    parents: Callable[[Platform, Request], list[int]] = of_school  # of the requested rows
    chosen_by: tuple[str, ...] = ()  # the parameters that choose the parents
    filters: Mapping[str, Filter] = field(default_factory=dict)
    understood: Callable[[Platform, Request], Request] = as_it_came  # the request by the readings
    with_trashed: bool = False
    expandable: bool = False
    relations: frozenset[str] = frozenset()  # the names for `expand`; empty: any name
    sortable: bool = False
    selectable: bool = False
    paged: bool | Callable[[Readings], bool] = True  # always, never, or by a reading
    people: bool = False  # whether the reading `people` sends some rows twice
    archived: Callable[[Row], bool] = never

    @property
    def parameters(self) -> frozenset[str]:
        """The query parameters of the list, without the parameters in the path."""
        offered = {"with_trashed": self.with_trashed, "expand": self.expandable, "sort": self.sortable}
        paging = (V1_PAGING if self.v1 else PAGING) if self.paged is True else ()
        flags = (name for name, has in (offered | {"fields": self.selectable}).items() if has)
        named = {name for name in self.filters if f"{{{name}}}" not in self.path}
        return frozenset((*self.chosen_by, *named, *flags, *paging))


@dataclass(frozen=True)
class Resource:
    """A resource of the platform: its rows, their form, its list and further routes."""

    name: str
    source: Source
    form: Form = field(default_factory=Form)
    listing: Listing | None = None
    routes: tuple[Route, ...] = ()  # besides the list

    @property
    def paths(self) -> tuple[Route, ...]:
        """All paths of the resource."""
        listing = self.listing
        if listing is None:
            return self.routes
        route = Route(
            "GET",
            listing.path,
            partial(answer, self.name, listing),
            scopes=listing.scopes,
            v1=listing.v1,
            disturb=partial(disturb, self.name, listing) if listing.paged is True else None,
            parameters=listing.parameters,
            relations=listing.relations,
        )
        return (route, *self.routes)


def answer(name: str, listing: Listing, platform: Platform, request: Request) -> Response:
    """The answer to a request for a list."""
    request = listing.understood(platform, request)
    rows = selected(name, listing, platform, request)
    headers: Headers = []
    readings = of_v1(platform.readings) if listing.v1 else platform.readings
    page = _page(listing, readings, request)
    if page:
        part, headers = page.cut(len(rows), readings)
        rows = rows[part]
    expand = request.names("expand") if listing.expandable else ()
    sent = platform.wire.rows(name, rows, expand)
    fields = request.names("fields") if listing.selectable else None
    if fields:
        sent = [{name: row[name] for name in fields if name in row} for row in sent]
    return json_response(sent, headers=headers)


def selected(name: str, listing: Listing, platform: Platform, request: Request) -> list[Row]:
    """All rows that pass the filters, in order."""
    parents = listing.parents(platform, request)
    rows = list(chain.from_iterable(platform.store.rows(name, parent) for parent in parents))
    if "with_trashed" in request.query and platform.readings.with_trashed != "shown":
        raise Problem(int(platform.readings.with_trashed), "with_trashed is not supported")
    if not (listing.with_trashed and request.flag("with_trashed", False)):
        rows = [row for row in rows if row.deleted_at is None]
    if _hides_archived(platform.readings, request):
        rows = [row for row in rows if not listing.archived(row)]
    for parameter, make in listing.filters.items():
        if parameter in request.query:
            text = _meant(platform.readings, parameter, request.query[parameter])
            rows = list(filter(make(parameter, text), rows))
    for key in reversed(request.names("sort")) if listing.sortable else ():
        rows.sort(key=partial(_sort_key, key.removeprefix("-")), reverse=key.startswith("-"))
    if platform.readings.people == "joined" and listing.people:
        rows = [row for row in rows for _ in range(2 if row.key % 5 == 0 else 1)]
    return rows


def _meant(readings: Readings, parameter: str, text: str) -> str:
    """The value of a filter, by this platform's reading."""
    if parameter != UPDATED_SINCE or readings.updated_filter == "from":
        return text
    moment = parse_moment(parameter, text)
    if readings.updated_filter == "day":
        moment = datetime.combine(moment, time())
    elif readings.updated_filter == "after":
        moment += timedelta(seconds=1)
    elif readings.updated_filter == "utc":
        moment += PLATFORM_AHEAD_OF_UTC
    else:
        raise Problem(int(readings.updated_filter), f"unknown parameter {parameter}")
    return moment.strftime(TIME_FORMAT)


def _hides_archived(readings: Readings, request: Request) -> bool:
    """Whether this platform omits archived rows from the answer to this request."""
    asks_for_ids = readings.archived == "by_id" and ID_FILTERS & request.query.keys()
    return not (readings.archived == "listed" or STATUS_FILTERS & request.query.keys() or asks_for_ids)


def _page(listing: Listing, readings: Readings, request: Request) -> Page | None:
    if not (listing.paged(readings) if callable(listing.paged) else listing.paged):
        return None
    return v1_page_of(readings, request) if listing.v1 else page_of(readings, request)


def _sort_key(name: str, row: Row) -> tuple[str, Any]:
    """The sort key of a row, by type first: an invalid value of a test must not break the sort."""
    value = row.key if name == "id" else row.values.get(name)
    return (type(value).__name__, value) if isinstance(value, str | int | float) else ("", 0)


def disturb(
    name: str, listing: Listing, platform: Platform, request: Request, change: str, rng: Random
) -> None:
    """Change a list while a client pages through it, as on a busy platform. The first page changes nothing.

    shrink: deletes a row of an earlier page, so that the client misses a row. grow: inserts a row at the
    front, so that a row comes twice. balanced: deletes a row as shrink does, and adds a row at the end, so
    that the total stays."""
    page = _page(listing, of_v1(platform.readings) if listing.v1 else platform.readings, request)
    rows = selected(name, listing, platform, request)
    if page is None or page.number < 2 or len(rows) < 2:
        return
    sent = rows[: (page.number - 1) * page.size]
    victim, model = rng.choice(sent), rows[0 if change == "grow" else -1]
    if change != "shrink":
        parent = platform.store.sources[name].keys.parent_of(model.key)
        platform.store.insert(name, parent, {}, first=change == "grow")
    if change != "grow":
        platform.store.destroy(name, victim.key)
