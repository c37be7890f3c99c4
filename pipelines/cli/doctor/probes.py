"""One small question for a resource: what it asks, and what is to say of the answer."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from campus.decoding.nested import as_rows
from campus.fetch.answer import fetch
from campus.http.client import Client
from campus.http.errors import CampusError, NotFound, Refused, TornBody, UnexpectedAnswer
from campus.paging import V1_NAMES, V3_NAMES
from campus.plan.modes import MODES, parents_of
from campus.plan.units import SliceQuery
from campus.registry import SEMESTERS, V1_SEMESTERS, ResourceSpec
from pipelines.cli.doctor.findings import Finding
from pipelines.resources import term_types
from pipelines.settings import Settings

FIRST_ROWS = {names: {names.page: "1", names.per_page: "5"} for names in (V1_NAMES, V3_NAMES)}
OF_PAGES = frozenset(name for params in FIRST_ROWS.values() for name in params)
WRONG_ADDRESS = "Check that CAMPUS_BASE_URL is the platform's own address, and ask its operator."
Row = dict[str, Any]


@dataclass(frozen=True)
class Probed:
    """The answer to one small question: what to say of it, and its rows."""

    finding: Finding
    rows: list[Row]


def questions(spec: ResourceSpec, query: SliceQuery) -> list[tuple[str, dict[str, str]]]:
    """The path and parameters of a small question for a resource; none where there is nothing to ask with."""
    if spec.embedded_in or (spec.sliced_by == "semester" and query.semester_id is None):
        return []
    first = FIRST_ROWS[V1_NAMES if spec.is_v1 else V3_NAMES] if spec.shape == "pages" else {}
    mode = MODES[spec.mode]
    units = (mode.probe or mode.requests)(spec, query)
    return [(unit.path, {**unit.params, **first}) for unit in units[:1]]


def where_to_ask(
    school_id: int, spec: ResourceSpec, rows: dict[str, list[Row]], settings: Settings, client_id: str
) -> SliceQuery:
    """What a resource is asked for with: the current semester, and one of each of the rest."""
    # Either interface is asked by its own ids, or by the other's where it does not show its own.
    lists = (V1_SEMESTERS, SEMESTERS) if spec.is_v1 else (SEMESTERS, V1_SEMESTERS)
    semesters = next((found for one in lists if (found := rows.get(one.name))), [])
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


async def ask(
    client: Client, spec: ResourceSpec, school_id: int | None, path: str, params: dict[str, str] | None = None
) -> Probed:
    """Send one small question. What goes wrong is a finding; `school_id` None: of no school."""
    label = spec.name if school_id is None else f"school {school_id}, {spec.name}"
    try:
        answer = await fetch(
            client,
            path,
            params or {},
            school_id=school_id,
            scope=spec.scopes,
            decode=partial(_rows, spec),
            anonymous=spec.anonymous,
        )
    except NotFound as error:
        if MODES[spec.mode].may_be_absent:
            return Probed(Finding(True, f"{label}: answers, with nothing there."), [])
        return Probed(Finding(False, f"{label}: {error}"), [])
    except CampusError as error:
        bare = {name: value for name, value in (params or {}).items() if name not in OF_PAGES}
        if isinstance(error, Refused) and bare != (params or {}):
            # What takes no pages is asked for without, as a sync does.
            again = await ask(client, spec, school_id, path, bare)
            if again.finding.good:
                return again
        return Probed(Finding(False, f"{label}: {error}"), [])
    return Probed(Finding(True, f"{label}: answers."), answer.value)


def _rows(spec: ResourceSpec, body: bytes) -> list[Row]:
    """The rows of an answer: a list of them, or where one object is asked for, one or none.

    Raises TornBody for no JSON and UnexpectedAnswer for anything but rows."""
    value = _decoded(as_rows(body, single=False) if spec.is_v1 and not spec.is_one_object else body)
    if spec.is_one_object and not (spec.shape == "object_or_list" and isinstance(value, list)):
        value = [value] if value else []
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnexpectedAnswer("the answer is not made of rows.", WRONG_ADDRESS)
    if "id" in spec.primary_key and len(identified(rows)) < len(rows):
        raise UnexpectedAnswer("the rows have no id that is a number.", WRONG_ADDRESS)
    return rows


def _decoded(body: bytes) -> Any:
    # Python's own decoder is as lenient as a sync: half a surrogate pair or a NaN is no torn answer.
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise TornBody(str(error)) from error


def identified(value: Any) -> list[Row]:
    """Those rows that a later question can name."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), int)]
