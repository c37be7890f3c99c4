"""Reading by ascending ids, one request after another: the ID-segment full sync of the specification."""

from collections.abc import Callable
from itertools import count

from campus.capabilities import Confirmation
from campus.http.errors import Refused
from campus.paging.protocol import Outcome, PageRequest, PageSeen, Paging

# Limits to try where the platform rejects a limit.
SMALLER_LIMITS = (1000, 100)


def page_by_id(
    limit: int = 10_000,
    start: int = 0,
    stop: int | None = None,
    *,
    key: str = "id",
    max_requests: int = 100_000,
    confirmation: Confirmation | None = None,
    empty_is_unusual: bool = True,
    has_enough: Callable[[], bool] = lambda: False,
) -> Paging:
    """Read ids from `start` to `stop` (inclusive; None: to the end) in requests of up to `limit` rows.

    Complete means: every row that was there throughout has been seen, and no row that never was. Rows that
    get a higher id meanwhile are seen as well. A platform that ignores id_elt returns rows beyond `stop`; the
    caller drops them. The first and the last key of a page are enough, where the caller makes sure that the
    keys between them ascend. An empty answer ends the reading once answers to other limits confirm it.

    key: the field of the ids, which is the dataset's primary key. max_requests: a guard against a platform
    that makes up rows for any id. confirmation: of empty answers. empty_is_unusual: no row at all needs more
    confirmation than no row behind others. has_enough: whether the caller needs no further rows."""
    confirmation = confirmation or Confirmation()
    upper_bound = () if stop is None else ((f"{key}_elt", stop),)
    next_id = start
    total: int | None = None
    is_sorted = True
    empty_answers = 0
    answered: list[PageRequest] = []

    def incomplete(note: str) -> Outcome:
        return Outcome(False, total, tuple(answered), note)

    for ordinal in count():
        params = (
            (f"{key}_egt", next_id),
            *upper_bound,
            ("sort", key),
            ("paginated", 0),
            ("limit", max(1, limit - empty_answers)),
        )
        answer = yield (PageRequest(ordinal, params),)
        page = answer.page
        if not isinstance(page, PageSeen):
            smaller = next((smaller for smaller in SMALLER_LIMITS if smaller < limit), None)
            if smaller is None or not isinstance(page, Refused):
                raise page
            limit = smaller
            continue
        answered.append(answer.request)
        total = page.total if total is None else total
        if not page.keys:
            empty_answers += 1
            if empty_answers > confirmation.needed(is_unusual=empty_is_unusual and next_id == start):
                note = "read until no row was left"
                break
            continue
        if empty_answers:
            confirmation.contradict()
            empty_answers = 0
        # Undecodable rows have a key that is no id; they do not move the cursor.
        ids = [row_key for row_key in page.keys if isinstance(row_key, int)]
        if not ids or min(ids) < next_id:
            return incomplete(f"no progress beyond id {next_id}: the platform seems to ignore id_egt")
        is_sorted = is_sorted and ids == sorted(ids)
        next_id = max(ids) + 1
        if stop is not None and next_id > stop:
            note = f"read up to id {stop}"
            break
        if has_enough():
            note = f"read up to id {next_id - 1}, with as many rows as there are"
            break
        if len(answered) >= max_requests:
            return incomplete(f"stopped at id {next_id} after {max_requests} requests")
    if not is_sorted:
        # The highest id of an unsorted answer says nothing of the ids below it.
        return incomplete(f"{note}, but the platform does not sort by id, so rows may be missing")
    return Outcome(True, total, tuple(answered), note)
