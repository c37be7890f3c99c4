"""The doctor's findings about the reports that the settings name."""

from campus.http.client import Client
from campus.http.errors import CampusError
from campus.registry import REPORT_PARAMETERS, REPORT_QUERIES
from campus.reports.metadata import read_report
from campus.reports.parameters import plan_requests
from campus.reports.selection import ReportSelection
from campus.sources.gathered import Collector
from pipelines.cli.doctor.findings import Finding


async def examine_report(client: Client, school_id: int, wanted: ReportSelection) -> list[Finding]:
    """What a school's report offers, or which options of campus.yaml do not fit the report."""
    collectors = (Collector(spec) for spec in (REPORT_PARAMETERS, REPORT_QUERIES))
    try:
        offered = await read_report(client, school_id, wanted.report, *collectors)
        requests = plan_requests(wanted, offered, school_id)
    except CampusError as error:
        # A line for each option that does not fit.
        return [Finding(False, problem) for problem in str(error).splitlines()]
    return [
        Finding(
            True,
            f"school {school_id}, report {wanted.report!r}: {len(offered.queries)} queries under "
            f"{offered.prefix}{REPORT_QUERIES.path.format(report=wanted.report)}, {len(requests)} results to "
            "be read.",
        )
    ]
