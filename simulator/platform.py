"""What every handler works with."""

from simulator.access import Tokens
from simulator.settings import Settings
from simulator.store import Store
from simulator.wire import Wire


class Platform:
    """One running platform: its settings, rows and tokens."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.readings = settings.readings
        self.store = Store(settings.size)
        self.tokens = Tokens(settings, self.store.school_ids)
        self.wire = Wire(self.store, settings.readings)
