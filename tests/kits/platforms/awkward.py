"""A platform that decided each question, which the specification leaves open, in its most awkward way."""

from typing import Any

AWKWARD: dict[str, Any] = {
    # What stands around answers, how errors are told, and who may ask.
    "envelope": "code",
    "refusals": "code",
    "error_body": "errors",
    "class_scope": "split",
    "refused_scopes": "drop",
    "people_scope": "all",
    "v1_scopes": "each",
    # Pages.
    "pagination_headers": "absent",
    "v1_pagination_headers": "absent",
    "page_past_end": "last",
    "max_per_page": 20,
    "v1_max_per_page": 20,
    "unlisted": "422",
    "people": "joined",
    # Shapes of rows.
    "items": "nested",
    "id_lists": "objects",
    "expanded_people": "nested",
    "unexpanded": "omitted",
    "admin_class_ids": "expanded",
    "grade_ids": "absent",
    "teacher_ids": "absent",
    "member_class_id": "present",
    "structure_parent_id": "present",
    "term_types": "bare",
    "deleted_at": "all",
    "missing_assessment": "null",
    "unknown_ids": "empty",
    "decimals": "fixed",
    "extra_fields": "some",
    "nested_fields": "some",
    "archived": "by_status",
    "admin_class_status": "numbers",
    # v1.
    "v1_semester_ids": "shifted",
    "v1_semester_names": "other",
    "v1_current_week": "clamped",
    "v1_class_ids": "other",
    "v1_is_current": "present",
    "v1_without_semester": "current",
    "v1_admin_class_students": "alone",
    "v1_teachers": "nested",
    "v1_numbers": "text",
    "v1_nothing": "text",
    "student_ids": "rid",
    "user_fields": "by_role",
    "v1_students": "nested",
    "v1_days": "sunday",
    "unrecorded": "422",
    # Datasets.
    "v3_prefix": "/api/v3",
    "dataset_list": "paged",
    "dataset_list_fields": "bare",
    "dataset_type_words": "java",
    "dataset_primary": "text",
    "dataset_booleans": "text",
    "dataset_dates": "midnight",
    "dataset_order": "shuffled",
}
# Left out, since they do not tell the same in another way, but something else:
# `deleted_at` none: nobody knows when who left did so; lessons are expected of them until a sync sees it.
# `member_times`: nor when they came.
# `marks`, `enums`, `score_rows`, `raw_scores`, `suggested_scores`, `grade_credit`: other values.
# `v1_transcript_codes`: courses without a code.
# `v1_semester_days`, `v1_class_weeks`, `v1_lesson_days`, `week_start`: other lessons and weeks.
# `left_users`, `left_attendance`: other people and records.
# `rate_decimals`, `absent_from_duty`: other statistics.
# And `schools_header`, for which schools have to be named.
