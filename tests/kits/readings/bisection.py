"""The choices that matter of a platform of pairs.txt: `python -m tests.kits.readings.bisection NUMBER`."""

import sys
import tempfile
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import TypeVar

from tests.kits.readings.choices import choices_by_option, reading_of
from tests.kits.readings.pairs import read_platforms
from tests.kits.requests.recorded_nights import two_nights

T = TypeVar("T", bound=Hashable)


def smallest(items: Iterable[T], fails: Callable[[set[T]], bool]) -> set[T]:
    """A part of the items that fails, of which nothing can be left out (Zeller's delta debugging).

    All items together must fail."""
    left, parts = list(items), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        rests = [left[:start] + left[start + size :] for start in range(0, len(left), size)]
        rest = next((rest for rest in rests if fails(set(rest))), None)
        if rest is None and size == 1:
            break
        left, parts = (left, parts * 2) if rest is None else (rest, max(2, parts - 1))
    return set(left)


def main() -> None:
    """Print the choices without which the platform's rows are right."""
    defaults = {name: choices[0] for name, choices in choices_by_option().items()}

    def fails(choices: set[tuple[str, object]]) -> bool:
        with tempfile.TemporaryDirectory() as home:
            problems, _ = two_nights(Path(home), reading_of({**defaults, **dict(choices)}))
        sys.stderr.write(f"{len(choices)} choices: {problems[:1] or 'right'}\n")
        return bool(problems)

    platform = set(read_platforms()[int(sys.argv[1])].items()) - set(defaults.items())
    if not fails(platform):
        sys.exit("The rows of this platform are right.")
    for name, choice in sorted(smallest(platform, fails)):
        sys.stdout.write(f"{name}={choice}\n")


if __name__ == "__main__":
    main()
