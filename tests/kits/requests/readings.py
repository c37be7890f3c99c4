"""The readings of the specification whose requests are in golden files."""

from tests.kits.readings.choices import OF_DATASETS, OF_REPORTS, OF_V1, Reading, choices, choices_of_base_data

_SEVERAL_FOR_BASE_DATA: list[Reading] = [
    *({"ignored": [name]} for name in ("with_trashed", "sort", "expand", "updated_at_egt")),
    *({"ignored": [name]} for name in ("class_id_in", "class_ids", "semester_id")),
    {"max_per_page": 7},
    # Lists of several pages.
    *({"max_per_page": 7, "ignored": [name]} for name in ("page", "per_page", "paginated")),
    {"max_per_page": 7, "unpaged": "ignored"},
    {"max_per_page": 7, "unpaged": "refused"},
    {"max_per_page": 7, "per_page": "refused"},
    {"max_per_page": 7, "updated_filter": "422"},
    {"max_per_page": 7, "pagination_headers": "absent"},
    {"max_per_page": 7, "pagination_headers": "absent", "page_past_end": "last"},
    {"max_per_page": 5, "pagination_headers": "absent", "page_past_end": "404", "terms": "paged"},
    {"pagination_headers": "absent", "unpaged": "ignored", "per_page": "refused"},
    {"rejoined": 2, "member_times": "absent", "deleted_at": "none", "member_class_id": "present"},
]
FOR_BASE_DATA = [{}, *choices_of_base_data(), *_SEVERAL_FOR_BASE_DATA]
_SEVERAL_FOR_TABLES: list[Reading] = [
    *({"ignored": [name]} for name in ("id_egt", "id_elt", "sort", "paginated", "limit", "page")),
    {"envelope": "code", "refusals": "code"},
    {"unlisted": "400", "dataset_list_fields": "bare"},
    {"pagination_headers": "absent"},
    {"pagination_headers": "absent", "unpaged": "refused", "max_per_page": 10, "page_past_end": "last"},
    {"dataset_list": "paged", "dataset_list_fields": "bare", "v3_prefix": "/api/v3", "max_per_page": 4},
    {"report_ids": "own", "report_unknown": "400"},
]
FOR_TABLES = [{}, *choices(*OF_DATASETS, *OF_REPORTS), *_SEVERAL_FOR_TABLES]
_SEVERAL_FOR_V1: list[Reading] = [
    {"unlisted": "422"},
    {"people": "joined"},
    {"v1_pagination_headers": "absent", "page_past_end": "404", "v1_max_per_page": 7},
    {"per_page": "refused", "v1_max_per_page": 7},
    {"left_users": "archived", "archived": "by_status"},
    {"v1_semester_ids": "shifted", "v1_semester_names": "other", "v1_class_ids": "other"},
]
FOR_V1 = [{}, *choices(*OF_V1), *_SEVERAL_FOR_V1]
OF_EVERYTHING: list[Reading] = [
    {},
    # Nothing is counted, nothing is listed as a whole, and pages never end.
    {"pagination_headers": "absent", "unpaged": "refused", "page_past_end": "last", "max_per_page": 20},
    # Neither changes nor deleted rows can be asked for, and parameters that are not listed are refused.
    {"updated_filter": "422", "with_trashed": "422", "unlisted": "422", "archived": "by_status"},
    # Answers hide what they are: an error has status 200.
    {"envelope": "code", "refusals": "code", "error_body": "errors", "unknown_ids": "empty"},
    {"class_scope": "split", "refused_scopes": "drop", "people_scope": "all", "v1_scopes": "each"},
    {"ignored": ["sort", "$page"], "v1_max_per_page": 7, "dataset_order": "shuffled"},
]
