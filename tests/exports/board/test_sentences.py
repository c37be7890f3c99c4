"""The sentences of figures and alarms say what they count, and end where they have nothing to name."""

from dataclasses import replace
from datetime import date, datetime

import pytest

from exports.board.data import BOARD, alarms
from exports.figures import present_figure
from exports.source import Loads, Origin, School
from exports.spreadsheet import about
from exports.spreadsheet.sheets import Words

AT = datetime(2026, 3, 2, 15)
STANDING = {
    "resource": "devices",
    "slice": "101",
    "status": "failed",
    "finished_at": AT,
    "requests": 1,
    "complete_at": None,
}


def test_a_rate_and_a_count_say_their_units() -> None:
    """A student who misses some lessons attended that day, so that 93.0% and 111 of 117 are both true."""
    figure = present_figure(
        {"last": {"attendance_rate": 93.0, "attended": 111, "students": 117, "date": date(2026, 3, 2)}}, None
    )
    assert figure.value == Words("93.0%", "93.0%")
    assert figure.detail == Words(
        "Mon 02 Mar 2026 · by lessons · 111 of 117 students attended",
        "2026-03-02 · 按节次；按人数：出勤111人／有考勤117人",
    )


@pytest.mark.parametrize(
    "words", [BOARD.texts["failed"], BOARD.texts["never"], about.TEXTS["failed"], about.TEXTS["never"]]
)
def test_an_alarm_without_parts_names_none(words: Words) -> None:
    loads = Loads((STANDING,), {"marts.a": frozenset({"scores"})}, {"devices": Words("Devices", "设备")})
    origin = Origin(School(101, "一中"), "g", AT, loads, loads.age(()))
    alarm = origin.alarm(
        words, {"devices": ()}, about.TEXTS["affected"], [(Words("Marks", "成绩"), ["marts.a"])]
    )
    assert alarm and "Devices" in alarm.en and "设备" in alarm.zh
    assert alarm.zh.endswith("。") and "涉及" not in alarm.zh and "Affected" not in alarm.en
    assert not [text for text in (alarm.en, alarm.zh) if "：。" in text or ": ." in text]
    [on_page] = alarms(replace(origin, loads=replace(loads, made_of={})))
    assert "涉及：最近上课日出勤率、" in on_page.zh and "Affected: Present on" in on_page.en
