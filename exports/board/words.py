"""What the board says in either language: titles, hints, and what its charts are for who cannot see them."""

from __future__ import annotations

from exports.figures import NOTHING
from exports.sheets import Definition, Words

TEXTS = {
    "board": Words("Board", "看板"),
    "as_of": Words("Data as of", "数据截至"),
    "published": Words("published", "发布于"),
    "figures": Words("Figures", "指标"),
    "defined": Words("Definition", "定义"),
    "narrow": Words("Narrow the page", "筛选"),
    "everything": Words("Everything", "全部"),
    "pick": Words("Class", "班级"),
    "nothing": Words("There is nothing to show yet.", "暂无可显示的数据。"),
    "not_all": Words(
        "Who belongs here is not known in full. Listed are those whom the loaded data alone put here.",
        "名单不完整，仅列出依据已加载数据可判断的学生。",
    ),
    "nobody": Words(
        "None of the students who can be judged is at risk or has a warning.",
        "可判断的学生中，目前没有高风险或预警学生。",
    ),
    "talks": Words("Ten students to talk to", "建议谈话的十名学生"),
    "talks_hint": Words(
        "Those at risk first, the most reasons first. A reason to look, not a verdict.",
        "高风险在前，原因多者在前。仅提示关注，不是结论。",
    ),
    "untaken": Words("Rolls to take", "待补点名"),
    "untaken_hint": Words(
        "Lessons of the last 7 days without a roll, and who has to take it.",
        "近7天未点名的课次，以及应点名的教师。",
    ),
    "all_taken": Words("All rolls of the last 7 days were taken.", "近7天的课次均已点名。"),
    "schools": Words("Schools", "各校"),
    "school": Words("School", "学校"),
    "footer": Words(
        "Made from the published data alone; this page asks for nothing on the network. Version",
        "仅由已发布的数据生成，本页面不访问网络。文件版本",
    ),
}
#: Of the page's script.
SCRIPT = {
    "only": Words("Narrowed to {}", "仅看 {}"),
    "talks": Words("Shown: {} of {} at risk or with a warning.", "显示{}名，高风险与预警共{}名。"),
    "untaken": Words(
        "Shown: {} of {} teachers. All are in the workbook of attendance.",
        "显示{}名，共{}名教师，全部见考勤工作簿。",
    ),
    "no_data": NOTHING,
    "nothing": TEXTS["nothing"],
    "old": Words("These data are {} days old.", "数据已是{}天前的。"),
}
FAILED = Words(
    "Could not be loaded at {at}: {of}. This page shows them as of an earlier load. Parts concerned: "
    "{parts}.",
    "{at}未能加载：{of}。本页显示此前加载的数据。涉及：{parts}。",
)
NEVER = Words(
    "Never loaded whole so far, last tried at {at}: {of}. What is made of these is not known, or known of a "
    "part only. Concerned: {parts}.",
    "尚未完整加载（最近一次尝试：{at}）：{of}。由此得出的内容未知，或仅包含已加载的部分，涉及：{parts}。",
)
NOT_LOADED = Words("{}; could not be loaded since: {}", "{}；此后未能加载：{}")
NEVER_LOADED = Words("{}; never loaded whole: {}", "{}；尚未完整加载：{}")
NOT_KNOWN = Words("Not known: never loaded whole: {}.", "未知：尚未完整加载：{}。")
#: Of the schools that a chart has no bar or line of.
NOT_KNOWN_OF = Words("Not known: {}.", "未知：{}。")
STUDENT = Words("Student {}", "学生{}")
NO_TEACHER = Words("Teacher not known", "任课教师未知")
TEACHER = Words("Teacher {}", "教师{}")
LESSON = Words("{0:%a %d %b} lesson {1}", "{0.month}月{0.day}日第{1}节")

#: Of each chart: title, and how to read it.
CHARTS = {
    "weeks": (
        Words("Attendance week by week", "每周出勤率"),
        Words(
            "The school and its cohorts. Hollow: the week is not over.", "全校及各届。空心点：该周尚未结束。"
        ),
    ),
    "lessons": (
        Words("When attendance is lost", "何时缺勤最多"),
        Words(
            "Attendance rate by weekday and lesson; the darker, the lower.",
            "按星期和节次的出勤率（%），颜色越深越低。",
        ),
    ),
    "levels": (
        Words("Warnings by class", "各班预警人数"),
        Words("Click a class to narrow the page to it.", "点击班级可只看该班。"),
    ),
    "bands": (
        Words("Grades by subject", "各学科成绩分布"),
        Words(
            "Of a class above, paler below its cohort; of a cohort, below it the school.",
            "选中班级时，下方浅色为同届；选中届别时，下方浅色为全校。",
        ),
    ),
    "moved": (
        Words("Classes that moved most", "变化最大的班级"),
        Words("Attendance of the last weeks against the weeks before.", "最近几周与此前各周的出勤率相比。"),
    ),
}
#: The same for the page of all schools, each of which is drawn as a class is.
OF_SCHOOLS = {
    "weeks": (
        Words("Attendance week by week", "每周出勤率"),
        Words("School by school; pick one to see it alone.", "各校对比；选择学校可单独查看。"),
    ),
    "levels": (
        Words("Students at risk and with a warning, of a hundred", "每百名学生中的高风险与预警人数"),
        Words("Click a school to narrow the other charts.", "点击学校可筛选其他图表。"),
    ),
    "bands": (
        Words("Grades by subject", "各学科成绩分布"),
        Words("Of all schools together, or of that which is picked.", "所有学校合计，或所选学校。"),
    ),
}

MOVED = Definition(
    Words("Change", "变化"),
    Words(
        "Attendance rate of the class in the recent teaching weeks, less that of the weeks before, in "
        "percentage points. Recent is as in the workbook of attendance.",
        "班级近期（与考勤工作簿的“近期”相同）出勤率减去此前各周出勤率，单位为百分点。",
    ),
)
LAST_DAY = Definition(
    Words("Last school day", "最近上课日"),
    Words(
        "The last day on which as many students were recorded as make a day one in session. "
        "It is compared with the same weekday a week before, and with that of the same "
        "teaching week in the semester before.",
        "最近一个有考勤人数达到上课日标准的日子；与一周前同一天及上学期同一教学周的同一天相比。",
    ),
)
ROLLS = Definition(
    Words("Roll not taken", "未点名"),
    Words(
        "A lesson of a class with students, on a teaching day that is loaded, of which nobody has a record. "
        "It counts for each class and cohort whose students are in the lesson.",
        "已加载的上课日中，有学生的班级应上而没有任何考勤记录的课次。课程班的学生属于哪些行政班和届，就计入哪些。",
    ),
)
BAND = Definition(
    Words("Band", "分数段"),
    Words(
        "Grades by their percentage of the full score, so that courses of different full scores compare.",
        "按成绩占满分的百分比分段，满分不同的课程可以比较。",
    ),
)
SMALL = Definition(
    Words("Small numbers", "小数目"),
    Words(
        "1 to 4 students are shown as < 5; subjects with fewer than 5 grades are left out.",
        "1至4人显示为“< 5”；成绩不足5个的学科不列出。",
    ),
)
