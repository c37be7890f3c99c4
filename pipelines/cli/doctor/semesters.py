"""The doctor's findings about the semesters of a school's two interfaces, and its teaching weeks."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pyarrow as pa

from campus.attendance.week_rules import combine_sightings
from campus.attendance.week_rules import decide as decide_weeks
from campus.decoding.page import batch_schema
from campus.http.client import Client
from campus.http.errors import CampusError
from campus.plan.units import SliceQuery
from campus.registry import ResourceSpec
from campus.sources.gathered import Collector
from campus.sources.slice import read_slice
from loading.semesters import COLUMNS, contradiction, seen_now, semesters_of, sightings_of
from pipelines.cli.doctor.findings import Finding
from pipelines.cli.doctor.probes import Row
from pipelines.lake.opening import lake_without_check
from pipelines.settings.settings import Settings
from warehouse.load.logs.load_log import now


async def examine_semesters(client: Client, school_id: int, settings: Settings) -> AsyncIterator[Finding]:
    """How semesters of v1 match semesters of v3, and where teaching weeks begin, where both can be read."""
    label = f"school {school_id}, semesters"
    try:
        v1, v3 = [await _semester_rows(client, spec, school_id) for spec in COLUMNS]
    except CampusError:
        # The probe of the list has reported the error already.
        return
    options = settings.options
    semesters = semesters_of(school_id, v1, v3, options.semesters.v3_ids.get(school_id, {}))
    if v1 and v3:
        matched = Counter(pair.matched_by for pair in semesters.pairs.values())
        how = ", ".join(f"{count} by {matched_by}" for matched_by, count in matched.items()) or "none"
        yield Finding(
            True, f"{label}: {len(semesters.pairs)} of {len(v1)} in v1 match one of {len(v3)} in v3 ({how})."
        )
    for problem in semesters.unclear:
        yield Finding(False, problem)
    if semesters.of_v1_alone:
        yield Finding(None, semesters.of_v1_alone)
    sightings = {
        sighting.semester_id: sighting for sighting in sightings_of(lake_without_check(settings), school_id)
    }
    for sighting in seen_now(semesters, now() + timedelta(seconds=client.clock_skew or 0)):
        sightings[sighting.semester_id] = combine_sightings(sightings.get(sighting.semester_id), sighting)
    decision = decide_weeks(options.attendance.weeks_begin, list(sightings.values()))
    if decision.contradicts:
        yield Finding(False, f"school {school_id}: {contradiction(decision)}")
    else:
        others = f"; also possible: {', '.join(decision.others)}" if decision.others else ""
        yield Finding(
            True,
            f"school {school_id}: teaching weeks begin by the rule {decision.rule!r} "
            f"({decision.known_by}{others}).",
        )


async def _semester_rows(client: Client, spec: ResourceSpec, school_id: int) -> list[Row]:
    batches: list[pa.RecordBatch] = []
    await read_slice(client, SliceQuery(school_id), [Collector(spec, "", batches.append)])
    rows = pa.Table.from_batches(batches, batch_schema(spec.contract)).to_pylist()
    return [{**row, "_deleted_at": None} for row in rows]
