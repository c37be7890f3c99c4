"""Base data, assessments and grades: semesters through grades."""

from functools import partial

from assets.partitions import SCHOOL_SEMESTERS
from assets.resource_assets import load_resources, resource_assets
from campus.registry import BASE_DATA

GROUP = "base_data"

load_base_data = partial(load_resources, BASE_DATA)
base_data = resource_assets("load_base_data", GROUP, BASE_DATA, SCHOOL_SEMESTERS, load_base_data)
