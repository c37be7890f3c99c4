"""How far an answer without rows is believed.

A platform whose database is away, whose cache is cold or whose replica lags may also answer with status 200
and no rows. So such an answer counts only once further requests, with other parameters, agree.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol, TypeVar

from campus.http.errors import Refused

# Further answers that must agree: where empty answers are common (one item's scores, one session), where much
# depends on it or there were rows before, and with a platform that has been caught.
COMMON = 1
GRAVE = 4
CAUGHT = 8
# A list that is empty in some answers and not in others is asked for no more often than this.
MOST_DOUBTS = 3 * CAUGHT

T = TypeVar("T")


@dataclass(slots=True)
class Doubt:
    """How far a platform is believed that says there are no rows. `lies`: how often it was wrong."""

    lies: int = 0

    def needed(self, *, grave: bool) -> int:
        """How many further answers must agree that there are no rows. `grave`: much depends on it."""
        if self.lies:
            return CAUGHT
        return GRAVE if grave else COMMON

    def contradict(self) -> None:
        """Note that there were rows where an answer had none."""
        self.lies += 1


class Asks(Protocol):
    """What `believed` needs of the client."""

    @property
    def doubt(self) -> Doubt: ...

    @property
    def unwelcome(self) -> set[tuple[str, str, str]]: ...


async def believed(
    client: Asks,
    ask: Callable[[int], Awaitable[T]],
    is_empty: Callable[[T], bool],
    *,
    grave: Callable[[T], bool] = lambda _: True,
    cut: tuple[str, str, str] | None = None,
) -> T:
    """The first answer that has something; one that has nothing where all that are needed agree.

    ask: sends the request, and takes how often it was sent before, so that it can vary a parameter each time;
    where the varied request is refused, it is sent as at first. grave: of an empty answer, whether much
    depends on it. cut: the parameter that is varied, as in the client's `unwelcome`: once refused, it is not
    varied again. Raises what `ask` does."""
    answer, asked = await ask(0), 0
    while is_empty(answer) and asked < client.doubt.needed(grave=grave(answer)):
        asked += 1
        try:
            answer = await ask(0 if cut in client.unwelcome else asked)
        except Refused:
            answer = await ask(0)
            if cut is not None:
                client.unwelcome.add(cut)
    if asked and not is_empty(answer):
        client.doubt.contradict()
    return answer


def asked_anew(params: Mapping[str, str | int], page: str, before: int) -> dict[str, str | int]:
    """The parameters of a request that is not paged and was sent `before` times: the number of a page makes
    it another question for what stands in between. page: the name of that parameter."""
    return {**params, page: before} if before else {**params}


@cache
def doubt_for(base_url: str) -> Doubt:
    """The doubt of this process about a platform, whichever client talks to it."""
    return Doubt()
