"""The rows of a slice that stay, though its reading lacks them."""

from collections.abc import Collection

from campus.plan.modes import MODES, parents_of
from campus.registry import RESOURCES, ResourceSpec
from loading.forgotten import forgotten_ids
from loading.slices.stage import SliceContext
from loading.tables import TABLES, values
from warehouse.lake.delta import Lake
from warehouse.lake.tables import Slice
from warehouse.load.slice_reading import RetainedRows

# Each request for a person's transcripts names a row of this resource.
PEOPLE = RESOURCES["v1_users"]


def retained_rows(context: SliceContext, failed: Collection[int | str]) -> tuple[RetainedRows, ...]:
    """The rows that stay: of the forgotten, and of a class, item or type that could not be read.

    Args:
        failed: The classes, items or types."""
    return (*_of_forgotten(context), *_of_failed(context, tuple(failed)))


def unit_values(
    lake: Lake, spec: ResourceSpec, slice: Slice, ids: tuple[int | str, ...]
) -> tuple[int | str, ...]:
    """The values of a resource's `unit_column` in the rows that belong to these classes or items."""
    if spec.unit_via is None:
        return ids
    return tuple(row_id for row_id, unit in units_by_row(lake, spec, slice).items() if unit in ids)


def units_by_row(lake: Lake, spec: ResourceSpec, slice: Slice) -> dict[int, int]:
    """The class of each row that a resource's `unit_column` names, where that is not the class itself."""
    via = RESOURCES[spec.unit_via or ""]
    column = via.unit_column or ""
    rows = lake.read(TABLES[via.name], slice, ["id", column], alive=False)
    return dict(zip(values(rows, "id"), values(rows, column), strict=True))


def _of_forgotten(context: SliceContext) -> tuple[RetainedRows, ...]:
    """The rows of the forgotten where each request names a person, as long as the person is there."""
    spec, lake, school_id = context.spec, context.runtime.lake, context.slice.school_id
    substitutes = forgotten_ids(lake, school_id)
    if not (substitutes and MODES[spec.mode].names_parents and spec.unit_column):
        return ()
    if parents_of(spec) != PEOPLE:
        return ()
    alive = lake.read(TABLES[PEOPLE.name], Slice.of(_school_id=school_id), ["id"])
    stay = substitutes.intersection(values(alive, "id"))
    return (RetainedRows(spec.unit_column, tuple(stay), failed=False),) if stay else ()


def _of_failed(context: SliceContext, failed: tuple[int | str, ...]) -> tuple[RetainedRows, ...]:
    spec = context.spec
    if not failed or spec.unit_column is None:
        return ()
    ids = unit_values(context.runtime.lake, spec, context.slice, failed)
    if MODES[spec.mode].rows_may_respell:
        ids = _spellings(context, spec.unit_column, ids)
    return (RetainedRows(spec.unit_column, ids),)


def _spellings(context: SliceContext, column: str, failed: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The types of stored terms that the failed types may stand for: a platform may send `graduates_in` for
    `system.graduates_in`, or words of its own."""
    requested = context.runtime.term_types
    failed_bare = {_bare(str(kind)) for kind in failed}
    read_bare = {_bare(kind) for kind in requested if kind not in failed}
    rows = context.runtime.lake.read(TABLES[context.spec.name], context.slice, [column], alive=False)
    others = [kind for kind in {*values(rows, column)} if kind is not None and kind not in requested]
    return (
        *failed,
        *(kind for kind in others if _bare(kind) in failed_bare or _bare(kind) not in read_bare),
    )


def _bare(kind: str) -> str:
    """A term's type without its prefix."""
    return kind.rpartition(".")[2]
