"""The simulator as a separate process, for the demo and the tests."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import msgspec

from simulator.launch import SimulatorError, started

CONTROL_TIMEOUT = 60.0  # the true rows of a big school take a while


@dataclass(frozen=True)
class RunningSimulator:
    """A running simulator at `base_url`, with control requests for tests."""

    base_url: str
    client_id: str
    client_secret: str = field(repr=False)
    _session: httpx.Client = field(repr=False)

    def control(self, method: str, name: str, *, body: Any = None, **query: str | int) -> Any:
        """Send a control request, and return the decoded answer. Raises SimulatorError if it is refused."""
        content = None if body is None else msgspec.json.encode(body)
        response = self._session.request(method, f"/_simulator/{name}", params=query, content=content)
        if response.is_error:
            raise SimulatorError(f"{method} {name}: {response.status_code} {response.text}")
        return msgspec.json.decode(response.content)

    def set_faults(self, *faults: Mapping[str, Any], seed: int = 1) -> None:
        """Replace the faults, given as fields of simulator.http.faults.Fault. No argument clears all
        faults."""
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
        """The true rows, as {key, parent, trashed, row}; `row` has the values that the platform sends.

        Resources: the names of simulator.resources; datasets, dataset_fields, dataset_relations; the rows of
        datasets/NAME, with `first` and `last` as a range of keys; reports, report_parameters, report_queries;
        and report_fields/501 and reports/501 of a query."""
        query: dict[str, str | int] = {"resource": resource, "school_id": school_id, "expand": expand, **keys}
        if semester_id is not None:
            query["semester_id"] = semester_id
        return list(self.control("GET", "rows", **query))

    def insert(self, resource: str, parent: int, *, first: bool = False, **values: Any) -> dict[str, Any]:
        """Add a copy of the neighbouring row with these values. `parent`: the school, semester, class or
        item."""
        return self._mutate(op="insert", resource=resource, parent=parent, first=first, values=values)

    def update(
        self, resource: str, key: int, *, parent: int | None = None, touch: bool = True, **values: Any
    ) -> dict[str, Any]:
        """Set fields to any values, also invalid values (msgspec.Raw for any text). `touch` moves updated_at.

        Datasets and reports need their school as `parent`, also in `destroy`."""
        return self._mutate(
            op="update", resource=resource, key=key, parent=parent, touch=touch, values=values
        )

    def delete(self, resource: str, key: int) -> dict[str, Any]:
        """Delete softly: afterwards only with_trashed shows the row."""
        return self._mutate(op="delete", resource=resource, key=key)

    def restore(self, resource: str, key: int) -> dict[str, Any]:
        """Restore a softly deleted row."""
        return self._mutate(op="restore", resource=resource, key=key)

    def destroy(self, resource: str, key: int, *, parent: int | None = None) -> dict[str, Any]:
        """Delete for good."""
        return self._mutate(op="destroy", resource=resource, key=key, parent=parent)

    def push_to(self, url: str, token: str) -> None:
        """Start to push changes to this address, signed with this token."""
        self.control("POST", "subscriber", body={"url": url, "token": token})

    def let_days_pass(self, days: int) -> str:
        """Advance the platform's date, and return the new date. New lessons take place, and late marks
        arrive."""
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
    """Run a simulator on a free loopback port within the block. The simulator never outlives this process.

    `options`: the command-line options with underscores: students=60, unpaged="refused", ignored=["sort"].
    Raises SimulatorError with the simulator's own message if the start fails."""
    fault_texts = (msgspec.json.encode(fault).decode() for fault in faults)
    arguments = [*_arguments(options), *_arguments({"fault": list(fault_texts)})]
    environment = {
        **os.environ,
        "SIMULATOR_CLIENT_ID": client_id,
        "SIMULATOR_CLIENT_SECRET": client_secret,
    }
    with (
        started(arguments, environment) as base_url,
        # Without certificates: to read them takes most of the time of a new session.
        httpx.Client(base_url=base_url, timeout=CONTROL_TIMEOUT, trust_env=False, verify=False) as session,
    ):
        yield RunningSimulator(base_url, client_id, client_secret, session)


def _arguments(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
            continue
        for item in value if isinstance(value, list | tuple) else [value]:
            yield f"--{flag}={item}"
