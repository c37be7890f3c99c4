"""What the names of a report's tables begin with."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable

from campus.decoding.column_names import cut, safe_name
from warehouse.identifiers import folded


def sharing(reports: Iterable[str]) -> list[list[str]]:
    """The reports whose tables would have one name, together."""
    by_stem: dict[str, list[str]] = defaultdict(list)
    for report in dict.fromkeys(reports):
        by_stem[folded(stem_of(report))].append(report)
    return [alike for alike in by_stem.values() if len(alike) > 1]


def stem_of(report: str) -> str:
    """What the names of a report's tables begin with. An id stays what it is; a name that no folder could
    bear is cut, and told from others by its hash."""
    name = report if report.isdecimal() else safe_name(report)
    short = cut(name)
    return name if short == name else f"{short}_{hashlib.sha256(report.encode()).hexdigest()[:6]}"
