"""The doctor's findings about the datasets of a school."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from campus.account import Tally
from campus.datasets.layout import why_by_pages
from campus.datasets.metadata import OfferedDatasets, read_datasets
from campus.datasets.selection import Selection, SelectionError, selected_names, unmatched_patterns
from campus.datasets.type_inference import decide, first_rows, needs_values
from campus.decoding.definition import Decided, Definition, parse_definition
from campus.fetch.prefix import PREFIXES
from campus.http.client import Client, segment
from campus.http.errors import ASK_OPERATOR, CampusError
from campus.registry import DATASET_METADATA, DATASETS
from campus.sources.gathered import Collector
from loading.datasets.tables import DatasetSpec, dataset_spec
from pipelines.cli.doctor.findings import Finding, refused


async def examine_datasets(client: Client, school_id: int, selection: Selection) -> AsyncIterator[Finding]:
    """How many datasets a school has and under which prefix, which options of campus.yaml do not fit, and
    which datasets cannot be read by segments of their ids."""
    label = f"school {school_id}, datasets"
    try:
        offered = await read_datasets(client, school_id, *(Collector(spec) for spec in DATASET_METADATA))
    except CampusError as error:
        yield Finding(False, f"{label}: {error} To skip datasets, set datasets.include in campus.yaml to [].")
        return
    if offered.prefix is None:
        paths = [prefix + DATASETS.path for prefix in PREFIXES]
        yield Finding(None, f"{label}: not found under {' or '.join(paths)}.")
        return
    for name, reason in offered.unread.items():
        yield Finding(False, f"{label}: {name}: {reason.rstrip('.')}. {ASK_OPERATOR}")
    definitions = {name: parse_definition(sent) for name, sent in offered.definitions.items()}
    wanted = selected_names(selection, definitions)
    examination = _DatasetExamination(client, school_id, offered, selection, definitions)
    yield Finding(
        True, f"{label}: {len(definitions)} under {offered.prefix}{DATASETS.path}, {len(wanted)} to be read."
    )
    for mistake in unmatched_patterns(selection, [*definitions, *offered.unread]):
        yield Finding(None, f"{label}: {mistake}.")
    by_pages: dict[str, str] = {}
    for name in wanted:
        try:
            by_pages[name] = await examination.why_by_pages(name)
        except SelectionError as error:
            # A line for each option that does not fit.
            for problem in str(error).splitlines():
                yield Finding(False, problem)
        except CampusError as error:
            yield refused(f"{label}: {name}", error)
    if examination.inferred:
        yield Finding(
            None, f"{label}: unknown types, inferred from the values: {', '.join(examination.inferred)}."
        )
    if pages := [f"{name} ({why.rstrip('.')})" for name, why in by_pages.items() if why]:
        yield Finding(None, f"{label}: {len(pages)} are read by pages, not by segments: {'; '.join(pages)}.")


@dataclass
class _DatasetExamination:
    """Examines the datasets of a school, with one or two small requests for each."""

    client: Client
    school_id: int
    offered: OfferedDatasets
    selection: Selection
    definitions: dict[str, Definition]
    #: Fields with unknown types, and the types inferred for them.
    inferred: list[str] = field(default_factory=list)

    async def why_by_pages(self, name: str) -> str:
        """Why a dataset is read by pages; empty: it is read by segments of its ids.

        Raises SelectionError where options of campus.yaml do not fit the dataset, else CampusError."""
        dataset, tally = self._spec(name), Tally()
        definition, params = dataset.definition, dataset.query.params
        if needs_values(definition, Decided()):
            rows = await first_rows(self.client, self.school_id, dataset.source.path, params, tally)
            decided = {name: decide(definition, Decided(), rows)}
            definition = self.definitions[name] = parse_definition(self.offered.definitions[name], decided)
            self.inferred += [
                f"{name}.{column.name} ({column.word or 'no type'}: {column.type or 'nothing yet'})"
                for column in definition.fields
                if column.guessed or column.type is None
            ]
            dataset = self._spec(name)
        return await why_by_pages(self.client, dataset.source, tally)

    def _spec(self, name: str) -> DatasetSpec:
        path = f"{self.offered.prefix}{DATASETS.path}/{segment(name)}/records"
        definition = self.definitions[name]
        return dataset_spec(self.selection, self.school_id, name, path, definition, self.definitions)
