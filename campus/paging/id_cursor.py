"""The ID-segment full sync of the specification: ascending ids, one request after another."""

from dataclasses import dataclass, field

from campus.capabilities import Doubt
from campus.paging.protocol import Outcome, PageRequest, PageSeen


@dataclass(slots=True)
class IdCursor:
    """Reads ids from `start` to `stop` (inclusive; None: to the end) in requests of up to `limit` rows.

    Complete means: every row that was there throughout has been seen, and nothing that never was. Rows that
    come with a higher id while it runs are seen as well. A platform that ignores id_elt returns rows beyond
    `stop`; they are the caller's to drop. Of a long answer the first and the last key are enough, where the
    caller makes sure that those between ascend. An empty answer ends the reading where others, of other
    limits, agree with it.
    """

    limit: int = 10_000
    start: int = 0
    stop: int | None = None
    # The field that the ids are in: the dataset's primary key.
    key: str = "id"
    # Smaller limits to try where the platform refuses one.
    ladder: tuple[int, ...] = (1000, 100)
    # A guard against a platform that makes up rows for any id.
    max_requests: int = 100_000
    doubt: Doubt = field(default_factory=Doubt)
    # That there is no row at all is a grave matter; that there is none behind others is not.
    grave: bool = True
    _next: int = field(init=False)
    _asked: list[PageRequest] = field(init=False, default_factory=list)
    _total: int | None = field(init=False, default=None)
    _sorted: bool = field(init=False, default=True)
    _outcome: Outcome | None = field(init=False, default=None)
    _waiting: PageRequest | None = field(init=False, default=None)
    _silent: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._next = self.start
        self._ask()

    def pending(self) -> tuple[PageRequest, ...]:
        return () if self._waiting is None else (self._waiting,)

    @property
    def done(self) -> bool:
        return self._outcome is not None

    @property
    def outcome(self) -> Outcome:
        assert self._outcome is not None, "the reading is not done"
        return self._outcome

    def receive(self, request: PageRequest, seen: PageSeen) -> None:
        if request != self._waiting:
            return
        self._asked.append(request)
        if self._total is None and seen.pagination is not None:
            self._total = seen.pagination.total_count
        if not seen.keys:
            self._silent += 1
            if self._silent > self.doubt.needed(grave=self.grave and self._next == self.start):
                self._finish_sorted("read until no row was left")
            else:
                self._ask()
            return
        if self._silent:
            self.doubt.contradict()
            self._silent = 0
        # Undecodable rows have a key that is no id; they do not move the cursor.
        ids = [key for key in seen.keys if isinstance(key, int)]
        if not ids or min(ids) < self._next:
            self._finish(False, f"no progress beyond id {self._next}: the platform seems to ignore id_egt")
            return
        self._sorted = self._sorted and ids == sorted(ids)
        self._next = max(ids) + 1
        if self.stop is not None and self._next > self.stop:
            self._finish_sorted(f"read up to id {self.stop}")
        elif len(self._asked) >= self.max_requests:
            self._finish(False, f"stopped at id {self._next} after {self.max_requests} requests")
        else:
            self._ask()

    def refused(self, request: PageRequest) -> bool:
        if request != self._waiting:
            return True
        smaller = [limit for limit in self.ladder if limit < self.limit]
        if smaller:
            self.limit = smaller[0]
            self._ask()
        else:
            self._finish(False, f"the platform refuses to read from id {self._next}")
        return bool(smaller)

    def _ask(self) -> None:
        until = () if self.stop is None else ((f"{self.key}_elt", self.stop),)
        params = (
            (f"{self.key}_egt", self._next),
            *until,
            ("sort", self.key),
            ("paginated", 0),
            ("limit", max(1, self.limit - self._silent)),
        )
        ordinal = 0 if self._waiting is None else self._waiting.ordinal + 1
        self._waiting = PageRequest(ordinal, params)

    def _finish_sorted(self, note: str) -> None:
        if self._sorted:
            self._finish(True, note)
        else:
            # The highest id of an unsorted answer says nothing of what lies below it.
            self._finish(False, f"{note}, but the platform does not sort by id, so rows may be missing")

    def _finish(self, complete: bool, note: str) -> None:
        self._waiting = None
        self._outcome = Outcome(complete, self._total, frozenset(self._asked), note)
