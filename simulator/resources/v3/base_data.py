"""The base data of a school: semesters, terms, structures and people."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from simulator.http.filters import Filter, equal, is_empty, is_id, like, one_of, updated_since
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.messages import Problem, Request
from simulator.school.rows import KEYS, Row, Values
from simulator.store.store import Collection, Store
from simulator.wire.wire import Form, Shaper, Wire


def of_school(resource: str) -> Callable[[Store, int], list[Row]]:
    """The generated rows of a school."""
    return lambda store, school_id: store.seed.school(school_id).rows[resource]


def is_archived(row: Row) -> bool:
    """Whether a row has the status archived."""
    return row.values.get("status") == "archived"


def term(wire: Wire, key: object) -> Values | None:
    """A term in expanded relations."""
    row = wire.store.find("terms", key) if isinstance(key, int) else None
    return {name: row.values[name] for name in ("id", "name", "label", "type")} if row else None


def of_type(platform: Platform, request: Request) -> Request:
    """The request with the term type of its path. The reading decides about unknown types."""
    type_ = request.params["type"]
    exists = any(row.values["type"] == type_ for row in platform.store.rows("terms", request.school_id))
    if not exists and platform.readings.unknown_ids == "404":
        raise Problem(404, f"no such term type: {type_}")
    return replace(request, query={**request.query, "type": type_})


def _term_shapers(wire: Wire) -> Iterable[Shaper]:
    if wire.readings.term_types == "bare":
        yield _bare_type


def _bare_type(_: Row, values: Values) -> None:
    if isinstance(values["type"], str):
        values["type"] = values["type"].rpartition(".")[2]


def _structure_shapers(wire: Wire) -> Iterable[Shaper]:
    if wire.readings.structure_parent_id == "absent":
        yield lambda _, values: values.pop("parent_id", None)


def _new_person(_: Store, _school_id: int, key: int) -> Values:
    return {"usin": f"N{key}", "outer_id": None}


PEOPLE_FILTERS: dict[str, Filter] = {
    "id_in": is_id,
    "name_in": one_of("name"),
    "name_like": like("name"),
    "updated_at_egt": updated_since,
}
OF_STRUCTURES = {"structure_ids": "structures"}

RESOURCES = (
    Resource(
        "semesters",
        Collection(KEYS["semesters"], of_school("semesters")),
        Form(
            expand={
                "academic_year": lambda wire, row: term(wire, row.values["academic_year_id"]),
                "category": lambda wire, row: term(wire, row.values["category_id"]),
            }
        ),
        Listing(
            "/api/v3/system/semesters",
            scopes=("semester.read",),
            filters={"id_in": is_id},
            expandable=True,
            relations=frozenset({"academic_year", "category"}),
        ),
    ),
    Resource(
        "terms",
        Collection(KEYS["terms"], of_school("terms")),
        Form(shapers=_term_shapers),
        Listing(
            "/api/v3/term/{type}/terms",
            scopes=("term.read",),
            filters={
                "name": equal("name"),
                "parent_id": equal("parent_id", number=True),
                "archived_at_is_empty": is_empty("archived_at"),
                "type": equal("type"),
            },
            understood=of_type,
            sortable=True,
            paged=lambda readings: readings.terms == "paged",
            archived=lambda row: row.values.get("archived_at") is not None,
        ),
    ),
    Resource(
        "structures",
        Collection(KEYS["structures"], of_school("structures")),
        Form(enum="status", shapers=_structure_shapers),
        Listing(
            "/api/v3/structure/structures",
            scopes=("structure.read",),
            filters={
                "type": equal("type"),
                "status": equal("status"),
                "parent_id": equal("parent_id", number=True),
            },
            expandable=True,
            sortable=True,
            selectable=True,
            archived=is_archived,
        ),
    ),
    Resource(
        "reflections",
        Collection(KEYS["reflections"], of_school("reflections"), identity=_new_person),
        Form(enum="status", id_lists=OF_STRUCTURES),
        Listing(
            "/api/v3/reflection/reflections",
            scopes=("reflection.read_all", "reflection.read_basic"),
            filters={"role": equal("role"), "updated_at_egt": updated_since},
            with_trashed=True,
            expandable=True,
            people=True,
        ),
    ),
    Resource(
        "students",
        Collection(KEYS["students"], of_school("students"), identity=_new_person),
        Form(enum="status", id_lists=OF_STRUCTURES, deleted_at=True),
        Listing(
            "/api/v3/reflection/students",
            scopes=("student.read_all", "student.read_basic"),
            filters={**PEOPLE_FILTERS, "keyword_identity": like("name", "usin", "outer_id")},
            with_trashed=True,
            expandable=True,
            people=True,
        ),
    ),
    Resource(
        "teachers",
        Collection(KEYS["teachers"], of_school("teachers"), identity=_new_person),
        Form(enum="status", id_lists=OF_STRUCTURES, deleted_at=True),
        Listing(
            "/api/v3/reflection/teachers",
            scopes=("teacher.read_all", "teacher.read_basic"),
            filters=PEOPLE_FILTERS,
            with_trashed=True,
            expandable=True,
            people=True,
        ),
    ),
)
