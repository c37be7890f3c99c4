"""Empties the slices of datasets that are no longer read."""

from campus.decoding.inferred_contract import contract_of
from campus.registry import DATASETS, ResourceSpec
from loading.connection.runtime import Runtime
from loading.datasets.tables import definitions_of, planned_table, segment_slice
from loading.slices.commit import Loaded, empty_slice
from loading.slices.slice_context import SliceContext
from warehouse.load.commit import Guard
from warehouse.load.logs.dataset_plans import Plan
from warehouse.load.logs.load_log import SliceStatus, slice_statuses
from warehouse.load.schema_evolution import evolve
from warehouse.load.slice_reading import Cause
from warehouse.load.watermark import live_rows


def retire(runtime: Runtime, cause: Cause, plan: Plan, guard: Guard) -> list[Loaded]:
    """Empty the slices of a plan that hold rows or quarantined rows, as far as the guard allows."""
    table = evolve(runtime.lake, planned_table(plan)).table
    contract = contract_of(definitions_of(plan)[plan.dataset])
    resource = ResourceSpec(table.name, plan.path, contract, DATASETS.scopes, primary_key=table.primary_key)
    slices = [segment_slice(plan.school_id, number) for number in plan.segments]
    rows = live_rows(runtime.lake, table, slices, None)
    statuses = slice_statuses(runtime.lake, plan.school_id).get(table.name, {})
    return [
        empty_slice(SliceContext(runtime, cause, resource, slice, table), guard)
        for slice in slices
        if rows[slice].alive or statuses.get(str(slice), SliceStatus()).quarantined
    ]
