"""A vocabulary whose reading fails keeps its terms, however the platform spells the types of terms."""

from pathlib import Path

import pytest
from world import world

SCHOOL, FAILING = 101, "system.graduates_in"
TERMS = 'key:"raw/terms"'


@pytest.mark.parametrize("spelling", ["full", "bare"])
def test_terms_of_a_type_that_fails_are_kept_and_those_of_others_go(spelling: str, tmp_path: Path) -> None:
    with world(tmp_path, datasets=False, students=16, term_types=spelling) as here:
        assert here.load(select=TERMS).problems == []
        held = {row["id"]: row for row in here.held("terms")}
        gone = max(key for key, row in held.items() if row["type"].endswith("domain"))
        here.platform.destroy("terms", gone)
        here.platform.set_faults({"kind": "status", "path": f"/api/v3/term/{FAILING}/terms", "status": 400})
        [problem] = here.load(select=TERMS).problems
        assert FAILING in problem
        here.platform.set_faults()
        assert held.keys() - {row["id"] for row in here.held("terms")} == {gone}
        assert {row["type"] for row in held.values()} >= {"graduates_in" if spelling == "bare" else FAILING}
        assert here.load(select=TERMS).problems == []
