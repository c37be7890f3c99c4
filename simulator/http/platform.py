"""The state of a running platform, for its handlers."""

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


class Platform:
    """A running platform: its settings, rows and tokens. `sources` and `forms`: by resource; `scopes`: all
    scopes of the platform."""

    def __init__(
        self,
        settings: Settings,
        sources: Mapping[str, Source],
        forms: Mapping[str, Form],
        scopes: frozenset[str],
    ) -> None:
        self.settings = settings
        self.readings = settings.readings
        #: Pushes a change of rows by a write: operation, school, resource type and keys.
        self.announce: Callable[[Op, int, str, list[int]], None] = lambda *_: None
        self.store = Store(sources, settings.size, settings.readings)
        self.tokens = Tokens(settings, scopes, self.store.school_ids)
        self.wire = Wire(forms, self.store, settings.readings)
        self.datasets = Datasets(self.store)
        self.reports = Reports(self.store)
        self.rendering = lru_cache(maxsize=16)(
            lambda described, names: Rendering(described, names, settings.readings)
        )
