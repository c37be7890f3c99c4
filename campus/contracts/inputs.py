"""The contracts of the files that a school keeps itself."""

import datetime as dt
from typing import Annotated, ClassVar

from campus.contracts.fields import Contract, Int, Text, doc

#: What was done: the words that a file may have for each kind, the Chinese heading first.
KINDS = {
    "talk": ("谈话", "谈心", "conversation"),
    "call_home": ("联系家长", "家访", "call home", "home visit"),
    "plan": ("帮扶计划", "帮扶", "support plan"),
    "other": ("其他",),
}


class Intervention(Contract):
    """What the school did for a student: a talk, a call home, a plan. From the school's own file, not from
    the platform."""

    label_zh: ClassVar[str] = "谈话与帮扶记录"

    student_id: Annotated[Int, doc("Student id", privacy="person", label_zh="学生ID")]
    date: Annotated[dt.date, doc("Day on which it was done", privacy="plain", label_zh="日期")]
    kind: Annotated[Text, doc("What was done", privacy="plain", values=tuple(KINDS), label_zh="类型")]
    done_by: Annotated[Text | None, doc("Who did it", privacy="name", label_zh="负责人")] = None
    result: Annotated[Text | None, doc("What came of it", privacy="text", label_zh="结果")] = None
    note: Annotated[Text | None, doc("Note", privacy="text", label_zh="备注")] = None
    again_on: Annotated[
        dt.date | None, doc("Day on which to look again", privacy="plain", label_zh="再看日期")
    ] = None
