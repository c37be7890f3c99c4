"""Reading one unit of a slice, with all that may have to be asked for besides."""

from functools import partial

from campus.extract.batches import Gathered
from campus.extract.collection import read_pages
from campus.extract.deleted_rows import read_with_trashed
from campus.extract.hidden_rows import add_hidden
from campus.extract.requests import Unit, Where
from campus.extract.row_rules import apply_row_rules
from campus.extract.wished_params import read_wished
from campus.http.client import Client
from campus.http.events import Tally
from campus.registry import ResourceSpec

EXPAND = "expand"


async def read_unit(client: Client, spec: ResourceSpec, where: Where, unit: Unit, tally: Tally) -> Gathered:
    """The rows of one unit, those that its list hides among them, as the lake can take them.

    Raises CampusError."""
    read_list = partial(_read_rows, client, spec, where.school_id, tally=tally)
    asked, gathered = await read_wished(client, spec, unit, read_list)
    await add_hidden(client, spec, where, asked, gathered, tally, read_list)
    _forget_unexpanded(gathered, spec, asked)
    return apply_row_rules(gathered, spec, unit)


def _forget_unexpanded(gathered: Gathered, spec: ResourceSpec, asked: Unit) -> None:
    """Make empty lists null, in place, that the request did not ask to expand: a platform may send them so
    beside any number of rows."""
    expanded = asked.params.get(EXPAND, "").split(",")
    for name in spec.expandable:
        if name not in expanded:
            for row in gathered.rows:
                setattr(row, name, getattr(row, name) or None)


async def _read_rows(
    client: Client, spec: ResourceSpec, school_id: int | None, unit: Unit, *, tally: Tally
) -> Gathered:
    if spec.with_trashed:
        return await read_with_trashed(client, spec, school_id, unit, tally)
    gathered, _ = await read_pages(client, spec, school_id, unit, tally)
    return gathered
