"""The choices of a platform where the specification is open: those of new options too."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from simulator.readings import Readings

#: Options of the simulator, by name.
Reading = dict[str, Any]
#: The name of the reading without options.
PLAIN = "plain"

#: How the names of options begin that no load meets: of writes and pushes.
OF_WRITERS = (
    *("write_", "created_", "user_change", "user_put", "outer_id_", "usin_", "deaf_", "taken", "four_byte_"),
    *("unmentioned_", "unknown_marks", "form_", "bare_answers", "live_", "push_"),
)
#: Options besides those that are choices, and their values.
NUMBERS: Mapping[str, Sequence[object]] = {
    "max_per_page": (100, 20, 7),
    "v1_max_per_page": (100, 7),
    "max_url": (8000, 600),
}
#: Parameters that a platform may ignore: each is an option, of the values "heeded" and "ignored".
IGNORED = ("id_egt", "id_elt", "limit", "paginated", "per_page", "sort", "with_trashed")


@cache
def choices_by_option() -> Mapping[str, Sequence[object]]:
    """The choices of each option that a load may meet, the default first."""
    choices = {
        option.name: option.metadata["choices"]
        for option in fields(Readings)
        if "choices" in option.metadata and not option.name.startswith(OF_WRITERS)
    }
    return {**choices, **NUMBERS, **{f"ignored:{name}": ("heeded", "ignored") for name in IGNORED}}


def reading_of(platform: Mapping[str, object]) -> Reading:
    """The reading with these choices."""
    defaults = {name: choices[0] for name, choices in choices_by_option().items()}
    others = {name: choice for name, choice in platform.items() if choice != defaults[name]}
    ignored = [name for name in IGNORED if f"ignored:{name}" in others]
    return {name: choice for name, choice in others.items() if ":" not in name} | {"ignored": ignored}


def name_of(reading: Reading) -> str:
    """The name of a reading, for a test and for a section of a golden file."""
    return " ".join(f"{name}={value}" for name, value in reading.items()) or PLAIN
