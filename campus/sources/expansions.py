"""Optional expansions: requests leave out those that the platform rejects."""

from collections.abc import Sequence
from dataclasses import replace

from campus.account import Drift
from campus.fetch.reader import Readings
from campus.http.errors import Forbidden, Refused
from campus.plan.units import Unit
from campus.registry.spec import Expansions
from campus.sources.gathered import Gathered
from campus.sources.source import ReadUnit, SourceContext

EXPAND = "expand"


def with_expansions(source: Expansions, context: SourceContext, read: ReadUnit) -> ReadUnit:
    """Read the rows of a unit with all expansions that the platform accepts.

    A platform may reject a relation that it does not know. Then each relation is tried once, and the accepted
    ones stay."""
    path, capabilities = context.spec.path, context.client.capabilities

    def read_expanded(unit: Unit) -> Readings[Gathered]:
        expanded = [name for name in source.optional if not capabilities.rejects(path, EXPAND, name)]
        try:
            gathered = yield from read(_expanding(unit, expanded))
        except (Refused, Forbidden) as error:
            if not expanded:
                raise
            is_lasting = isinstance(error, Refused)
            gathered = yield from read(unit)
            tried, expanded = expanded, []
            for name in tried if len(tried) > 1 else ():
                try:
                    gathered = yield from read(_expanding(unit, [*expanded, name]))
                except (Refused, Forbidden):
                    continue
                expanded.append(name)
            for name in tried:
                if name not in expanded:
                    capabilities.reject(path, EXPAND, name, lasting=is_lasting)
        for name in source.optional:
            if name not in expanded:
                gathered.drift[Drift("refused_parameter", EXPAND, name)] += 1
        _clear_unexpanded(gathered, source.lists, expanded)
        return gathered

    return read_expanded


def _expanding(unit: Unit, names: Sequence[str]) -> Unit:
    return replace(unit, params={**unit.params, EXPAND: ",".join(names)}) if names else unit


def _clear_unexpanded(gathered: Gathered, lists: Sequence[str], expanded: Sequence[str]) -> None:
    """Make empty lists null that were not expanded: a platform may send them empty, whatever they hold."""
    for name in lists:
        if name not in expanded:
            for row in gathered.rows:
                setattr(row, name, getattr(row, name) or None)
