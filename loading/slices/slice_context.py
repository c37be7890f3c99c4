"""The slice that is loaded, and why and where it is loaded."""

from dataclasses import dataclass
from typing import Self

from campus.registry import ResourceSpec
from loading.connection.runtime import Runtime
from loading.tables import TABLES
from warehouse.lake.tables import Slice, Table
from warehouse.load.slice_reading import Cause


@dataclass(frozen=True)
class SliceContext:
    """A slice of a resource in one run."""

    runtime: Runtime
    cause: Cause
    spec: ResourceSpec
    slice: Slice
    #: The lake's table that stores the rows.
    table: Table

    @classmethod
    def of(cls, runtime: Runtime, cause: Cause, spec: ResourceSpec, slice: Slice) -> Self:
        """A slice of the registry's table."""
        return cls(runtime, cause, spec, slice, TABLES[spec.name])
