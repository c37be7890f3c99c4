"""Assets of the v1 interface, except attendance."""

from functools import partial

from assets.shared.partitions import V1_SEMESTERS
from assets.shared.resource_assets import load_resources, resource_assets
from campus.registry import V1_DATA

load_v1_data = partial(load_resources, V1_DATA)
v1_data = resource_assets("load_v1_data", "v1", V1_DATA, V1_SEMESTERS, load_v1_data)
