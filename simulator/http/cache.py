"""Pages kept as bytes."""

from collections import OrderedDict

from simulator.messages import Response

Key = tuple[int, int, str]  # version of the rows, school, target


class PageCache:
    """The answers given last, up to so many bytes."""

    def __init__(self, limit: int = 200_000_000) -> None:
        self._limit = limit
        self._size = 0
        self._pages: OrderedDict[Key, Response] = OrderedDict()

    def get(self, key: Key) -> Response | None:
        """The answer to this request, if it is still there."""
        found = self._pages.get(key)
        if found:
            self._pages.move_to_end(key)
        return found

    def put(self, key: Key, response: Response) -> None:
        """Keep an answer, and let go of those not asked for the longest."""
        self._pages[key] = response
        self._size += len(response.body)
        while self._size > self._limit:
            _, oldest = self._pages.popitem(last=False)
            self._size -= len(oldest.body)
