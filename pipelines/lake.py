"""Where the lake is: the one place that makes it of the settings."""

from __future__ import annotations

from pipelines.settings import Settings
from warehouse.lake.delta import Lake


def lake_of(settings: Settings) -> Lake:
    """The lake that the settings name. Nothing is read or made yet."""
    return Lake(str(settings.lake_root))
