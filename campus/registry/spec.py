"""What is said of a resource; the registry (campus/registry/v3.py) is made of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from campus.contracts.fields import Contract

# How a resource is asked for; `campus.extract.modes` has one record for each.
Asked = Literal[
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
class ResourceSpec:
    """One resource: where it is, what its rows are, and how it is read.

    `scopes`: alternatives, any of which suffices, least first. `sliced_by`: what one slice of its lake table
    is. `wished`: parameters whose values, one by one, are left out where the platform refuses them.
    `with_trashed`: deleted rows are asked for too. `archived`: parameters and values that may show rows which
    the list hides by default; `id_filter`: the parameter that asks for rows by their ids. `single`: the
    answer is one object, not a list. `nullable_key`: parts of the key that may be null, which is a value like
    others. `numbered`: the part of the key that the platform does not send: the number of a row among those
    that share the rest of it, from 1, the greatest by `ordered_by` first. `child_of`: the resource whose rows
    the questions are made from. `unit_column`: the column that ties a row to the class, item, student or type
    it was asked for with; `unit_via`: the resource whose rows it names instead, which name the unit.
    `unit`: what one request asks for, in words, where the mode of asking does not say. `embedded_in`: the
    resource whose answer the rows come inside; `embedded_as`: the field that has them there, where later
    requests name their ids. `counts`: the number in a row that says that others come inside the answer.
    `one_or_list`: what is single may come as a list of one. `shown_alone`: a list that rows may lack in the
    collection and have where they are asked for alone, by their id below the path. `expandable`: lists whose
    content `expand` asks for; one that is empty in another answer is not known. `resolved`: columns that the
    first of other fields fills which a row has. `fields_from`: the resource that tells which fields a school
    adds. `tracks_changes`: what changes in its fields is logged; `keeps_past`: its rows are kept as they were
    before each change. `lists_semesters`: its rows are the semesters that others are asked by.
    `updated_since`: the parameter that asks only for rows whose `updated_at` is so late or later.
    `moves_with`: the resources of which something moves where one of its rows does; of a semester that is
    over they are read before it, and tell what of it has to be asked for. `seldom_changes`: a night may leave
    it as it was where none of what it is asked with has changed. `unseen`: what a reading in part cannot see,
    in words."""

    name: str
    path: str
    contract: type[Contract]
    scopes: tuple[str, ...]
    asked: Asked = "once"
    sliced_by: Slicing = "school"
    primary_key: tuple[str, ...] = ("id",)
    nullable_key: tuple[str, ...] = ()
    numbered: str | None = None
    ordered_by: tuple[str, ...] = ()
    params: dict[str, str] = field(default_factory=dict, hash=False)
    wished: dict[str, str] = field(default_factory=dict, hash=False)
    with_trashed: bool = False
    archived: tuple[tuple[str, str], ...] = ()
    id_filter: str | None = None
    paged: bool = True
    single: bool = False
    anonymous: bool = False
    child_of: str | None = None
    unit_column: str | None = None
    unit_via: str | None = None
    unit: str | None = None
    embedded_in: str | None = None
    embedded_as: str | None = None
    counts: str | None = None
    one_or_list: bool = False
    shown_alone: str | None = None
    expandable: tuple[str, ...] = ()
    tracks_changes: bool = False
    keeps_past: bool = False
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    fields_from: str | None = None
    lists_semesters: bool = False
    updated_since: str | None = None
    moves_with: tuple[str, ...] = ()
    seldom_changes: bool = False
    unseen: str = ""

    @property
    def is_v1(self) -> bool:
        """Whether it belongs to the v1 generation, which names its paging parameters differently."""
        return self.path.startswith(V1_PREFIX)
