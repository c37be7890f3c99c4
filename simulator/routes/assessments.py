"""The /api/v3 class assessments: the assessment of a class, the scores of an item, the grades of classes."""

from functools import partial

from simulator.http import Problem, Request, Response, json_response, parse_integer, parse_integers
from simulator.listing import Listing, answer, bounded, disturb, equal, flagged, one_of, updated_since
from simulator.platform import Platform
from simulator.routing import Route
from simulator.rows import Row, class_of, school_of, semester_of

SCOPES = ("class.read",)


def assessment(platform: Platform, request: Request) -> Response:
    """The assessment of a course class; what a class without one gets is a reading."""
    class_id = parse_integer("id", request.params["id"])
    if _live_class(platform, request.school_id, class_id) is None:
        raise Problem(404, f"school {request.school_id} has no class {class_id}")
    rows = [row for row in platform.store.rows("assessments", class_id) if row.deleted_at is None]
    if rows:
        return json_response(platform.wire.rows("assessments", rows[:1], request.names("expand"))[0])
    if platform.readings.missing_assessment == "404":
        raise Problem(404, f"class {class_id} has no assessment")
    return json_response(None if platform.readings.missing_assessment == "null" else {})


def _live_class(platform: Platform, school_id: int, class_id: int) -> Row | None:
    if school_of(semester_of(class_id)) != school_id:
        return None
    row = platform.store.find("classes", class_id)
    return row if row and row.deleted_at is None else None


def item(platform: Platform, request: Request) -> list[int]:
    """The item whose scores are asked for; 404 for one that is not of this school."""
    item_id = parse_integer("id", request.params["id"])
    found = None
    if _live_class(platform, request.school_id, class_of(item_id)):
        found = platform.store.find("assessment_items", item_id)
    if found is None or found.deleted_at is not None:
        raise Problem(404, f"school {request.school_id} has no assessment item {item_id}")
    return [item_id]


def classes_of_grades(platform: Platform, request: Request) -> list[int]:
    """The classes whose grades are asked for; unknown ones are a 404 or without grades, by the reading."""
    if not request.query.get("class_ids"):
        raise Problem(422, "class_ids is required")
    wanted = list(dict.fromkeys(parse_integers("class_ids", request.query["class_ids"])))
    known = [i for i in wanted if _live_class(platform, request.school_id, i)]
    if len(known) < len(wanted) and platform.readings.unknown_ids == "404":
        unknown = next(i for i in wanted if i not in known)
        raise Problem(404, f"school {request.school_id} has no class {unknown}")
    return known


SCORES = Listing(
    "scores",
    item,
    {
        "owner_id_in": one_of("owner_id", number=True),
        "type": equal("type"),
        "valid": flagged("valid"),
        "tag": equal("tag"),
        "tag_in": one_of("tag"),
        "score_egt": bounded("score", least=True),
        "score_elt": bounded("score", least=False),
    },
    expandable=True,
)
GRADES = Listing("grades", classes_of_grades, {"updated_at_egt": updated_since})

ROUTES = (
    Route("GET", "/api/v3/class-assessment/classes/{id}/assessment", assessment, scopes=SCOPES),
    Route(
        "GET",
        "/api/v3/class-assessment/items/{id}/scores",
        partial(answer, SCORES),
        scopes=SCOPES,
        disturb=partial(disturb, SCORES),
    ),
    Route(
        "GET",
        "/api/v3/class-assessment/class/grades",
        partial(answer, GRADES),
        scopes=SCOPES,
        disturb=partial(disturb, GRADES),
    ),
)
