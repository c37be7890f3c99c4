"""The age of the pages of a school: when they warn that the data are old or were not loaded."""

from __future__ import annotations

from collections.abc import Mapping

from exports.board.words import AFFECTED, CHARTS, FAILED, NEVER, TEXTS
from exports.figures import AT_RISK, NOT_TAKEN, PRESENT
from exports.source import Origin
from exports.spreadsheet.sheets import Words

#: The age in days, by the reader's clock, at which a page warns that it is old.
OLD_DAYS = 2
#: The title and the source tables of each part of a page.
PARTS: Mapping[str, tuple[Words, tuple[str, ...]]] = {
    "present": (PRESENT, ("marts.attendance_student_day",)),
    "at_risk": (AT_RISK, ("marts.early_warning",)),
    "rolls": (NOT_TAKEN, ("marts.attendance_class_session",)),
    "weeks": (CHARTS["weeks"][0], ("marts.attendance_group_week",)),
    "lessons": (CHARTS["lessons"][0], ("marts.attendance_heatmap",)),
    "levels": (CHARTS["levels"][0], ("marts.early_warning",)),
    "bands": (CHARTS["bands"][0], ("marts.grade_distribution_band",)),
    "moved": (CHARTS["moved"][0], ("marts.attendance_student_semester",)),
    "untaken": (TEXTS["untaken"], ("marts.attendance_class_session",)),
    "talks": (TEXTS["talks"], ("marts.early_warning", "marts.early_warning_history")),
}


def alarms(origin: Origin) -> list[Words]:
    """The messages about resources that were never loaded, and about those whose last load failed."""
    messages = (
        origin.alarm(NEVER, origin.age.never, AFFECTED, PARTS.values()),
        origin.alarm(FAILED, dict.fromkeys(origin.age.older, ()), AFFECTED, PARTS.values()),
    )
    return [message for message in messages if message]
