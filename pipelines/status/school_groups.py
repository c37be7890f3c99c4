"""Says the same thing of many schools once, with the ids of the schools."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

OWN_ID = "…"
#: The most ids in a line.
MOST_IDS = 10


def group_by_text(messages: Iterable[tuple[int, str]]) -> list[tuple[str, Mapping[int, str]]]:
    """Group messages (school id, text) that differ only in the school's own id. Each group has the common
    text, with OWN_ID for ids that differ, and the text of each school."""
    groups: dict[str, dict[int, str]] = {}
    for school_id, text in messages:
        groups.setdefault(re.sub(rf"\b{school_id}\b", OWN_ID, text), {})[school_id] = text
    return [
        (common if len(set(texts.values())) > 1 else next(iter(texts.values())), texts)
        for common, texts in groups.items()
    ]


def name_schools(school_ids: Collection[int], all_ids: Collection[int] = ()) -> str:
    """Name schools by their ids, or as all schools where they are `all_ids`."""
    if len(school_ids) == 1:
        return f"school {next(iter(school_ids))}"
    if set(school_ids) == set(all_ids):
        return f"all {len(school_ids)} schools"
    return f"{len(school_ids)} schools ({first_of(list(map(str, school_ids)))})"


def first_of(names: Sequence[str], most: int = MOST_IDS) -> str:
    """The first names, and the number of the rest."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def unknown_schools(school_ids: Iterable[int], existing: Collection[int]) -> str | None:
    """Say which schools do not exist; None: all exist."""
    unknown = [str(school_id) for school_id in school_ids if school_id not in existing]
    if not unknown:
        return None
    listed = first_of([str(school_id) for school_id in sorted(existing)])
    return f"there is no school {', '.join(unknown)} here; there are {listed or 'none yet'}"
