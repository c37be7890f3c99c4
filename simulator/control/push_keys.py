"""The school, the resource type and the row keys of a change, as a push names them."""

from typing import Any

from simulator.datasets.registry import ROWS as DATASET_ROWS
from simulator.http.platform import Platform
from simulator.resources import RESOURCES
from simulator.resources.tables import registries
from simulator.school.rows import Values, class_of, class_of_session, school_of, semester_of
from simulator.store.store import Collection


def pushed_keys(platform: Platform, resource: str, entry: Values) -> tuple[int, str, list[Any]]:
    """School, resource type and keys of a row that a control request changed."""
    if registries.has_registry(resource):
        return entry["parent"], resource.removeprefix(DATASET_ROWS), [entry["key"]]
    source = platform.store.sources[resource]
    key = entry["key"]
    if isinstance(source, Collection) and not source.sends_id:
        parts = {name: entry["row"][name] for name in ("type", "reflection_id") if name in entry["row"]}
        key = {f"{source.keys.parent}_id": entry["parent"]} | parts
    return _school(source.keys.parent, entry["parent"], entry["key"]), _type(platform, resource), [key]


def _school(kind: str, parent: int, key: int) -> int:
    """The school of a row, by the kind of its parent."""
    if kind in ("item", "session"):
        kind, parent = "class", class_of(parent) if kind == "item" else class_of_session(parent)
    if kind == "class":
        kind, parent = "semester", semester_of(parent)
    if kind == "semester":
        return school_of(parent)
    return parent if kind == "school" else key


def _type(platform: Platform, resource: str) -> str:
    """The resource type: the resource's name, or the area and the end of its path."""
    listing = RESOURCES[resource].listing
    if platform.readings.push_names == "names" or listing is None:
        return resource
    _, _, _, area, *_, last = listing.path.split("/")
    return f"{area}/{last}"
