from pathlib import Path

import pytest
from lake_kit import MARKS

from warehouse.lake.delta import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake, at a path that quoting would break."""
    made = Lake(str(tmp_path / "la ke 100%"))
    made.ensure([MARKS])
    return made
