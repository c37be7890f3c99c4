"""All reports of all schools, and the changes by tests.

Tests name rows by resource and key: `reports`, `report_parameters` and `report_queries` are the metadata;
`report_fields/501` and `reports/501` are the fields and the unfiltered rows of the query 501. Fields and rows
are made at the first request, from the school's rows at that time.
"""

from collections.abc import Sequence
from functools import lru_cache

from simulator.datasets.definitions import transposed
from simulator.datasets.table import Handle, Table
from simulator.messages import Problem
from simulator.reports import metadata
from simulator.reports.definitions import Query
from simulator.reports.figures import Figures
from simulator.reports.metadata import FIELDS, METADATA, PARAMETERS, QUERIES, REPORT, ROWS
from simulator.school.rows import Values
from simulator.store.store import Store


class Reports:
    """The tables of metadata and rows."""

    def __init__(self, store: Store) -> None:
        self._store, self._readings = store, store.readings
        self._figures = lru_cache(maxsize=None)(lambda school_id: Figures(store, school_id))
        self._metadata = lru_cache(maxsize=None)(self._make_metadata)
        self._fields = lru_cache(maxsize=None)(self._make_fields)
        self._rows = lru_cache(maxsize=None)(self._make_rows)

    def find(self, school_id: int, id_or_name: str) -> Values:
        """A report by name or id, or this platform's error for an unknown report."""
        for report in _all(self._metadata(school_id)[REPORT]):
            if id_or_name in (report["name"], str(report["id"])):
                return report
        raise self._unknown(f"no such report: {id_or_name}")

    def query(self, school_id: int, report: Values, query_id: int) -> Values:
        """A query of a report, by id."""
        for query in self.queries(school_id, report):
            if query["id"] == query_id:
                return query
        raise self._unknown(f"report {report['name']} has no query {query_id}")

    def parameters(self, school_id: int, report: Values) -> Sequence[Values]:
        """The parameters of a report."""
        return self._of_report(school_id, PARAMETERS, report)

    def queries(self, school_id: int, report: Values) -> Sequence[Values]:
        """The queries of a report."""
        return self._of_report(school_id, QUERIES, report)

    def fields(self, school_id: int, query_id: int) -> Sequence[Values]:
        """The fields of a query, for all parameters, in order."""
        fields = _all(self.table(school_id, f"{FIELDS}{query_id}"))
        return sorted(fields, key=lambda field: field["position"])

    def table(self, school_id: int, resource: str) -> Table:
        """The table of a resource name of tests, or 404."""
        if resource in METADATA:
            return self._metadata(school_id)[resource]
        for query in _all(self._metadata(school_id)[QUERIES]):
            if resource == f"{ROWS}{query['id']}":
                return self._rows(school_id, query["id"])
            if resource == f"{FIELDS}{query['id']}":
                return self._fields(school_id, query["id"])
        raise Problem(404, f"no such query: {resource}")

    def insert(self, school_id: int, resource: str, values: Values, *, first: bool = False) -> Handle:
        """Add a copy of the neighbouring row with these values, or minimal metadata with these values."""
        table = self.table(school_id, resource)
        self._store.tick()
        if resource.startswith(ROWS):
            return table.insert(lambda _: values, first=first)
        return table.insert(lambda key: metadata.new(resource, key, values), first=first)

    def update(
        self, school_id: int, resource: str, key: int, values: Values, *, touch: bool = True
    ) -> Handle:
        """Set any values. `touch` has no effect, since reports have no updated_at."""
        self._store.tick()
        return self.table(school_id, resource).update(key, values)

    def destroy(self, school_id: int, resource: str, key: int) -> Handle:
        """Delete a row for good; reports have no soft deletion."""
        self._store.tick()
        return self.table(school_id, resource).destroy(key)

    def _make_metadata(self, school_id: int) -> dict[str, Table]:
        return metadata.tables(self._figures(school_id), metadata.offset(self._readings, school_id))

    def _make_fields(self, school_id: int, query_id: int) -> Table:
        query = self._made(school_id, query_id)
        return metadata.fields_table(query.fields(self._figures(school_id)) if query else ())

    def _make_rows(self, school_id: int, query_id: int) -> Table:
        query = self._made(school_id, query_id)
        rows = list(query.rows(self._figures(school_id)) if query else ())
        return Table(range(1_001, 1_001 + len(rows)), transposed(rows))

    def _made(self, school_id: int, query_id: int) -> Query | None:
        """A query of the catalog; None for a query that a test inserted."""
        first_id = metadata.offset(self._readings, school_id)
        return next((query for _, id_, query in metadata.queries(first_id) if id_ == query_id), None)

    def _of_report(self, school_id: int, resource: str, report: Values) -> Sequence[Values]:
        return [row for row in _all(self._metadata(school_id)[resource]) if row["report_id"] == report["id"]]

    def _unknown(self, text: str) -> Problem:
        return Problem(int(self._readings.report_unknown), text)


def _all(table: Table) -> list[Values]:
    return [table.values(row) for row in table.select(None, None, ())]
