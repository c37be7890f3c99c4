"""How the semesters of a school's two interfaces belong together, and where its teaching weeks begin."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pyarrow as pa

from campus.attendance.week_rules import decide as decide_weeks
from campus.attendance.week_rules import together
from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.slice import read
from loading.semesters import COLUMNS, contradiction, seen_now, semesters_of, sightings_of
from pipelines.cli.doctor.findings import Finding
from pipelines.cli.doctor.probes import Row
from pipelines.lake import lake_without_check
from pipelines.settings import Settings
from warehouse.load.load_log import now


async def examine_semesters(client: Client, school_id: int, settings: Settings) -> AsyncIterator[Finding]:
    """Which semester of v1 is which of v3, and where teaching weeks begin, as far as both can be read."""
    label = f"school {school_id}, semesters"
    try:
        v1, v3 = [await _semester_rows(client, spec, school_id) for spec in COLUMNS]
    except CampusError:
        # What cannot be read has a finding of its own.
        return
    options = settings.options
    semesters = semesters_of(school_id, v1, v3, options.semesters.told.get(school_id, {}))
    if v1 and v3:
        matched = Counter(pair.matched_by for pair in semesters.pairs.values())
        how = ", ".join(f"{count} by {matched_by}" for matched_by, count in matched.items()) or "none"
        yield Finding(
            True, f"{label}: of {len(v1)} of v1, {len(semesters.pairs)} are of v3's {len(v3)} ({how})."
        )
    for words in semesters.unclear:
        yield Finding(False, words)
    if semesters.of_v1_alone:
        yield Finding(None, semesters.of_v1_alone)
    seen = {one.semester_id: one for one in sightings_of(lake_without_check(settings), school_id)}
    for one in seen_now(semesters, now() + timedelta(seconds=client.clock_skew or 0)):
        seen[one.semester_id] = together(seen.get(one.semester_id), one)
    decision = decide_weeks(options.attendance.weeks_begin, list(seen.values()))
    if decision.contradicts:
        yield Finding(False, f"school {school_id}: {contradiction(decision)}")
    else:
        may_be = f"; not ruled out are {', '.join(decision.others)}" if decision.others else ""
        known_by = f"{decision.known_by}{may_be}"
        yield Finding(
            True, f"school {school_id}: teaching weeks begin by the rule {decision.rule!r} ({known_by})."
        )


async def _semester_rows(client: Client, spec: ResourceSpec, school_id: int) -> list[Row]:
    batches: list[pa.RecordBatch] = []
    await read(client, spec, SliceQuery(school_id), Collector(spec, "", batches.append))
    rows = pa.Table.from_batches(batches, batch_schema(spec.contract)).to_pylist()
    return [{**row, "_deleted_at": None} for row in rows]
