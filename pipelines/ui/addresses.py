"""Where the UI listens, and the names that browsers may use for it."""

from collections.abc import Iterable

#: The names of this machine for its own browser.
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def allowed_hosts(host: str, further: Iterable[str]) -> list[str]:
    """The names that a request may have in its Host header. `host`: where the UI listens; `further`: names
    that the settings add."""
    own = [] if is_wildcard(host) else [f"[{host}]" if ":" in host else host]
    return [*LOOPBACK_NAMES, *further, *own]


def is_wildcard(host: str) -> bool:
    """Whether a host stands for all addresses of the machine."""
    return host in ("", "0.0.0.0", "::")
