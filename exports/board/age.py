"""The age of the pages of a school: when they warn that the data are old or were not loaded."""

from __future__ import annotations

from exports.board.words import BOARD, TEXTS
from exports.source import Origin
from exports.spreadsheet.sheets import Words

#: The age in days, by the reader's clock, at which a page warns that it is old.
OLD_DAYS = 2


def alarms(origin: Origin) -> list[Words]:
    """The messages about resources that were never loaded, and about those whose last load failed."""
    panels = [(panel.title, panel.tables) for panel in BOARD.panels.values()]
    messages = (
        origin.alarm(TEXTS["never"], origin.age.never, TEXTS["affected"], panels),
        origin.alarm(TEXTS["failed"], dict.fromkeys(origin.age.older, ()), TEXTS["affected"], panels),
    )
    return [message for message in messages if message]
