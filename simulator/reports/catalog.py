"""The reports of every school, in the order of their ids."""

from collections.abc import Sequence

from simulator.reports.definitions import Report
from simulator.reports.flat import ATTENDANCE_DAYS, SCORE_DETAILS, STUDENT_SUMMARY
from simulator.reports.kinds import CERTIFICATE_LIST, FIELD_KINDS
from simulator.reports.pivot import GRADE_PIVOT

REPORTS: Sequence[Report] = (
    STUDENT_SUMMARY,
    GRADE_PIVOT,
    CERTIFICATE_LIST,
    FIELD_KINDS,
    SCORE_DETAILS,
    ATTENDANCE_DAYS,
)
