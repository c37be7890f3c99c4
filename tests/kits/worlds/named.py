"""The worlds that tests ask for by name."""

from typing import Any

from pipelines.settings.simulated_platform import PLATFORM
from tests.kits.worlds.world import EARLY

#: Arguments of tests.kits.worlds.world.world, by name.
WORLDS: dict[str, dict[str, Any]] = {
    # A school of which a load takes a second. For all that one row of each kind shows.
    "small": {"students": 12, "datasets": False},
    # A school whose tables have hundreds of rows. For shares, limits and counts.
    "school": {"students": 24, "core_subjects": 8, "datasets": False},
    # A semester that is over, and the current one. For what rests, and what is read again.
    "two_semesters": {"students": 12, "semesters": 2, "datasets": False},
    # Few weeks of attendance. For loads of all tables.
    "new_term": {"students": 24, "today": EARLY, "datasets": False},
    # A school in whose groups nobody stands alone. For audiences and extracts.
    "crowd": {"students": 40},
    # Two schools. For what is done school by school.
    "two_schools": {"schools": 2, "students": 12, "datasets": False},
    # Two schools with all that a platform has. For nights, and for Dagster's partitions.
    "district": {"schools": 2, "students": 12, "semesters": 2},
    # Three schools in two shards, with a semester that is over. For publications.
    "shards": {"schools": 3, "students": 8, "semesters": 2, "dataset_rows": 200, "today": EARLY},
    # A school beside its datasets, which has few rows otherwise. For tests of datasets alone.
    "datasets": {"students": 8},
    # The platform of `campus demo`.
    "demo": {"core_subjects": 8, **PLATFORM},
}
