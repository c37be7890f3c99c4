"""A roster pushed through lost answers, resets and errors, and through a kill: everybody exactly once."""

from collections import Counter
from pathlib import Path

import pytest

from simulator.process import running
from tests.kits.writes.rosters import Town, pupil
from warehouse.lake.logs.tables import WRITES

MANY = 2_000
#: A twentieth of the answers is lost after the write, and as many before it or by an error.
FAULTS = [
    {"kind": "reset", "probability": 0.02},
    {"kind": "after", "probability": 0.02, "status": 504},
    {"kind": "truncated", "probability": 0.01},
    {"kind": "status", "probability": 0.02, "status": 503},
    {"kind": "status", "probability": 0.01, "status": 500},
]


@pytest.mark.slow
def test_two_thousand_people_through_lost_answers_are_there_exactly_once(tmp_path: Path) -> None:
    with running(schools=1, students=24) as platform:
        town = Town(platform, tmp_path)
        roster = [pupil(number) for number in range(MANY)]
        before = len(town.true_people())
        platform.set_faults(*({**fault, "path": "/api/v1/reflections*"} for fault in FAULTS))
        outcomes = Counter[str]()
        for _ in range(5):
            plan = town.plan(roster)
            if not plan.steps:
                break
            outcomes += Counter(record.outcome for record in town.apply(plan).outcomes)
        struck = Counter(entry["fault"] for entry in platform.log() if entry["method"] == "POST")
        platform.set_faults()
        assert min(struck[kind] for kind in ("reset", "after", "truncated", "status")) > 5
        people = town.true_people()
        assert len(people) == before + MANY
        assert {record["outer_id"] for record in people} >= {row["outer_id"] for row in roster}
        # None was made twice, and nothing says so of one that was not.
        assert (
            Counter(record["outer_id"] for record in people if record["outer_id"]).most_common(1)[0][1] == 1
        )
        assert outcomes["refused"] == 0
        assert town.plan(roster).unchanged == MANY
        written = town.lake.read(WRITES).to_pylist()
        assert {record["outcome"] for record in written} >= {"done", "found"}
