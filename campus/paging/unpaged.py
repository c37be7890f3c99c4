"""Reading a list that comes in one answer, as far as the platform's own count agrees."""

from itertools import count

from campus.capabilities import MOST_REPEATS, Confirmation
from campus.http.errors import Refused
from campus.paging.page_numbers import page_by_number
from campus.paging.proof import is_everything
from campus.paging.protocol import V3_NAMES, Outcome, PageNames, PageRequest, PageSeen, Paging, Params


def page_once(
    names: PageNames = V3_NAMES,
    *,
    confirmation: Confirmation | None = None,
    empty_is_unusual: bool = True,
    takes_pages: bool = True,
) -> Paging:
    """Read a list that comes in one answer, and go on by page number where the answer is not everything.

    Every other request that is to confirm an empty answer asks for a small first page. Rows of that page only
    show that the list is not empty.

    confirmation, empty_is_unusual: as of `page_by_number`. takes_pages: False where the platform rejects the
    parameters of pages."""
    confirmation = confirmation or Confirmation()
    empty_answers = 0
    params: Params = ()
    ordinals = count()
    while True:
        request = PageRequest(next(ordinals), params)
        page = (yield (request,)).page
        params = ()
        if not isinstance(page, PageSeen):
            if not request.params or not isinstance(page, Refused):
                raise page
            takes_pages = False
        elif page.pagination is not None and not is_everything(page, set(page.keys)):
            return (
                yield from page_by_number(
                    names=names, confirmation=confirmation, empty_is_unusual=empty_is_unusual
                )
            )
        elif page.keys:
            if empty_answers:
                confirmation.contradict()
                empty_answers = 0
            if not request.params:
                return Outcome(True, page.total, (request,), "an unpaged list", takes_pages=takes_pages)
        else:
            empty_answers += 1
            if empty_answers > confirmation.needed(is_unusual=empty_is_unusual):
                return Outcome(True, page.total, (request,), "no rows in any answer", takes_pages=takes_pages)
            if request.ordinal >= MOST_REPEATS:
                note = "the list is empty in some answers only"
                return Outcome(False, None, (), note, takes_pages=takes_pages)
            if takes_pages and not request.params:
                params = ((names.page, 1), (names.per_page, empty_answers))
