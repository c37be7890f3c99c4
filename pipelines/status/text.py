"""The status as text: a table of the schools, and lines, for the terminal and the UI."""

from collections import Counter
from collections.abc import Sequence

from pipelines.status.report import SchoolStatus, Status, ago, failure_line
from pipelines.status.school_groups import group_by_text, name_schools
from warehouse.age import Age
from warehouse.lake.tables import PLATFORM_ZONE

GROUPS = ("base data", "v1", "attendance", "datasets", "reports")
NOTHING = "Nothing to do."
AS_OF = "data as of"
COLUMNS = ("school", "name", AS_OF, *GROUPS, "failures", "quarantine")
#: The most rows of the table, and the most lines of each kind below the table.
MOST_ROWS, MOST_LINES = 20, 20
REST = "campus status --school ID shows one school."


def title_of(status: Status) -> str:
    """The title, with the time of the status, and the zone of all times."""
    return f"As of {status.at:%Y-%m-%d %H:%M} (times are of {PLATFORM_ZONE})"


def shown_schools(status: Status) -> Sequence[SchoolStatus]:
    """The schools of the table: all, or of many schools those with the most problems."""
    if len(status.schools) <= MOST_ROWS:
        return status.schools
    problems = {school.school_id: len(school.problems(status.at)) for school in status.schools}
    with_problems = [school for school in status.schools if problems[school.school_id]]
    return sorted(with_problems, key=lambda school: -problems[school.school_id])[:MOST_ROWS]


def rows_of(status: Status) -> list[list[str | int]]:
    """A row for each shown school, with the values of COLUMNS."""
    return [_row(school, status) for school in shown_schools(status)]


def summary_of(status: Status) -> list[str]:
    """How many of many schools are fine, and what is wrong with how many; empty for few schools."""
    if len(status.schools) <= MOST_ROWS:
        return []
    problems = [problem for school in status.schools for problem in school.problems(status.at)]
    wrong = sum(bool(school.problems(status.at)) for school in status.schools)
    lines = [f"{len(status.schools) - wrong} of {len(status.schools)} schools are fine."]
    lines += [f"{count} {problem}." for problem, count in Counter(problems).most_common()]
    if wrong > MOST_ROWS:
        lines.append(f"The table shows {MOST_ROWS} of {wrong} schools with problems; {REST}")
    return lines


def lines_of(status: Status) -> list[str]:
    """Why slices failed, notes, and what there is to do."""
    to_do = [f"To do: {line}" for line in _at_most(status.to_do)] or [NOTHING]
    return [*failure_lines(status.schools), *_at_most(status.notes), *to_do]


def failure_lines(schools: Sequence[SchoolStatus]) -> list[str]:
    """Why slices could not be loaded: a line for each reason that several schools share, and a line for each
    school with reasons of its own."""
    failures = {school.school_id: school.failures for school in schools}
    shared: list[str] = []
    own: dict[int, list[str]] = {}
    for common, texts in group_by_text(
        (school_id, reason) for school_id in failures for reason in failures[school_id]
    ):
        slices = [slice_ for school_id, reason in texts.items() for slice_ in failures[school_id][reason]]
        if len(texts) > 1:
            resources = ", ".join(dict.fromkeys(resource for resource, _ in slices))
            shared.append(f"{name_schools(texts)}: {len(slices)} slices of {resources}: {common}")
        else:
            own.setdefault(next(iter(texts)), []).append(failure_line(slices, common))
    of_one_school = [f"school {school_id}: {' '.join(lines)}" for school_id, lines in own.items()]
    return _at_most(shared) + _at_most(of_one_school)


def _at_most(lines: Sequence[str]) -> list[str]:
    """The first lines, and the number of the rest."""
    rest = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {rest} more; {REST}"] if rest > 0 else [])]


def _row(school: SchoolStatus, status: Status) -> list[str | int]:
    as_of = f"{school.age.as_of:%Y-%m-%d %H:%M}" if school.age.as_of else "never"
    ages = [_age(school.groups[group], status) if group in school.groups else "-" for group in GROUPS]
    quarantined = ", ".join(f"{rows} {resource}" for resource, rows in sorted(school.quarantined.items()))
    return [str(school.school_id), school.name, as_of, *ages, str(school.failed_slices), quarantined or "-"]


def _age(age: Age, status: Status) -> str:
    if age.as_of is None:
        return "never"
    # Slices that were never loaded have no age, so they are counted apart.
    return ago(age.as_of, status.at) + (f", {len(age.never)} never" if age.never else "")
