"""The request modes, as data. A mode says how a slice is divided into units."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

from campus.capabilities import Capabilities
from campus.contracts.v1_people import GUARDIAN, STUDENT
from campus.decoding.nested import page_of
from campus.decoding.page import Page
from campus.fetch.answers import confirmed, unless_rejected
from campus.fetch.reader import AnswerRequest, Readings
from campus.http.errors import NotFound, Refused, UnexpectedAnswer
from campus.plan.units import SliceQuery, Unit, changed_only, class_batch, id_batches
from campus.registry import RESOURCES, ResourceSpec
from campus.registry.spec import RequestMode

# An id that no platform gives a class: it shows whether the platform applies the filter by class.
NO_CLASS = 2**31 - 1


# Requests deleted rows too.
TRASHED_TOO = {"with_trashed": "1"}


def by_class_if_needed(
    capabilities: Capabilities, spec: ResourceSpec, query: SliceQuery, units: list[Unit]
) -> Readings[list[Unit]]:
    """The whole semester (the only unit of `units`) where members carry their class id, else a unit a class.

    The interface does not show whether they do, so one row is requested first. Raises UnexpectedAnswer where
    they do not and the platform ignores the filter by class: each class would have the members of all."""
    [whole] = units
    first = yield from _first_row(capabilities, spec, whole.params)
    if not (first.rows or first.bad) or _names_classes(first):
        return units
    try:
        of_none = {**whole.params, "class_id_in": str(NO_CLASS)}
        members_of_none = yield from _first_row(capabilities, spec, of_none, empty_is_unusual=False)
    except (NotFound, Refused):
        members_of_none = None
    if members_of_none and (members_of_none.rows or members_of_none.bad):
        raise UnexpectedAnswer(
            f"{spec.path}: members have no class_id, and class_id_in is ignored, so their class is unknown.",
            "Ask the platform's operator for one of the two.",
        )
    return [
        replace(
            whole,
            params={**whole.params, "class_id_in": str(class_id)},
            ids=(class_id,),
            defaults={"class_id": class_id},
            may_be_absent=True,
            empty_is_unusual=class_id in query.ids_with_rows,
        )
        for class_id in query.parents
    ]


def _first_row(
    capabilities: Capabilities,
    spec: ResourceSpec,
    params: Mapping[str, str],
    *,
    empty_is_unusual: bool = True,
) -> Readings[Page[Any]]:
    """A page with at least one row, unless the list is empty."""

    def ask(repeats: int) -> Readings[Page[Any]]:
        return (yield from unless_rejected(capabilities, spec.path, TRASHED_TOO, partial(get, repeats)))

    def get(repeats: int, trashed_too: Mapping[str, str]) -> Readings[Page[Any]]:
        sent = {**params, **trashed_too, "page": "1", "per_page": str(1 + repeats)}
        answer = yield AnswerRequest(spec.path, sent, partial(page_of, spec))
        page: Page[Any] = answer.value
        return page

    return (
        yield from confirmed(
            capabilities,
            ask,
            lambda page: not (page.rows or page.bad),
            is_unusual=lambda _: empty_is_unusual,
        )
    )


def _names_classes(page: Page[Any]) -> bool:
    """Whether all rows carry the id of their class."""
    return "class_id" in page.sent and all(row.class_id is not None for row in page.rows)


Requests = Callable[[ResourceSpec, SliceQuery], list[Unit]]
Decide = Callable[[Capabilities, ResourceSpec, SliceQuery, list[Unit]], Readings[list[Unit]]]


@dataclass(frozen=True)
class Mode:
    """How the slices of a resource are requested."""

    #: Makes the units of a slice.
    requests: Requests
    #: The subject of one request, in words.
    unit: str = "class"
    #: Requests a row first, and chooses other units if this platform needs them.
    decide: Decide | None = None
    #: Makes the units of the doctor's small request, where they differ.
    probe: Requests | None = None
    #: The platform may respond 404 for an id. The id then has no rows.
    may_be_absent: bool = False
    #: Requests name ids of the resource's parents. Rows carry these ids, or lead to them (`unit_via`).
    names_parents: bool = False
    #: The resource of the parents, if not `child_of`.
    parents: str | None = None
    #: Values that all parents have.
    parents_with: Mapping[str, int] = field(default_factory=dict)
    #: Deleted parents are named too.
    deleted_parents: bool = False
    #: Rows may spell the requested value differently: `graduates_in` for `system.graduates_in`.
    rows_may_respell: bool = False


def units_of(capabilities: Capabilities, spec: ResourceSpec, query: SliceQuery) -> Readings[list[Unit]]:
    """The units of a slice: a unit for each list that the slice is read from."""
    mode = MODES[spec.mode]
    units = mode.requests(spec, query)
    if query.since is not None:
        # Rows that the lake lacks may have been updated long ago: units without rows are requested whole.
        return [
            changed_only(spec, unit, query.since) if query.ids_with_rows.issuperset(unit.ids) else unit
            for unit in units
        ]
    return (yield from mode.decide(capabilities, spec, query, units)) if mode.decide else units


def parents_of(spec: ResourceSpec) -> ResourceSpec | None:
    """The parent resource whose ids the requests of `spec` need; None: the requests need no ids."""
    name = MODES[spec.mode].parents or spec.child_of
    return None if name is None else RESOURCES[name]


def unit_in_words(spec: ResourceSpec) -> str:
    """The subject of one request for a resource, in words."""
    return spec.unit or MODES[spec.mode].unit


def _whole(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    params = spec.params | ({"client_id": query.client_id} if spec.anonymous else {})
    return [Unit(spec.path, params, defaults=_key_defaults(spec, school_id=query.school_id))]


def _semester(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    assert query.semester_id is not None
    expected = {"semester_id": query.semester_id}
    [unit] = _semester_of_classes(spec, query)
    return [replace(unit, defaults=_key_defaults(spec, **expected), expected=expected)]


def _semester_of_classes(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    """Rows that belong to a class, and to a semester through it."""
    return [Unit(spec.path, spec.params | {"semester_id": str(query.semester_id)})]


def _roles(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    # Without the parameter, the platform lists all roles but guardians.
    return [Unit(spec.path, spec.params), *_role(spec, query, role=GUARDIAN)]


def _role(spec: ResourceSpec, query: SliceQuery, *, role: int) -> list[Unit]:
    return [Unit(spec.path, spec.params | {"role": str(role)}, expected={"role": role})]


def _class_batches(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    if query.since is None:
        return [class_batch(spec, batch) for batch in id_batches(query.parents)]
    filled = [class_id for class_id in query.parents if class_id in query.ids_with_rows]
    empty = [class_id for class_id in query.parents if class_id not in query.ids_with_rows]
    return [
        *(class_batch(spec, batch) for batch in id_batches(filled)),
        *(replace(class_batch(spec, batch), empty_is_unusual=False) for batch in id_batches(empty)),
    ]


def _parents(spec: ResourceSpec, query: SliceQuery, *, column: str) -> list[Unit]:
    """A request for each parent, named in the path, whose id is the default of `column`."""
    return [
        Unit(
            spec.path.format(id=parent_id),
            spec.params,
            ids=(parent_id,),
            defaults={column: parent_id},
            may_be_absent=True,
            empty_is_unusual=parent_id in query.ids_with_rows,
        )
        for parent_id in query.parents
    ]


def _term_types(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    return [
        Unit(
            spec.path.format(type=quote(term_type, safe="")),
            spec.params,
            ids=(term_type,),
            defaults={"type": term_type},
            may_be_absent=True,
        )
        for term_type in query.term_types
    ]


def _bindings(spec: ResourceSpec, query: SliceQuery, *, unit: Literal["device", "card"]) -> list[Unit]:
    """A request for each device or card. An unbound id (404) gives a row with the state unbound."""
    column = f"{unit}_id"
    return [
        Unit(
            spec.path.format(id=quote(id_, safe="")),
            spec.params,
            ids=(id_,),
            defaults={column: id_, "state": "bound"},
            may_be_absent=True,
            if_absent={column: id_, "state": "unbound"},
        )
        for id_ in (query.devices if unit == "device" else query.cards)
    ]


def _sessions(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    raise ValueError(f"{spec.name} is read by campus.attendance")


def _key_defaults(spec: ResourceSpec, **fixed: int | None) -> dict[str, int | str]:
    """The parts of the key that the request fixes."""
    return {name: value for name, value in fixed.items() if name in spec.primary_key and value is not None}


def _by_parent(unit: str) -> Mode:
    """A request for each parent, whose id the rows have as `<unit>_id`."""
    return Mode(partial(_parents, column=f"{unit}_id"), unit, may_be_absent=True, names_parents=True)


MODES: Mapping[RequestMode, Mode] = {
    "once": Mode(_whole),
    "by_term_type": Mode(_term_types, "term type", may_be_absent=True, rows_may_respell=True),
    "by_semester": Mode(_semester),
    # A list of all members of a semester has those of deleted classes too. Requests by class must read the
    # same rows.
    "members": Mode(
        _semester_of_classes, decide=by_class_if_needed, names_parents=True, deleted_parents=True
    ),
    "by_class": _by_parent("class"),
    "by_item": _by_parent("item"),
    # Rows name the assessment, not the class that they were requested with.
    "by_class_batch": Mode(_class_batches, names_parents=True, parents="classes"),
    "by_role": Mode(_roles, probe=partial(_role, role=STUDENT)),
    "by_student": replace(_by_parent("student"), parents_with={"role": STUDENT}),
    "by_device": Mode(partial(_bindings, unit="device"), "device", may_be_absent=True),
    "by_card": Mode(partial(_bindings, unit="card"), "card", may_be_absent=True),
    "by_session": Mode(_sessions),
}
