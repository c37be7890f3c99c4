"""The request log, for tests that count requests."""

import msgspec

from simulator.messages import Request


class LogEntry(msgspec.Struct):
    """A request and its answer. `fault`: the kind of the injected fault."""

    method: str
    path: str
    query: dict[str, str]
    school: str
    status: int
    fault: str | None


class Log:
    """The requests so far, unless logging is off."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._entries: list[LogEntry] = []

    def add(self, request: Request, status: int, fault: str | None) -> None:
        """Add an answered request."""
        if self._enabled:
            school = request.headers.get(b"x-school-id", b"").decode("latin-1")
            self._entries.append(
                LogEntry(request.method, request.path, dict(request.query), school, status, fault)
            )

    def entries(self) -> list[LogEntry]:
        """All requests since the start or the last `clear`, in order."""
        return self._entries

    def clear(self) -> list[LogEntry]:
        """Delete all entries."""
        self._entries = []
        return self._entries
