"""Which questions are asked for a slice of a resource: one unit for each collection that it is made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from urllib.parse import quote

from campus.client import Client
from campus.contract import Contract
from campus.decode import Page, decode_page
from campus.errors import NotFound, Refused, UnexpectedAnswer
from campus.events import Tally
from campus.resources import ResourceSpec

# Proxies and servers commonly refuse a request line beyond 2,000 characters; the rest of the URL needs some.
MAX_IDS_LENGTH = 1_500
# An id that no platform gives a class, to see whether a filter by class is heeded.
NO_CLASS = 2**31 - 1
# The role of guardian accounts in v1.
GUARDIAN = 8


@dataclass(frozen=True)
class Where:
    """What one slice is asked for with. `parents`: ids of the classes, items or students that the questions
    name; `devices` and `cards`: those that the settings name."""

    school_id: int | None
    semester_id: int | None = None
    parents: tuple[int, ...] = ()
    term_types: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    cards: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """One collection to ask for. `ids`: what is missing if it fails. `known`: what a row has in fields that
    it leaves out. `belongs`: fields that rows have in common unless the platform ignores a parameter.
    `may_be_absent`: an unknown id (404) is a normal answer that means no rows, or the row `if_absent`."""

    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[int | str, ...] = ()
    known: Mapping[str, int | str | date] = field(default_factory=dict)
    belongs: Mapping[str, int | date] = field(default_factory=dict)
    may_be_absent: bool = False
    if_absent: Mapping[str, str] | None = None


async def units_of(client: Client, spec: ResourceSpec, where: Where, tally: Tally) -> list[Unit]:
    """The questions that determine a slice."""
    match spec.asked:
        case "once":
            return [Unit(spec.path, spec.params, known=_of_key(spec, school_id=where.school_id))]
        case "by_term_type":
            return [
                Unit(
                    spec.path.format(type=quote(kind, safe="")),
                    spec.params,
                    ids=(kind,),
                    known={"type": kind},
                    may_be_absent=True,
                )
                for kind in where.term_types
            ]
        case "by_semester":
            assert where.semester_id is not None
            belongs = {"semester_id": where.semester_id}
            params = spec.params | _of_semester(where)
            return [Unit(spec.path, params, known=_of_key(spec, **belongs), belongs=belongs)]
        case "members":
            return await _member_units(client, spec, where, tally)
        case "by_item":
            return _one_each(spec, where.parents, "item_id")
        case "by_class_batch":
            return [class_batch(spec, batch) for batch in id_batches(where.parents)]
        case "by_class":
            return _one_each(spec, where.parents, "class_id")
        case "by_student":
            return _one_each(spec, where.parents, "student_id")
        case "by_role":
            # All but guardians come unasked.
            guardians = Unit(spec.path, spec.params | {"role": str(GUARDIAN)}, belongs={"role": GUARDIAN})
            return [Unit(spec.path, spec.params), guardians]
        case "by_device":
            return _bound(spec, where.devices, "device_id")
        case "by_card":
            return _bound(spec, where.cards, "card_id")
        case "by_app":
            return [Unit(spec.path, spec.params | {"client_id": client.config.client_id})]
        case "by_session":
            raise ValueError(f"{spec.name} is read by campus.attendance")


def _of_key(spec: ResourceSpec, **known: int | None) -> dict[str, int | str]:
    """What the question knows of a key that the rows leave out."""
    return {name: value for name, value in known.items() if name in spec.primary_key and value is not None}


def _bound(spec: ResourceSpec, ids: Iterable[str], column: str) -> list[Unit]:
    """A question for each device or card; one that is unbound (404) has a row that says so."""
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


def _one_each(spec: ResourceSpec, ids: Iterable[int], column: str) -> list[Unit]:
    """A question for each id in the path; it fixes `column`, and an id without rows is a normal answer."""
    return [
        Unit(spec.path.format(id=one), spec.params, ids=(one,), known={column: one}, may_be_absent=True)
        for one in ids
    ]


def _of_semester(where: Where) -> dict[str, str]:
    return {"semester_id": str(where.semester_id)}


async def _member_units(client: Client, spec: ResourceSpec, where: Where, tally: Tally) -> list[Unit]:
    """The whole semester where members carry their class id, else class by class.

    Whether they do is not specified, so one row is looked at first. Class by class is of no use where the
    platform ignores the filter: each class would have the members of all."""
    whole = Unit(spec.path, spec.params | _of_semester(where))
    first = await _first_row(client, spec, where, whole.params, tally)
    if not (first.rows or first.bad) or _has(first, "class_id"):
        return [whole]
    try:
        nobody = await _first_row(client, spec, where, {**whole.params, "class_id_in": str(NO_CLASS)}, tally)
    except (NotFound, Refused):
        nobody = None
    if nobody and (nobody.rows or nobody.bad):
        raise UnexpectedAnswer(
            f"{spec.path}: members come without class_id, and class_id_in is ignored: whose are they?",
            "Ask the platform's operator for one of the two.",
        )
    return [
        replace(
            whole,
            params={**whole.params, "class_id_in": str(class_id)},
            ids=(class_id,),
            known={"class_id": class_id},
            may_be_absent=True,
        )
        for class_id in where.parents
    ]


async def _first_row(
    client: Client, spec: ResourceSpec, where: Where, params: Mapping[str, str], tally: Tally
) -> Page[Contract]:
    answer = await client.get(
        spec.path,
        {**params, "with_trashed": "1", "page": "1", "per_page": "1"},
        school_id=where.school_id,
        scope=spec.scopes,
        parse=lambda body: decode_page(body, spec.contract, spec.primary_key),
        tally=tally,
    )
    return answer.value


def _has(page: Page[Contract], name: str) -> bool:
    """Whether rows were sent with this field, and not only with null in it."""
    return name in page.sent and all(getattr(row, name) is not None for row in page.rows)


def id_batches(ids: Iterable[int], max_length: int = MAX_IDS_LENGTH) -> list[tuple[int, ...]]:
    """Split ids so that each batch, comma-separated and URL-encoded, stays within `max_length` characters."""
    batches: list[tuple[int, ...]] = []
    batch: list[int] = []
    length = 0
    for one in ids:
        cost = len(str(one)) + len("%2C")
        if batch and length + cost > max_length:
            batches.append(tuple(batch))
            batch, length = [], 0
        batch.append(one)
        length += cost
    return [*batches, tuple(batch)] if batch else batches


def class_batch(spec: ResourceSpec, class_ids: tuple[int | str, ...]) -> Unit:
    """One question for several classes."""
    ids = ",".join(str(one) for one in class_ids)
    return Unit(spec.path, {**spec.params, "class_ids": ids}, class_ids, may_be_absent=len(class_ids) == 1)
