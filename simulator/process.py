"""The simulator as a separate process, for the demo and the tests."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from simulator.starting import SimulatorError, started

CONTROL_TIMEOUT = 60.0  # the true rows of a big school take a while


@dataclass(frozen=True)
class RunningSimulator:
    """A simulator that answers at `base_url`, and the tests' hand in it."""

    base_url: str
    client_id: str
    client_secret: str = field(repr=False)
    _session: httpx.Client = field(repr=False)

    def control(self, method: str, name: str, *, body: Any = None, **query: str | int) -> Any:
        """A control request, its answer decoded; SimulatorError says why one was refused."""
        content = None if body is None else msgspec.json.encode(body)
        response = self._session.request(method, f"/_simulator/{name}", params=query, content=content)
        if response.is_error:
            raise SimulatorError(f"{method} {name}: {response.status_code} {response.text}")
        return msgspec.json.decode(response.content)

    def set_faults(self, *faults: Mapping[str, Any], seed: int = 1) -> None:
        """From now on these faults, each as the fields of simulator.http.faults.Fault; none clears them."""
        self.control("POST", "faults", body={"faults": faults, "seed": seed})

    def log(self) -> list[dict[str, Any]]:
        """The requests since the start or the last clear_log: method, path, query, school, status, fault."""
        return list(self.control("GET", "log"))

    def clear_log(self) -> None:
        """Forget the requests so far."""
        self.control("DELETE", "log")

    def rows(
        self, resource: str, school_id: int, semester_id: int | None = None, expand: str = "", **keys: int
    ) -> list[dict[str, Any]]:
        """What is true: each row as {key, parent, trashed, row}, `row` being what the platform would send.

        Resources are those of simulator.resources, and datasets, dataset_fields, dataset_relations (the
        metadata) and datasets/NAME (the rows of one), of which `first` and `last` choose a range of keys. Of
        reports: reports, report_parameters, report_queries, and report_fields/501 and reports/501 of a query.
        """
        query: dict[str, str | int] = {"resource": resource, "school_id": school_id, "expand": expand, **keys}
        if semester_id is not None:
            query["semester_id"] = semester_id
        return list(self.control("GET", "rows", **query))

    def insert(self, resource: str, parent: int, *, first: bool = False, **values: Any) -> dict[str, Any]:
        """Add a row like its neighbour but for `values`; parent is its school, semester, class or item."""
        return self._mutate(op="insert", resource=resource, parent=parent, first=first, values=values)

    def update(
        self, resource: str, key: int, *, parent: int | None = None, touch: bool = True, **values: Any
    ) -> dict[str, Any]:
        """Set fields to what is given, right or wrong (msgspec.Raw for any text); touch moves updated_at.

        Datasets and reports need their school as `parent`, as they do to destroy a row.
        """
        return self._mutate(
            op="update", resource=resource, key=key, parent=parent, touch=touch, values=values
        )

    def delete(self, resource: str, key: int) -> dict[str, Any]:
        """Delete softly: the row shows only with with_trashed."""
        return self._mutate(op="delete", resource=resource, key=key)

    def restore(self, resource: str, key: int) -> dict[str, Any]:
        """Take what was deleted softly out of the recycle bin."""
        return self._mutate(op="restore", resource=resource, key=key)

    def destroy(self, resource: str, key: int, *, parent: int | None = None) -> dict[str, Any]:
        """Delete for good."""
        return self._mutate(op="destroy", resource=resource, key=key, parent=parent)

    def push_to(self, url: str, token: str) -> None:
        """From now on push each change to this address, signed with this token."""
        self.control("POST", "subscriber", body={"url": url, "token": token})

    def let_days_pass(self, days: int) -> str:
        """Move the platform's date on, which is returned: new lessons take place, late marks come in."""
        return str(self.control("POST", "days", body=days))

    def _mutate(self, **change: Any) -> dict[str, Any]:
        return dict(self.control("POST", "mutate", body=change))


@contextmanager
def running(
    *,
    client_id: str = "demo-client",
    client_secret: str = "demo-secret",
    faults: tuple[Mapping[str, Any], ...] = (),
    **options: Any,
) -> Iterator[RunningSimulator]:
    """Run a simulator on a free loopback port while the block lasts.

    Options are those of the command line with underscores: students=60, unpaged="refused", ignored=["sort"].
    SimulatorError with the process's own words when it does not start. It never outlives this process.
    """
    fault_texts = (msgspec.json.encode(fault).decode() for fault in faults)
    arguments = [*_arguments(options), *_arguments({"fault": list(fault_texts)})]
    environment = {
        **os.environ,
        "SIMULATOR_CLIENT_ID": client_id,
        "SIMULATOR_CLIENT_SECRET": client_secret,
    }
    with (
        started(arguments, environment) as base_url,
        # Without certificates, which take longer to read than all else of a session.
        httpx.Client(base_url=base_url, timeout=CONTROL_TIMEOUT, trust_env=False, verify=False) as session,
    ):
        yield RunningSimulator(base_url, client_id, client_secret, session)


def _arguments(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            yield f"--{flag}={each}"
