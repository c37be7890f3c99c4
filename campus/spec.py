"""What is said of a resource; the registry (campus/resources.py) is made of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from campus.contract import Contract

# How a resource is asked for; `campus.questions` has one function for each.
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
    "by_app",
    "by_session",
]
Slicing = Literal["school", "semester", "week", "report"]
V1_PREFIX = "/api/v1/"


@dataclass(frozen=True)
class ResourceSpec:
    """One resource: where it is, what its rows are, and how it is read.

    `scopes`: alternatives, any of which suffices, least first. `sliced_by`: what one slice of its lake table
    is. `with_trashed`: deleted rows are asked for too. `single`: the answer is one object, not a list.
    `child_of`: the resource whose rows the questions are made from. `unit_column`: the column that ties a row
    to the class, item, student or type it was asked for with. `embedded_in`: the resource whose answer the
    rows come inside. `resolved`: columns that the first of other fields fills which a row has."""

    name: str
    path: str
    contract: type[Contract]
    scopes: tuple[str, ...]
    asked: Asked = "once"
    sliced_by: Slicing = "school"
    primary_key: tuple[str, ...] = ("id",)
    params: dict[str, str] = field(default_factory=dict, hash=False)
    with_trashed: bool = False
    paged: bool = True
    single: bool = False
    anonymous: bool = False
    child_of: str | None = None
    unit_column: str | None = None
    embedded_in: str | None = None
    tracks_changes: bool = False
    resolved: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    @property
    def is_v1(self) -> bool:
        """Whether it belongs to the v1 generation, which names its paging parameters differently."""
        return self.path.startswith(V1_PREFIX)
