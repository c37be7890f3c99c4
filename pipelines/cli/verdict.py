"""The last line of a sync that has failed: how much of how much, why, since when the data are old, what to
do."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipelines.of_schools import named
from pipelines.sync import JobEnd
from warehouse.age import age_of

Row = Mapping[str, Any]

LONGEST_WHY = 400
WHEN_IT_ANSWERS = "campus doctor asks the platform; run campus sync again when it answers as it should."
ONCE_MENDED = "docs/reference/messages.md says how to mend that; then run campus sync again."


def verdict(
    ends: Sequence[JobEnd], log: Sequence[Row], standings: Sequence[Row], schools: Collection[int]
) -> str:
    """The line. ends: of the runs of this sync; log: its rows of the load log; standings: as
    warehouse.load.log_writer.standing_rows has them, after it; schools: those to be loaded, as far as is
    known."""
    failed = [row for row in log if row["status"] == "failed"]
    halted = any(end.halted for end in ends)
    problems = [end.problem for end in ends if end.problem]
    why = " ".join(problems[-1 if halted else 0].split())
    why = why if len(why) <= LONGEST_WHY else f"{why[: LONGEST_WHY - 1]}…"
    counted = _counted(
        [row for row in log if row["status"] != "failed"],
        failed,
        {*schools, *(row["_school_id"] for row in log)},
        halted,
    )
    age = _age_of_all(standings, schools) if halted else _age_of(failed, standings)
    what_to_do = WHEN_IT_ANSWERS if halted else ONCE_MENDED
    if any(end.full for end in ends):
        what_to_do = ""  # which the reason says
    return " ".join(filter(None, [f"FAILED: {counted}. {why.rstrip('.')}.", age, what_to_do]))


def _counted(good: Sequence[Row], failed: Sequence[Row], schools: Collection[int], halted: bool) -> str:
    """How much of how much was loaded. A school of which nothing was tried is not loaded."""
    loaded = len(good)
    if halted and loaded:
        return f"stopped after {loaded:,} slices of {len(schools)} schools"
    if not schools:
        return "no school is known yet"
    whole = set() if halted else {row["_school_id"] for row in good} - {row["_school_id"] for row in failed}
    slices = f", {loaded:,} of {loaded + len(failed):,} slices" if loaded else ""
    lacking = sorted(set(schools) - whole) if len(schools) > 2 and loaded else []
    without = f", but for {named(lacking)}" if lacking else ""
    return f"{len(whole)} of {len(schools)} schools loaded{' whole' if loaded else ''}{without}{slices}"


def _age_of_all(standings: Sequence[Row], schools: Collection[int]) -> str:
    """As of when the oldest of the schools' data are. What this sync has loaded before it was cut short makes
    nothing else younger."""
    by_school: defaultdict[int, list[Row]] = defaultdict(list)
    for row in standings:
        if not schools or row["_school_id"] in schools:
            by_school[row["_school_id"]].append(row)
    held = [at for rows in by_school.values() if (at := age_of(rows).as_of)]
    return f"The data are as of {min(held):%Y-%m-%d %H:%M}." if held else "There are no data yet."


def _age_of(failed: Sequence[Row], standings: Sequence[Row]) -> str:
    """As of when that is of which a load has failed, and how much of it was never loaded."""
    known = {(row["resource"], row["slice"]): row["complete_at"] for row in standings}
    held = [at for row in failed if (at := known.get((row["resource"], row["slice"])))]
    never = {name for row in failed if known.get(name := (row["resource"], row["slice"]), row) is None}
    as_of = f"What failed is as of {min(held):%Y-%m-%d %H:%M}." if held else ""
    not_known = f"Slices never loaded whole, of which no number is known: {len(never):,}." if never else ""
    return " ".join(filter(None, [as_of, not_known]))
