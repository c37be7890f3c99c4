"""Answering a request for a list: which rows, in which order, which page of them, with which fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import ceil
from random import Random
from typing import Any, NamedTuple

from simulator.http import (
    Headers,
    Problem,
    Request,
    Response,
    decimal_of,
    json_response,
    parse_flag,
    parse_integer,
    parse_integers,
    parse_moment,
)
from simulator.platform import Platform
from simulator.readings import Readings
from simulator.rows import RESOURCES, TIME_FORMAT, Row

DEFAULT_PER_PAGE = 20

Predicate = Callable[[Row], bool]
Filter = Callable[[str, str], Predicate]  # of a parameter's name and text; Problem where that makes no sense


@dataclass(frozen=True)
class Listing:
    """One list of the specification: whose rows, and the parameters that its table names."""

    resource: str
    parents: Callable[[Platform, Request], list[int]]
    filters: Mapping[str, Filter] = field(default_factory=dict)
    trashable: bool = False
    expandable: bool = False
    sortable: bool = False
    selectable: bool = False
    paged: bool = True
    v1: bool = False  # whose paging parameters are $page and $per-page


class Page(NamedTuple):
    """The page that was asked for."""

    number: int
    size: int

    def cut(self, total: int, readings: Readings) -> tuple[slice, Headers]:
        """Which of so many rows stand on the page, and the headers that say so."""
        page = self
        if readings.page_past_end == "last":
            page = self._replace(number=max(1, min(self.number, ceil(total / self.size))))
        headers = page.headers(total) if readings.pagination_headers == "present" else []
        return slice((page.number - 1) * page.size, page.number * page.size), headers

    def headers(self, total: int) -> Headers:
        values = (self.number, ceil(total / self.size), self.size, total)
        names = (b"Current-Page", b"Page-Count", b"Per-Page", b"Total-Count")
        return [(b"X-Pagination-" + name, b"%d" % value) for name, value in zip(names, values, strict=True)]


def answer(listing: Listing, platform: Platform, request: Request) -> Response:
    """The rows that a request asks for."""
    rows = selected(listing, platform, request)
    headers: Headers = []
    page = _page(listing, platform, request)
    if page:
        part, headers = page.cut(len(rows), _v1_readings(platform) if listing.v1 else platform.readings)
        rows = rows[part]
    expand = request.names("expand") if listing.expandable else ()
    sent = platform.wire.rows(listing.resource, rows, expand)
    fields = request.names("fields") if listing.selectable else None
    if fields:
        sent = [{name: row[name] for name in fields if name in row} for row in sent]
    return json_response(sent, headers=headers)


def selected(listing: Listing, platform: Platform, request: Request) -> list[Row]:
    """All rows that the filters let through, in order."""
    parents = listing.parents(platform, request)
    rows = list(chain.from_iterable(platform.store.rows(listing.resource, parent) for parent in parents))
    if not (listing.trashable and request.flag("with_trashed", False)):
        rows = [row for row in rows if row.deleted_at is None]
    for name, make in listing.filters.items():
        if name in request.query:
            rows = list(filter(make(name, request.query[name]), rows))
    for key in reversed(request.names("sort")) if listing.sortable else ():
        rows.sort(key=partial(_sort_key, key.removeprefix("-")), reverse=key.startswith("-"))
    return rows


def _page(listing: Listing, platform: Platform, request: Request) -> Page | None:
    if not listing.paged:
        return None
    if not listing.v1:
        return page_of(platform, request)
    number = request.integer("$page", 1, least=1) or 1
    size = request.integer("$per-page", DEFAULT_PER_PAGE, least=1) or DEFAULT_PER_PAGE
    return _clamped(number, size, "$per-page", _v1_readings(platform))


def _v1_readings(platform: Platform) -> Readings:
    """The platform's readings with those of v1 in the place of v3's."""
    readings = platform.readings
    return replace(
        readings,
        pagination_headers=readings.v1_pagination_headers,
        max_per_page=readings.v1_max_per_page,
    )


def page_of(platform: Platform, request: Request) -> Page | None:
    """The page of a paged list that is asked for; None for the whole of it."""
    readings = platform.readings
    number = request.integer("page", 1, least=1) or 1
    size = request.integer("per_page", DEFAULT_PER_PAGE, least=1) or DEFAULT_PER_PAGE
    paginated = request.flag("paginated", True)
    if not paginated and readings.unpaged == "refused":
        raise Problem(422, "paginated=0 is not offered here")
    if not paginated and readings.unpaged == "honoured":
        return None
    return _clamped(number, size, "per_page", readings)


def _clamped(number: int, size: int, name: str, readings: Readings) -> Page:
    if size > readings.max_per_page and readings.per_page == "refused":
        raise Problem(422, f"{name} must be at most {readings.max_per_page}, not {size}")
    return Page(number, min(size, readings.max_per_page))


def _sort_key(name: str, row: Row) -> tuple[str, Any]:
    """Values of one kind in order, other kinds apart: a row that a test broke does not break the list."""
    value = row.key if name == "id" else row.values.get(name)
    return (type(value).__name__, value) if isinstance(value, str | int | float) else ("", 0)


def disturb(listing: Listing, platform: Platform, request: Request, change: str, rng: Random) -> None:
    """Change the list that somebody is paging through, as a busy platform would; nothing on a first page.

    shrink takes away a row of a page already sent, so that a row slips past the reader; grow puts a new row
    in front, so that one comes twice; balanced does the first and adds a row at the end: the total stays.
    """
    page = _page(listing, platform, request)
    rows = selected(listing, platform, request)
    if page is None or page.number < 2 or len(rows) < 2:
        return
    sent = rows[: (page.number - 1) * page.size]
    victim, model = rng.choice(sent), rows[0 if change == "grow" else -1]
    if change != "shrink":
        parent = RESOURCES[listing.resource].parent_of(model.key)
        platform.store.insert(listing.resource, parent, {}, first=change == "grow")
    if change != "grow":
        platform.store.destroy(listing.resource, victim.key)


def equal(field_name: str, number: bool = False) -> Filter:
    """The field is exactly this."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_integer(name, text) if number else text
        return lambda row: bool(row.values.get(field_name) == wanted)

    return make


