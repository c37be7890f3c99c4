"""Platforms of many choices at once: every two choices that may stand together do so on one of them.

pairs.txt has a platform a line, by its choices other than defaults. `make pairs` draws the lines anew: for a
new option of the simulator, or a new entry of IMPOSSIBLE.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.kits.readings.choices import Reading, choices_by_option, reading_of

#: The choice of each option.
Platform = Mapping[str, object]

FILE = Path(__file__).with_name("pairs.txt")
SEED, CANDIDATES = 1, 30

#: Choices that no platform has together, or with which nobody can read every row, and why.
IMPOSSIBLE: Sequence[tuple[Platform, str]] = [
    *(
        ({paged: "paged", "unlisted": refused}, "A list in pages has to take their numbers.")
        for paged in ("terms", "dataset_list")
        for refused in ("400", "422")
    ),
    *(
        ({**disorder, **habit}, "Pages in another order each time show some rows twice and miss others.")
        for disorder in (
            {"dataset_order": "shuffled"},
            {"report_order": "shuffled"},
            {"ignored:sort": "ignored"},
        )
        for habit in (
            {"unpaged": "ignored"},
            {"unpaged": "refused"},
            {"ignored:paginated": "ignored"},
            {"pagination_headers": "absent"},
        )
    ),
    *(
        ({"dataset_order": "shuffled", habit: "ignored"}, "As above: big datasets come in several answers.")
        for habit in ("ignored:sort", "ignored:limit")
    ),
    (
        {"page_past_end": "last", "ignored:per_page": "ignored"},
        "Where pages have one size, the last page again may be more rows that are alike.",
    ),
    *(
        ({"dataset_type_words": "unknown", "dataset_dates": dates}, "By its values alone, a day is a moment.")
        for dates in ("midnight", "zoned")
    ),
    *(
        ({"dataset_type_words": words, "dataset_booleans": "text"}, "By these words, true is a text.")
        for words in ("sql", "unknown")
    ),
    (
        {"dataset_type_words": "string_ids", "dataset_primary": "absent"},
        "Numbers that are called strings stay strings, but for keys.",
    ),
]


def read_platforms() -> list[Platform]:
    """The platforms of pairs.txt."""
    choices = {
        f"{name}={choice}": (name, choice) for name, all_ in choices_by_option().items() for choice in all_
    }
    defaults = {name: all_[0] for name, all_ in choices_by_option().items()}
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [{**defaults, **dict(choices[text] for text in line.split())} for line in lines]


def readings_of_pairs() -> list[Reading]:
    """The platforms of pairs.txt as options of the simulator."""
    return [reading_of(platform) for platform in read_platforms()]


class Pairs:
    """All choices by number. A set of choices is an integer, with the bit of each of its numbers."""

    def __init__(self) -> None:
        self.choices = [(name, choice) for name, all_ in choices_by_option().items() for choice in all_]
        self.bits = {choice: 1 << number for number, choice in enumerate(self.choices)}
        self.options = [
            sum(self.bits[name, choice] for choice in all_) for name, all_ in choices_by_option().items()
        ]
        everything = (1 << len(self.choices)) - 1
        #: By a choice, the choices that may stand beside it.
        self.allowed = [everything] * len(self.choices)
        for impossible in (*self.options, *(self.set_of(pair) for pair, _ in IMPOSSIBLE)):
            for number in numbers(impossible):
                self.allowed[number] &= ~impossible

    def set_of(self, platform: Platform) -> int:
        return sum(self.bits[choice] for choice in platform.items())

    def missing(self, platforms: Iterable[int]) -> list[int]:
        """By a choice, the choices that may stand beside it and do so on none of the platforms."""
        missing = [*self.allowed]
        for platform in platforms:
            for number in numbers(platform):
                missing[number] &= ~platform
        return missing


def numbers(choices: int) -> list[int]:
    """The numbers in a set."""
    return [number for number in range(choices.bit_length()) if choices >> number & 1]


def missing_pairs() -> list[tuple[object, object]]:
    """The pairs of choices that may stand together, and do so on no platform of pairs.txt."""
    pairs = Pairs()
    missing = pairs.missing(map(pairs.set_of, read_platforms()))
    return [
        (choice, pairs.choices[number])
        for choice, set_ in zip(pairs.choices, missing, strict=True)
        for number in numbers(set_)
    ]


def draw(pairs: Pairs) -> list[int]:
    """Platforms until no pair is missing: each the best of some candidates."""
    source, platforms, missing = random.Random(SEED), list[int](), pairs.missing(())
    while any(missing):
        candidates = [_candidate(pairs, missing, source) for _ in range(CANDIDATES)]
        platforms.append(max(candidates, key=lambda platform: _gain(missing, platform)))
        missing = pairs.missing(platforms)
    return platforms


def _gain(missing: Sequence[int], platform: int) -> int:
    return sum((missing[number] & platform).bit_count() for number in numbers(platform))


def _candidate(pairs: Pairs, missing: Sequence[int], source: random.Random) -> int:
    """A missing pair, and of each further option the choice with the most missing pairs so far."""
    first = source.choice([number for number, set_ in enumerate(missing) if set_])
    platform = 1 << first | 1 << source.choice(numbers(missing[first]))
    for option in source.sample(pairs.options, len(pairs.options)):
        if not option & platform:
            choices = [number for number in numbers(option) if platform & ~pairs.allowed[number] == 0]
            source.shuffle(choices)
            platform |= 1 << max(choices, key=lambda number: (missing[number] & platform).bit_count())
    return platform


def main() -> None:
    """Write pairs.txt."""
    pairs, defaults = Pairs(), {(name, all_[0]) for name, all_ in choices_by_option().items()}
    lines = []
    for platform in draw(pairs):
        choices = (pairs.choices[number] for number in numbers(platform))
        lines.append(
            " ".join(f"{name}={choice}" for name, choice in choices if (name, choice) not in defaults)
        )
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
