"""Small groups: which numbers tell about few people, and which groups would reveal them.

A group is small by the people who count: those who have a value and enter the number, not all of its rows. A
hidden group of a total is revealed by the total and the rest, so a total has at least two hidden groups, with
enough people together. `dbt/macros/small_groups.sql` is the same rule for the marts with `is_suppressed`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence, Set


def is_few(count: int | None, smallest: int) -> bool:
    """Whether so many people are few. Nobody is not few, and neither is an unknown number."""
    return count is not None and 0 < count < smallest


def few_sql(counts: Iterable[str], smallest: int) -> str:
    """SQL: whether one of the counts of people is few. Null where it is not known."""
    return f"({' OR '.join(f'{count} BETWEEN 1 AND {smallest - 1}' for count in counts)})"


def hidden_groups(
    counts: Sequence[int | None], totals: Iterable[Sequence[Hashable]], smallest: int
) -> set[int]:
    """The positions of the groups that are hidden: those of few people, and the next smallest of a total
    whose hidden groups are a single group, or have few people together.

    Args:
        counts: The number of people who count in each group; None: no people.
        totals: For each kind of total, the total that each group is part of."""
    lines = _lines(counts, totals)
    hidden = {position for position, count in enumerate(counts) if is_few(count, smallest)}
    size = -1
    while size < len(hidden):
        size = len(hidden)
        for line in lines:
            visible = sorted(set(line) - hidden, key=lambda position: (counts[position] or 0, position))
            of_line = [counts[position] or 0 for position in line if position in hidden]
            while of_line and visible and (len(of_line) == 1 or is_few(sum(of_line), smallest)):
                hidden.add(visible[0])
                of_line.append(counts[visible.pop(0)] or 0)
    return hidden


def revealing_sums(
    sums: Sequence[Set[int]],
    counts: Sequence[int | None],
    totals: Sequence[Sequence[Hashable]],
    smallest: int,
) -> set[int]:
    """The positions of the sums that reveal a hidden group, or few people of hidden groups: alone, or by what
    lies between a sum and a total.

    Args:
        sums: The positions of the groups that each sum adds up.
        counts: The number of people who count in each group; None: no people.
        totals: For each kind of total, the total that each group is part of."""
    hidden = hidden_groups(counts, totals, smallest)
    lines_of = defaultdict[int, set[frozenset[int]]](set)
    for line in _lines(counts, totals):
        hidden_of_line = frozenset(hidden.intersection(line))
        for position in hidden_of_line:
            lines_of[position].add(hidden_of_line)

    def is_revealing(positions: Set[int]) -> bool:
        return len(positions) == 1 or is_few(sum(counts[position] or 0 for position in positions), smallest)

    revealing = set()
    for number, groups in enumerate(sums):
        added = groups & hidden
        lines = set[frozenset[int]]().union(*(lines_of[position] for position in added))
        if is_revealing(added) or any(
            is_revealing(line ^ added) for line in lines if line <= added or added <= line
        ):
            revealing.add(number)
    return revealing


def _lines(counts: Sequence[int | None], totals: Iterable[Sequence[Hashable]]) -> list[list[int]]:
    """The positions of the groups with people of each total that has several."""
    lines: list[list[int]] = []
    for keys in totals:
        line_of = defaultdict[Hashable, list[int]](list)
        for position, key in enumerate(keys):
            if counts[position]:
                line_of[key].append(position)
        lines += [line for line in line_of.values() if len(line) > 1]
    return lines
