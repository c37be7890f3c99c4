"""Sentences about the classes, items, types and so on of a slice that could not be read."""

import re
from collections.abc import Mapping, Set

# A message that lists more ids than this is read by nobody.
IDS_SHOWN = 20
# Replaces the id in a reason that many ids share.
ID = "{id}"
IN_PATH, NUMBER = re.compile("/(?P<id>[^/ :]+)"), re.compile(r"(?P<id>\d+)")


def failures(unit: str, failed: Mapping[int | str, str]) -> tuple[str, ...]:
    """One sentence for each reason, with the ids that failed for this reason.

    Args:
        unit: What the ids are of, such as "class".
        failed: The reason of each id. Reasons that differ only by the id count as one reason."""
    groups: dict[str, dict[str, str]] = {}
    ids = {str(id) for id in failed}
    for id, reason in failed.items():
        groups.setdefault(_without_ids(reason, ids), {})[str(id)] = reason
    return tuple(
        f"{unit} {_listed([*group])}: {reason if len(group) > 1 else next(iter(group.values()))}"
        for reason, group in groups.items()
    )


def _without_ids(reason: str, ids: Set[str]) -> str:
    """A reason with {id} for these ids, in the path of the request and in the platform's own words."""

    def put(match: re.Match[str]) -> str:
        return match[0].replace(match["id"], ID) if match["id"] in ids else match[0]

    request, says, words = reason.partition("says: ")
    return IN_PATH.sub(put, request) + says + NUMBER.sub(put, words)


def _listed(ids: list[str]) -> str:
    rest = len(ids) - IDS_SHOWN
    return ", ".join(ids[:IDS_SHOWN]) + (f" and {rest} more ({len(ids)} in all)" if rest > 0 else "")
