"""GET .../uds/datasets/{name}/records: which rows, in which order, which part of them, with which fields."""

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

import msgspec

from simulator.datasets.filters import MORE, SEEN, predicate, split
from simulator.datasets.registry import ROWS, Description
from simulator.datasets.rendering import Rendering
from simulator.datasets.table import Handle, Test
from simulator.http.paging import Page, page_of
from simulator.http.platform import Platform
from simulator.messages import JSON_TYPE, Headers, Problem, Request, Response, parse_integer
from simulator.resources.tables import keeping

GREATEST_LIMIT = 10_000
NO_FILTERS = frozenset({"sort", "fields", "expand", "paginated", "page", "per_page", "limit"})


class Selection(NamedTuple):
    """What the filters of a request ask for: a range of keys, and tests that the rows must pass."""

    low: int | None
    high: int | None
    tests: list[Test]


def answer(platform: Platform, request: Request) -> Response:
    """The records that a request asks for."""
    described = platform.datasets.find(request.school_id, request.params["name"])
    rows = ordered(platform, described, request)
    part, headers = _part(platform, request, len(rows))
    names = _names(platform, described, request)
    rendering = platform.rendering(described, names)
    relations = _relations(platform, described, request)
    body = (
        _expanded(platform, described, rendering, rows[part], relations)
        if relations
        else rendering.encoded(rows[part])
    )
    return Response(200, body, [JSON_TYPE, *headers])


def ordered(platform: Platform, described: Description, request: Request) -> Sequence[Handle]:
    """All rows that the filters let through, in the order that is asked for."""
    table = described.table
    rows = table.select(*_selection(platform, described, request))
    keys = [(_field(platform, described, key.removeprefix("-")), key) for key in request.names("sort")]
    known = [(name, key.startswith("-")) for name, key in keys if name is not None]
    for name, key in keys:
        if name is None:
            _unknown(platform, f"sort: {described.name} has no field {key.removeprefix('-')!r}")
    if not known and platform.readings.dataset_order == "shuffled":
        rows = list(rows)
        Random(request.target).shuffle(rows)
    if known and known[0][0] == described.integer_key:
        return rows[::-1] if known[0][1] else rows
    for name, descending in reversed(known):
        rows = sorted(rows, key=partial(_sort_key, described, name), reverse=descending)
    return rows


def disturb(platform: Platform, request: Request, change: str, rng: Random) -> None:
    """Change the dataset that somebody is paging through, as http.resource.disturb does for other lists."""
    described = platform.datasets.find(request.school_id, request.params["name"])
    keys = [described.table.key(row) for row in ordered(platform, described, request)]
    at_front = (change == "grow") is not request.query.get("sort", "").startswith("-")
    keeping.disturb(platform, request, ROWS + described.name, keys, change, rng, at_front=at_front)


def _selection(platform: Platform, described: Description, request: Request) -> Selection:
    low: int | None = None
    high: int | None = None
    tests: list[Test] = []
    offered = SEEN + (MORE if platform.readings.dataset_operators == "more" else ())
    for parameter, text in request.query.items():
        if parameter in NO_FILTERS:
            continue
        name, operator = split(parameter, offered)
        field = _field(platform, described, name)
        if field is None:
            _unknown(platform, f"{parameter} filters by no field of {described.name}")
        elif field == described.integer_key and operator in ("egt", "elt"):
            if not described.has_segments:
                _unsegmented(platform, f"{described.name} does not understand {parameter}")
                continue
            bound = parse_integer(parameter, text)
            low, high = (bound, high) if operator == "egt" else (low, bound)
        else:
            test = predicate(parameter, operator, described.fields[field]["type"], text)
            tests.append((field, test))
    return Selection(low, high, tests)


def _field(platform: Platform, described: Description, name: str) -> str | None:
    """The field that a name of the query means."""
    if name in described.fields:
        return name
    return described.integer_key if name == "id" and platform.readings.dataset_id == "key" else None


def _unknown(platform: Platform, text: str) -> None:
    if platform.readings.dataset_names == "422":
        raise Problem(422, text)


def _unsegmented(platform: Platform, text: str) -> None:
    if platform.readings.dataset_unsegmented == "422":
        raise Problem(422, text)


def _part(platform: Platform, request: Request, total: int) -> tuple[slice, Headers]:
    """Which of all rows are sent: a page, or with paginated=0 as many as the limit allows."""
    readings = platform.readings
    page = page_of(platform.readings, request)
    if page:
        return page.cut(total, readings)
    default = {"all": None, "10000": GREATEST_LIMIT, "20": 20}[readings.dataset_no_limit]
    limit = request.integer("limit", default, least=1)
    if limit is not None and limit > GREATEST_LIMIT:
        if readings.dataset_limit == "refused":
            raise Problem(422, f"limit must be at most {GREATEST_LIMIT}, not {limit}")
        limit = GREATEST_LIMIT
    headers = Page(1, limit or max(1, total)).headers(total)
    return slice(limit), headers if readings.dataset_unpaged_headers == "present" else []


def _names(platform: Platform, described: Description, request: Request) -> tuple[str, ...]:
    """The fields to send, in the order of the metadata."""
    asked = request.names("fields")
    for name in asked:
        if name not in described.fields:
            _unknown(platform, f"fields: {described.name} has no field {name!r}")
    if not asked:
        return tuple(described.fields)
    added = platform.readings.dataset_fields_key == "added"
    return tuple(
        name for name, field in described.fields.items() if name in asked or (added and field["primary"])
    )


def _relations(platform: Platform, described: Description, request: Request) -> list[str]:
    asked = request.names("expand")
    unknown = [name for name in asked if name not in described.relations]
    if unknown and platform.readings.dataset_relations == "422":
        raise Problem(422, f"expand: {described.name} has no relation {', '.join(unknown)}")
    return [name for name in asked if name in described.relations]


def _expanded(
    platform: Platform,
    described: Description,
    rendering: Rendering,
    rows: Sequence[Handle],
    relations: list[str],
) -> bytes:
    """Records with the rows that their relations lead to, null where there is none."""
    records = [rendering.values(row) for row in rows]
    for name in relations:
        relation = described.relations[name]
        target = platform.datasets.find(described.school_id, relation["ref_name"])
        whole = platform.rendering(target, tuple(target.fields))
        for row, record in zip(rows, records, strict=True):
            found = _referred(target, described.table.value(row, relation["related_by"]))
            record[name] = whole.values(found[0]) if found else None
    return msgspec.json.encode(records)


def _referred(target: Description, key: Any) -> Sequence[Handle]:
    return target.table.select(key, key, ()) if type(key) is int and target.integer_key else ()


def _sort_key(described: Description, name: str, row: Handle) -> tuple[str, Any]:
    """Values of one kind in order, other kinds apart, so that a broken value breaks no list; null first."""
    value = described.table.value(row, name)
    return (type(value).__name__, value) if isinstance(value, str | int) else ("", 0)
