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
    member_times: str = _reading(
        "sent",
        "alike",
        "absent",
        text="Whether class selections tell when they were made: each its own moment, all one, or none.",
    )
    updated_filter: str = _reading(
        "from",
        "after",
        "day",
        "utc",
        "400",
        "422",
        text="What updated_at_egt of base data asks for: what was updated then or later; later only; on that "
        "day or later; then or later where the moment is in UTC; or it is refused.",
    )
    row_updates: str = _reading(
        "dated", "undated", text="Whether rows say when they were updated (updated_at)."
    )
    with_trashed: str = _reading(
        "shown", "400", "422", text="What with_trashed does: it shows deleted rows too, or is refused."
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
    grade_ids: str = _reading(
        "always", "absent", text="Whether course classes carry grade_ids, or grades with expand alone."
    )
    id_lists: str = _reading(
        "numbers", "texts", "objects", text="The lists of ids of v3 rows: numbers, texts, or {id, name}."
    )
    expanded_people: str = _reading(
        "flat",
        "nested",
        text="People in expanded relations: {id, name, usin}, or such an object as reflection of another.",
    )
    people: str = _reading(
        "once",
        "joined",
        text="People in lists: each once; or every fifth, who is in two groups, twice, and counted so.",
    )
    admin_class_students: str = _reading(
        "expanded",
        "always",
        "ids",
        "empty",
        "absent",
        "refused",
        text="Students of a v3 administrative class: with expand; always; as ids; as an empty list; not even "
        "with expand; or 422 for expand=students.",
    )
    teacher_ids: str = _reading(
        "always", "absent", text="Whether administrative classes carry teacher_ids, or teachers with expand."
    )
    structure_parent_id: str = _reading(
        "absent", "present", text="Whether structures carry parent_id (a filter, but not a listed field)."
    )
    archived: str = _reading(
        "listed",
        "by_id",
        "by_status",
        text="Archived structures, administrative classes, terms and v1 users: in every list; in those that "
        "ask for a status or an id; or for a status alone.",
    )
    admin_class_status: str = _reading(
        "words",
        "numbers",
        "own",
        text="The status of administrative classes: normal and archived, 1 and 2, or on and off.",
    )
    unknown_status: str = _reading(
        "empty",
        "ignored",
        "422",
        "500",
        text="What a status that does not exist does: no rows, nothing, 422, or 500.",
    )
    terms: str = _reading(
        "unpaged", "paged", text="Whether the list of terms is paged (its parameters name no paging)."
    )
    term_types: str = _reading(
        "full", "bare", text="The type of a term as paths have it, or without its prefix: graduates_in."
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
        "empty",
        "last",
        "404",
        text="What a page after the last one is: empty, the last page once more, or 404.",
    )
    ignored: tuple[str, ...] = option((), "Query parameter that the platform ignores; repeatable.")
    unlisted: str = _reading(
        "ignored",
        "400",
        "422",
        text="What parameters and relations do that the interface does not list for a path: nothing, 400, "
        "or 422.",
    )
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
    class_scope: str = _reading(
        "class.read",
        "klass.read",
        "split",
        "either",
        text="The scope of classes, assessments and grades: class.read; klass.read (class.read is unknown); "
        "klass.read for what lies under /klass; or either.",
    )
    missing_assessment: str = _reading(
        "404",
        "null",
        "empty",
        "list",
        text="The answer for a class without assessment: 404, null, or an empty object; or every class has a "
        "list, of one assessment or none.",
    )
    items: str = _reading(
        "flat",
        "nested",
        text="The items of an assessment: one list, or each inside its parent as one of its children.",
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
    envelope: str = _reading(
        "none",
        "data",
        "list",
        "code",
        text="What stands around answers of base data, and of metadata of datasets: nothing, "
        "{data}, {list, total}, or {code, message, data}; the latter two leave single objects to {data}.",
    )
    refusals: str = _reading(
        "status",
        "code",
        text="How an error is told: by its HTTP status, or by status 200 and a code in the body.",
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
    marks: str = _reading(
        "numbers",
        "words",
        "units",
        text="Strings that carry numbers: always numbers; also -, 85% and letters; or with their units.",
    )
    extra_fields: str = _reading(
        "none", "some", text="Whether rows carry fields that the specification does not name."
    )
    nested_fields: str = _reading(
        "none",
        "some",
        text="Whether people, rooms, subjects and other objects inside rows carry fields that the "
        "specification does not name.",
    )
    v1_scopes: str = _reading(
        "none",
        "user.read",
        "each",
        "twin",
        "own",
        text="Scopes that v1 paths need besides the school's: none; user.read; class.read and user.read; "
        "those that v3 has for the same; or names of their own (attendance.read, user.read).",
    )
    v1_class_ids: str = _reading(
        "same",
        "other",
        text="Whether v1 knows a class by its v3 id, or by another so that only csin matches.",
    )
    v1_admin_class_students: str = _reading(
        "listed",
        "alone",
        "empty",
        "nowhere",
        text="Students in the v1 list of administrative classes: there; only in each class asked for alone; "
        "the same with an empty list; or in neither.",
    )
    v1_teachers: str = _reading(
        "flat", "nested", text="Teachers of v1 objects: with id and name, or as reflection of an object only."
    )
    v1_students: str = _reading(
        "flat",
        "nested",
        text="Students of a class, of its attendance and of a card: with id and name, or as reflection of an "
        "object only.",
    )
    v1_semester_ids: str = _reading(
        "same",
        "other",
        "shifted",
        text="Whether v1 knows a semester by its v3 id, by another, or by the one that v3 has for the next.",
    )
    v1_semester_outer_id: str = _reading(
        "absent", "present", text="Whether semesters of v1 carry outer_id (the field list does not name it)."
    )
    v1_semester_names: str = _reading(
        "same", "other", text="Whether v1 calls a semester as v3 does, or writes its name in another way."
    )
    v1_semester_days: str = _reading(
        "same",
        "fewer",
        "absent",
        text="Days of a semester in v1: those of v3, fewer at either end, or none.",
    )
    v1_current_week: str = _reading(
        "counted",
        "clamped",
        "absent",
        text="current_week counts on before and after a semester, stays within it, or is there for the "
        "current semester only.",
    )
    v1_lesson_days: str = _reading(
        "all", "fewer", text="Whether lesson_days has all weekdays with lessons, or lacks one of them."
    )
    v1_class_weeks: str = _reading(
        "within",
        "as_specified",
        "unbounded",
        text="A class takes place with start_at <= week <= end_in; as the specification words it, with "
        "start_at >= week and end_in <= week; or in other weeks, too.",
    )
    v1_is_current: str = _reading(
        "absent", "present", text="Whether schedules carry is_current, for the classes of the present week."
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
    v1_nothing: str = _reading(
        "null",
        "text",
        "list",
        text='What v1 sends for an object that is not there: null, "" or [].',
    )
    v1_numbers: str = _reading(
        "numbers", "text", text="Whether numbers of v1 classes are JSON numbers, or text."
    )
    v1_transcript_codes: str = _reading(
        "always",
        "missing",
        text="Whether courses of transcripts always have source_id and csin; null for every third class.",
    )
    week_start: str = _reading(
        "monday",
        "start",
        "next_monday",
        "sunday",
        text="Teaching weeks: calendar weeks; seven days each from the semester's first day; calendar weeks "
        "from the first Monday on; or weeks from Sunday to Saturday.",
    )
    v1_days: str = _reading(
        "monday",
        "sunday",
        text="Which weekday is day 1 of schedules, lesson_days and the structure of timetables.",
    )
    left_users: str = _reading(
        "hidden", "archived", text="Whether v1 shows users that have left, as archived, or not at all."
    )
    v1_unknown_student: str = _reading(
        "404", "empty", text="The attendances of a student whom v1 does not know: 404, or an empty list."
    )
    left_attendance: str = _reading(
        "shown", "hidden", text="Whether a session shows the records of students that have left the school."
    )
    student_ids: str = _reading(
        "id", "rid", "both", text="Which id the students of a class, of its attendance and of a card carry."
    )
    session_student_ids: str = _reading(
        "same", "other", text="Students of a session: with the id of their account, or with another one."
    )
    unrecorded: str = _reading(
        "zero",
        "404",
        "422",
        text="A session without records: an empty list and statistics of zero, 404, or 422.",
    )
    rate_decimals: str = _reading("2", "1", "0", text="Decimals of attendance_rate.")
    absent_from_duty: str = _reading(
        "absent", "apart", text="Whether the statistics count absent_from_duty as absent or not at all."
    )
    user_fields: str = _reading(
        "bare",
        "data",
        "by_role",
        "by_name",
        text="The custom fields of users: a list, an object with the list as data, or with a list for each "
        "role, or with each field under its name.",
    )
    enums: str = _reading(
        "known", "unknown", text="Whether every tenth row has enum values that nobody has heard of."
    )
    score_rows: str = _reading(
        "item_score",
        "raw_on_leaves",
        "both",
        "raw",
        "every_item",
        text="Which scores there are: item_score on the lowest items (and raw additions), raw there and "
        "item_score on the items above, both on the lowest, raw ones alone, or item_score on every item.",
    )
    raw_scores: str = _reading(
        "one",
        "avg",
        "sum",
        "last",
        "max",
        text="Raw scores of a student and item: one, or two of which the item's score is this.",
    )
    suggested_scores: str = _reading(
        "share",
        "sum",
        text="The suggested score: points as a share of what the scored items give, or their sum, to which "
        "a missing score adds nothing.",
    )
    grade_credit: str = _reading(
        "course", "gained", text='The credit of a grade: its course\'s, or what was gained ("0" when failed).'
    )
    other_grades: str = _reading(
        "none", "beside", text="Whether grades of conduct and dormitories come with those of classes."
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
    dataset_type_words: str = _reading(
        "spec",
        "short",
        "sql",
        "java",
        "upper",
        "number",
        "string_ids",
        "unknown",
        text="Words for the types of a dataset's fields: integer, int, bigint(20) unsigned, java.lang.Long, "
        "INTEGER, number for all numbers, string for keys though they are integers, or such as nobody has "
        "heard of.",
    )
    dataset_primary: str = _reading(
        "flag",
        "number",
        "text",
        "absent",
        text="What primary of a dataset's field is: true or false, 1 or 0, text, or nothing at all.",
    )
    dataset_dates: str = _reading(
        "day",
        "midnight",
        "zoned",
        text="Dates of dataset records: YYYY-MM-DD, the moment at which the day begins, or that in UTC.",
    )
    dataset_booleans: str = _reading(
        "boolean", "number", "text", text="Booleans of dataset records: true or false, 1 or 0, or text."
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
    write_scopes: str = _reading(
        "reading",
        "own",
        text="Scopes that v1 paths need to be written to: those to be read; or names of their own "
        "(user.write, attendance.write, device.write).",
    )
    created_user: str = _reading("201", "200", text="The status for a user who was made.")
    user_change: str = _reading("both", "PATCH", "PUT", text="The method that changes a user.")
    user_put: str = _reading(
        "partial",
        "whole",
        text="What PUT does to fields of a user that it leaves out: keeps, or empties them.",
    )
    outer_id_twice: str = _reading(
        "taken",
        "refused",
        text="A second user with an outer_id that another has: made, or refused as a usin is.",
    )
    usin_twice: str = _reading("refused", "taken", text="A second user with a usin that another has.")
    deaf_user_field: str = _reading(
        "none", "email", "phone", text="A field of users that callers may send, and that stays as it is."
    )
    taken: str = _reading("422", "409", text="The status for a usin that another user has.")
    longest_text: int = option(255, "The greatest length of a user's texts.")
    four_byte_text: str = _reading(
        "stored", "refused", text="Letters beyond three bytes, such as emoji, in a user's texts."
    )
    unmentioned_marks: str = _reading(
        "kept", "lost", text="Marks of a lesson whose students a request for its marks leaves out."
    )
    unknown_marks: str = _reading(
        "422", "ignored", text="Marks of students who are not in the class: 422 for all, or left out."
    )
    form_bodies: str = _reading(
        "form", "json", "either", text="How cards, devices and live swipes are sent; 415 for the other."
    )
    bare_answers: str = _reading(
        "object",
        "empty",
        "204",
        text="The answer to a new field or device, which is not shown: itself, an empty object, no content.",
    )
    live_swipes: str = _reading(
        "clock",
        "lesson",
        text="When a live swipe is: by the clock, or as the first lesson of the day begins.",
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
    push_names: str = _reading(
        "names", "paths", text="Resource types of pushes: names (class_members), or paths (klass/classes)."
    )
    push_slashes: str = _reading(
        "plain", "escaped", text="Slashes in what a push is signed with: as they are, or escaped."
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
        "known",
        "other",
        "unknown",
        text="Words for the kinds of a report's fields: the specification's, other ones (INTEGER, numeric, "
        "datetime), or for text one that nobody has heard of.",
    )
