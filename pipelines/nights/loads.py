"""The loads of a school, in the order in which a night and a sync make them."""

from collections.abc import Collection
from dataclasses import dataclass

import dagster as dg

from assets.attendance import attendance, load_attendance
from assets.base_data import base_data, load_base_data
from assets.datasets import dataset_records, load_datasets
from assets.partitions import (
    ATTENDANCE_WEEKS,
    DATASET_SEGMENTS,
    REPORT_RESULTS,
    SCHOOL_SEMESTERS,
    V1_SEMESTERS,
)
from assets.reports import load_reports, report_records
from assets.resource_assets import LoadStep
from assets.v1 import load_v1_data, v1_data
from pipelines.due import of_schools

BASE_DATA, V1, ATTENDANCE, DATASETS, REPORTS = "base_data", "v1", "attendance", "datasets", "reports"


@dataclass(frozen=True)
class Load:
    """A part of a night, and a job by which a person loads any partitions of its assets. `step`: loads
    them."""

    job: str
    assets: dg.AssetsDefinition
    partitions: dg.DynamicPartitionsDefinition
    step: LoadStep
    description: str

    def keys(self, instance: dg.DagsterInstance, schools: Collection[int] | None) -> list[str]:
        """The partitions that there are of these schools; None or none: of all."""
        return of_schools(instance.get_dynamic_partitions(self.partitions.name or ""), schools)


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
        "The v1 generation: users, classes, timetables, transcripts and devices, for any schools and "
        "semesters.",
    ),
    # After both, whose rows its questions name.
    Load(
        ATTENDANCE,
        attendance,
        ATTENDANCE_WEEKS,
        load_attendance,
        "Any teaching weeks of attendance, by whichever way takes fewer requests.",
    ),
    Load(
        DATASETS,
        dataset_records,
        DATASET_SEGMENTS,
        load_datasets,
        "Any segments of any datasets: in full, or what changed where that can be told.",
    ),
    Load(
        REPORTS,
        report_records,
        REPORT_RESULTS,
        load_reports,
        "Any results of the reports that settings name.",
    ),
)
