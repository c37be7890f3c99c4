"""Describes the results of reports, which are partitions, and the tables that store their rows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote

from campus.contracts.fields import Contract, fields
from campus.decoding.inferred_contract import RESERVED, contract_of, safe_names
from campus.registry import REPORT_FIELDS, REPORT_QUERIES, ResourceSpec
from campus.reports.metadata import definition_of
from campus.reports.selection import ReportSelection, escaped
from loading.partition_keys import REPORT_RESULTS, parts_of, unseparated
from loading.reports.stems import table_stem
from loading.tables import TABLES, read_rows
from warehouse.lake.delta import Lake
from warehouse.lake.tables import PARAMS, SEPARATOR, Column, Slice, Table, ascii_name, report_table
from warehouse.load.logs.load_log import resources_loaded

# Characters of a partition's name, which is a part of file names together with its school.
MAX_NAME_LENGTH = 200


@dataclass(frozen=True)
class WantedReport:
    """A report of the settings."""

    selection: ReportSelection
    # Empty: all schools.
    schools: tuple[int, ...] = ()


def selections_of(reports: Iterable[WantedReport], school_id: int) -> dict[str, ReportSelection]:
    """The selections for a school by the report's name or id: of a report's selections the last one."""
    return {
        report.selection.report: report.selection
        for report in reports
        if not report.schools or school_id in report.schools
    }


@dataclass(frozen=True)
class Result:
    """The result of a query of a school's report with one combination of the matrix."""

    school_id: int
    report: str
    query_id: int
    # Empty without a matrix.
    combination: str = ""

    @classmethod
    def of(cls, key: str) -> Self:
        """The result of a partition key. Raises UnknownPartition."""
        school_id, report, query_id, combination = parts_of(key, REPORT_RESULTS)
        return cls(int(school_id), unquote(report), int(query_id), combination)

    @property
    def key(self) -> str:
        """The partition key, such as `101:student_summary:501:semester=20`. The combination is the last part,
        and may contain a `:`."""
        parts = [str(self.school_id), unseparated(escaped(self.report)), str(self.query_id)]
        return SEPARATOR.join([*parts, self.combination] if self.combination else parts)

    @property
    def slice(self) -> Slice:
        """The slice of its tables."""
        name = ".".join(filter(None, [self.report, str(self.query_id), self.combination]))
        return _slice(self.school_id, name)

    @property
    def table_name(self) -> str:
        """The table in the schema `reports`."""
        return f"{table_stem(self.report)}__{self.query_id}"


def results_of(keys: Iterable[str]) -> list[Result]:
    """The results of partition keys. Raises UnknownPartition."""
    return [Result.of(key) for key in keys]


def report_slice(school_id: int, report: str) -> Slice:
    """The slice of a report in the tables of metadata."""
    return _slice(school_id, report)


def _slice(school_id: int, name: str) -> Slice:
    return Slice.of(_school_id=school_id, _partition=ascii_name(name, MAX_NAME_LENGTH))


def table_of(result: Result, contract: type[Contract], columns: Mapping[str, str]) -> Table:
    """The lake table of a result. `columns`: the columns of fields, by the name of the field."""
    own = [
        Column(columns[field.wire], field.arrow_type, field.description, field.personal)
        for field in fields(contract)
    ]
    varied = [PARAMS] if result.combination else []
    return report_table(result.table_name, [*varied, *own], " ".join((contract.__doc__ or "").split()))


def records_spec(table: Table) -> ResourceSpec:
    """The spec of a result's records. The platform describes their contract with them."""
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
    """The columns of all fields that the last results of a query have, by the name of the field."""
    return {
        row["name"]: row["column_name"]
        for row in read_rows(lake, REPORT_FIELDS, None, ["table_name", "name", "column_name"])
        if row["table_name"] == table_name and row["column_name"]
    }


def name_columns(contract: type[Contract], columns: dict[str, str]) -> None:
    """Add the new fields of a result to the columns of its query. The results of a query share a table, so a
    field has one column in all of them."""
    new = [field.wire for field in fields(contract) if field.wire not in columns]
    columns.update(zip(new, safe_names(new, {*RESERVED, *columns.values()}), strict=True))


def result_tables(lake: Lake) -> list[Table]:
    """The tables of all results by their stored fields, the newest first, for publication."""
    labels = {
        (row["_school_id"], row["report"], row["id"]): row["label"]
        for row in lake.read(TABLES[REPORT_QUERIES.name]).to_pylist()
    }
    results: dict[Result, list[dict[str, Any]]] = defaultdict(list)
    for row in lake.read(TABLES[REPORT_FIELDS.name]).to_pylist():
        results[Result(row["_school_id"], row["report"], row["query_id"], row["params"])].append(row)
    tables = []
    for result, rows in sorted(
        results.items(), key=lambda item: max(row["_synced_at"] for row in item[1]), reverse=True
    ):
        label = labels.get((result.school_id, result.report, result.query_id))
        contract = contract_of(definition_of(f"{result.report}__{result.query_id}", label, rows))
        tables.append(table_of(result, contract, {row["name"]: row["column_name"] for row in rows}))
    return tables


def held_tables(lake: Lake) -> list[Table]:
    """The tables of all reports that were ever loaded, without their fields. The files of a table keep the
    rows that are gone until they are cleaned up."""
    loaded = resources_loaded(lake)
    names = sorted(name.removeprefix("reports.") for name in loaded if name.startswith("reports."))
    tables = [report_table(name, (), "") for name in names]
    return [table for table in tables if lake.holds(table)]
