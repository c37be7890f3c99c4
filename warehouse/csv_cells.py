"""Text in CSV that no spreadsheet program takes for a formula."""

from typing import Any

#: What a text must not begin with, also in full width: a program would run what follows.
FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", "'")


def safe_cell(value: Any) -> Any:
    """A value as a cell of CSV: text that begins like a formula gets a ' before it, as OWASP advises. Take
    away one ' at the beginning, and you have the value. Numbers, dates and flags are as they are."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
