"""The host names that browsers may use for the UI."""

from collections.abc import Iterable

#: The names of this machine for a browser on the machine.
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def allowed_hosts(host: str, further: Iterable[str]) -> list[str]:
    """The allowed names in a Host header. `host`: where the UI listens; `further`: names in the settings."""
    listening = [] if is_wildcard(host) else [f"[{host}]" if ":" in host else host]
    return [*LOOPBACK_NAMES, *further, *listening]


def is_wildcard(host: str) -> bool:
    """Whether a host means all addresses of the machine."""
    return host in ("", "0.0.0.0", "::")
