"""The doctor's findings about the servers of a district."""

from collections.abc import Iterator

from obstore.exceptions import BaseError
from sqlalchemy.exc import SQLAlchemyError

from pipelines.cli.doctor.probes import Finding
from pipelines.district.services import services
from pipelines.lake.identity import check_lake
from pipelines.lake.opening import lake_without_check
from pipelines.settings.settings import Settings, SettingsError


def examine_services(settings: Settings) -> Iterator[Finding]:
    """Whether the servers answer that the settings name."""
    for service, address in services(settings):
        if address is not None:
            why_not = service.problem(address)
            yield Finding(why_not is None, why_not or f"{service.name} answers ({service.variable}).")


def examine_lake(settings: Settings) -> Finding | None:
    """Whether the lake is the district's; None: a server does not answer."""
    lake = lake_without_check(settings)
    try:
        check_lake(settings, lake)
    except SettingsError as error:
        return Finding(False, str(error))
    except (SQLAlchemyError, BaseError, OSError):
        # Other findings report these errors.
        return None
    return Finding(True, f"The lake is the district's: {lake.root}.")
