"""Findings, and probes of a resource by one small request."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from campus.decoding.nested import as_rows
from campus.fetch.reader import Reader
from campus.http.client import Client
from campus.http.errors import (
    ASK_OPERATOR,
    CampusError,
    NotFound,
    PlatformUnavailable,
    Refused,
    TornBody,
    UnexpectedAnswer,
)
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import SEMESTERS, V1_SEMESTERS, ResourceSpec
from pipelines.platform import term_types
from pipelines.settings.settings import Settings


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    #: Whether the check passed; None: neither right nor wrong.
    good: bool | None
    #: What was found, and what to do.
    text: str
    #: The resource that answered, in a finding with nothing else to say.
    resource: str | None = None


def refused(label: str, error: CampusError) -> Finding:
    """The finding about a request that failed."""
    return Finding(False, f"{label}: {error}{'' if error.advice else f' {ASK_OPERATOR}'}")


def unavailable(halt: PlatformUnavailable) -> Finding:
    """The finding about a platform, or a school of it, that cannot be read."""
    again = " See that the platform is up, then run campus doctor again." if halt.outage else ""
    return Finding(False, f"{halt}{again}")


FIRST_ROWS = {names: {names.page: "1", names.per_page: "5"} for names in (V1_NAMES, V3_NAMES)}
PAGE_PARAMETERS = frozenset(name for params in FIRST_ROWS.values() for name in params)
WRONG_ADDRESS = "Check that CAMPUS_BASE_URL is the platform's own address, or ask the platform's operator."
Row = dict[str, Any]


@dataclass(frozen=True)
class Probe:
    """The result of one small request: the finding, and the rows of the answer."""

    finding: Finding
    rows: list[Row]


def probe_requests(spec: ResourceSpec, query: SliceQuery) -> list[tuple[str, dict[str, str]]]:
    """The path and parameters of a small request for a resource; empty where its parameters are unknown."""
    if spec.embedded_in or (spec.sliced_by == "semester" and query.semester_id is None):
        return []
    first = FIRST_ROWS[V1_NAMES if spec.is_v1 else V3_NAMES] if spec.shape == "pages" else {}
    mode = MODES[spec.mode]
    units = (mode.probe or mode.requests)(spec, query)
    return [(unit.path, {**unit.params, **first}) for unit in units[:1]]


def probe_query(
    school_id: int, spec: ResourceSpec, rows: dict[str, list[Row]], settings: Settings, client_id: str
) -> SliceQuery:
    """The query of a probe: the current semester, and the first value of each other parameter."""
    # Each interface has its own semester ids; the other interface's ids are a fallback.
    lists = (V1_SEMESTERS, SEMESTERS) if spec.is_v1 else (SEMESTERS, V1_SEMESTERS)
    semesters = next((known_rows for listed in lists if (known_rows := rows.get(listed.name))), [])
    current = next((row for row in semesters if row.get("is_current")), next(iter(semesters), None))
    parent = parents_of(spec)
    parents = rows.get(parent.name, []) if parent else []
    return SliceQuery(
        school_id,
        current["id"] if current else None,
        parents=tuple(row["id"] for row in parents[:1]),
        term_types=term_types(settings)[:1],
        devices=settings.device_ids[:1],
        cards=settings.card_ids[:1],
        client_id=client_id,
    )


async def probe(
    client: Client, spec: ResourceSpec, school_id: int | None, path: str, params: dict[str, str] | None = None
) -> Probe:
    """Send one small request. A failure is a finding. `school_id` None: a request without a school."""
    label = spec.name if school_id is None else f"school {school_id}, {spec.name}"
    try:
        reader = Reader(client, school_id, spec.scopes, anonymous=spec.anonymous)
        answer = await reader.fetch(path, params or {}, partial(_rows, spec))
    except NotFound as error:
        if MODES[spec.mode].may_be_absent:
            return Probe(Finding(True, f"{label}: answers without rows.", spec.name), [])
        return Probe(refused(label, error), [])
    except CampusError as error:
        bare = {name: value for name, value in (params or {}).items() if name not in PAGE_PARAMETERS}
        if isinstance(error, Refused) and bare != (params or {}):
            # A list without pages refuses page parameters; a sync leaves them out, too.
            again = await probe(client, spec, school_id, path, bare)
            if again.finding.good:
                return again
        return Probe(refused(label, error), [])
    return Probe(Finding(True, f"{label}: answers.", spec.name), answer.value)


def _rows(spec: ResourceSpec, body: bytes) -> list[Row]:
    """The rows of an answer; an answer of one object has one row or none.

    Raises TornBody for invalid JSON and UnexpectedAnswer for anything but rows."""
    value = _decoded(as_rows(body, single=False) if spec.is_v1 and not spec.is_one_object else body)
    if spec.is_one_object and not (spec.shape == "object_or_list" and isinstance(value, list)):
        value = [value] if value else []
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnexpectedAnswer("the answer does not consist of rows.", WRONG_ADDRESS)
    if "id" in spec.primary_key and len(identified(rows)) < len(rows):
        raise UnexpectedAnswer("the rows have no numeric id.", WRONG_ADDRESS)
    return rows


def _decoded(body: bytes) -> Any:
    # Python's decoder is as lenient as a sync: it accepts half a surrogate pair and NaN.
    try:
        return json.loads(body)
    except ValueError as error:
        raise TornBody(str(error)) from error


def identified(value: Any) -> list[Row]:
    """The rows with an id, by which a later request can name them."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), int)]
