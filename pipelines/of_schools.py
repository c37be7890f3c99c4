"""What is said of many schools in few lines: what several have in common is said once, with their names."""

import re
from collections.abc import Collection, Iterable, Mapping

ITS_OWN = "…"


def alike(said: Iterable[tuple[int, str]]) -> list[tuple[str, Mapping[int, str]]]:
    """What is said of schools (id, text), joined where it is the same but for the school's own id: the text,
    without the id where it has one, and each school's own. In the order in which it is said first."""
    groups: dict[str, dict[int, str]] = {}
    for school_id, text in said:
        groups.setdefault(re.sub(rf"\b{school_id}\b", ITS_OWN, text), {})[school_id] = text
    return [
        (common if len(set(texts.values())) > 1 else next(iter(texts.values())), texts)
        for common, texts in groups.items()
    ]


def named(school_ids: Collection[int], everyone: Collection[int] = ()) -> str:
    """These schools by their ids; `everyone`: who may be called all of them."""
    if len(school_ids) == 1:
        return f"school {next(iter(school_ids))}"
    if set(school_ids) == set(everyone):
        return f"all {len(school_ids)} schools"
    return f"{len(school_ids)} schools ({', '.join(map(str, school_ids))})"


def no_such(school_ids: Iterable[int], known: Collection[int]) -> str | None:
    """Say which of these schools are not among the known ones; None: all are."""
    unknown = [each for each in school_ids if each not in known]
    if not unknown:
        return None
    return (
        f"there is no school {', '.join(map(str, unknown))} here; there are "
        f"{', '.join(map(str, sorted(known))) or 'none yet'}"
    )
