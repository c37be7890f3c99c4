"""The last line of a failed sync: how much was loaded, why it failed, how old the data are, what to do."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipelines.nights.sync import JobEnd
from pipelines.status.school_groups import name_schools
from warehouse.age import age_of
from warehouse.lake.tables import PLATFORM_ZONE

Row = Mapping[str, Any]

MAX_REASON = 400
AFTER_OUTAGE = "campus doctor checks the platform; run campus sync again once it answers."
AFTER_MENDING = "docs/reference/messages.md says how to mend that; then run campus sync again."


def verdict(
    ends: Sequence[JobEnd], log: Sequence[Row], standings: Sequence[Row], schools: Collection[int]
) -> str:
    """The line. `ends`: the ends of the sync's runs. `log`: the sync's rows of the load log. `standings`: the
    standing_rows of warehouse.load.logs.writer after the sync. `schools`: the known schools to load."""
    failed = [row for row in log if row["status"] == "failed"]
    halted = any(end.halted for end in ends)
    problems = [end.problem for end in ends if end.problem]
    reason = " ".join(problems[-1 if halted else 0].split())
    reason = reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 1]}…"
    counted = _counted(
        [row for row in log if row["status"] != "failed"],
        failed,
        {*schools, *(row["_school_id"] for row in log)},
        halted,
    )
    age = _oldest_data(standings, schools) if halted else _age_of_failed(failed, standings)
    what_to_do = AFTER_OUTAGE if halted else AFTER_MENDING
    if any(end.full for end in ends):
        what_to_do = ""  # The reason says it.
    return " ".join(filter(None, [f"FAILED: {counted}. {reason.rstrip('.')}.", age, what_to_do]))


def _counted(good: Sequence[Row], failed: Sequence[Row], schools: Collection[int], halted: bool) -> str:
    """How many schools and slices were loaded. A school without any load counts as not loaded."""
    loaded = len(good)
    if halted and loaded:
        return f"stopped after {loaded:,} slices of {len(schools)} schools"
    if not schools:
        return "no school is known yet"
    whole = set() if halted else {row["_school_id"] for row in good} - {row["_school_id"] for row in failed}
    slices = f", {loaded:,} of {loaded + len(failed):,} slices" if loaded else ""
    lacking = sorted(set(schools) - whole) if len(schools) > 2 and loaded else []
    without = f", but for {name_schools(lacking)}" if lacking else ""
    return f"{len(whole)} of {len(schools)} schools loaded{' whole' if loaded else ''}{without}{slices}"


def _oldest_data(standings: Sequence[Row], schools: Collection[int]) -> str:
    """The age of the oldest data: slices that this sync loaded make other slices no younger."""
    by_school: defaultdict[int, list[Row]] = defaultdict(list)
    for row in standings:
        if not schools or row["_school_id"] in schools:
            by_school[row["_school_id"]].append(row)
    ages = [as_of for rows in by_school.values() if (as_of := age_of(rows).as_of)]
    return (
        f"The data are as of {min(ages):%Y-%m-%d %H:%M} {PLATFORM_ZONE}."
        if ages
        else "There are no data yet."
    )


def _age_of_failed(failed: Sequence[Row], standings: Sequence[Row]) -> str:
    """The age of the slices that failed, and how many were never loaded."""
    complete_at = {(row["resource"], row["slice"]): row["complete_at"] for row in standings}
    ages = [age for row in failed if (age := complete_at.get((row["resource"], row["slice"])))]
    never = {name for row in failed if complete_at.get(name := (row["resource"], row["slice"]), row) is None}
    oldest = f"The failed slices are as of {min(ages):%Y-%m-%d %H:%M} {PLATFORM_ZONE}." if ages else ""
    missing = (
        f"Slices never loaded whole, so that their numbers are missing: {len(never):,}." if never else ""
    )
    return " ".join(filter(None, [oldest, missing]))
