"""The doctor's findings about the servers of a district and the object store of the lake."""

from collections.abc import Iterator

import obstore
from obstore.exceptions import BaseError
from sqlalchemy.exc import SQLAlchemyError

from pipelines.cli.doctor.findings import Finding
from pipelines.district.services import PATIENCE, services
from pipelines.lake.identity import check_lake
from pipelines.lake.opening import lake_without_check
from pipelines.runs.storage_failures import store_problem
from pipelines.settings.settings import Settings, SettingsError
from warehouse.stores import is_remote, store_of


def examine_services(settings: Settings) -> Iterator[Finding]:
    """Whether the servers answer that the settings name."""
    for service, address in services(settings):
        if address is not None:
            why_not = service.problem(address)
            yield Finding(why_not is None, why_not or f"{service.name} answers ({service.variable}).")


def examine_lake(settings: Settings) -> Finding | None:
    """Whether the lake is the district's; None: without a district, or where a server does not answer."""
    if settings.postgres_address is None:
        return None
    lake = lake_without_check(settings)
    try:
        check_lake(settings, lake)
    except SettingsError as error:
        return Finding(False, str(error))
    except (SQLAlchemyError, BaseError, OSError):
        # Other findings report these errors.
        return None
    return Finding(True, f"The lake is the district's: {lake.root}.")


def examine_store(settings: Settings) -> Finding | None:
    """Whether the object store of the lake answers; None: the lake is in a folder."""
    root = settings.lake_root
    if not is_remote(root):
        return None
    try:
        obstore.list_with_delimiter(store_of(root, PATIENCE))
    except (BaseError, OSError) as error:
        return Finding(False, f"The object store of the lake (CAMPUS_LAKE) {store_problem(str(error))}.")
    return Finding(True, f"The object store of the lake answers (CAMPUS_LAKE {root}).")
