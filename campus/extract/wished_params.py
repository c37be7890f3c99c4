"""Parameters that are wished for: those that the platform refuses are left out."""

from collections.abc import Iterable
from dataclasses import replace

from campus.decoding.page import Drift
from campus.extract.batches import Gathered
from campus.extract.hidden_rows import ReadList
from campus.extract.requests import Unit
from campus.http.client import Client
from campus.http.errors import Forbidden, Refused
from campus.registry import ResourceSpec


async def read_wished(
    client: Client, spec: ResourceSpec, unit: Unit, read_list: ReadList
) -> tuple[Unit, Gathered]:
    """The rows with as many of the wished parameters as the platform takes, and the question as it was put.

    What it refuses may be a relation that it does not know: each is tried, once a run; the others stay."""
    wishes = [(name, part) for name, value in spec.wished.items() for part in value.split(",")]
    taken = [each for each in wishes if not client.capabilities.rejects(spec.path, *each)]
    asked = _with_wishes(unit, taken)
    try:
        gathered = await read_list(asked)
    except (Refused, Forbidden):
        if not taken:
            raise
        gathered = await read_list(unit)
        doubtful, taken = taken, []
        for each in doubtful if len(doubtful) > 1 else ():
            try:
                gathered = await read_list(_with_wishes(unit, [*taken, each]))
            except (Refused, Forbidden):
                continue
            taken.append(each)
        asked = _with_wishes(unit, taken)
        for each in doubtful:
            if each not in taken:
                client.capabilities.reject(spec.path, *each)
    for name, part in wishes:
        if (name, part) not in taken:
            gathered.drift[Drift("refused_parameter", name, part)] += 1
    return asked, gathered


def _with_wishes(unit: Unit, wishes: Iterable[tuple[str, str]]) -> Unit:
    params: dict[str, str] = {}
    for name, part in wishes:
        params[name] = f"{params[name]},{part}" if name in params else part
    return replace(unit, params={**unit.params, **params})
