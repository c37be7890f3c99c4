"""Finds the resources that a push is about. The interface does not specify the platform's names for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from campus.registry import BASE_DATA

#: The resources that pushes can name.
PUSHABLE = tuple(spec.name for spec in BASE_DATA)

# A person is in the list of all users and in that of their role.
PEOPLE = ("reflections", "students", "teachers")
#: The platform's likely words for resources, besides the names and paths in the registry.
LIKELY: Mapping[Sequence[str], tuple[str, ...]] = {
    ("semester",): ("semesters",),
    ("term", "term/terms"): ("terms",),
    ("structure",): ("structures",),
    ("user", "users", "reflection", "reflections", "reflection/reflections"): PEOPLE,
    ("student", "students", "reflection/students"): PEOPLE,
    ("teacher", "teachers", "reflection/teachers"): PEOPLE,
    ("admin_class",): ("admin_classes",),
    ("class", "klass", "klasses", "course_class"): ("classes",),
    ("class_member", "class_selection", "class_selections"): ("class_members",),
    ("assessment", "class_assessment", "class_assessment/assessment"): ("assessments",),
    ("item", "items", "assessment_item", "class_assessment/items"): ("assessment_items",),
    ("score", "item_score", "class_assessment/scores"): ("scores",),
    ("grade", "class_assessment/grades"): ("grades",),
}


def _normal(name: str) -> str:
    return name.lower().replace("-", "_").removeprefix("api/v3/")


_OWN = {
    _normal(name): (spec.name,)
    for spec in BASE_DATA
    for name in (spec.name, spec.path[1:])
    if "{" not in name
}
_BY_NAME = _OWN | {name: resources for names, resources in LIKELY.items() for name in names}


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
    return _BY_NAME.get(_normal(name))
