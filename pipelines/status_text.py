"""How the warehouse stands in words: a table of the schools and lines, on the terminal and in the UI."""

from collections.abc import Sequence

from pipelines.of_schools import alike, named
from pipelines.status import SchoolStatus, Status, ago, in_words
from warehouse.age import Age

GROUPS = ("base data", "v1", "attendance", "datasets", "reports")
NOTHING = "Nothing is to be done."
AS_OF = "data as of"
COLUMNS = ("school", "name", AS_OF, *GROUPS, "failures", "quarantine")


def title_of(status: Status) -> str:
    """As of when it is so."""
    return f"As of {status.at:%Y-%m-%d %H:%M}"


def rows_of(status: Status) -> list[list[str | int]]:
    """A row for each school, with the values of COLUMNS."""
    return [_row(each, status) for each in status.schools]


def lines_of(status: Status) -> list[str]:
    """Why slices have failed, what else is worth knowing, and what there is to do."""
    to_do = [f"To do: {line}" for line in status.to_do] or [NOTHING]
    return [*failure_lines(status.schools), *status.notes, *to_do]


def failure_lines(schools: Sequence[SchoolStatus]) -> list[str]:
    """Why slices could not be loaded: a line for each reason that several schools share, and one for each
    school that has reasons of its own."""
    by_id = {each.school_id: each.failures for each in schools}
    shared: list[str] = []
    own: dict[int, list[str]] = {}
    for common, texts in alike((school_id, reason) for school_id, found in by_id.items() for reason in found):
        slices = [one for school_id, reason in texts.items() for one in by_id[school_id][reason]]
        if len(texts) > 1:
            of = ", ".join(dict.fromkeys(resource for resource, _ in slices))
            shared.append(f"{named(texts)}: {len(slices)} slices of {of}: {common}")
        else:
            own.setdefault(next(iter(texts)), []).append(in_words(slices, common))
    return shared + [f"school {school_id}: {' '.join(lines)}" for school_id, lines in own.items()]


def _row(school: SchoolStatus, status: Status) -> list[str | int]:
    as_of = f"{school.age.as_of:%Y-%m-%d %H:%M}" if school.age.as_of else "never"
    ages = [_aged(school.groups[group], status) if group in school.groups else "-" for group in GROUPS]
    waiting = ", ".join(f"{rows} {resource}" for resource, rows in sorted(school.quarantined.items()))
    return [str(school.school_id), school.name, as_of, *ages, str(len(school.failures)), waiting or "-"]


def _aged(age: Age, status: Status) -> str:
    if age.as_of is None:
        return "never"
    # A group of which a part was never loaded is no older for it, and no younger.
    return ago(age.as_of, status.at) + (f", {len(age.never)} never" if age.never else "")
