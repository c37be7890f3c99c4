"""What the doctor says of the servers that the settings name: those of a district, and the lake's store."""

from collections.abc import Iterator

import obstore
from obstore.exceptions import BaseError
from sqlalchemy.exc import SQLAlchemyError

from pipelines.cli.doctor.findings import Finding
from pipelines.district.services import PATIENCE, services
from pipelines.lake import lake_without_check
from pipelines.lake_identity import check_lake
from pipelines.settings import Settings, SettingsError
from pipelines.storage_trouble import store_trouble
from warehouse.stores import is_remote, store_of


def examine_services(settings: Settings) -> Iterator[Finding]:
    """Whether each answers that is set; nothing of what is not."""
    for service, address in services(settings):
        if address is not None:
            why_not = service.why_not(address)
            yield Finding(why_not is None, why_not or f"{service.name} answers ({service.variable}).")


def examine_lake(settings: Settings) -> Finding | None:
    """Whether the lake is that of the district; None: there is no district, or Postgres or the lake's store
    does not answer."""
    if settings.postgres_address is None:
        return None
    lake = lake_without_check(settings)
    try:
        check_lake(settings, lake)
    except SettingsError as error:
        return Finding(False, str(error))
    except (SQLAlchemyError, BaseError, OSError):
        # Findings of their own.
        return None
    return Finding(True, f"The lake is that of the district: {lake.root}.")


def examine_store(settings: Settings) -> Finding | None:
    """Whether the object store answers that the lake is in; None: the lake is in a folder."""
    root = settings.lake_root
    if not is_remote(root):
        return None
    try:
        obstore.list_with_delimiter(store_of(root, PATIENCE))
    except (BaseError, OSError) as error:
        return Finding(False, f"The object store of the lake (CAMPUS_LAKE) {store_trouble(str(error))}.")
    return Finding(True, f"The object store of the lake answers (CAMPUS_LAKE {root}).")
