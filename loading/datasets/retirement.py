"""Slices of datasets that are not read any more."""

from campus.decoding.inferred_contract import contract_of
from campus.registry import DATASETS, ResourceSpec
from loading.commit import Loaded, empty_slice
from loading.datasets.tables import definitions_of, planned_table, segment_slice
from loading.runtime import Cause, Runtime
from loading.slice_context import SliceContext
from warehouse.load.commit import Guard
from warehouse.load.dataset_plans import Plan
from warehouse.load.load_log import SliceStatus, slice_statuses
from warehouse.load.schema_evolution import evolve
from warehouse.load.watermark import live_rows


def retire(runtime: Runtime, cause: Cause, plan: Plan, guard: Guard) -> list[Loaded]:
    """Empty those slices of a planned dataset that still have something, as far as the guard lets it."""
    table = evolve(runtime.lake, planned_table(plan)).table
    contract = contract_of(definitions_of(plan)[plan.dataset])
    spec = ResourceSpec(table.name, plan.path, contract, DATASETS.scopes, primary_key=table.primary_key)
    slices = [segment_slice(plan.school_id, number) for number in plan.segments]
    rows = live_rows(runtime.lake, table, slices, None)
    known = slice_statuses(runtime.lake, plan.school_id).get(table.name, {})
    retired = []
    for slice in slices:
        if not rows[slice].alive and not known.get(str(slice), SliceStatus()).quarantined:
            continue
        retired.append(empty_slice(SliceContext(runtime, cause, spec, slice, table), guard))
    return retired
