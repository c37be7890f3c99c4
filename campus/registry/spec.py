"""Defines the entries of the registry."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from campus.contracts.fields import Contract

# How a resource is requested; `campus.plan.modes` describes each way.
RequestMode = Literal[
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
# Changes that a request for updated rows cannot show.
UNDATED = (
    "changes that move no updated_at, and deletions in a night in which a row with an older updated_at came"
)


@dataclass(frozen=True)
class DeletedRows:
    """Deleted rows are requested too, and marked as deleted."""


@dataclass(frozen=True)
class Expansions:
    """Relations to expand, where the platform accepts them."""

    #: Values of the parameter `expand`.
    optional: tuple[str, ...]
    #: Lists that only an expansion fills: without the expansion an empty list means nothing.
    lists: tuple[str, ...]


@dataclass(frozen=True)
class HiddenRows:
    """Rows that a list may leave out by default, such as archived ones."""

    #: Parameters and values that may show them.
    filters: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DetailRows:
    """Rows that may lack a list in the collection, and have it where a row is requested alone by its id."""

    list: str


#: What a resource needs beyond a plain list; `campus.sources` reads each kind.
RowSource = DeletedRows | Expansions | HiddenRows | DetailRows
S = TypeVar("S", bound=RowSource)

# The form of an answer: numbered pages of a list, the whole list, one object, or one of the last two.
Shape = Literal["pages", "list", "object", "object_or_list"]


@dataclass(frozen=True)
class ResourceSpec:
    """One resource: its path, its rows, and how they are read."""

    name: str
    path: str
    contract: type[Contract]
    #: Alternatives, any of which suffices, least first. Empty: the resource is requested without a token.
    scopes: tuple[str, ...]
    mode: RequestMode = "once"
    #: The extent of a slice of its lake table.
    sliced_by: Slicing = "school"
    shape: Shape = "pages"
    params: dict[str, str] = field(default_factory=dict, hash=False)
    #: What it needs beyond a plain list; each source wraps the sources before it.
    sources: tuple[RowSource, ...] = ()

    primary_key: tuple[str, ...] = ("id",)
    #: Parts of the key that may be null.
    nullable_key: tuple[str, ...] = ()
    #: The part of the key that the platform does not send: it numbers the rows that share the rest of the key
    #: from 1, the greatest by `ordered_by` first.
    numbered: str | None = None
    ordered_by: tuple[str, ...] = ()
    #: Columns that are filled from other fields: from the first field that is not null.
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    #: The resource that lists the fields that a school adds.
    fields_from: str | None = None
    #: Columns that not every reading requests: their first value is no change of the row.
    filled_later: tuple[str, ...] = ()
    #: Its rows are the semesters by which other resources are requested.
    lists_semesters: bool = False
    #: Changes in its fields are logged.
    tracks_changes: bool = False
    #: The former versions of its rows are stored.
    keeps_past: bool = False

    #: The resource whose rows the requests name.
    child_of: str | None = None
    #: The column that names the unit of a row: the class, item, student or type of its request.
    unit_column: str | None = None
    #: A resource whose rows name the unit: `unit_column` names one of its rows.
    unit_via: str | None = None
    #: The word for a unit, where it is not the word of `campus.plan.modes`.
    unit: str | None = None
    #: The resource whose answers contain the rows.
    embedded_in: str | None = None
    #: The field of these answers that contains them, where later requests name their ids.
    embedded_as: str | None = None
    #: The column that counts the rows of other resources in the same answer.
    counts: str | None = None

    #: The parameter that requests rows by their ids.
    id_filter: str | None = None
    #: The parameter that requests only rows updated at a time or later.
    updated_since: str | None = None
    #: The resources that change with its rows. Of a past semester they are read first, and show which of its
    #: rows must be requested.
    moves_with: tuple[str, ...] = ()
    #: A night may skip the units whose parents are unchanged.
    seldom_changes: bool = False
    #: The changes that a partial reading misses, in words.
    unseen: str = ""

    def source(self, kind: type[S]) -> S | None:
        """Its source of a kind, if any."""
        return next((source for source in self.sources if isinstance(source, kind)), None)

    @property
    def hidden_filters(self) -> tuple[tuple[str, str], ...]:
        """Parameters and values that may show the rows that its list leaves out by default."""
        hidden = self.source(HiddenRows)
        return () if hidden is None else hidden.filters

    @property
    def anonymous(self) -> bool:
        """Whether it is requested without a token."""
        return not self.scopes

    @property
    def is_one_object(self) -> bool:
        """Whether an answer is one object, not a list."""
        return self.shape in ("object", "object_or_list")

    @property
    def is_v1(self) -> bool:
        """Whether it belongs to the v1 interface, which names its paging parameters differently."""
        return self.path.startswith(V1_PREFIX)


def embedded(
    parent: ResourceSpec,
    name: str,
    contract: type[Contract],
    primary_key: tuple[str, ...] = ("id",),
    **changes: Any,
) -> ResourceSpec:
    """A resource whose rows the answers of `parent` contain. The two differ in `changes`."""
    changes = {"shape": "list", "counts": None, "filled_later": ()} | changes
    return replace(
        parent, name=name, contract=contract, primary_key=primary_key, embedded_in=parent.name, **changes
    )
