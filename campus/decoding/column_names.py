"""Names in any script, made into names of columns and tables that need no quoting."""

import re
from collections.abc import Collection, Iterable
from itertools import chain, count
from urllib.parse import quote

# Columns of the lake's own, which no field may take.
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
# Bytes of a table's name where it is part of a folder's, percent-encoded: a folder's may have 255.
_LONGEST = 200
# Python's own attributes, which no struct may redefine.
_DUNDER = re.compile(r"__.*__")


def safe_name(text: str) -> str:
    """The text with every run of what belongs in no identifier of any script made one `_`; ASCII identifiers
    stay what they are."""
    kept = "".join(letter if f"_{letter}".isidentifier() else "\0" for letter in text)
    name = re.sub("\0+", "_", kept) or "_"
    return name if name.isidentifier() else f"_{name}"


def safe_names(texts: Iterable[str], taken: Collection[str] = RESERVED) -> list[str]:
    """A safe name for each text, in order. One that differs from an earlier or a taken one in nothing but
    the case of its letters gets `_2`, `_3` …"""
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
    """A safe name for the table of each dataset, in order, cut where no folder could bear it."""
    return safe_names([cut(safe_name(text)) for text in texts], taken)


def cut(name: str) -> str:
    """The name, or as much of it as a folder can bear."""
    while len(quote(name, safe="")) > _LONGEST:
        name = name[:-1]
    return name
