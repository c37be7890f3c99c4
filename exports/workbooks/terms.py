"""Labels of the ready-made workbooks: of codes in marts, and of columns that several sheets share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from exports import measures
from exports.spreadsheet.sheets import ColorScale, Column, Words
from exports.workbooks.queries import pivot_name

RED, AMBER, GREEN, GREY, WHITE = "#F4B6B0", "#FCE4B0", "#BFE3C6", "#E3E3E3", "#FFFFFF"
#: Colours of series in charts, stronger than fills of cells.
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
#: SQL that sorts students, with SCORE joined: who needs attention first.
ATTENTION = (
    f"list_position({list(LEVELS)}, level), coalesce(failed_chance, chronic_chance) DESC NULLS LAST, "
    "reason_count DESC, attendance_rate, score_rate, student_id"
)
#: Changes of marts.early_warning_history that are new in the week of the file.
NEW_THIS_WEEK = {
    "new": Words("New this week", "本周新增"),
    "came back": Words("Back this week", "本周再次预警"),
}
#: Tiers of seeds.attendance_tiers with the level that each tier means. A school's own tiers are shown by
#: their codes.
TIERS = {
    "severe": Words(f"{LEVELS['at_risk'].en} (severe absence)", f"{LEVELS['at_risk'].zh}（严重缺勤）"),
    "chronic": Words(f"{LEVELS['warning'].en} (chronic absence)", f"{LEVELS['warning'].zh}（长期缺勤）"),
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
#: Kinds of core.fct_intervention.
KINDS = {
    "talk": Words("Talk", "谈话"),
    "call_home": Words("Call home", "联系家长"),
    "plan": Words("Support plan", "帮扶计划"),
    "other": Words("Other", "其他"),
}
LAST_TALK = Words("Last talk or measure", "最近谈话或帮扶")
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
#: Verdicts on a difference from the others (marts.grade_class_against_cohort).
VERDICTS = {
    "above": Words("Above the others", "高于其他"),
    "below": Words("Below the others", "低于其他"),
    "not distinguishable": Words("Not distinguishable", "无明显差异"),
    "too few": Words("Too few", "数量过少"),
}
#: The ends of a 95% interval.
LOW, HIGH = Words("Low", "下限"), Words("High", "上限")
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
#: The grades of primary and junior high school from 1, then those of senior high school.
_GRADES = (*(f"{number}年级" for number in "一二三四五六七八九"), "高一", "高二", "高三")
WHOLE_SCHOOL = Words("Whole school", "全校")
UNSCORED = Words("No score", "无成绩")
#: The label of a group without a name.
NO_NAME = {"": Words("Not known", "未知")}
WEEKDAYS = {
    1: Words("Monday", "星期一"),
    2: Words("Tuesday", "星期二"),
    3: Words("Wednesday", "星期三"),
    4: Words("Thursday", "星期四"),
    5: Words("Friday", "星期五"),
    6: Words("Saturday", "星期六"),
    7: Words("Sunday", "星期日"),
}

RATE = measures.label("attendance_rate")
LAST_YEARS_GRADE = Words("Same grade a year before", "上一学年同年级")
LESSONS = Words("Lessons", "课节")
STUDENTS = Words("Students", "人数")
SHARE = Words("Share", "占比")

#: The column of ticks for unfinished weeks or semesters (queries.UNFINISHED).
NOT_OVER = Column(Words("Not over yet", "未结束"))

#: Percentages in cells of a matrix.
PERCENT = Column(kind="percent")

#: What the workbooks leave out.
EARLIER_SEMESTERS = Words(
    "Earlier semesters on long sheets, which show the current semester, or the last semester with data",
    "以往学期的明细（明细表只含当前学期；当前学期尚无数据时，显示最近一个有数据的学期）",
)


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


def pivot_columns(value: str, labels: Mapping[str, Words], column: Column) -> dict[str, Column]:
    """The columns that `queries.pivot` makes of a value, with `labels` by key and the format of `column`."""
    return {pivot_name(value, key): replace(column, label=label, stays=True) for key, label in labels.items()}


def grade_name(level: int) -> Words:
    """A grade as a Chinese school writes it; a grade beyond senior high school by its number."""
    return Words(f"Grade {level}", _GRADES[level - 1] if level <= len(_GRADES) else f"{level}年级")


def redder_up_to(worst: float | None, columns: Iterable[str]) -> ColorScale:
    """A scale from white at 0 to red at the worst value. None: at the greatest value."""
    return ColorScale(tuple(columns), low=WHITE, high=RED, least=0, greatest=worst)


def redder_down_to(worst: float, columns: Iterable[str]) -> ColorScale:
    """A scale of percentages from white at 100 to red at the worst value."""
    return ColorScale(tuple(columns), low=RED, high=WHITE, least=worst, greatest=100)


def more_is_better(columns: Iterable[str]) -> ColorScale:
    return ColorScale(tuple(columns), low=RED, middle=AMBER, high=GREEN)


def less_is_better(columns: Iterable[str]) -> ColorScale:
    return ColorScale(tuple(columns), low=GREEN, middle=AMBER, high=RED)
