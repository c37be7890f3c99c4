"""The loads of a school, in the order of a night and of a sync."""

from collections.abc import Collection
from dataclasses import dataclass

import dagster as dg

from assets.attendance import attendance, load_attendance
from assets.base_data import base_data, load_base_data
from assets.datasets import dataset_records, load_datasets
from assets.inputs import inputs, load_school_inputs
from assets.reports import load_reports, report_records
from assets.shared.partitions import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
)
from assets.shared.resource_assets import LoadStep
from assets.v1 import load_v1_data, v1_data
from pipelines.runs.partition_selection import keys_of_schools

BASE_DATA, V1, ATTENDANCE, DATASETS, REPORTS = "base_data", "v1", "attendance", "datasets", "reports"
INPUTS = "inputs"


@dataclass(frozen=True)
class Load:
    """A step of a night, and the job by which a person loads chosen partitions of the same assets."""

    job: str
    assets: dg.AssetsDefinition
    partitions: dg.DynamicPartitionsDefinition
    #: Loads partitions of the assets.
    step: LoadStep
    description: str

    def keys(self, instance: dg.DagsterInstance, schools: Collection[int] | None) -> list[str]:
        """The existing partitions of these schools; None or empty: of all schools."""
        return keys_of_schools(instance.get_dynamic_partitions(self.partitions.name or ""), schools)


LOADS = (
    Load(
        BASE_DATA,
        base_data,
        SCHOOL_SEMESTERS,
        load_base_data,
        "Semesters through grades in the recommended order, for any schools and semesters.",
    ),
    Load(
        V1,
        v1_data,
        V1_SEMESTERS,
        load_v1_data,
        "The v1 interface: users, classes, timetables, transcripts and devices, for any schools and "
        "semesters.",
    ),
    # After both: its requests name their rows.
    Load(
        ATTENDANCE,
        attendance,
        ATTENDANCE_WEEKS,
        load_attendance,
        "Any teaching weeks of attendance, by the way that takes fewer requests.",
    ),
    Load(
        DATASETS,
        dataset_records,
        DATASET_SEGMENTS,
        load_datasets,
        "Any segments of any datasets: the changed rows where the platform can list them, else all rows.",
    ),
    Load(
        REPORTS,
        report_records,
        REPORT_RESULTS,
        load_reports,
        "Any results of the reports that settings name.",
    ),
    # After base data: its lines name their students.
    Load(
        INPUTS,
        inputs,
        SCHOOL_SEMESTERS,
        load_school_inputs,
        "The log of talks and measures that a school keeps itself, in the home's folder inputs.",
    ),
)
