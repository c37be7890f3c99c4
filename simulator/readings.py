"""The decisions of a platform where the specification is open, as an option each."""

from dataclasses import dataclass, field
from typing import Any


def option(default: Any, text: str, *, least: int = 1, most: int | None = None) -> Any:
    """A number from `least` to `most`, a list or a flag."""
    return field(default=default, metadata={"help": text, "least": least, "most": most})


def _reading(*choices: str, text: str) -> Any:
    """A choice that the specification leaves open. The first choice is the default."""
    return field(default=choices[0], metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class Readings:
    """The decisions of this platform where the specification is open."""

    member_class_id: str = _reading(
        "absent", "present", text="class_id in class selections, which the field list does not name."
    )
    member_times: str = _reading(
        "sent",
        "alike",
        "absent",
        text="The times of class selections. sent: each its own; alike: all the same; absent: none.",
    )
    updated_filter: str = _reading(
        "from",
        "after",
        "day",
        "utc",
        "400",
        "422",
        text="updated_at_egt of base data. from: rows updated then or later; after: later only; day: on "
        "that day or later; utc: the moment is in UTC; 400, 422: refused with this status.",
    )
    row_updates: str = _reading(
        "dated", "undated", text="updated_at in rows. dated: present; undated: missing."
    )
    with_trashed: str = _reading(
        "shown",
        "400",
        "422",
        text="with_trashed. shown: shows deleted rows too; 400, 422: refused with this status.",
    )
    deleted_at: str = _reading(
        "listed",
        "all",
        "none",
        text="deleted_at in with_trashed rows. listed: for resources whose field list names it; all: for "
        "all; none: for none.",
    )
    unexpanded: str = _reading(
        "ids",
        "objects",
        "omitted",
        "empty",
        text="Teachers and students of a course class without expand.",
    )
    admin_class_ids: str = _reading(
        "always", "expanded", text="admin_class_ids of course classes. expanded: only with expand."
    )
    grade_ids: str = _reading(
        "always", "absent", text="grade_ids of course classes. absent: only grades, with expand."
    )
    id_lists: str = _reading(
        "numbers", "texts", "objects", text="Lists of ids in v3 rows. objects: {id, name}."
    )
    expanded_people: str = _reading(
        "flat",
        "nested",
        text="People in expanded relations. flat: {id, name, usin}; nested: this object as the reflection "
        "of another object.",
    )
    people: str = _reading(
        "once",
        "joined",
        text="People in lists. once: once each; joined: one in five, who is in two groups, appears and "
        "counts twice.",
    )
    admin_class_students: str = _reading(
        "expanded",
        "always",
        "ids",
        "empty",
        "absent",
        "refused",
        text="Students of a v3 administrative class. expanded: with expand; always; ids: as ids; empty: an "
        "empty list; absent: never; refused: 422 for expand=students.",
    )
    teacher_ids: str = _reading(
        "always", "absent", text="teacher_ids of administrative classes. absent: only teachers, with expand."
    )
    structure_parent_id: str = _reading(
        "absent", "present", text="parent_id in structures, which is a filter but not a listed field."
    )
    archived: str = _reading(
        "listed",
        "by_id",
        "by_status",
        text="Archived structures, administrative classes, terms and v1 users. listed: in every list; "
        "by_id: in lists by status or id; by_status: only in lists by status.",
    )
    admin_class_status: str = _reading(
        "words",
        "numbers",
        "own",
        text="The status of administrative classes. words: normal and archived; numbers: 1 and 2; own: on "
        "and off.",
    )
    unknown_status: str = _reading(
        "empty",
        "ignored",
        "422",
        "500",
        text="The answer for an unknown status. empty: no rows; ignored: all rows; 422, 500: this status.",
    )
    terms: str = _reading(
        "unpaged", "paged", text="Paging of the list of terms, whose parameters name no paging."
    )
    term_types: str = _reading(
        "full",
        "bare",
        text="The type of a term. full: as in paths; bare: without the prefix, such as graduates_in.",
    )
    unpaged: str = _reading(
        "honoured",
        "ignored",
        "refused",
        text="paginated=0. honoured: the whole list; ignored: a page; refused: 422.",
    )
    pagination_headers: str = _reading("present", "absent", text="X-Pagination-* headers of pages.")
    per_page: str = _reading(
        "clamped", "refused", text="A per_page above the maximum. clamped: the maximum is used; refused: 422."
    )
    max_per_page: int = option(100, "The greatest per_page.")
    max_url: int = option(8000, "The greatest length of path and query; more is answered with 414.")
    page_past_end: str = _reading(
        "empty",
        "last",
        "404",
        text="A page after the last page. empty: no rows; last: the last page again; 404: this status.",
    )
    ignored: tuple[str, ...] = option((), "Query parameter that the platform ignores; repeatable.")
    unlisted: str = _reading(
        "ignored",
        "400",
        "422",
        text="Parameters and relations that the interface does not list for a path. ignored: no effect; "
        "400, 422: refused with this status.",
    )
    people_scope: str = _reading(
        "either",
        "basic",
        "all",
        text="The scope for reflections, students and teachers. basic: read_basic; all: read_all; either: "
        "any of the two.",
    )
    refused_scopes: str = _reading(
        "refuse",
        "drop",
        text="A token request with a scope that the client may not have. refuse: no token; drop: a token "
        "without the scope.",
    )
    class_scope: str = _reading(
        "class.read",
        "klass.read",
        "split",
        "either",
        text="The scope of classes, assessments and grades. class.read; klass.read (class.read is unknown); "
        "split: klass.read below /klass; either: any of the two.",
    )
    missing_assessment: str = _reading(
        "404",
        "null",
        "empty",
        "list",
        text="The answer for a class without assessment. 404; null; empty: an empty object; list: every "
        "class has a list, here an empty list.",
    )
    items: str = _reading(
        "flat",
        "nested",
        text="The items of an assessment. flat: one list; nested: each item among the children of its "
        "parent.",
    )
    unknown_ids: str = _reading(
        "404", "empty", text="Lists for an unknown semester, term type or class. empty: an empty list."
    )
    error_body: str = _reading(
        "message",
        "error",
        "errors",
        "empty",
        text="The shape of error bodies: {message}, {error: {}}, {errors: []}, or an empty body.",
    )
    envelope: str = _reading(
        "none",
        "data",
        "list",
        "code",
        text="The envelope of answers of base data and of dataset metadata: none, {data}, {list, total}, or "
        "{code, message, data}. The last two use {data} for single objects.",
    )
    refusals: str = _reading(
        "status",
        "code",
        text="Errors. status: the HTTP status; code: status 200, with a code in the body.",
    )
    schools_header: str = _reading(
        "optional", "required", text="The X-School-Id header of GET /api/v1/schools."
    )
    decimals: str = _reading(
        "short",
        "fixed",
        "number",
        text='Decimals. short: "8.5"; fixed: "8.50"; number: 8.5, against the specification.',
    )
    marks: str = _reading(
        "numbers",
        "words",
        "units",
        text="Strings with numbers. numbers: always numbers; words: also -, 85% and letters; units: with "
        "their units.",
    )
    extra_fields: str = _reading("none", "some", text="Fields in rows that the specification does not name.")
    nested_fields: str = _reading(
        "none",
        "some",
        text="Fields that the specification does not name in people, rooms, subjects and other nested "
        "objects.",
    )
    v1_scopes: str = _reading(
        "none",
        "user.read",
        "each",
        "twin",
        "own",
        text="The scopes of v1 paths besides the school's. none; user.read; each: class.read or user.read; "
        "twin: the scopes of the same data in v3; own: attendance.read or user.read.",
    )
    v1_class_ids: str = _reading(
        "same",
        "other",
        text="The v1 ids of classes. same: the v3 ids; other: different ids, so that only csin matches.",
    )
    v1_admin_class_students: str = _reading(
        "listed",
        "alone",
        "empty",
        "nowhere",
        text="Students of v1 administrative classes. listed: in the list; alone: only in a single class; "
        "empty: as alone, with an empty list in the list; nowhere: in neither.",
    )
    v1_teachers: str = _reading(
        "flat",
        "nested",
        text="Teachers in v1 objects. flat: id and name; nested: the reflection of an object.",
    )
    v1_students: str = _reading(
        "flat",
        "nested",
        text="Students of a class, of its attendance and of a card. flat: id and name; nested: the "
        "reflection of an object.",
    )
    v1_semester_ids: str = _reading(
        "same",
        "other",
        "shifted",
        text="The v1 ids of semesters. same: the v3 ids; other: different ids; shifted: the v3 id of the "
        "next semester.",
    )
    v1_semester_outer_id: str = _reading(
        "absent", "present", text="outer_id in v1 semesters, which the field list does not name."
    )
    v1_semester_names: str = _reading(
        "same", "other", text="The v1 names of semesters. same: the v3 names; other: written in another way."
    )
    v1_semester_days: str = _reading(
        "same",
        "fewer",
        "absent",
        text="The days of v1 semesters. same: the v3 days; fewer: fewer at either end; absent: none.",
    )
    v1_current_week: str = _reading(
        "counted",
        "clamped",
        "absent",
        text="current_week. counted: also before and after a semester; clamped: within the semester; "
        "absent: only in the current semester.",
    )
    v1_lesson_days: str = _reading(
        "all", "fewer", text="lesson_days. all: all weekdays with lessons; fewer: lacks a weekday."
    )
    v1_class_weeks: str = _reading(
        "within",
        "as_specified",
        "unbounded",
        text="The weeks of a v1 class. within: start_at <= week <= end_in; as_specified: start_at >= week "
        "and end_in <= week, as in the specification; unbounded: also other weeks.",
    )
    v1_is_current: str = _reading(
        "absent", "present", text="is_current in schedules, for the classes of the present week."
    )
    v1_pagination_headers: str = _reading("present", "absent", text="X-Pagination-* headers of v1 lists.")
    v1_max_per_page: int = option(100, "The greatest $per-page.")
    v1_without_semester: str = _reading(
        "all",
        "current",
        text="Classes, and attendances of a class, without semester_id. all: of every semester; current: of "
        "the current semester.",
    )
    v1_nothing: str = _reading(
        "null",
        "text",
        "list",
        text='A missing object in v1. null; text: ""; list: [].',
    )
    v1_numbers: str = _reading(
        "numbers", "text", text="Numbers of v1 classes. numbers: JSON numbers; text: strings."
    )
    v1_transcript_codes: str = _reading(
        "always",
        "missing",
        text="source_id and csin of transcript courses. missing: null for every third class.",
    )
    week_start: str = _reading(
        "monday",
        "start",
        "next_monday",
        "sunday",
        text="Teaching weeks. monday: calendar weeks; start: seven days from the semester's first day; "
        "next_monday: calendar weeks from the first Monday on; sunday: from Sunday to Saturday.",
    )
    v1_days: str = _reading(
        "monday",
        "sunday",
        text="The weekday with number 1 in schedules, lesson_days and the structure of timetables.",
    )
    left_users: str = _reading(
        "hidden", "archived", text="v1 users who have left. hidden: not shown; archived: shown as archived."
    )
    v1_unknown_student: str = _reading(
        "404", "empty", text="The attendances of an unknown student. empty: an empty list."
    )
    left_attendance: str = _reading(
        "shown", "hidden", text="Attendance records of students who have left the school."
    )
    student_ids: str = _reading(
        "id", "rid", "both", text="The id of students in a class, in its attendance and in a card."
    )
    session_student_ids: str = _reading(
        "same",
        "other",
        text="The id of students in a session. same: the id of the account; other: another id.",
    )
    unrecorded: str = _reading(
        "zero",
        "404",
        "422",
        text="The answer for a session without records. zero: an empty list and statistics of zero; 404, "
        "422: this status.",
    )
    rate_decimals: str = _reading("2", "1", "0", text="Decimals of attendance_rate.")
    absent_from_duty: str = _reading(
        "absent",
        "apart",
        text="absent_from_duty in the statistics. absent: counts as absent; apart: does not count.",
    )
    user_fields: str = _reading(
        "bare",
        "data",
        "by_role",
        "by_name",
        text="The shape of custom fields of users. bare: a list; data: an object with the list as data; "
        "by_role: a list per role; by_name: an object by name.",
    )
    enums: str = _reading(
        "known",
        "unknown",
        text="Enum values. unknown: every tenth row has a value outside the specification.",
    )
    score_rows: str = _reading(
        "item_score",
        "raw_on_leaves",
        "both",
        "raw",
        "every_item",
        text="The scores. item_score: on the lowest items, and raw for additions; raw_on_leaves: raw on the "
        "lowest items, item_score above; both: both on the lowest items; raw: only raw; every_item: "
        "item_score on every item.",
    )
    raw_scores: str = _reading(
        "one",
        "avg",
        "sum",
        "last",
        "max",
        text="The raw scores of a student and item. one: a single score; avg, sum, last, max: two scores "
        "whose avg, sum, last or max is the item's score.",
    )
    suggested_scores: str = _reading(
        "share",
        "sum",
        text="The suggested score. share: points as a share of the scored items' full scores; sum: the sum "
        "of the points.",
    )
    grade_credit: str = _reading(
        "course",
        "gained",
        text='The credit of a grade. course: the course\'s credit; gained: the gained credit ("0" when '
        "failed).",
    )
    other_grades: str = _reading(
        "none", "beside", text="Grades of conduct and dormitories. beside: listed with the grades of classes."
    )
    v3_prefix: str = _reading(
        "/v3",
        "/api/v3",
        text="The prefix of the paths of datasets and reports.",
    )
    dataset_list: str = _reading("unpaged", "paged", text="Paging of the list of datasets.")
    dataset_list_fields: str = _reading(
        "full",
        "bare",
        text="Fields and relations in the list of datasets. bare: only in a single dataset.",
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
        text="The words for field types of datasets. spec: integer; short: int; sql: bigint(20) unsigned; "
        "java: java.lang.Long; upper: INTEGER; number: number for all numbers; string_ids: string for "
        "integer keys; unknown: words outside the specification.",
    )
    dataset_primary: str = _reading(
        "flag",
        "number",
        "text",
        "absent",
        text='primary of a dataset\'s field. flag: true or false; number: 1 or 0; text: "true" or "false"; '
        "absent: missing.",
    )
    dataset_dates: str = _reading(
        "day",
        "midnight",
        "zoned",
        text="Dates of dataset records. day: YYYY-MM-DD; midnight: the first moment of the day; zoned: that "
        "moment in UTC.",
    )
    dataset_booleans: str = _reading(
        "boolean",
        "number",
        "text",
        text='Booleans of dataset records. boolean: true or false; number: 1 or 0; text: "true" or "false".',
    )
    dataset_names: str = _reading(
        "422", "ignored", text="Unknown fields and operators in filters, sort and fields of dataset records."
    )
    dataset_relations: str = _reading(
        "422", "ignored", text="An unknown relation in expand of dataset records."
    )
    dataset_operators: str = _reading(
        "seen",
        "more",
        text="The operators of dataset filters. seen: as in the specification; more: also not_in, gt, lt, "
        "eq and neq.",
    )
    dataset_order: str = _reading(
        "id",
        "shuffled",
        text="The order of dataset records without sort. id: by id; shuffled: another order per request.",
    )
    dataset_limit: str = _reading(
        "clamped", "refused", text="A limit above 10000. clamped: 10000 is used; refused: 422."
    )
    dataset_no_limit: str = _reading(
        "all", "10000", "20", text="The number of records for paginated=0 without limit."
    )
    dataset_unpaged_headers: str = _reading(
        "absent", "present", text="X-Pagination-* headers of answers to paginated=0."
    )
    dataset_id: str = _reading(
        "key",
        "field",
        text="id_egt, id_elt, id_in and sort=id if the key has another name. key: they mean the key; field: "
        "they are unknown.",
    )
    dataset_unsegmented: str = _reading(
        "422", "ignored", text="id_egt and id_elt on a dataset that does not take them."
    )
    dataset_fields_key: str = _reading(
        "as_asked",
        "added",
        text="The key of records if the parameter fields does not name it. as_asked: missing; added: "
        "present.",
    )
    write_scopes: str = _reading(
        "reading",
        "own",
        text="The scopes for writes to v1 paths. reading: the scopes for reads; own: user.write, "
        "attendance.write or device.write.",
    )
    created_user: str = _reading("201", "200", text="The status for a created user.")
    user_change: str = _reading("both", "PATCH", "PUT", text="The method that changes a user.")
    user_put: str = _reading(
        "partial",
        "whole",
        text="Fields of a user that a PUT leaves out. partial: stay; whole: become empty.",
    )
    outer_id_twice: str = _reading(
        "taken",
        "refused",
        text="A second user with the same outer_id. taken: created; refused: as a usin.",
    )
    usin_twice: str = _reading(
        "refused",
        "taken",
        text="A second user with the same usin. refused: with the status of --taken; taken: created.",
    )
    deaf_user_field: str = _reading(
        "none", "email", "phone", text="A user field that callers may send but that never changes."
    )
    taken: str = _reading("422", "409", text="The status for a usin of another user.")
    longest_text: int = option(255, "The greatest length of a user's texts.")
    four_byte_text: str = _reading(
        "stored", "refused", text="Characters beyond three bytes, such as emoji, in texts of users."
    )
    unmentioned_marks: str = _reading(
        "kept", "lost", text="Marks of a lesson that a request for the lesson leaves out."
    )
    unknown_marks: str = _reading(
        "422",
        "ignored",
        text="Marks of students outside the class. 422: refuses the request; ignored: skips these marks.",
    )
    form_bodies: str = _reading(
        "form",
        "json",
        "either",
        text="The body of cards, devices and live swipes; any other body is answered with 415.",
    )
    bare_answers: str = _reading(
        "object",
        "empty",
        "204",
        text="The answer for a new field or device, which the specification does not show. object: the "
        "object; empty: {}; 204: no content.",
    )
    live_swipes: str = _reading(
        "clock",
        "lesson",
        text="The time of a live swipe. clock: the platform's clock; lesson: the start of the day's first "
        "lesson.",
    )
    report_ids: str = _reading(
        "same",
        "own",
        text="The ids of reports and queries. same: the same in all schools; own: different in each school.",
    )
    report_unknown: str = _reading("404", "422", "400", text="The status for an unknown report or query.")
    report_missing: str = _reading("422", "ignored", text="A missing required parameter of a report.")
    report_defaults: str = _reading(
        "applied",
        "ignored",
        text="default_value of a parameter. applied: used for a missing value; ignored: only a hint for "
        "people.",
    )
    report_options: str = _reading(
        "422",
        "empty",
        "ignored",
        text="A value that is not an option. 422; empty: no rows; ignored: no filter.",
    )
    report_names: str = _reading("422", "ignored", text="Unknown names in params.")
    report_keys: str = _reading(
        "text",
        "strict",
        text='Option keys. text: 7 and "7" are equal; strict: only the exact type.',
    )
    report_date_range: str = _reading(
        "array",
        "text",
        "object",
        text='A range of dates in params. array: ["a", "b"]; text: "a,b"; object: an object of start and '
        "end.",
    )
    push_names: str = _reading(
        "names", "paths", text="The resource types of pushes. names: class_members; paths: klass/classes."
    )
    push_slashes: str = _reading(
        "plain", "escaped", text="Slashes in the signed text of a push. plain: unchanged; escaped: as \\/."
    )
    report_order: str = _reading(
        "stable",
        "shuffled",
        text="The order of a report's rows. stable: always the same; shuffled: another order per request.",
    )
    report_fields_on: str = _reading(
        "every_page",
        "first_page",
        text="The pages of a report that have the fields; on other pages fields is an empty list.",
    )
    report_empty_fields: str = _reading(
        "kept", "empty", text="fields of a report without rows. kept: unchanged; empty: an empty list."
    )
    report_empty_rows: str = _reading(
        "list", "null", text="rows of a report without rows. list: an empty list."
    )
    report_nulls: str = _reading(
        "sent", "omitted", text="Names of null values in rows of reports. omitted: missing."
    )
    report_attachments: str = _reading(
        "url",
        "object",
        "list",
        text="Attachments of reports. url: a link; object: an object of name and url; list: a list of such "
        "objects.",
    )
    report_label_path: str = _reading(
        "always", "null", "omitted", text="label_in_path of fields without a parent label."
    )
    report_kinds: str = _reading(
        "known",
        "other",
        "unknown",
        text="The words for kinds of report fields. known: as in the specification; other: INTEGER, "
        "numeric, datetime; unknown: a word outside the specification for text.",
    )
