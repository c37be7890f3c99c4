"""What every handler works with."""

from functools import lru_cache

from simulator.access import Tokens
from simulator.datasets.registry import Datasets
from simulator.datasets.rendering import Rendering
from simulator.reports.registry import Reports
from simulator.settings import Settings
from simulator.store import Store
from simulator.wire import Wire


class Platform:
    """One running platform: its settings, rows and tokens."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.readings = settings.readings
        self.store = Store(settings.size, settings.readings)
        self.tokens = Tokens(settings, self.store.school_ids)
        self.wire = Wire(self.store, settings.readings)
        self.datasets = Datasets(self.store)
        self.reports = Reports(self.store)
        self.rendering = lru_cache(maxsize=16)(
            lambda described, names: Rendering(described, names, settings.readings)
        )
