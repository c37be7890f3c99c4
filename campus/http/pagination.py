"""The pagination headers of an answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Pagination:
    """The X-Pagination-* headers of one answer; None: absent or invalid."""

    current_page: int | None = None
    page_count: int | None = None
    per_page: int | None = None
    total_count: int | None = None

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Self | None:
        """The pagination in these headers (names in any case); None where they have none."""
        if "x-pagination-total-count" not in headers and "x-pagination-page-count" not in headers:
            return None
        return cls(
            *(
                _count(headers.get(f"x-pagination-{name}"))
                for name in ("current-page", "page-count", "per-page", "total-count")
            )
        )


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch("[0-9]{1,18}", text) else None
