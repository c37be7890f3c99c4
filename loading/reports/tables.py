"""What a report of a school becomes: results, which are partitions, and the tables that keep their rows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote

from campus.contracts.fields import Contract, fields
from campus.decoding.column_names import RESERVED, safe_names
from campus.decoding.inferred_contract import contract_of
from campus.registry import REPORT_FIELDS, REPORT_QUERIES, ResourceSpec
from campus.reports.fields import definition_of
from campus.reports.selection import ReportSelection, escaped
from loading.partition_keys import REPORT_RESULTS, parts_of, unseparated
from loading.reports.stems import stem_of
from loading.tables import TABLES
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PARAMS, SEPARATOR, Column, Slice, Table, ascii_name, report_table
from warehouse.load.load_log import resources_loaded

# Of a partition's name, which is a part of file names together with its school.
LONGEST = 200


@dataclass(frozen=True)
class WantedReport:
    """A report that settings name. `schools`: those that it is read of; none: all."""

    selection: ReportSelection
    schools: tuple[int, ...] = ()


def selections_of(wanted: Iterable[WantedReport], school_id: int) -> dict[str, ReportSelection]:
    """What is read of a school, by the name or id of the report: the last that there is of each."""
    return {
        one.selection.report: one.selection for one in wanted if not one.schools or school_id in one.schools
    }


@dataclass(frozen=True)
class Result:
    """What a query of a school's report gives with one combination of its matrix; `combination` is empty
    where it has none."""

    school_id: int
    report: str
    query_id: int
    combination: str = ""

    @classmethod
    def of(cls, key: str) -> Self:
        """The result of a partition key. Raises UnknownPartition."""
        school_id, report, query_id, combination = parts_of(key, REPORT_RESULTS)
        return cls(int(school_id), unquote(report), int(query_id), combination)

    @property
    def key(self) -> str:
        """`101:student_summary:501:semester=20`: the key of its partition. The combination, which is its last
        part, may have a `:` of its own."""
        varied = [self.combination] if self.combination else []
        report = unseparated(escaped(self.report))
        return SEPARATOR.join([str(self.school_id), report, str(self.query_id), *varied])

    @property
    def slice(self) -> Slice:
        """The part of its tables that is its own."""
        name = ".".join(filter(None, [self.report, str(self.query_id), self.combination]))
        return _slice(self.school_id, name)

    @property
    def table_name(self) -> str:
        """The table in the schema `reports`."""
        return f"{stem_of(self.report)}__{self.query_id}"


def results_of(keys: Iterable[str]) -> list[Result]:
    """The results that partition keys are of. Raises UnknownPartition."""
    return [Result.of(key) for key in keys]


def report_slice(school_id: int, report: str) -> Slice:
    """The slice of the tables of metadata that holds a report's."""
    return _slice(school_id, report)


def _slice(school_id: int, name: str) -> Slice:
    return Slice.of(_school_id=school_id, _partition=ascii_name(name, LONGEST))


def table_of(result: Result, contract: type[Contract], columns: Mapping[str, str]) -> Table:
    """The lake table of a result. `columns`: the name of each field's column by the name of the field."""
    own = [
        Column(columns[field.wire], field.arrow_type, field.description, field.personal)
        for field in fields(contract)
    ]
    varied = [PARAMS] if result.combination else []
    return report_table(result.table_name, [*varied, *own], " ".join((contract.__doc__ or "").split()))


def records_spec(table: Table) -> ResourceSpec:
    """What is said of the records of a result; what their contract is, the platform says with them."""
    return ResourceSpec(
        table.name,
        REPORT_FIELDS.path,
        Contract,
        REPORT_FIELDS.scopes,
        sliced_by=REPORT_FIELDS.sliced_by,
        primary_key=table.primary_key,
        child_of=REPORT_QUERIES.name,
    )


def known_columns(lake: Lake, table_name: str) -> dict[str, str]:
    """The column of each field that any result of a query has had last, by the name of the field."""
    rows = lake.read(TABLES[REPORT_FIELDS.name], columns=["table_name", "name", "column_name"]).to_pylist()
    return {
        row["name"]: row["column_name"]
        for row in rows
        if row["table_name"] == table_name and row["column_name"]
    }


def name_columns(contract: type[Contract], known: dict[str, str]) -> None:
    """Add those fields of a result to the `known` columns of its query that are new. Results share a table,
    so what one of them calls a column, no other may call something else."""
    new = [field.wire for field in fields(contract) if field.wire not in known]
    known.update(zip(new, safe_names(new, {*RESERVED, *known.values()}), strict=True))


def result_tables(lake: Lake) -> list[Table]:
    """The tables of all results as their fields define them, the newest first, for publication."""
    labels = {
        (row["_school_id"], row["report"], row["id"]): row["label"]
        for row in lake.read(TABLES[REPORT_QUERIES.name]).to_pylist()
    }
    results: dict[Result, list[dict[str, Any]]] = defaultdict(list)
    for row in lake.read(TABLES[REPORT_FIELDS.name]).to_pylist():
        results[Result(row["_school_id"], row["report"], row["query_id"], row["params"])].append(row)
    newest = sorted(results, key=lambda one: max(row["_synced_at"] for row in results[one]), reverse=True)
    return [
        _defined(one, labels.get((one.school_id, one.report, one.query_id)), results[one]) for one in newest
    ]


def held_tables(lake: Lake) -> list[Table]:
    """The tables of all reports that were ever loaded, without their fields: what is gone from one is in its
    files until they are cleaned up."""
    loaded = resources_loaded(lake)
    names = sorted(name.removeprefix("reports.") for name in loaded if name.startswith("reports."))
    tables = [report_table(name, (), "") for name in names]
    return [table for table in tables if lake.holds(table)]


def _defined(result: Result, label: str | None, rows: list[dict[str, Any]]) -> Table:
    contract = contract_of(definition_of(f"{result.report}__{result.query_id}", label, rows))
    return table_of(result, contract, {row["name"]: row["column_name"] for row in rows})
