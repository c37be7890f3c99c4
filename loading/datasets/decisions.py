"""What the values of datasets tell where their metadata do not: types, and which field is the key."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Raw

from campus.datasets.metadata import OfferedDatasets
from campus.datasets.selection import SelectionError, ask_for, targets
from campus.datasets.type_inference import decide, first_rows, needs_values, revise
from campus.decoding.definition import Decided, Definition, parse_definition
from campus.decoding.type_words import meaning_of
from campus.fetch.collection import together
from campus.http.client import Client, segment
from campus.http.errors import CampusError
from campus.http.events import Tally
from campus.registry import DATASETS
from loading.datasets.tables import decided_of, planned_table
from loading.runtime import Runtime
from warehouse.load.dataset_plans import Plan
from warehouse.load.load_log import quarantined, unreadable_fields
from warehouse.load.slice_reading import Drift
from warehouse.load.watermark import extra_fields


class Decisions:
    """What is decided of a school's datasets, by name.

    `definitions`: as decided so far. `drift`: what this discovery decided. `undecided`: why it could not."""

    def __init__(
        self,
        client: Client,
        runtime: Runtime,
        school_id: int,
        offered: OfferedDatasets,
        before: Mapping[str, Plan],
    ) -> None:
        self._client, self._runtime, self._school_id = client, runtime, school_id
        self._offered, self._before = offered, before
        self.decided = _decided_before(before)
        self.definitions = {
            name: parse_definition(sent, self.decided) for name, sent in offered.definitions.items()
        }
        self.drift: dict[str, list[Drift]] = {}
        self.undecided: dict[str, CampusError] = {}

    async def decide(self, wanted: Sequence[str]) -> None:
        """Decide of datasets, and of those that are expanded in them."""
        await together(self._decide(name) for name in self._with_embedded(wanted))

    def path(self, name: str) -> str:
        """Where the records of a dataset are."""
        return f"{self._offered.prefix}{DATASETS.path}/{segment(name)}/records"

    def _with_embedded(self, wanted: Sequence[str]) -> list[str]:
        """Datasets, and those that the relations lead to which are expanded in them."""
        selection, found = self._runtime.datasets.selection, dict.fromkeys(wanted)
        for name in wanted:
            # Settings that do not fit are reported where the dataset itself is planned.
            with suppress(SelectionError):
                definition = self.definitions[name]
                query = ask_for(selection, definition, self.definitions, self._school_id)
                embedded = targets(definition, query.expand, self.definitions)
                found |= dict.fromkeys(one.name for one in embedded.values())
        return list(found)

    async def _decide(self, name: str) -> None:
        """Let the values tell what the metadata of a dataset do not."""
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
            Drift("unknown_type" if meaning_of(f.word).kind is None else "type_decided", f.name, says, 0)
            for f in self.definitions[name].fields
            if f.guessed and decided.types[f.name] != before.types.get(f.name)
            for says in [f"{f.word or 'no type'} -> {f.type}"]
        ]
        if decided.key != before.key:
            self.drift[name].append(Drift("key_decided", decided.key or "", None, 0))

    def _misfits(self, definition: Definition) -> list[str]:
        """Rows in quarantine, and values that their columns could not hold: they may tell that too much was
        made of the values that came first."""
        plan, guessed = self._before.get(definition.name), {f.name for f in definition.fields if f.guessed}
        if plan is None or not guessed:
            return []
        lake, table = self._runtime.lake, planned_table(plan)
        rows = quarantined(lake, table, self._school_id)
        if guessed & unreadable_fields(lake, table, self._school_id):
            rows += extra_fields(lake, table, self._school_id)
        return rows

    async def _first_rows(self, definition: Definition) -> Sequence[bytes | Raw]:
        selection = self._runtime.datasets.selection
        params: dict[str, str] = {}
        with suppress(SelectionError):
            params = ask_for(selection, definition, self.definitions, self._school_id).params
        params.pop("expand", None)
        path = self.path(definition.name)
        return await first_rows(self._client, self._school_id, path, params, Tally())


def _decided_before(plans: Mapping[str, Plan]) -> dict[str, Decided]:
    """What was decided of a school's datasets, by name: as a dataset's own plan has it, else one that embeds
    it."""
    found: dict[str, Decided] = {}
    for plan in plans.values():
        for name, decided in decided_of(plan).items():
            if name == plan.dataset or name not in found:
                found[name] = decided
    return found
