"""The choices of a platform where the specification is open, one at a time: new options too."""

from dataclasses import fields
from typing import Any

from simulator.readings import Readings

#: Options of the simulator, by name.
Reading = dict[str, Any]
#: The name of the reading without options.
PLAIN = "plain"

# How the names of choices begin that concern v1 and attendance alone.
OF_V1 = (
    *("v1_", "week_start", "left_", "student_ids", "session_", "unrecorded", "rate_decimals"),
    *("absent_from_duty", "user_fields"),
)
OF_DATASETS = ("dataset_", "v3_prefix")
OF_REPORTS = ("report_", "v3_prefix")
# Of writes and pushes, which no load meets.
OF_WRITERS = (
    *("write_", "created_", "user_change", "user_put", "outer_id_", "usin_", "deaf_", "taken", "four_byte_"),
    *("unmentioned_", "unknown_marks", "form_", "bare_answers", "live_", "push_"),
)


def choices(*starts: str, others: bool = False) -> list[Reading]:
    """The simulator's choices other than its defaults whose names start so; `others`: whose names do not."""
    return [
        {option.name: choice}
        for option in fields(Readings)
        for choice in option.metadata.get("choices", ())
        if choice != option.default
        and not option.name.startswith(OF_WRITERS)
        and option.name.startswith(starts) != others
    ]


def choices_of_base_data() -> list[Reading]:
    """The choices that may concern base data."""
    return choices(*OF_V1, *OF_DATASETS, *OF_REPORTS, others=True)


def name_of(reading: Reading) -> str:
    """The name of a reading, for a test and for a section of a golden file."""
    return " ".join(f"{name}={value}" for name, value in reading.items()) or PLAIN
