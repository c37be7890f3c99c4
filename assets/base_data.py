"""Base data, assessments and grades: semesters through grades."""

from assets.partitions import SCHOOL_SEMESTERS
from assets.resource_assets import resource_assets
from campus.registry import BASE_DATA

GROUP = "base_data"

base_data = resource_assets("load_base_data", GROUP, BASE_DATA, SCHOOL_SEMESTERS)
