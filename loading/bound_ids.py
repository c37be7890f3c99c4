"""The cards and devices that writes have bound. The platform cannot list either."""

from campus.writes.operations import BIND_CARD, BIND_DEVICE, UNBIND_CARD, UNBIND_DEVICE, Operation
from warehouse.lake.delta import Lake
from warehouse.lake.log_tables import WRITES

#: How each resource is bound and unbound.
OPERATIONS: dict[str, tuple[Operation, Operation]] = {
    "cards": (BIND_CARD, UNBIND_CARD),
    "devices": (BIND_DEVICE, UNBIND_DEVICE),
}


def bound_ids(lake: Lake, resource: str, school_id: int) -> list[str]:
    """The cards or devices of a school that were bound last, and not unbound since, by the record of writes.

    Args:
        resource: cards or devices."""
    if not lake.holds(WRITES):
        return []
    bind, unbind = (operation.name for operation in OPERATIONS[resource])
    columns = ["_school_id", "operation", "target", "outcome", "asked_at"]
    rows = lake.read(WRITES, columns=columns).sort_by("asked_at").to_pylist()
    last = {
        row["target"]: row["operation"]
        for row in rows
        if row["_school_id"] == school_id
        and row["operation"] in (bind, unbind)
        and row["outcome"] in ("done", "found")
    }
    return [id for id, operation in last.items() if operation == bind]
