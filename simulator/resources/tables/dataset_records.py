"""GET .../uds/datasets/{name}/records: filters, sort order, paging and fields."""

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
from simulator.resources.tables import registries

GREATEST_LIMIT = 10_000
NO_FILTERS = frozenset({"sort", "fields", "expand", "paginated", "page", "per_page", "limit"})


class Selection(NamedTuple):
    """The filters of a request: a range of keys, and tests of the rows."""

    low: int | None
    high: int | None
    tests: list[Test]


def answer(platform: Platform, request: Request) -> Response:
    """The requested records."""
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
    """All rows that pass the filters, in the requested order."""
    table = described.table
    rows = table.select(*_selection(platform, described, request))
    keys = [(_field(platform, described, key.removeprefix("-")), key) for key in request.names("sort")]
    sort_keys = [(name, key.startswith("-")) for name, key in keys if name is not None]
    for name, key in keys:
        if name is None:
            _unknown(platform, f"sort: {described.name} has no field {key.removeprefix('-')!r}")
    if not sort_keys and platform.readings.dataset_order == "shuffled":
        rows = list(rows)
        Random(request.target).shuffle(rows)
    if sort_keys and sort_keys[0][0] == described.integer_key:
        return rows[::-1] if sort_keys[0][1] else rows
    for name, descending in reversed(sort_keys):
        rows = sorted(rows, key=partial(_sort_key, described, name), reverse=descending)
    return rows


def disturb(platform: Platform, request: Request, change: str, rng: Random) -> None:
    """Change a dataset while a client pages through it; see http.resource.disturb."""
    described = platform.datasets.find(request.school_id, request.params["name"])
    keys = [described.table.key(row) for row in ordered(platform, described, request)]
    at_front = (change == "grow") is not request.query.get("sort", "").startswith("-")
    registries.disturb(platform, request, ROWS + described.name, keys, change, rng, at_front=at_front)


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
                if platform.readings.dataset_unsegmented == "422":
                    raise Problem(422, f"{described.name} does not understand {parameter}")
                continue
            bound = parse_integer(parameter, text)
            low, high = (bound, high) if operator == "egt" else (low, bound)
        else:
            test = predicate(parameter, operator, described.fields[field]["type"], text)
            tests.append((field, test))
    return Selection(low, high, tests)


def _field(platform: Platform, described: Description, name: str) -> str | None:
    """The field of a name in the query."""
    if name in described.fields:
        return name
    return described.integer_key if name == "id" and platform.readings.dataset_id == "key" else None


def _unknown(platform: Platform, text: str) -> None:
    if platform.readings.dataset_names == "422":
        raise Problem(422, text)


def _part(platform: Platform, request: Request, total: int) -> tuple[slice, Headers]:
    """The slice of the rows to send: a page, or with paginated=0 the rows within the limit."""
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
    names = request.names("fields")
    for name in names:
        if name not in described.fields:
            _unknown(platform, f"fields: {described.name} has no field {name!r}")
    if not names:
        return tuple(described.fields)
    added = platform.readings.dataset_fields_key == "added"
    return tuple(
        name for name, field in described.fields.items() if name in names or (added and field["primary"])
    )


def _relations(platform: Platform, described: Description, request: Request) -> list[str]:
    names = request.names("expand")
    unknown = [name for name in names if name not in described.relations]
    if unknown and platform.readings.dataset_relations == "422":
        raise Problem(422, f"expand: {described.name} has no relation {', '.join(unknown)}")
    return [name for name in names if name in described.relations]


def _expanded(
    platform: Platform,
    described: Description,
    rendering: Rendering,
    rows: Sequence[Handle],
    relations: list[str],
) -> bytes:
    """Records with the related rows, null if there is none."""
    records = [rendering.values(row) for row in rows]
    for name in relations:
        relation = described.relations[name]
        target = platform.datasets.find(described.school_id, relation["ref_name"])
        whole = platform.rendering(target, tuple(target.fields))
        for row, record in zip(rows, records, strict=True):
            referred = _referred(target, described.table.value(row, relation["related_by"]))
            record[name] = whole.values(referred[0]) if referred else None
    return msgspec.json.encode(records)


def _referred(target: Description, key: Any) -> Sequence[Handle]:
    return target.table.select(key, key, ()) if type(key) is int and target.integer_key else ()


def _sort_key(described: Description, name: str, row: Handle) -> tuple[str, Any]:
    """The sort key of a row, by type first, so that an invalid value does not break the sort; null first."""
    value = described.table.value(row, name)
    return (type(value).__name__, value) if isinstance(value, str | int) else ("", 0)
