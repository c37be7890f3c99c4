"""Labels that site and board share, and headings above columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from exports.library.words import labels, phrase
from exports.spreadsheet.sheets import Column, Words

#: Levels of marts.early_warning.
LEVELS = labels("levels")
#: SQL that sorts students, with SCORE joined: who needs attention first.
ATTENTION = (
    f"list_position({list(LEVELS)}, level), coalesce(failed_chance, chronic_chance) DESC NULLS LAST, "
    "reason_count DESC, attendance_rate, score_rate, student_id"
)
#: Changes of marts.early_warning_history that are new in the week of the file.
NEW_THIS_WEEK = labels("new_this_week")
#: Tiers of seeds.attendance_tiers with the level that each tier means. A school's own tiers are shown by
#: their codes.
TIERS = labels("tiers")
#: Kinds of core.fct_intervention.
KINDS = labels("interventions")
LAST_TALK = phrase("last_talk")
#: Indicators of marts.early_warning_indicator.
INDICATORS = labels("indicators")
#: Verdicts on a difference from the others (marts.grade_class_against_cohort).
VERDICTS = labels("verdicts")
WEEKDAYS = {int(day): words for day, words in labels("weekdays").items()}

RATE = phrase("attendance_rate")
LAST_YEARS_GRADE = phrase("last_years_grade")
STUDENTS = phrase("students")


def label_of(code: str, words: Mapping[str, Words]) -> Words:
    """The label of a code, or the code itself where it has no label."""
    return words.get(code, untranslated(code))


def untranslated(text: object) -> Words:
    """A text that is the same in both languages, such as a name or a number."""
    return Words(str(text), str(text))


def grouped(heading: Words, *names: str, **columns: Column) -> dict[str, Column]:
    """Columns under one heading, by name. `columns`: columns that differ from the default."""
    members = dict.fromkeys(names, Column()) | columns
    return {name: replace(column, groups=(heading,)) for name, column in members.items()}


def grade_name(level: int) -> Words:
    """A grade as a Chinese school writes it; a grade beyond senior high school by its number."""
    return labels("grades").get(f"grade {level}", Words(f"Grade {level}", f"{level}年级"))
