"""CSV text that no spreadsheet program runs as a formula."""

import re
from typing import Any

from warehouse.identifiers import literal

#: The signs with which a formula begins, in full width too.
SIGNS = "=+@＝＋－＠-"
#: What programs may drop or split at before they look for a sign: white space, control characters, marks
#: without a width (byte-order mark, direction, joiner), quotation marks, and separators other than the comma.
DROPPED = (
    r"\x00-\x20\x7f-\xa0\xad"
    "\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
    '"|;%'
)
#: Text that a program may run. A sign alone is no formula.
RUNNABLE = f"^[{DROPPED}]*[{SIGNS}]+[^{SIGNS}]"
#: In addition: a sign alone, a first character that programs drop, and ', so that removing one ' is exact.
UNSAFE = f"^([{DROPPED}]*[{SIGNS}]|[\t\r\n'])"


def safe_cell(value: Any) -> Any:
    """Return the value as a CSV cell: text that begins like a formula gets a leading ', as OWASP advises.

    Removing one leading ' gives the value back. Numbers, dates and booleans are unchanged."""
    return f"'{value}" if isinstance(value, str) and re.match(UNSAFE, value) else value


def safe_text(text: str, pattern: str = UNSAFE) -> str:
    """The SQL of `safe_cell` for the SQL of a text. `pattern`: RUNNABLE for a receiver that removes no '."""
    return f"CASE WHEN regexp_matches({text}, {literal(pattern)}) THEN '''' || {text} ELSE {text} END"
