"""What the ready-made workbooks call things: words for codes of the marts, and columns that several show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from exports.sheets import ColorScale, Column, Words
from exports.workbooks.queries import spread_name

RED, AMBER, GREEN, GREY, WHITE = "#F4B6B0", "#FCE4B0", "#BFE3C6", "#E3E3E3", "#FFFFFF"
#: Of series in charts, which need more strength than the fill of a cell.
STRONG_RED, STRONG_AMBER, STRONG_YELLOW = "#C8443A", "#E8A33D", "#F2D16B"
STRONG_GREEN, STRONG_GREY = "#5FA777", "#B0B0B0"
BEST_TO_WORST = (STRONG_GREEN, "#A9CF8E", STRONG_YELLOW, STRONG_AMBER, STRONG_RED)

#: Levels of marts.early_warning.
LEVELS = {
    "at_risk": Words("At risk", "高风险"),
    "warning": Words("Warning", "预警"),
    "watch": Words("Watch", "关注"),
    "none": Words("All is well", "正常"),
    "unknown": Words("Not known", "无数据"),
}
#: Tiers of seeds.attendance_tiers, by the level that each means, so that the two never say different things
#: on one line; a school may have others, which are shown as it calls them.
TIERS = {
    "severe": Words(f"{LEVELS['at_risk'].en}: severe absence", f"{LEVELS['at_risk'].zh}：严重缺勤"),
    "chronic": Words(f"{LEVELS['warning'].en}: chronic absence", f"{LEVELS['warning'].zh}：长期缺勤"),
    "watch": LEVELS["watch"],
    "satisfactory": LEVELS["none"],
    "unrecorded": Words("Not recorded", "无考勤记录"),
    "unknown": LEVELS["unknown"],
}
TIER_COLORS = {
    "severe": STRONG_RED,
    "chronic": STRONG_AMBER,
    "watch": STRONG_YELLOW,
    "satisfactory": STRONG_GREEN,
    "unrecorded": STRONG_GREY,
}
#: Indicators of marts.early_warning_indicator.
INDICATORS = {
    "attendance_rate": Words("Attendance rate, %", "出勤率（%）"),
    "attendance_drop": Words("Attendance drop, points", "出勤率下降（百分点）"),
    "lateness_rate": Words("Lateness rate, %", "迟到率（%）"),
    "score_rate": Words("Score rate, %", "得分率（%）"),
    "score_drop": Words("Fall against the cohort, usual spreads", "届内成绩下滑（通常差距的倍数）"),
    "failed_courses": Words("Failed courses", "不及格课程数"),
    "missing_rate": Words("Missing scores, %", "缺评率（%）"),
}
DISCRIMINATION = {
    "very good": Words("Very good", "优秀"),
    "good": Words("Good", "良好"),
    "revise": Words("Revise", "需修改"),
    "poor": Words("Poor", "较差"),
    "cannot be told": Words("Cannot be told", "无法判断"),
}
STATES = {
    "no_students": Words("No students", "无学生"),
    "not_started": Words("Not started", "未开始"),
    "partial": Words("Partial", "部分完成"),
    "complete": Words("Complete", "已完成"),
}
GROUP_TYPES = {
    "school": Words("School", "全校"),
    "cohort": Words("Cohort", "届别"),
    "subject": Words("Subject", "学科"),
    "course": Words("Course", "课程"),
}
WHOLE_SCHOOL = Words("Whole school", "全校")
UNSCORED = Words("No score", "无成绩")
#: What has no name, in the place of one.
NAMELESS = {"": Words("Not known", "未知")}
WEEKDAYS = {
    1: Words("Monday", "星期一"),
    2: Words("Tuesday", "星期二"),
    3: Words("Wednesday", "星期三"),
    4: Words("Thursday", "星期四"),
    5: Words("Friday", "星期五"),
    6: Words("Saturday", "星期六"),
    7: Words("Sunday", "星期日"),
}

RATE = Words("Attendance rate", "出勤率")
LESSONS = Words("Lessons", "课次")
STUDENTS = Words("Students", "人数")
SHARE = Words("Share", "占比")

#: Of the tick where a week or semester is not over: its numbers are those so far (queries.UNFINISHED).
NOT_OVER = Column(Words("Not over yet", "未结束"))

#: Cells of a matrix that are percentages, in which one place is enough.
PERCENT = Column(kind="percent", places=1)

#: What is left out of the workbooks.
EARLIER_SEMESTERS = Words(
    "Earlier semesters on long sheets, which show the current one, or the last one with any data",
    "以往学期的明细（明细表只含当前学期；当前学期尚无数据时，为最近一个有数据的学期）",
)


def in_words(code: str, words: Mapping[str, Words]) -> Words:
    """A code in words, or as it is where there are none for it."""
    return words.get(code, same(code))


def same(text: object) -> Words:
    """What is called the same in both languages, as names and numbers are."""
    return Words(str(text), str(text))


def under(heading: Words, *names: str, **columns: Column) -> dict[str, Column]:
    """Columns under one heading, by name; `columns` are those of which there is more to say."""
    known = dict.fromkeys(names, Column()) | columns
    return {name: replace(column, groups=(heading,)) for name, column in known.items()}


def spread_columns(value: str, labels: Mapping[str, Words], column: Column) -> dict[str, Column]:
    """The columns that `queries.spread` makes of a value: `labels` by key; all else is as in `column`."""
    return {
        spread_name(value, key): replace(column, label=label, stays=True) for key, label in labels.items()
    }


def redder_up_to(worst: float | None, columns: Iterable[str]) -> ColorScale:
    """White at 0, red at the worst value; None: the greatest there is."""
    return ColorScale(tuple(columns), low=WHITE, high=RED, least=0, greatest=worst)


def redder_down_to(worst: float, columns: Iterable[str]) -> ColorScale:
    """Of percentages: white at 100, red at the worst value."""
    return ColorScale(tuple(columns), low=RED, high=WHITE, least=worst, greatest=100)


def more_is_better(columns: Iterable[str]) -> ColorScale:
    return ColorScale(tuple(columns), low=RED, middle=AMBER, high=GREEN)


def less_is_better(columns: Iterable[str]) -> ColorScale:
    return ColorScale(tuple(columns), low=GREEN, middle=AMBER, high=RED)
