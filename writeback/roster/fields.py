"""The fields that a roster may have, by the specification's table of user fields: kinds, words and rules."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from campus.files.headers import day_of
from writeback.operations import SECRET_FIELDS

STUDENT, TEACHER, GUARDIAN = 1, 2, 8
#: Sent when a user is created, and never compared, planned or recorded: passwords cannot be read, and
#: national id numbers are not kept.
SECRET = SECRET_FIELDS
#: Written by a person or a machine to be guessed by nobody, and shown to nobody: any letters may be right.
OF_ANY_LETTERS = ("password",)
#: Not a field of the platform: the outer_id of a guardian's student.
STUDENT_OUTER_ID = "student_outer_id"

Kind = Literal["text", "number", "date", "choice"]


@dataclass(frozen=True)
class RosterField:
    """One field of a roster."""

    name: str
    kind: Kind = "text"
    #: For a choice: the words for its values, and the platform's value for each word.
    words: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


def _choice(name: str, words: Mapping[str, Any], *headers: str) -> RosterField:
    return RosterField(name, "choice", {**{str(value): value for value in words.values()}, **words}, headers)


STANDARD: Mapping[str, RosterField] = {
    roster_field.name: roster_field
    for roster_field in (
        RosterField("outer_id", headers=("外部编号", "外部ID", "外部id")),
        RosterField("usin", headers=("学号", "工号", "学工号", "账号")),
        RosterField("name", headers=("姓名", "名称")),
        _choice(
            "role",
            {"学生": STUDENT, "教师": TEACHER, "老师": TEACHER, "家长": GUARDIAN}
            | {"student": STUDENT, "teacher": TEACHER, "guardian": GUARDIAN},
            "角色",
        ),
        _choice("gender", {"男": "m", "女": "f", "未知": "u"}, "性别"),
        _choice("status", {"正常": 1, "归档": 2, "已归档": 2, "停用": 4, "已停用": 4}, "状态"),
        RosterField("graduates_in", "number", headers=("毕业年份", "届别", "毕业届")),
        RosterField("email", headers=("邮箱", "电子邮箱")),
        RosterField("phone", headers=("手机", "手机号", "电话")),
        RosterField("avatar_url", headers=("头像地址",)),
        RosterField("duration", "number", headers=("学制",)),
        RosterField("entered_at", "date", headers=("入学日期",)),
        RosterField("idcard", headers=("身份证号", "身份证")),
        RosterField("password", headers=("密码",)),
        RosterField("student_id", "number", headers=("学生ID",)),
        RosterField(STUDENT_OUTER_ID, headers=("学生外部编号", "学生外部ID")),
        _choice("guardian_role", {"父亲": 1, "母亲": 2, "其他": 0}, "家长关系", "关系"),
    )
}
HEADERS = {header: roster_field.name for roster_field in STANDARD.values() for header in roster_field.headers}

#: What a name has that was meant to be something else; `unusual_text: send` lets it pass.
_FORMULA = re.compile(r"[=@]")
_FORMULA_FOR_A_NAME = re.compile(r"[=@+\-]")
_RIGHT_TO_LEFT = ("R", "AL")
#: Categories of what nobody sees: controls, formats, halves of letters, anybody's own, ends of lines.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
#: Where the rarest of Chinese characters are, some of which Python's tables may be too old to know.
_IDEOGRAPHS = range(0x20000, 0x40000)
#: The most digits of a number that a platform accepts.
LONGEST_NUMBER = 18


class Refused(Exception):
    """The reason to refuse a row or a value, in English, and in Chinese for the workbook of a plan.

    It quotes no cell."""

    def __init__(self, words: str, chinese: str) -> None:
        super().__init__(words)
        self.chinese = chinese


def in_chinese(name: str) -> str:
    """The Chinese name of a field."""
    standard = STANDARD.get(name)
    return standard.headers[0] if standard and standard.headers else name


def value_of(spec: RosterField, text: str, words: Mapping[str, Any]) -> Any:
    """The value of a cell. words: the platform's word for each of the school's (campus.yaml). Raises
    Refused."""
    text = str(words.get(text, text))
    if spec.kind == "choice":
        value = spec.words.get(text, spec.words.get(text.lower()))
        if value is None:
            there_are = ", ".join(dict.fromkeys(str(value) for value in spec.words.values()))
            chinese = "、".join(word for word, value in spec.words.items() if word != str(value))
            raise Refused(
                f"{spec.name}: expected one of {there_are}", f"{in_chinese(spec.name)}可填：{chinese}"
            )
        return value
    if spec.kind == "number":
        if not text.isdecimal():
            raise Refused(f"{spec.name}: expected a number", f"{in_chinese(spec.name)}应为数字")
        if len(text) > LONGEST_NUMBER:
            raise Refused(
                f"{spec.name} has {len(text)} digits; {LONGEST_NUMBER} at most are sent",
                f"{in_chinese(spec.name)}有 {len(text)} 位数字，最多 {LONGEST_NUMBER} 位",
            )
        return int(text)
    if spec.kind == "date":
        return _day(spec.name, text)
    return text


def _day(name: str, text: str) -> str:
    day = day_of(text)
    if day is None:
        raise Refused(f"{name}: expected YYYY-MM-DD", f"{in_chinese(name)}应为日期，如 2026-09-01")
    return day.isoformat()


def check_text(name: str, text: str, *, longest: int, unusual: bool) -> None:
    """Check that a text may be sent. unusual: allow unusual names. Raises Refused."""
    if len(text) > longest:
        raise Refused(
            f"{name} has {len(text)} letters; {longest} at most are sent (writes.roster.longest_text)",
            f"{in_chinese(name)}有 {len(text)} 个字，最多 {longest} 个（writes.roster.longest_text）",
        )
    for letter in text:
        if _is_unseen(letter):
            which = "" if name in SECRET else f", U+{ord(letter):04X}"
            raise Refused(
                f"{name} has a character that nobody sees{which}",
                f"{in_chinese(name)}含有看不见的字符{which}",
            )
    if unusual or name in OF_ANY_LETTERS:
        return
    if (_FORMULA_FOR_A_NAME if name == "name" else _FORMULA).match(text):
        raise _unusual(name, f"begins like a formula, with {text[0]!r}", f"以“{text[0]}”开头，像是公式")
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in text):
        raise _unusual(name, "has letters that run from right to left", "含有从右向左书写的文字")
    if any(unicodedata.category(letter) == "So" for letter in text):
        raise _unusual(name, "has emoji or symbols", "含有表情或符号")


def _unusual(name: str, words: str, chinese: str) -> Refused:
    setting = "writes.roster.unusual_text"
    return Refused(
        f"{name} {words}; if it is right, set {setting} to send",
        f"{in_chinese(name)}{chinese}；如果无误，请将 {setting} 设为 send",
    )


def _is_unseen(letter: str) -> bool:
    category = unicodedata.category(letter)
    return category in _UNSEEN or (category == "Cn" and ord(letter) not in _IDEOGRAPHS)


def same(value: Any, other: Any) -> bool:
    """Whether two values are the same; an empty text is no value."""
    return bool(_plain(value) == _plain(other))


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return None if value == "" else value


def missing(values: Mapping[str, Any], names: Sequence[str]) -> str:
    """The names of fields without a value; empty: all fields have values."""
    return ", ".join(name for name in names if values.get(name) in (None, ""))
