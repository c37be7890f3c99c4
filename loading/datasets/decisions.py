"""Decides types and keys of a school's datasets by their values, where the metadata leave them open."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Raw

from campus.account import Drift
from campus.datasets.metadata import OfferedDatasets
from campus.datasets.selection import DatasetQuery, SelectionError, embedded_datasets, plan_query
from campus.datasets.type_inference import decide, first_rows, needs_values, revise
from campus.decoding.definition import Decided, Definition, meaning_of, parse_definition
from campus.fetch.collection import run_together
from campus.fetch.reader import Reader
from campus.http.client import segment
from campus.http.errors import CampusError
from campus.registry import DATASETS
from loading.datasets.tables import decided_of, planned_table
from loading.slices.loader import Loader
from warehouse.load.logs.dataset_plans import Plan
from warehouse.load.logs.load_log import quarantined, unreadable_fields
from warehouse.load.watermark import extra_fields


class Decisions:
    """The decisions on a school's datasets, by name.

    Attributes:
        decided: Of this discovery and of earlier ones.
        definitions: With these decisions.
        drift: Decisions of this discovery.
        undecided: Errors that prevented a decision.
    """

    def __init__(
        self, loader: Loader, school_id: int, offered: OfferedDatasets, before: Mapping[str, Plan]
    ) -> None:
        self._loader, self._school_id, self._offered, self._before = loader, school_id, offered, before
        self.decided = _earlier_decisions(before)
        self.definitions = {
            name: parse_definition(sent, self.decided) for name, sent in offered.definitions.items()
        }
        self.drift: dict[str, list[Drift]] = {}
        self.undecided: dict[str, CampusError] = {}

    async def decide(self, names: Sequence[str]) -> None:
        """Decide on these datasets, and on the datasets that they embed."""
        await run_together(self._decide(name) for name in self._with_embedded(names))

    def path(self, name: str) -> str:
        """The path of a dataset's records."""
        return f"{self._offered.prefix}{DATASETS.path}/{segment(name)}/records"

    def _with_embedded(self, names: Sequence[str]) -> list[str]:
        all_names = dict.fromkeys(names)
        for name in names:
            # A selection that does not fit is reported where the dataset itself is planned.
            with suppress(SelectionError):
                expand = self._query(self.definitions[name]).expand
                embedded = embedded_datasets(self.definitions[name], expand, self.definitions)
                all_names |= dict.fromkeys(definition.name for definition in embedded.values())
        return list(all_names)

    def _query(self, definition: Definition) -> DatasetQuery:
        return plan_query(
            self._loader.runtime.datasets.selection, definition, self.definitions, self._school_id
        )

    async def _decide(self, name: str) -> None:
        definition, before = self.definitions[name], self.decided.get(name, Decided())
        decided = revise(definition, before, self._misfits(definition))
        if needs_values(definition, decided):
            try:
                decided = decide(definition, decided, await self._first_rows(definition))
            except CampusError as error:
                self.undecided[name] = error
        if decided == before:
            return
        self.decided[name] = decided
        self.definitions[name] = parse_definition(self._offered.definitions[name], self.decided)
        self.drift[name] = [
            Drift(
                "unknown_type" if meaning_of(field.word).kind is None else "type_decided",
                field.name,
                f"{field.word or 'no type'} -> {field.type}",
            )
            for field in self.definitions[name].fields
            if field.guessed and decided.types[field.name] != before.types.get(field.name)
        ]
        if decided.key != before.key:
            self.drift[name].append(Drift("key_decided", decided.key or ""))

    def _misfits(self, definition: Definition) -> list[str]:
        """Rows in quarantine, and values that their columns could not hold. They may show that a decision by
        the first values was too narrow."""
        plan, guessed = self._before.get(definition.name), {f.name for f in definition.fields if f.guessed}
        if plan is None or not guessed:
            return []
        lake, table = self._loader.runtime.lake, planned_table(plan)
        rows = quarantined(lake, table, self._school_id)
        if guessed & unreadable_fields(lake, table, self._school_id):
            rows += extra_fields(lake, table, self._school_id)
        return rows

    async def _first_rows(self, definition: Definition) -> Sequence[bytes | Raw]:
        params: dict[str, str] = {}
        with suppress(SelectionError):
            params = self._query(definition).params
        params.pop("expand", None)
        reader = Reader(self._loader.client, self._school_id, DATASETS.scopes)
        return await first_rows(reader, self.path(definition.name), params)


def _earlier_decisions(plans: Mapping[str, Plan]) -> dict[str, Decided]:
    """The stored decisions on a school's datasets, by name. A dataset's own plan comes before the plans of
    datasets that embed it."""
    decided: dict[str, Decided] = {}
    for plan in plans.values():
        for name, decision in decided_of(plan).items():
            if name == plan.dataset or name not in decided:
                decided[name] = decision
    return decided