def is_id(name: str, text: str) -> Predicate:
    """The id is one of these."""
    wanted = set(parse_integers(name, text))
    return lambda row: row.key in wanted


def one_of(field_name: str, number: bool = False) -> Filter:
    """The field is one of these, separated by commas."""

    def make(name: str, text: str) -> Predicate:
        wanted: list[Any] = parse_integers(name, text) if number else text.split(",")
        return lambda row: row.values.get(field_name) in wanted

    return make


def like(*field_names: str) -> Filter:
    """One of the fields contains this text."""
    return lambda name, text: lambda row: any(text in str(row.values.get(f) or "") for f in field_names)


def has(field_name: str) -> Filter:
    """The field is a list with this integer in it."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_integer(name, text)
        return lambda row: isinstance(ids := row.values.get(field_name), list) and wanted in ids

    return make


def flagged(field_name: str) -> Filter:
    """The field is this boolean."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_flag(name, text)
        return lambda row: row.values.get(field_name) is wanted

    return make


def is_empty(field_name: str) -> Filter:
    """The field is null, or is not, as the flag says."""

    def make(name: str, text: str) -> Predicate:
        wanted = parse_flag(name, text)
        return lambda row: (row.values.get(field_name) is None) is wanted

    return make


def bounded(field_name: str, *, least: bool) -> Filter:
    """The field, a decimal carried in a string, is at least or at most this; rows without one stay out."""

    def make(name: str, text: str) -> Predicate:
        bound = decimal_of(text)
        if bound is None:
            raise Problem(422, f"{name} must be a number, not {text[:40]!r}")

        def holds(row: Row) -> bool:
            value = decimal_of(row.values.get(field_name))
            return value is not None and (value >= bound if least else value <= bound)

        return holds

    return make


def updated_since(name: str, text: str) -> Predicate:
    """Changed at this moment or later; deletion is a change."""
    moment = parse_moment(name, text).strftime(TIME_FORMAT)
    return lambda row: row.updated_at >= moment
