"""All application transactions at once are what deltalake looks up one at a time."""

import pytest

from tests.kits.lake.small_lake import MARKS, SLICE, lake_at, row, sync
from warehouse.lake.delta import Lake
from warehouse.lake.logs.tables import CHANGES
from warehouse.lake.tables import Slice

OTHER = Slice.of(_school_id=102, _semester_id=20)


@pytest.mark.parametrize("nights", [0, 1, 12], ids=["new", "before a checkpoint", "after one"])
def test_all_transactions_are_read_at_once(lake: Lake, nights: int) -> None:
    for number in range(nights):
        sync(lake, number, [row(1, number)])
    if nights:
        sync(lake, nights, [row(2, 0)], slice=OTHER)
    for table in (MARKS, CHANGES):
        opened, transactions = lake.open(table), lake_at(lake.root).table_state(table).transactions
        assert transactions == {name: opened.transaction_version(name) for name in transactions}
    assert lake.table_state(MARKS).transactions.get(SLICE.counter) == (nights or None)
    assert lake.table_state(MARKS).transactions.get(OTHER.counter) == (1 if nights else None)
    assert ("marks/" + SLICE.counter in lake.table_state(CHANGES).transactions) == bool(nights)
