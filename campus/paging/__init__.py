"""Paging without I/O: one state machine per style."""

from campus.paging.cursor import IdCursor
from campus.paging.numbers import V1_NAMES, V3_NAMES, PageNames, PageNumbers, Unpaged
from campus.paging.protocol import Outcome, PageRequest, PageSeen, Pagination, Paging

__all__ = [
    "V1_NAMES",
    "V3_NAMES",
    "IdCursor",
    "Outcome",
    "PageNames",
    "PageNumbers",
    "PageRequest",
    "PageSeen",
    "Pagination",
    "Paging",
    "Unpaged",
]
