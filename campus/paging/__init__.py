"""Paging without I/O: one generator per style."""

from campus.paging.id_cursor import page_by_id
from campus.paging.page_numbers import SMALLER_SIZES, SMALLEST_SIZES, page_by_number
from campus.paging.protocol import (
    V1_NAMES,
    V3_NAMES,
    Outcome,
    PageAnswer,
    PageError,
    PageNames,
    PageRequest,
    PageSeen,
    Paging,
)
from campus.paging.unpaged import page_once

__all__ = [
    "SMALLER_SIZES",
    "SMALLEST_SIZES",
    "V1_NAMES",
    "V3_NAMES",
    "Outcome",
    "PageAnswer",
    "PageError",
    "PageNames",
    "PageRequest",
    "PageSeen",
    "Paging",
    "page_by_id",
    "page_by_number",
    "page_once",
]
