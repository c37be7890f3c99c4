"""Derives the names of a report's tables from its name or id. Settings import it, so it loads quickly."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable

from campus.decoding.inferred_contract import cut, safe_name
from warehouse.identifiers import folded


def sharing_stem(reports: Iterable[str]) -> list[list[str]]:
    """Groups of reports whose tables would have the same name."""
    by_stem: dict[str, list[str]] = defaultdict(list)
    for report in dict.fromkeys(reports):
        by_stem[folded(table_stem(report))].append(report)
    return [group for group in by_stem.values() if len(group) > 1]


def table_stem(report: str) -> str:
    """The beginning of the names of a report's tables. An id stays as it is. A name that is too long for a
    folder is cut, and its hash makes it unique."""
    name = report if report.isdecimal() else safe_name(report)
    short = cut(name)
    return name if short == name else f"{short}_{hashlib.sha256(report.encode()).hexdigest()[:6]}"
