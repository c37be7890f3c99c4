"""Paging without I/O: one state machine per style."""

from campus.paging.id_cursor import IdCursor
from campus.paging.page_numbers import PageNumbers
from campus.paging.protocol import V1_NAMES, V3_NAMES, Outcome, PageNames, PageRequest, PageSeen, Paging
from campus.paging.unpaged import Unpaged

__all__ = [
    "V1_NAMES",
    "V3_NAMES",
    "IdCursor",
    "Outcome",
    "PageNames",
    "PageNumbers",
    "PageRequest",
    "PageSeen",
    "Paging",
    "Unpaged",
]
