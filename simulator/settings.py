"""Everything about a run that can be chosen, as data: the command line is derived from it."""

from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, TypeVar

KNOWN_SCOPES = frozenset(
    {
        "semester.read",
        "term.read",
        "structure.read",
        "reflection.read_all",
        "reflection.read_basic",
        "student.read_all",
        "student.read_basic",
        "teacher.read_all",
        "teacher.read_basic",
        "admin_class.read",
        "class.read",
        "klass.read",
        "user.read",
        "dataset.read_all",
        "reporting.read_all",
    }
)

DEFAULT_TODAY = date(2025, 5, 16)  # fixed, so that runs are alike; a Friday in the second semester


def _option(default: Any, text: str, *, least: int = 1, most: int | None = None) -> Any:
    return field(default=default, metadata={"help": text, "least": least, "most": most})


def _reading(*choices: str, text: str) -> Any:
    """What the specification leaves open; the first choice, its plainest reading, is the default."""
    return field(default=choices[0], metadata={"help": text, "choices": choices})


@dataclass(frozen=True)
class Size:
    """How much school there is. The same size and seed give the same rows on every machine."""

    schools: int = _option(2, "Number of schools; their ids are 101, 102, ...", most=800)
    students: int = _option(240, "Students per school.", most=40_000)  # more would need longer ids
    semesters: int = _option(2, "Semesters per school; the last one is the current one.", most=40)
    seed: int = _option(1, "Seed of all generated rows and of the faults.", least=0)
    dataset_rows: int = _option(2_000, "Rows of the dataset big_scores in each school.", most=100_000_000)
    dataset_gap: int = _option(0, "Ids that big_scores leaves out after each thousand.", least=0)
    dataset_fresh: int = _option(
        1, "Percent of the rows of big_scores that were updated today.", least=0, most=100
    )
    today: date = field(default=DEFAULT_TODAY, metadata={"help": "The platform's own date, YYYY-MM-DD."})


@dataclass(frozen=True)
class Access:
    """Who may ask for what, and how often."""

    token_lifetime: int = _option(7200, "Seconds that a token is valid.", least=0)
    scopes: tuple[str, ...] = _option(
        (), "Permission scope that the client may get; repeatable, default all."
    )
    allowed_schools: tuple[int, ...] = _option(
        (), "School that the client may read; repeatable, default all."
    )
    rate_limit: int = _option(
        0, "Requests per second answered before 429 with Retry-After; 0 is unlimited.", least=0
    )
    log: bool = _option(True, "Keep the request log that GET /_simulator/log shows.")


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
    max_per_page: int = _option(100, "The greatest per_page.")
    max_url: int = _option(8000, "The greatest length of path and query; more is answered with 414.")
    page_past_end: str = _reading(
        "empty", "last", text="What a page after the last one is: empty, or the last page once more."
    )
    ignored: tuple[str, ...] = _option((), "Query parameter that the platform ignores; repeatable.")
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
    v1_max_per_page: int = _option(100, "The greatest $per-page.")
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
        "/v3", "/api/v3", text="What the paths of datasets begin with; under the other there is nothing."
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


Group = TypeVar("Group", Size, Access, Readings)


@dataclass(frozen=True)
class Settings:
    """A whole run."""

    size: Size = Size()
    access: Access = Access()
    readings: Readings = Readings()
    client_id: str = "demo-client"
    client_secret: str = field(default="demo-secret", repr=False)

    @classmethod
    def of(cls, client_id: str, client_secret: str, **options: Any) -> "Settings":
        """Settings from flat options, each named as the field of Size, Access or Readings that it sets."""

        def part(kind: type[Group]) -> Group:
            return kind(**{f.name: options[f.name] for f in fields(kind)})

        return cls(part(Size), part(Access), part(Readings), client_id, client_secret)
