"""The warehouse's clock at another day."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any
from unittest.mock import patch

from warehouse.load.logs import load_log


@contextmanager
def clock_at(day: date) -> Iterator[None]:
    """Let the warehouse's clock start at two o'clock of this day."""
    ahead = datetime(day.year, day.month, day.day, 2) - load_log.now()

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + ahead

    with patch.object(load_log, "datetime", Clock):
        yield
