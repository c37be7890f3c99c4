"""Base data, assessments and grades: semesters through grades."""

from functools import partial
from itertools import pairwise

from assets.shared.partitions import SCHOOL_SEMESTERS
from assets.shared.resource_assets import load_resources, resource_assets
from campus.registry import BASE_DATA

#: The order that the interface recommends. Resources of a group do not depend on each other.
ORDER = (
    ("semesters",),
    ("terms",),
    ("structures",),
    ("reflections", "students", "teachers"),
    ("admin_classes",),
    ("classes",),
    ("class_members",),
    ("assessments",),
    ("assessment_items",),
    ("scores",),
    ("grades",),
)
AFTER = {name: previous for previous, group in pairwise(ORDER) for name in group}

load_base_data = partial(load_resources, BASE_DATA)
base_data = resource_assets(
    "load_base_data", "base_data", BASE_DATA, SCHOOL_SEMESTERS, load_base_data, after=AFTER
)
