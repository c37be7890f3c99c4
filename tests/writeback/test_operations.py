"""The operations of writing back agree with what the lake reads of their record."""

from warehouse.load.logs.write_log import BINDING_OPERATIONS
from writeback.bindings import KINDS


def test_lake_knows_the_binding_operations_by_name() -> None:
    names = {kind.resource: (kind.bind.name, kind.unbind.name) for kind in KINDS.values()}
    assert names == BINDING_OPERATIONS
