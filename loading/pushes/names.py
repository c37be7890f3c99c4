"""Finds the resources that a push is about. The interface does not specify the platform's names for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from campus.registry import BASE_DATA

#: The resources that pushes can name.
PUSHABLE = tuple(spec.name for spec in BASE_DATA)

# A person is in the list of all users and in that of their role.
PEOPLE = ("reflections", "students", "teachers")
#: The likely names: the project's, the platform's words for the resource, and the ends of its paths.
LIKELY: Mapping[Sequence[str], tuple[str, ...]] = {
    ("semester", "semesters", "system/semesters"): ("semesters",),
    ("term", "terms", "term/terms"): ("terms",),
    ("structure", "structures", "structure/structures"): ("structures",),
    ("user", "users", "reflection", "reflections", "reflection/reflections"): PEOPLE,
    ("student", "students", "reflection/students"): PEOPLE,
    ("teacher", "teachers", "reflection/teachers"): PEOPLE,
    ("admin_class", "admin_classes", "admin_class/admin_classes"): ("admin_classes",),
    ("class", "classes", "klass", "klasses", "course_class", "klass/classes"): ("classes",),
    ("class_member", "class_members", "class_selection", "class_selections", "klass/class_selections"): (
        "class_members",
    ),
    ("assessment", "assessments", "class_assessment", "class_assessment/assessment"): ("assessments",),
    ("item", "items", "assessment_item", "assessment_items", "class_assessment/items"): ("assessment_items",),
    ("score", "scores", "item_score", "class_assessment/scores"): ("scores",),
    ("grade", "grades", "class_assessment/grades"): ("grades",),
}
_BY_NAME = {name: ours for names, ours in LIKELY.items() for name in names}


@dataclass(frozen=True)
class PushSettings:
    """How pushes are read."""

    #: Resources by the platform's name, as campus.yaml has them.
    resources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Seconds between two readings of a whole slice.
    slice_pause: float = 600


def resources_named(name: str, configured: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The resources that a push's `resource` is about. None: unknown.

    Args:
        configured: As `PushSettings.resources`."""
    if name in configured:
        return configured[name]
    return _BY_NAME.get(name.lower().replace("-", "_").removeprefix("api/v3/"))
