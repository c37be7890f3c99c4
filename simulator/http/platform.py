"""What every handler works with."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from simulator.datasets.registry import Datasets
from simulator.datasets.rendering import Rendering
from simulator.http.access import Tokens
from simulator.push import Op
from simulator.reports.registry import Reports
from simulator.settings import Settings
from simulator.store.store import Source, Store
from simulator.wire.wire import Form, Wire


def _nobody(_op: Op, _school_id: int, _resource: str, _keys: list[int]) -> None:
    """There is no subscriber."""


class Platform:
    """One running platform: its settings, rows and tokens. Sources and forms are those of its resources, by
    name; `scopes` are all that there are."""

    def __init__(
        self,
        settings: Settings,
        sources: Mapping[str, Source],
        forms: Mapping[str, Form],
        scopes: frozenset[str],
    ) -> None:
        self.settings = settings
        self.readings = settings.readings
        #: Tells subscribers that a write has changed rows: operation, school, resource type and keys.
        self.announce: Callable[[Op, int, str, list[int]], None] = _nobody
        self.store = Store(sources, settings.size, settings.readings)
        self.tokens = Tokens(settings, scopes, self.store.school_ids)
        self.wire = Wire(forms, self.store, settings.readings)
        self.datasets = Datasets(self.store)
        self.reports = Reports(self.store)
        self.rendering = lru_cache(maxsize=16)(
            lambda described, names: Rendering(described, names, settings.readings)
        )
