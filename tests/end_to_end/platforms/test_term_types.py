"""A vocabulary whose reading fails keeps its terms, however the platform spells the types of terms."""

from pathlib import Path

import pytest

from tests.kits.worlds.world import world

SCHOOL, FAILING = 101, "system.graduates_in"
TERMS = 'key:"raw/terms"'


@pytest.mark.parametrize("spelling", ["full", "bare"])
def test_terms_of_a_type_that_fails_are_kept_and_those_of_others_go(spelling: str, tmp_path: Path) -> None:
    with world(tmp_path, datasets=False, students=16, term_types=spelling) as school:
        assert school.load(select=TERMS).problems == []
        terms = {row["id"]: row for row in school.held("terms")}
        gone = max(key for key, row in terms.items() if row["type"].endswith("domain"))
        school.platform.destroy("terms", gone)
        school.platform.set_faults({"kind": "status", "path": f"/api/v3/term/{FAILING}/terms", "status": 400})
        [problem] = school.load(select=TERMS).problems
        assert FAILING in problem
        school.platform.set_faults()
        assert terms.keys() - {row["id"] for row in school.held("terms")} == {gone}
        assert {row["type"] for row in terms.values()} >= {"graduates_in" if spelling == "bare" else FAILING}
        assert school.load(select=TERMS).problems == []
