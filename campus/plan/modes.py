"""The modes of asking: one record for each way in which the slices of resources are asked for."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote

from campus.contracts.v1_people import GUARDIAN, STUDENT
from campus.http.client import Client
from campus.http.events import Tally
from campus.plan.members import by_class_where_unnamed
from campus.plan.units import SliceQuery, Unit, changed_only, class_batch, id_batches
from campus.registry import RESOURCES, ResourceSpec
from campus.registry.spec import Asked

Requests = Callable[[ResourceSpec, SliceQuery], list[Unit]]
Decide = Callable[[Client, ResourceSpec, SliceQuery, list[Unit], Tally], Awaitable[list[Unit]]]


@dataclass(frozen=True)
class Mode:
    """How the slices of a resource are asked for.

    `requests`: the units of a slice; `decide`: those that are read instead, where only the platform tells.
    `probe`: the units that stand for them in the doctor's small question, where it asks for others.
    `unit`: what one request asks for, in words. `may_be_absent`: an id that the platform does not know (404)
    is a normal answer: nothing is there. `names_parents`: requests name ids of the resource's parents, which
    rows then carry, or those that they name (`unit_via`); `parents`: which these are, if not the rows of
    `child_of`, `parents_with`: what these have in common, and `deleted_parents`: deleted ones are named too.
    `respelled`: rows may spell what they were asked for with in another way."""

    requests: Requests
    unit: str = "class"
    decide: Decide | None = None
    probe: Requests | None = None
    may_be_absent: bool = False
    names_parents: bool = False
    parents: str | None = None
    parents_with: Mapping[str, int] = field(default_factory=dict)
    deleted_parents: bool = False
    respelled: bool = False


async def units_of(client: Client, spec: ResourceSpec, query: SliceQuery, tally: Tally) -> list[Unit]:
    """The requests that determine a slice, one unit for each collection that it is made of."""
    mode = MODES[spec.asked]
    units = mode.requests(spec, query)
    if query.since is not None:
        # What is not held yet may long have been as it is.
        return [
            changed_only(spec, unit, query.since) if query.filled.issuperset(unit.ids) else unit
            for unit in units
        ]
    return await mode.decide(client, spec, query, units, tally) if mode.decide else units


def parents_of(spec: ResourceSpec) -> ResourceSpec | None:
    """The resource whose ids the requests for another name; None: they name none."""
    name = MODES[spec.asked].parents or spec.child_of
    return None if name is None else RESOURCES[name]


def unit_in_words(spec: ResourceSpec) -> str:
    """What one request for a resource asks for."""
    return spec.unit or MODES[spec.asked].unit


def _whole(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    params = spec.params | ({"client_id": query.client_id} if spec.anonymous else {})
    return [Unit(spec.path, params, known=_of_key(spec, school_id=query.school_id))]


def _semester(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    assert query.semester_id is not None
    belongs = {"semester_id": query.semester_id}
    [unit] = _semester_of_classes(spec, query)
    return [replace(unit, known=_of_key(spec, **belongs), belongs=belongs)]


def _semester_of_classes(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    """Rows that belong to a class, and to a semester through it."""
    return [Unit(spec.path, spec.params | {"semester_id": str(query.semester_id)})]


def _roles(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    # All but guardians come unasked.
    return [Unit(spec.path, spec.params), *_role(spec, query, role=GUARDIAN)]


def _role(spec: ResourceSpec, query: SliceQuery, *, role: int) -> list[Unit]:
    return [Unit(spec.path, spec.params | {"role": str(role)}, belongs={"role": role})]


def _class_batches(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    if query.since is None:
        return [class_batch(spec, batch) for batch in id_batches(query.parents)]
    held = [one for one in query.parents if one in query.filled]
    new = [one for one in query.parents if one not in query.filled]
    return [
        *(class_batch(spec, batch) for batch in id_batches(held)),
        *(replace(class_batch(spec, batch), empty_is_unusual=False) for batch in id_batches(new)),
    ]


def _parents(spec: ResourceSpec, query: SliceQuery, *, column: str) -> list[Unit]:
    """A request for each parent, named in the path. It fixes `column`."""
    return [
        Unit(
            spec.path.format(id=one),
            spec.params,
            ids=(one,),
            known={column: one},
            may_be_absent=True,
            empty_is_unusual=one in query.filled,
        )
        for one in query.parents
    ]


def _term_types(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    return [
        Unit(
            spec.path.format(type=quote(kind, safe="")),
            spec.params,
            ids=(kind,),
            known={"type": kind},
            may_be_absent=True,
        )
        for kind in query.term_types
    ]


def _bound(spec: ResourceSpec, ids: Iterable[str], column: str) -> list[Unit]:
    """A request for each device or card; one that is unbound (404) has a row that says so."""
    return [
        Unit(
            spec.path.format(id=quote(one, safe="")),
            spec.params,
            ids=(one,),
            known={column: one, "state": "bound"},
            may_be_absent=True,
            if_absent={column: one, "state": "unbound"},
        )
        for one in ids
    ]


def _devices(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    return _bound(spec, query.devices, "device_id")


def _cards(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    return _bound(spec, query.cards, "card_id")


def _sessions(spec: ResourceSpec, query: SliceQuery) -> list[Unit]:
    raise ValueError(f"{spec.name} is read by campus.attendance")


def _of_key(spec: ResourceSpec, **known: int | None) -> dict[str, int | str]:
    """What the request knows of a key that the rows leave out."""
    return {name: value for name, value in known.items() if name in spec.primary_key and value is not None}


def _by_parent(unit: str) -> Mode:
    """A request for each parent, whose id the rows have as `<unit>_id`."""
    return Mode(partial(_parents, column=f"{unit}_id"), unit, may_be_absent=True, names_parents=True)


MODES: Mapping[Asked, Mode] = {
    "once": Mode(_whole),
    "by_term_type": Mode(_term_types, "term type", may_be_absent=True, respelled=True),
    "by_semester": Mode(_semester),
    # A platform that lists a semester's members as a whole shows those of deleted classes too, and what is
    # read must not depend on the way of asking.
    "members": Mode(
        _semester_of_classes, decide=by_class_where_unnamed, names_parents=True, deleted_parents=True
    ),
    "by_class": _by_parent("class"),
    "by_item": _by_parent("item"),
    # Rows name the assessment, and not the class that they were asked for with.
    "by_class_batch": Mode(_class_batches, names_parents=True, parents="classes"),
    "by_role": Mode(_roles, probe=partial(_role, role=STUDENT)),
    "by_student": replace(_by_parent("student"), parents_with={"role": STUDENT}),
    "by_device": Mode(_devices, "device", may_be_absent=True),
    "by_card": Mode(_cards, "card", may_be_absent=True),
    "by_session": Mode(_sessions),
}
