"""Whatever the platform made of what the specification leaves open: what is read is what is there."""

import pytest

from campus.registry import BASE_DATA, SCHOOLS
from tests.kits.platforms.in_process import platform
from tests.kits.readings.base_data import PLATFORM, by_key, read_all, truth, unsettle
from tests.kits.readings.choices import Reading, name_of
from tests.kits.readings.pairs import readings_of_pairs

NAMES = [spec.name for spec in (SCHOOLS, *BASE_DATA)]
PAIRS = readings_of_pairs()
# Several at once and numbers; and what of the school can then not be read, or not provably as a whole.
OF_ITEMS = "assessments assessment_items scores"
ANYTHING = " ".join(NAMES)
NASTY: list[tuple[Reading, str]] = [
    *(({"ignored": [name]}, "") for name in ("page", "per_page", "paginated", "with_trashed", "sort")),
    ({"max_per_page": 7}, ""),
    ({"max_url": 250}, ""),
    ({"token_lifetime": 1}, ""),
    ({"pagination_headers": "absent", "unpaged": "ignored", "per_page": "refused"}, ""),
    ({"pagination_headers": "absent", "unpaged": "ignored", "max_per_page": 7}, ""),
    (
        {
            "pagination_headers": "absent",
            "unpaged": "refused",
            "page_past_end": "last",
            "max_per_page": 10,
        },
        "",
    ),
    ({"pagination_headers": "absent", "unpaged": "refused", "ignored": ["per_page"]}, ""),
    ({"terms": "paged", "pagination_headers": "absent", "page_past_end": "last"}, ""),
    ({"terms": "paged", "pagination_headers": "absent", "page_past_end": "404", "max_per_page": 5}, ""),
    ({"unpaged": "refused", "per_page": "refused", "max_per_page": 20, "page_past_end": "last"}, ""),
    ({"unpaged": "refused", "per_page": "refused", "max_per_page": 7}, ""),
    ({"unpaged": "ignored", "max_per_page": 3}, ""),
    ({"deleted_at": "none", "member_class_id": "present", "pagination_headers": "absent"}, ""),
    ({"deleted_at": "all", "unexpanded": "objects", "extra_fields": "some", "enums": "unknown"}, ""),
    ({"rejoined": 3}, ""),
    ({"rejoined": 3, "member_times": "alike", "member_class_id": "present"}, ""),
    ({"rejoined": 2, "member_times": "absent", "member_class_id": "present", "deleted_at": "none"}, ""),
    ({"rejoined": 2, "member_class_id": "present", "unpaged": "refused", "max_per_page": 7}, ""),
    (
        {
            "rejoined": 2,
            "member_times": "absent",
            "deleted_at": "none",
            "member_class_id": "present",
            "unpaged": "refused",
            "max_per_page": 7,
        },
        "",
    ),
    ({"missing_assessment": "empty", "unknown_ids": "empty", "error_body": "empty"}, ""),
    ({"member_class_id": "present", "ignored": ["class_id_in"]}, ""),
    ({"ignored": ["class_id_in"]}, "class_members"),
    ({"ignored": ["semester_id"]}, "class_members"),
    ({"ignored": ["class_ids"]}, "grades"),
    ({"class_scope": "klass.read", "refused_scopes": "drop"}, ""),
    ({"class_scope": "split", "refused_scopes": "drop"}, ""),
    ({"archived": "by_status", "pagination_headers": "absent", "unpaged": "ignored"}, ""),
    ({"archived": "by_status", "terms": "paged", "unknown_status": "ignored"}, ""),
    ({"ignored": ["expand"]}, OF_ITEMS),
    ({"ignored": ["expand"], "unexpanded": "omitted", "admin_class_ids": "expanded"}, OF_ITEMS),
    ({"ignored": ["page"], "pagination_headers": "absent"}, ANYTHING),
    ({"ignored": ["page", "paginated"]}, ANYTHING),
    ({"ignored": ["page", "paginated"], "pagination_headers": "absent", "max_per_page": 10}, ANYTHING),
]


def case_name(value: Reading | str) -> str:
    return name_of(value) if isinstance(value, dict) else "lost" if value else "whole"


def unheeded(options: Reading) -> list[str]:
    """The parameters that the platform ignores, or refuses: who is deleted is then nowhere to be seen."""
    refused = ["with_trashed"] if options.get("with_trashed", "shown") != "shown" else []
    return [*options.get("ignored", ()), *refused]


@pytest.mark.parametrize(("options", "lost"), [({}, ""), *NASTY], ids=case_name)
def test_a_school_is_read_as_it_is(options: Reading, lost: str) -> None:
    _read_and_compare(options, lost)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_pairs_of_choices_change_no_row(number: int) -> None:
    # Two pages where a page has seven: a single one may be all that such a platform ever shows.
    _read_and_compare({"students": 9, **PAIRS[number]}, "")


def _read_and_compare(options: Reading, lost: str) -> None:
    with platform(**PLATFORM | options) as (simulator, _):
        semester_id = unsettle(simulator)
        readings = read_all(simulator, semester_id)
        expected = {
            name: by_key(name, truth(simulator, name, semester_id, unheeded(options))) for name in NAMES
        }
    troubled = {name for name, reading in readings.items() if reading.trouble or not reading.account.complete}
    assert troubled <= set(lost.split())
    assert bool(troubled) == bool(lost)
    for name, reading in readings.items():
        rows = by_key(name, reading.rows)
        assert rows.items() <= expected[name].items()
        assert name in lost.split() or rows == expected[name]
        assert reading.account.bad == []
