"""The requested page of a list."""

from dataclasses import replace
from math import ceil
from typing import NamedTuple

from simulator.messages import Headers, Problem, Request
from simulator.readings import Readings

DEFAULT_PER_PAGE = 20
PAGING, V1_PAGING = ("paginated", "page", "per_page"), ("$page", "$per-page")


class Page(NamedTuple):
    """A requested page."""

    number: int
    size: int

    def cut(self, total: int, readings: Readings) -> tuple[slice, Headers]:
        """The slice of the rows on the page, and the pagination headers."""
        page, pages = self, max(1, ceil(total / self.size))
        if readings.page_past_end == "last":
            page = self._replace(number=min(self.number, pages))
        elif readings.page_past_end == "404" and self.number > pages:
            raise Problem(404, f"there is no page {self.number}")
        headers = page.headers(total) if readings.pagination_headers == "present" else []
        return slice((page.number - 1) * page.size, page.number * page.size), headers

    def headers(self, total: int) -> Headers:
        values = (self.number, ceil(total / self.size), self.size, total)
        names = (b"Current-Page", b"Page-Count", b"Per-Page", b"Total-Count")
        return [(b"X-Pagination-" + name, b"%d" % value) for name, value in zip(names, values, strict=True)]


def page_of(readings: Readings, request: Request) -> Page | None:
    """The requested page; None for the whole list."""
    number = request.integer("page", 1, least=1) or 1
    size = request.integer("per_page", least=1) or _default_size(readings)
    paginated = request.flag("paginated", True)
    if not paginated and readings.unpaged == "refused":
        raise Problem(422, "paginated=0 is not offered here")
    if not paginated and readings.unpaged == "honoured":
        return None
    return _clamped(number, size, "per_page", readings)


def v1_page_of(readings: Readings, request: Request) -> Page:
    """The requested page of a v1 list, whose parameters have other names. `readings`: from `of_v1`."""
    number = request.integer("$page", 1, least=1) or 1
    size = request.integer("$per-page", least=1) or _default_size(readings)
    return _clamped(number, size, "$per-page", readings)


def of_v1(readings: Readings) -> Readings:
    """The readings with v1's paging instead of v3's."""
    return replace(
        readings,
        pagination_headers=readings.v1_pagination_headers,
        max_per_page=readings.v1_max_per_page,
    )


def _default_size(readings: Readings) -> int:
    """The default page size, within the platform's own maximum."""
    return min(DEFAULT_PER_PAGE, readings.max_per_page)


def _clamped(number: int, size: int, name: str, readings: Readings) -> Page:
    if size > readings.max_per_page and readings.per_page == "refused":
        raise Problem(422, f"{name} must be at most {readings.max_per_page}, not {size}")
    return Page(number, min(size, readings.max_per_page))
