"""A cache of answers as bytes."""

from collections import OrderedDict

from simulator.messages import Response

Key = tuple[int, int, str]  # version of the rows, school, target


class PageCache:
    """The latest answers, up to a number of bytes."""

    def __init__(self, limit: int = 200_000_000) -> None:
        self._limit = limit
        self._size = 0
        self._pages: OrderedDict[Key, Response] = OrderedDict()

    def get(self, key: Key) -> Response | None:
        """The answer to a request, if cached."""
        page = self._pages.get(key)
        if page:
            self._pages.move_to_end(key)
        return page

    def put(self, key: Key, response: Response) -> None:
        """Add an answer, and drop the least recently used answers."""
        self._pages[key] = response
        self._size += len(response.body)
        while self._size > self._limit:
            _, oldest = self._pages.popitem(last=False)
            self._size -= len(oldest.body)
