"""A class goes to the recycle bin and comes back: told as that, beside a grade that somebody deletes."""

from collections.abc import Callable

import duckdb

from tests.kits.worlds.world import World, differences

CHANGES = """
    SELECT record_type, record_id, kind, records, course_class_id
    FROM marts.grade_change
    WHERE kind NOT IN ('given', 'changed', 'withdrawn')
    ORDER BY seen_at, record_type, record_id
"""


def test_a_class_in_the_recycle_bin_is_told_as_that(load_world: Callable[..., World]) -> None:
    world = load_world("school")
    rows = {resource: world.held(resource) for resource in ("assessments", "grades", "scores")}
    assessment_of = {row["class_id"]: row["id"] for row in rows["assessments"]}
    graded = {row["source_id"] for row in rows["grades"] if row["source"] == "class"}
    gone, remaining, *_ = (key for key, assessment in assessment_of.items() if assessment in graded)
    records = sum(row["source_id"] == assessment_of[gone] for row in rows["grades"])
    records += sum(row["assessment_id"] == assessment_of[gone] for row in rows["scores"])
    alone = next(row["id"] for row in rows["grades"] if row["source_id"] == assessment_of[remaining])

    world.platform.delete("classes", gone)
    world.platform.destroy("grades", alone)
    assert not world.load().problems
    world.platform.restore("classes", gone)
    assert not world.load().problems
    assert differences(world) == {}

    assert not world.publish().problem
    with duckdb.connect(str(world.settings.published), read_only=True) as connection:
        changes = connection.execute(CHANGES).fetchall()
    assert changes == [
        ("class", gone, "class_deleted", records, gone),
        ("grade", alone, "deleted", 1, remaining),
        ("class", gone, "class_returned", records, gone),
    ]
