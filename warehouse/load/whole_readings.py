"""When a slice is read whole again: by the age of its last whole reading, alike for schedules and commands.

Some changes leave no sign that a partial reading could see. So each slice is read whole again after
`incremental.whole_days`."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import TypeVar

from warehouse.lake.delta import Lake
from warehouse.load.logs.writer import standing_rows

Key = TypeVar("Key")


def is_due_whole(whole_at: datetime | None, days: int, at: datetime) -> bool:
    """Whether a load that starts at a moment has to read all of a slice: it was never read whole, or not
    within so many days."""
    return whole_at is None or (at.date() - whole_at.date()).days >= days


def slices_due_whole(lake: Lake, tables: Collection[str], days: int, at: datetime) -> set[str]:
    """The slices (as text) of these tables that a load at a moment has to read whole, and the retired ones,
    which are due if they come back."""
    return {
        row["slice"]
        for row in standing_rows(lake)
        if row["resource"] in tables and (row["retired"] or is_due_whole(row["whole_at"], days, at))
    }


def oldest_due(last_read: Mapping[Key, date], days: int, today: date) -> list[Key]:
    """The keys that a night reads whole, the oldest first: all that are due, and so many others that no later
    night has more than its share of those that were read at least half the days ago.

    Four keys that were read on the same day are read again one a night, four to seven days later."""
    ages = {key: (today - day).days for key, day in last_read.items()}
    # So many nights remain until the keys of an age are due.
    shares = [
        sum(age >= days - nights for age in ages.values()) // (nights + 1) for nights in range(days // 2 + 1)
    ]
    return sorted(ages, key=lambda key: -ages[key])[: max(shares)]
