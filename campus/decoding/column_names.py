"""Makes names of columns and tables that need no quoting, from names in any script."""

import re
from collections.abc import Collection, Iterable
from itertools import chain, count
from urllib.parse import quote

# The lake's own columns: no field may have one of these names.
RESERVED = frozenset(
    {
        "_school_id",
        "_synced_at",
        "_deleted_at",
        "_extra",
        "_segment",
        "_trashed",
        "_trashed_at",
        "_row",
        "_row_number",
        "_params",
        "_partition",
    }
)
# Bytes of a table's name, percent-encoded. A folder's name may have 255, and the table's is a part of it.
_MAX_LENGTH = 200
# Python's own attributes: a struct cannot redefine them.
_DUNDER = re.compile(r"__.*__")


def safe_name(text: str) -> str:
    """Replace each run of letters that no identifier may have with one `_`. An ASCII identifier stays."""
    letters = "".join(letter if f"_{letter}".isidentifier() else "\0" for letter in text)
    name = re.sub("\0+", "_", letters) or "_"
    return name if name.isidentifier() else f"_{name}"


def safe_names(texts: Iterable[str], taken: Collection[str] = RESERVED) -> list[str]:
    """A safe name for each text, in order. A name that equals an earlier or a taken name, in any case of its
    letters, gets `_2`, `_3` …"""
    used = {name.casefold() for name in taken}
    names = []
    for text in texts:
        base = safe_name(text)
        candidates = chain([base], (f"{base}_{number}" for number in count(2)))
        name = next(n for n in candidates if n.casefold() not in used and not _DUNDER.fullmatch(n))
        used.add(name.casefold())
        names.append(name)
    return names


def table_names(texts: Iterable[str], taken: Collection[str]) -> list[str]:
    """A safe name for the table of each dataset, in order, cut to the length of a folder's name."""
    return safe_names([cut(safe_name(text)) for text in texts], taken)


def cut(name: str) -> str:
    """Cut a name to the length that a folder's name allows."""
    while len(quote(name, safe="")) > _MAX_LENGTH:
        name = name[:-1]
    return name
