"""What is said of a resource; the registry (campus/registry/v3.py) is made of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from campus.contracts.fields import Contract

# How the slices of a resource are requested; `campus.plan.modes` has one record for each.
ModeName = Literal[
    "once",
    "by_term_type",
    "by_semester",
    "members",
    "by_class",
    "by_item",
    "by_class_batch",
    "by_role",
    "by_student",
    "by_device",
    "by_card",
    "by_session",
]
Slicing = Literal["school", "semester", "week", "report"]
V1_PREFIX = "/api/v1/"
# What a question for rows that were updated since cannot show, whatever they are.
UNDATED = (
    "changes that move no updated_at, and deletions in a night in which a row with an older updated_at came"
)


@dataclass(frozen=True)
class DeletedRows:
    """Deleted rows are requested too, and told apart from those that are alive."""


@dataclass(frozen=True)
class Expansions:
    """Relations to expand, as far as the platform takes each of them."""

    #: Values of the parameter `expand`.
    optional: tuple[str, ...]
    #: Lists that only an expansion fills: an empty one is not known where it was not expanded.
    lists: tuple[str, ...]


@dataclass(frozen=True)
class HiddenRows:
    """Rows that a list may leave out by default, such as archived ones."""

    #: Parameters and values that may show them.
    filters: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DetailRows:
    """Rows that may lack a list in the collection, and have it where each is requested alone, by its id."""

    list: str


#: What a resource needs beyond a plain list; `campus.sources` reads each kind.
RowSource = DeletedRows | Expansions | HiddenRows | DetailRows
S = TypeVar("S", bound=RowSource)

# How an answer looks: numbered pages of a list, the whole list, one object, or either of the last two.
Shape = Literal["pages", "list", "object", "object_or_list"]


@dataclass(frozen=True)
class ResourceSpec:
    """One resource: where it is, what its rows are, and how it is read."""

    name: str
    path: str
    contract: type[Contract]
    #: Alternatives, any of which suffices, least first.
    scopes: tuple[str, ...]
    mode: ModeName = "once"
    #: What one slice of its lake table is.
    sliced_by: Slicing = "school"
    shape: Shape = "pages"
    params: dict[str, str] = field(default_factory=dict, hash=False)
    #: What it needs beyond a plain list; each wraps those before it.
    sources: tuple[RowSource, ...] = ()
    #: It is requested without a token.
    anonymous: bool = False

    primary_key: tuple[str, ...] = ("id",)
    #: Parts of the key in which null is a value like others.
    nullable_key: tuple[str, ...] = ()
    #: The part of the key that the platform does not send: the number of a row among those that share the
    #: rest of the key, from 1, the greatest by `ordered_by` first.
    numbered: str | None = None
    ordered_by: tuple[str, ...] = ()
    #: Columns that the first of other fields fills which a row has.
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    #: The resource that tells which fields a school adds.
    fields_from: str | None = None
    #: Its rows are the semesters that others are requested by.
    lists_semesters: bool = False
    #: Changes in its fields are logged.
    tracks_changes: bool = False
    #: Its rows are kept as they were before each change.
    keeps_past: bool = False

    #: The resource whose rows the requests are made from.
    child_of: str | None = None
    #: The column that ties a row to the class, item, student or type that it was requested with.
    unit_column: str | None = None
    #: The resource whose rows `unit_column` names instead, which name the unit.
    unit_via: str | None = None
    #: What one request asks for, in words, where the mode of asking does not say.
    unit: str | None = None
    #: The resource whose answer the rows come inside.
    embedded_in: str | None = None
    #: The field that has them there, where later requests name their ids.
    embedded_as: str | None = None
    #: The number in a row that says that others come inside the answer.
    counts: str | None = None

    #: The parameter that requests rows by their ids.
    id_filter: str | None = None
    #: The parameter that requests only rows whose `updated_at` is so late or later.
    updated_since: str | None = None
    #: The resources of which something moves where one of its rows does. Those of a semester that is over are
    #: read first, and tell what of it has to be requested.
    moves_with: tuple[str, ...] = ()
    #: A night may leave it as it was where none of what it is requested with has changed.
    seldom_changes: bool = False
    #: What a partial reading cannot see, in words.
    unseen: str = ""

    def source(self, kind: type[S]) -> S | None:
        """Its source of a kind; None: it has none."""
        return next((source for source in self.sources if isinstance(source, kind)), None)

    @property
    def hidden_filters(self) -> tuple[tuple[str, str], ...]:
        """Parameters and values that may show rows which its list leaves out by default."""
        hidden = self.source(HiddenRows)
        return () if hidden is None else hidden.filters

    @property
    def is_one_object(self) -> bool:
        """Whether an answer is one object, not a list."""
        return self.shape in ("object", "object_or_list")

    @property
    def is_v1(self) -> bool:
        """Whether it belongs to the v1 generation, which names its paging parameters differently."""
        return self.path.startswith(V1_PREFIX)
