"""The v3 datasets: their metadata and their records."""

from simulator.datasets.wording import sent_metadata
from simulator.http.paging import page_of
from simulator.http.platform import Platform
from simulator.http.routing import Route
from simulator.messages import Headers, Request, Response, json_response
from simulator.readings import Readings
from simulator.resources.tables import dataset_records as records
from simulator.school.rows import Values

SCOPES = ("dataset.read_all",)


def list_datasets(platform: Platform, request: Request) -> Response:
    """The datasets of a school, all or by name. Readings decide about paging and fields."""
    wanted = request.names("name_in")
    name = request.query.get("name")
    names = [
        dataset
        for dataset in platform.datasets.names(request.school_id)
        if (not wanted or dataset in wanted) and name in (None, dataset)
    ]
    headers: Headers = []
    page = page_of(platform.readings, request) if platform.readings.dataset_list == "paged" else None
    if page:
        part, headers = page.cut(len(names), platform.readings)
        names = names[part]
    whole = platform.readings.dataset_list_fields == "full"
    return json_response(
        [_about(platform, request, dataset, whole=whole) for dataset in names], headers=headers
    )


def one_dataset(platform: Platform, request: Request) -> Response:
    """A dataset with its fields and relations."""
    return json_response(_about(platform, request, request.params["name"], whole=True))


def _about(platform: Platform, request: Request, name: str, *, whole: bool) -> Values:
    described = platform.datasets.find(request.school_id, name)
    fields = [sent_metadata(field, platform.readings) for field in described.fields.values()]
    parts = {"fields": fields, "relations": list(described.relations.values())}
    return described.about | (parts if whole else {})


def routes(readings: Readings) -> tuple[Route, ...]:
    """The paths, under this platform's prefix."""
    path = f"{readings.v3_prefix}/uds/datasets"
    return (
        Route("GET", path, list_datasets, scopes=SCOPES, parameters=frozenset({"name", "name_in"})),
        Route("GET", f"{path}/{{name}}", one_dataset, scopes=SCOPES, parameters=frozenset()),
        Route("GET", f"{path}/{{name}}/records", records.answer, scopes=SCOPES, disturb=records.disturb),
    )
