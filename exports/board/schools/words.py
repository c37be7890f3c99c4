"""The texts of the page of all schools in both languages."""

from __future__ import annotations

from collections.abc import Sequence

from exports.source import joined
from exports.spreadsheet.sheets import Definition, Words
from exports.workbooks.terms import untranslated

ALL = Words("All schools", "所有学校")
REASON = Words("Reason to look", "需关注的原因")
FINE = Words("{} of {} schools are fine.", "{1}所学校中{0}所正常。")
SCHOOLS = Words("{} schools", "{}所")
SCHOOL = Words("1 school", "1所")
#: The values of a chart with quartiles, for its text alternative.
QUARTILES = Words("{}: median {}, middle half {} to {}.", "{}：中位数{}，居中一半学校{}至{}。")
WEEK = Words("Week {}", "第{}周")
#: The reasons to look at a school, the most urgent first: in its loads, then in its figures. `since`: earlier
#: data are old.
REASONS = {
    "never": Words("never loaded", "从未加载"),
    "old": Words("data from before {since}", "数据早于{since}"),
    "failed": Words("data that could not be loaded", "有数据未能加载"),
    "part": Words("data that were never loaded whole", "有数据尚未完整加载"),
    "unknown": Words("a figure is not known", "有指标暂缺"),
    "present": Words("attendance far lower than elsewhere", "出勤率远低于其他学校"),
    "at_risk": Words("far more students at risk than elsewhere", "高风险学生占比远高于其他学校"),
    "rolls": Words("far more rolls not taken than elsewhere", "未点名课节占比远高于其他学校"),
}
#: A reason with what is special about the school.
WITH_DETAIL = Words("{} ({})", "{}（{}）")
#: The share of a school, and the median of all schools.
SPREAD = Words("{}, median {}", "{}，中位数{}")
NOT_LOADED = Words("{}; could not be loaded since: {}", "{}；此后未能加载：{}")
NEVER_LOADED = Words("{}; never loaded whole: {}", "{}；尚未完整加载：{}")
#: Names the schools without data for a chart.
WITHOUT_DATA = Words("Not known: {}.", "数据暂缺：{}。")
#: The most names in a list, and the list with the number of the rest or of all.
MOST_NAMES = 10
AND_MORE = Words("{names} and {rest} more", "{names}等{all}所学校")

#: The title of each chart of a few schools, and how to read it. A school takes the place of a class.
OF_FEW = {
    "weeks": (
        Words("Attendance week by week", "每周出勤率"),
        Words("School by school. Pick a school to see it alone.", "各校对比；选择学校可单独查看。"),
    ),
    "levels": (
        Words("Students at risk and with a warning, per hundred", "每百名学生中的高风险与预警人数"),
        Words("Click a school to filter the other charts.", "点击学校可筛选其他图表。"),
    ),
    "bands": (
        Words("Grades by subject", "各学科成绩分布"),
        Words("All schools together, or the selected school.", "所有学校合计，或所选学校。"),
    ),
}
#: The same for many schools.
OF_MANY = {
    "weeks": (
        OF_FEW["weeks"][0],
        Words(
            "Line: the median of the schools. Band: the middle half of the schools. Pick a school to add its "
            "line.",
            "线为各校中位数，色带为居中的一半学校；选择学校可叠加显示该校。",
        ),
    ),
    "quartiles": (
        OF_FEW["levels"][0],
        Words(
            "Bar: the middle half of the schools. Line: their median. Pick a school to add its point.",
            "横条为居中的一半学校，竖线为中位数；选择学校可叠加显示该校（圆点）。",
        ),
    ),
    "bands": OF_FEW["bands"],
}

SMALL = Definition(
    Words("Small numbers", "人数过少"),
    Words(
        "1 to 4 students are shown as < 5; subjects with fewer than 5 grades are left out.",
        "1至4人显示为“< 5”；成绩不足5个的学科不列出。",
    ),
)
IS_FINE = Definition(
    Words("Fine", "正常"),
    Words(
        "The school has no reason to look: its data were loaded, and its three figures are known and not far "
        "from those of the other schools.",
        "没有需关注的原因：数据均已按时加载，三项指标均有数据，且与其他学校相差不远。",
    ),
)
FAR = Definition(
    Words("Far lower, far more", "远低于、远高于"),
    Words(
        "Outside of the middle half of the schools by more than one and a half times the width of that half. "
        "Percentages are compared. Only with more than 20 schools.",
        "超出居中一半学校的范围，且超出部分大于该范围宽度的1.5倍。比较的是百分比；学校多于20所时才比较。",
    ),
)
QUARTILE = Definition(
    Words("Median, middle half", "中位数、居中一半"),
    Words(
        "Half of the schools are below the median; the middle half lies between the lower and the upper "
        "quartile. 1 to 4 students count as 2.5. Values that fewer than 5 schools have are left out.",
        "一半学校低于中位数；居中一半指下四分位数与上四分位数之间的学校。1至4人按2.5人计；不足5所学校有数据时不显示。",
    ),
)


def listed(names: Sequence[str]) -> Words:
    """A list of schools; of many the first names and the number of the rest."""
    if len(names) <= MOST_NAMES:
        return joined(map(untranslated, names))
    first = joined(map(untranslated, names[:MOST_NAMES]))
    numbers = {"rest": len(names) - MOST_NAMES, "all": len(names)}
    return Words(AND_MORE.en.format(names=first.en, **numbers), AND_MORE.zh.format(names=first.zh, **numbers))
