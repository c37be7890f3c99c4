"""Base data, assessments and grades: semesters through grades."""

from functools import partial
from itertools import pairwise

from assets.partitions import SCHOOL_SEMESTERS
from assets.resource_assets import load_resources, resource_assets
from campus.registry import BASE_DATA

#: The order that the interface recommends; what stands together may be read side by side.
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
AFTER = {name: before for before, names in pairwise(ORDER) for name in names}

load_base_data = partial(load_resources, BASE_DATA)
base_data = resource_assets(
    "load_base_data", "base_data", BASE_DATA, SCHOOL_SEMESTERS, load_base_data, after=AFTER
)
