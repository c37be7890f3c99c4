"""CSV text that no spreadsheet program runs as a formula."""

from typing import Any

#: A spreadsheet program may run text that begins with one of these, in full width too.
FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", "'")


def safe_cell(value: Any) -> Any:
    """Return the value as a CSV cell: text that begins like a formula gets a leading ', as OWASP advises.

    Removing one leading ' gives the value back. Numbers, dates and booleans are unchanged."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
