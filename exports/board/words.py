"""The texts of the board in both languages."""

from __future__ import annotations

from exports.spreadsheet.sheets import Definition, Words
from exports.workbooks import back_test
from exports.workbooks.terms import LAST_TALK

TEXTS = {
    "board": Words("Board", "看板"),
    "as_of": Words("Data as of", "数据截至"),
    "published": Words("published", "发布于"),
    "figures": Words("Figures", "指标"),
    "defined": Words("Definition", "定义"),
    "narrow": Words("Filter", "筛选"),
    "everything": Words("All", "全部"),
    "pick": Words("Class", "班级"),
    "nothing": Words("There is nothing to show yet.", "暂无可显示的数据。"),
    "not_all": Words(
        "This list may be incomplete: it has only students who can be judged by the data loaded so far.",
        "名单可能不完整，仅列出根据已加载数据能够判断的学生。",
    ),
    "nobody": Words(
        "None of the students who can be judged is at risk or has a warning.",
        "可判断的学生中，目前没有高风险或预警学生。",
    ),
    "talks": Words("Students to talk to", "建议谈话的学生"),
    "talks_hint": Words(
        "New this week first, then students at risk; within a level by the score, where it has proven "
        "itself, and by number of reasons. A reason to look, not a verdict.",
        "本周新增的排在最前，其次是高风险学生；同级中先按评分（仅在已证明有效时），再按原因多少排列。仅供提示，不代表结论。",
    ),
    "last_talk": Words(f"{LAST_TALK.en}:", f"{LAST_TALK.zh}："),
    "pages": Words("All pages of the school", "本校全部页面"),
    "show_all": Words("Show all", "显示全部"),
    "untaken": Words("Rolls to take", "待补点名"),
    "untaken_hint": Words(
        "Lessons of the last 7 days whose roll was not taken, and the teachers who have to take it.",
        "近7天未点名的课节，以及负责点名的教师。",
    ),
    "all_taken": Words("All rolls of the last 7 days were taken.", "近7天的课节均已点名。"),
    "came_true": back_test.TITLE,
    "reasons_proven": back_test.REASONS_PROVEN,
    "schools": Words("Schools", "各校"),
    "schools_hint": Words("Schools with the most reasons to look first.", "需关注的原因多的学校排在最前。"),
    "school": Words("School", "学校"),
    "footer": Words(
        "Made from published data alone; this page needs no network. Version",
        "本页仅根据已发布的数据生成，无需联网。数据版本",
    ),
}
#: The texts of the page's script.
SCRIPT = {
    "only": Words("Showing only {}", "仅看 {}"),
    "school": Words("Selected: {}", "已选：{}"),
    "talks": Words(
        "Showing {} of {} students at risk or with a warning.", "当前显示{}名，高风险与预警学生共{}名。"
    ),
    "untaken": Words("Showing {} of {} teachers.", "当前显示{}名教师，共{}名。"),
    "schools": Words("Showing {} of {} schools.", "当前显示{}所学校，共{}所。"),
    "page": Words("Open the page", "打开详情页"),
    "old": Words("These data are {} days old.", "数据距今已有{}天。"),
}
FAILED = Words(
    "Could not be loaded at {at}: {of}. This page shows an earlier load of them.",
    "{at}未能加载：{of}。本页显示此前加载的数据。",
)
NEVER = Words(
    "Never loaded whole so far, last tried at {at}: {of}. Content that needs them is missing, or covers the "
    "loaded part only.",
    "尚未完整加载（最近一次尝试：{at}）：{of}。相关内容暂缺，或仅反映已加载的部分。",
)
AFFECTED = Words(" Affected: {}.", "涉及：{}。")
NOT_KNOWN = Words("Not known: never loaded whole: {}.", "数据暂缺（尚未完整加载）：{}。")
SINCE = Words("since {}", "自{}起")
STUDENT = Words("Student {}", "学生{}")
NO_TEACHER = Words("Teacher not known", "任课教师未知")
TEACHER = Words("Teacher {}", "教师{}")
LESSON = Words("{0:%a %d %b} lesson {1}", "{0.month}月{0.day}日第{1}节")

#: The title of each chart, and how to read it.
CHARTS = {
    "weeks": (
        Words("Attendance week by week", "每周出勤率"),
        Words(
            "The school and its cohorts. Hollow points: the week is not over. Choose a cohort to see the "
            "same grade in the same weeks a year before, if known.",
            "全校及各届。空心点表示该周尚未结束。选择某一届，可对比上一学年同年级同一教学周的出勤率（有数据时）。",
        ),
    ),
    "lessons": (
        Words("When attendance is lost", "何时缺勤最多"),
        Words(
            "Attendance rate by weekday and lesson. Darker is lower.",
            "按星期和节次的出勤率（%），颜色越深越低。",
        ),
    ),
    "levels": (
        Words("Warnings by class", "各班预警人数"),
        Words("Click a class to see only that class.", "点击班级可只看该班。"),
    ),
    "bands": (
        Words("Grades by subject", "各学科成绩分布"),
        Words(
            "If a class is selected, the paler bar below it is its cohort; for a cohort it is the school.",
            "选中班级时，下方浅色为同届；选中届别时，下方浅色为全校。",
        ),
    ),
    "moved": (
        Words("Classes whose attendance changed most", "出勤率变化最大的班级"),
        Words(
            "Attendance of the last weeks compared with the weeks before.", "最近几周与此前各周的出勤率相比。"
        ),
    ),
}

MOVED = Definition(
    Words("Change", "变化"),
    Words(
        "Attendance rate of the class in the recent teaching weeks minus the rate of the weeks before, in "
        "percentage points. The workbook of attendance defines recent.",
        "班级近期出勤率减去此前各周出勤率，单位为百分点；“近期”的含义与考勤工作簿相同。",
    ),
)
LAST_DAY = Definition(
    Words("Last school day", "最近上课日"),
    Words(
        "The last day with enough recorded students to count as a school day. It is compared with the same "
        "weekday a week before, and with the same weekday of the same teaching week last semester.",
        "最近一个上课日，即有考勤记录的人数达到上课日标准的日子；与一周前的同一天，以及上学期同一教学周的同一星期几相比。",
    ),
)
ROLLS = Definition(
    Words("Roll not taken", "未点名"),
    Words(
        "A lesson of a class with students, on a loaded teaching day, without any attendance record. It "
        "counts for each class and cohort with students in the lesson.",
        "已加载的教学日中，有学生的班级应上课但没有任何考勤记录的课节。按学生所属的行政班和届分别计入。",
    ),
)
BAND = Definition(
    Words("Band", "分数段"),
    Words(
        "Grades by percentage of the full score (lower limit included), so that courses with different full "
        "scores compare.",
        "按成绩占满分的百分比分段（含下限），满分不同的课程可以比较。",
    ),
)
