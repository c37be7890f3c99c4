"""Paging without I/O: one generator per style."""

from campus.paging.id_cursor import page_by_id
from campus.paging.page_numbers import page_by_number, page_list, page_unpaged_list
from campus.paging.protocol import (
    V1_NAMES,
    V3_NAMES,
    Outcome,
    PageAnswer,
    PageNames,
    PageRequest,
    PageSeen,
    Paging,
)

__all__ = [
    "V1_NAMES",
    "V3_NAMES",
    "Outcome",
    "PageAnswer",
    "PageNames",
    "PageRequest",
    "PageSeen",
    "Paging",
    "page_by_id",
    "page_by_number",
    "page_list",
    "page_unpaged_list",
]
