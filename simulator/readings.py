"""What the specification leaves open, as this platform decided: an option each, as in settings."""

from dataclasses import dataclass, field
from typing import Any


def option(default: Any, text: str, *, least: int = 1, most: int | None = None) -> Any:
    """What is a number, a list or a flag; a number from `least` to `most`."""
    return field(default=default, metadata={"help": text, "least": least, "most": most})


def _reading(*choices: str, text: str) -> Any:
    """What the specification leaves open; the first choice, its plainest reading, is the default."""
    return field(default=choices[0], metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class Readings:
    """How this platform decided what the specification does not show."""

    member_class_id: str = _reading(
        "absent", "present", text="Whether class selections carry class_id (the field list does not name it)."
    )
    deleted_at: str = _reading(
        "listed",
        "all",
        "none",
        text="Which with_trashed rows show deleted_at: resources whose field list names it, all, or none.",
    )
    unexpanded: str = _reading(
        "ids",
        "objects",
        "omitted",
        "empty",
        text="What teachers and students of a course class are without expand.",
    )
    admin_class_ids: str = _reading(
        "always", "expanded", text="Whether course classes carry admin_class_ids always or with expand only."
    )
    structure_parent_id: str = _reading(
        "absent", "present", text="Whether structures carry parent_id (a filter, but not a listed field)."
    )
    terms: str = _reading(
        "unpaged", "paged", text="Whether the list of terms is paged (its parameters name no paging)."
    )
    unpaged: str = _reading(
        "honoured", "ignored", "refused", text="What paginated=0 does: the whole list, nothing, or 422."
    )
    pagination_headers: str = _reading(
        "present", "absent", text="Whether pages carry X-Pagination-* headers."
    )
    per_page: str = _reading(
        "clamped", "refused", text="What happens to a per_page above the greatest: clamped, or 422."
    )
    max_per_page: int = option(100, "The greatest per_page.")
    max_url: int = option(8000, "The greatest length of path and query; more is answered with 414.")
    page_past_end: str = _reading(
        "empty", "last", text="What a page after the last one is: empty, or the last page once more."
    )
    ignored: tuple[str, ...] = option((), "Query parameter that the platform ignores; repeatable.")
    people_scope: str = _reading(
        "either",
        "basic",
        "all",
        text="Which of read_basic and read_all opens reflections, students and teachers.",
    )
    refused_scopes: str = _reading(
        "refuse",
        "drop",
        text="A token request for a scope the client may not have: refused, or the scope dropped.",
    )
    missing_assessment: str = _reading(
        "404",
        "null",
        "empty",
        text="The answer for a class without assessment: 404, null, or an empty object.",
    )
    unknown_ids: str = _reading(
        "404", "empty", text="Lists for an unknown semester, term type or class: 404, or an empty list."
    )
    error_body: str = _reading(
        "message",
        "error",
        "errors",
        "empty",
        text="Shape of error bodies: {message}, {error: {}}, {errors: []}, or none.",
    )
    schools_header: str = _reading(
        "optional", "required", text="Whether GET /api/v1/schools needs the X-School-Id header."
    )
    decimals: str = _reading(
        "short",
        "fixed",
        "number",
        text='Decimals as "8.5", as "8.50", or as the number 8.5 (against the specification).',
    )
    extra_fields: str = _reading(
        "none", "some", text="Whether rows carry fields that the specification does not name."
    )
    v1_scopes: str = _reading(
        "none",
        "user.read",
        "each",
        text="Scopes that v1 paths need besides the school's: none, user.read, or class.read and user.read.",
    )
    v1_class_ids: str = _reading(
        "same",
        "other",
        text="Whether v1 knows a class by its v3 id, or by another so that only csin matches.",
    )
    v1_pagination_headers: str = _reading(
        "present", "absent", text="Whether pages of v1 lists carry X-Pagination-* headers."
    )
    v1_max_per_page: int = option(100, "The greatest $per-page.")
    v1_without_semester: str = _reading(
        "all",
        "current",
        text="Classes and a class's attendances without semester_id: of any semester, or of the current.",
    )
    week_start: str = _reading(
        "monday",
        "start",
        text="Teaching weeks: calendar weeks, or seven days each from the semester's first day.",
    )
    left_users: str = _reading(
        "hidden", "archived", text="Whether v1 shows users that have left, as archived, or not at all."
    )
    student_ids: str = _reading(
        "id", "rid", "both", text="Which id the students of a class and of its attendance carry."
    )
    unrecorded: str = _reading(
        "zero", "404", text="A session without records: an empty list and statistics of zero, or 404."
    )
    rate_decimals: str = _reading("2", "1", "0", text="Decimals of attendance_rate.")
    absent_from_duty: str = _reading(
        "absent", "apart", text="Whether the statistics count absent_from_duty as absent or not at all."
    )
    user_fields: str = _reading(
        "bare", "data", text="The custom fields of users: a list, or an object with the list as data."
    )
    enums: str = _reading(
        "known", "unknown", text="Whether every tenth row has enum values that nobody has heard of."
    )
    v3_prefix: str = _reading(
        "/v3",
        "/api/v3",
        text="What the paths of datasets and reports begin with; under the other there is nothing.",
    )
    dataset_list: str = _reading("unpaged", "paged", text="Whether the list of datasets is paged.")
    dataset_list_fields: str = _reading(
        "full",
        "bare",
        text="Whether the list of datasets carries fields and relations, as each one alone does.",
    )
    dataset_names: str = _reading(
        "422", "ignored", text="What fields and operators that do not exist do in filters, sort and fields."
    )
    dataset_relations: str = _reading(
        "422", "ignored", text="What an unknown relation does in expand of dataset records."
    )
    dataset_operators: str = _reading(
        "seen",
        "more",
        text="Operators of dataset filters: those in the specification, or not_in, gt, lt, eq and neq too.",
    )
    dataset_order: str = _reading(
        "id",
        "shuffled",
        text="The order of dataset records without sort: by id, or another one for each request.",
    )
    dataset_limit: str = _reading("clamped", "refused", text="What happens to a limit above 10000.")
    dataset_no_limit: str = _reading(
        "all", "10000", "20", text="How many records paginated=0 gives without limit."
    )
    dataset_unpaged_headers: str = _reading(
        "absent", "present", text="Whether answers to paginated=0 carry X-Pagination-* headers."
    )
    dataset_id: str = _reading(
        "key", "field", text="Whether id_egt, id_elt, id_in and sort=id mean a key that has another name."
    )
    dataset_unsegmented: str = _reading(
        "422", "ignored", text="What id_egt and id_elt do where a dataset does not understand them."
    )
    dataset_fields_key: str = _reading(
        "as_asked",
        "added",
        text="Whether records carry their key where the parameter fields does not name it.",
    )
    report_ids: str = _reading(
        "same",
        "own",
        text="Whether reports and queries have the same ids in all schools, or their own in each.",
    )
    report_unknown: str = _reading(
        "404", "422", "400", text="The status for a report, or a query of a report, that does not exist."
    )
    report_missing: str = _reading(
        "422", "ignored", text="What happens where a required parameter of a report is missing."
    )
    report_defaults: str = _reading(
        "applied",
        "ignored",
        text="Whether a parameter's default_value holds where none is given, or is a hint for people only.",
    )
    report_options: str = _reading(
        "422",
        "empty",
        "ignored",
        text="What a value that is no option does: 422, no rows for it, or as if it were not given.",
    )
    report_names: str = _reading(
        "422", "ignored", text="What names that are no parameter of the report do in params."
    )
    report_keys: str = _reading(
        "text",
        "strict",
        text='Whether 7 and "7" are the same option key, or only the one that options have.',
    )
    report_date_range: str = _reading(
        "array",
        "text",
        "object",
        text='How params carry a range of dates: ["a", "b"], "a,b", or an object of start and end.',
    )
    report_order: str = _reading(
        "stable", "shuffled", text="The order of a report's rows: one, or another for each request."
    )
    report_fields_on: str = _reading(
        "every_page", "first_page", text="Which pages carry the fields; on others they are an empty list."
    )
    report_empty_fields: str = _reading(
        "kept", "empty", text="What fields is where there are no rows: as ever, or an empty list."
    )
    report_empty_rows: str = _reading("list", "null", text="What rows is where there are none.")
    report_nulls: str = _reading(
        "sent", "omitted", text="Whether rows of reports carry the names of what is null."
    )
    report_attachments: str = _reading(
        "url",
        "object",
        "list",
        text="Attachments: a link, an object of name and url, or a list of such objects.",
    )
    report_label_path: str = _reading(
        "always", "null", "omitted", text="What label_in_path is for fields that stand under no other label."
    )
    report_kinds: str = _reading(
        "known", "unknown", text="Whether fields of kind text have a kind that nobody has heard of instead."
    )
