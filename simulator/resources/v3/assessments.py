"""The assessment of a class with its items, the scores of an item, and the grades of classes."""

from typing import Any

from simulator.http.filters import bounded, equal, flagged, one_of, updated_since
from simulator.http.platform import Platform
from simulator.http.resource import Listing, Resource
from simulator.http.routing import Route
from simulator.messages import Problem, Request, Response, json_response, parse_integer, parse_integers
from simulator.school.rows import KEYS, Row, Values, class_of, school_of, semester_of
from simulator.store.store import Collection
from simulator.wire.wire import Form, Wire

SCOPES = ("class.read",)


def assessment(platform: Platform, request: Request) -> Response:
    """The assessment of a course class. The reading decides the answer for a class without assessment."""
    class_id = parse_integer("id", request.params["id"])
    if _live_class(platform, request.school_id, class_id) is None:
        raise Problem(404, f"school {request.school_id} has no class {class_id}")
    rows = [row for row in platform.store.rows("assessments", class_id) if row.deleted_at is None]
    shown = platform.wire.rows("assessments", rows[:1], request.names("expand"))
    if platform.readings.missing_assessment == "list":
        return json_response(shown)
    if shown:
        return json_response(shown[0])
    if platform.readings.missing_assessment == "404":
        raise Problem(404, f"class {class_id} has no assessment")
    return json_response(None if platform.readings.missing_assessment == "null" else {})


def _live_class(platform: Platform, school_id: int, class_id: int) -> Row | None:
    if school_of(semester_of(class_id)) != school_id:
        return None
    row = platform.store.find("classes", class_id)
    return row if row and row.deleted_at is None else None


def item(platform: Platform, request: Request) -> list[int]:
    """The item of the request; 404 for an item of another school."""
    item_id = parse_integer("id", request.params["id"])
    row = None
    if _live_class(platform, request.school_id, class_of(item_id)):
        row = platform.store.find("assessment_items", item_id)
    if row is None or row.deleted_at is not None:
        raise Problem(404, f"school {request.school_id} has no assessment item {item_id}")
    return [item_id]


def classes_of_grades(platform: Platform, request: Request) -> list[int]:
    """The classes of the request. The reading decides about unknown classes."""
    if not request.query.get("class_ids"):
        raise Problem(422, "class_ids is required")
    wanted = list(dict.fromkeys(parse_integers("class_ids", request.query["class_ids"])))
    existing = [i for i in wanted if _live_class(platform, request.school_id, i)]
    if len(existing) < len(wanted) and platform.readings.unknown_ids == "404":
        unknown = next(i for i in wanted if i not in existing)
        raise Problem(404, f"school {request.school_id} has no class {unknown}")
    return existing


def _items(wire: Wire, assessment: Row) -> list[Values]:
    """The items of an assessment, in the order of the tree."""
    rows = wire.store.rows("assessment_items", KEYS["assessments"].parent_of(assessment.key))
    items = wire.rows("assessment_items", (row for row in rows if row.deleted_at is None))
    return _nested(items) if wire.readings.items == "nested" else items


def _nested(items: list[Values]) -> list[Values]:
    """Items nested in their parents. Items with a missing parent are at the top."""
    nested: dict[Any, Values] = {item["id"]: {**item, "children": []} for item in items}
    for item in nested.values():
        if item.get("pid") in nested:
            nested[item["pid"]]["children"].append(item)
    return [item for item in nested.values() if item.get("pid") not in nested]


RESOURCES = (
    Resource(
        "assessments",
        Collection(
            KEYS["assessments"],
            lambda store, class_id: store.seed.assessment(class_id).rows,
            hidden_with_class=True,
        ),
        Form(decimals=("full_score",), enum="status", expand={"items": _items}),
        routes=(
            Route(
                "GET",
                "/api/v3/class-assessment/classes/{id}/assessment",
                assessment,
                scopes=SCOPES,
                parameters=frozenset({"expand"}),
                relations=frozenset({"items"}),
            ),
        ),
    ),
    Resource(
        "assessment_items",
        Collection(
            KEYS["assessment_items"],
            lambda store, class_id: store.seed.assessment(class_id).items,
            hidden_with_class=True,
        ),
        Form(decimals=("full_score", "initial_score"), enum="scoring_type"),
    ),
    Resource(
        "scores",
        Collection(KEYS["scores"], lambda store, item_id: store.seed.scores(item_id), hidden_with_class=True),
        Form(decimals=("score", "gained_score"), enum="status"),
        Listing(
            "/api/v3/class-assessment/items/{id}/scores",
            scopes=SCOPES,
            parents=item,
            filters={
                "owner_id_in": one_of("owner_id", number=True),
                "type": equal("type"),
                "valid": flagged("valid"),
                "tag": equal("tag"),
                "tag_in": one_of("tag"),
                "score_egt": bounded("score", least=True),
                "score_elt": bounded("score", least=False),
            },
            expandable=True,
        ),
    ),
    Resource(
        "grades",
        Collection(
            KEYS["grades"], lambda store, class_id: store.seed.grades(class_id), hidden_with_class=True
        ),
        Form(
            decimals=(
                *("full_score", "score", "real_score", "suggest_score", "gained_score"),
                *("gained_score_rate", "credit", "gpa"),
            ),
            enum="pass_status",
        ),
        Listing(
            "/api/v3/class-assessment/class/grades",
            scopes=SCOPES,
            parents=classes_of_grades,
            chosen_by=("class_ids",),
            filters={"updated_at_egt": updated_since},
        ),
    ),
)
