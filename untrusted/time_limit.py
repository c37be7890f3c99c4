"""Time limits for calls on a folder: on a network mount that is away, a system call never returns."""

import errno
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: What a mount that is away answers, where it answers.
AWAY = frozenset(
    {errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EHOSTDOWN, errno.EHOSTUNREACH}
)
#: The threads whose calls have not returned, by folder: further calls would only add threads.
_BLOCKED: dict[Path, threading.Thread] = {}


class FolderAway(OSError):
    """A folder does not answer, as when its network mount is away. The same call may succeed later."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.ETIMEDOUT, why)


def within(
    seconds: float,
) -> Callable[[Callable[Concatenate[Path, P], T]], Callable[Concatenate[Path, P], T]]:
    """Limit how long a function waits for its first argument, a folder.

    The limited function raises FolderAway. The blocked thread ends with the process at the latest."""

    def limited(function: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
        @wraps(function)
        def call(folder: Path, /, *args: P.args, **kwargs: P.kwargs) -> T:
            blocked = _BLOCKED.get(folder)
            if blocked is not None and blocked.is_alive():
                raise FolderAway("an earlier call still waits for it: see that its network mount answers")
            results: list[T] = []
            errors: list[BaseException] = []

            def work() -> None:
                try:
                    results.append(function(folder, *args, **kwargs))
                except BaseException as error:  # noqa: BLE001, the caller raises it
                    errors.append(error)

            # A daemon thread: the process does not wait for it at its end.
            thread = threading.Thread(target=work, daemon=True, name=f"{function.__name__} {folder}")
            thread.start()
            thread.join(seconds)
            if errors:
                raise errors[0]
            if results:
                return results[0]
            _BLOCKED[folder] = thread
            raise FolderAway(f"no answer for {seconds:g} s: see that its network mount answers")

        return call

    return limited
