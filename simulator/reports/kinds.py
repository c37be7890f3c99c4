"""Reports with difficult values: links to files, and edge cases of every kind of field."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from simulator.reports.definitions import Field, Parameter, Query, Report, flat
from simulator.reports.figures import Figures
from simulator.school.calendar import moment
from simulator.school.rows import Values

CERTIFICATES = {1: "学科竞赛", 2: "文体活动", 3: "志愿服务", 4: "发明专利"}
NEVER_GIVEN = 4  # a choice without rows
GROUPS = {"01": "第一组", "02": "第二组"}


def _attachment(figures: Figures, number: int, name: str) -> Values:
    url = f"https://school-{figures.school_id}.example.edu.cn/files/{number}?name=file&v=1"
    return {"name": name, "url": url}


def _certificate_parameters(_: Figures) -> Sequence[Parameter]:
    return (
        Parameter("multi-select", "kind", "类别", options=CERTIFICATES),
        Parameter("date-range", "period", "颁发日期"),
    )


def _certificates(figures: Figures) -> Iterator[Values]:
    rng = figures.rng("certificates")
    kinds = [kind for kind in CERTIFICATES if kind != NEVER_GIVEN]
    for number, pupil in enumerate(figures.pupils[::2], 1):
        kind = rng.choice(kinds)
        issued = moment(rng, figures.today - timedelta(days=300), figures.today)
        file = _attachment(figures, 70_000 + number, f"奖状 {pupil.name}.pdf")
        yield {
            "kind": kind,
            "period": issued[:10],
            "usin": pupil.usin,
            "name": pupil.name,
            "category": CERTIFICATES[kind],
            "title": f"“{CERTIFICATES[kind]}”{'一二三'[number % 3]}等奖",
            "issued_at": issued,
            "file": file if number % 10 else None,
            "remark": rng.choice((None, "原件存档案室", "补发\n原件遗失")),
        }


def _kind_parameters(_: Figures) -> Sequence[Parameter]:
    return (
        Parameter("select", "group", "分组", required=None, options=GROUPS),
        Parameter("input", "code", "编码包含", default=""),
    )


# Columns of different lengths repeat, so that their values combine in many ways.
VALUES: dict[str, Sequence[Any]] = {
    "count": (0, 1, -7, 9_007_199_254_740_993, None),
    "share": (0.1, 97.5, -1e-7, 123_456.789, 1e21, None, 3.0),
    "amount": (
        "0",
        "12345678901234567890.123456789012345678",
        "-0.000000000000000001",
        "1.10",
        "100.00",
        None,
        "-98765432109876543210.5",
    ),
    "code": ("007", "=1+1", "+86 10", "-", "@SUM(A1)", "\t制表", "", " 首尾空格 ", None, "3E5", "110101"),
    "note": ('引号"，逗号,', "两行\n文字", "表情😀", None, "<b>粗</b> & C:\\path"),
    "day": ("2024-02-29", "1999-12-31", None, "2025-05-16"),
    "moment": ("2025-05-16 00:00:00", None, "2024-02-29 23:59:59"),
    "level": ("优秀", "待提高", "", None),
}
ROWS = 60


def _every_kind(figures: Figures) -> Iterator[Values]:
    groups = list(GROUPS)
    for number in range(ROWS):
        values = {name: choices[number % len(choices)] for name, choices in VALUES.items()}
        file = _attachment(figures, 80_000 + number, f"附件{number}.xlsx") if number % 4 else None
        yield {"group": groups[number % 3 // 2], "serial": f"{number:04d}", **values, "file": file}


CERTIFICATE_LIST = Report(
    "certificates",
    "证书与附件",
    _certificate_parameters,
    [
        Query(
            "证书",
            flat(
                Field("string", "usin", "学号"),
                Field("string", "name", "姓名"),
                Field("enum", "category", "类别"),
                Field("text", "title", "奖项"),
                Field("timestamp", "issued_at", "颁发时间"),
                Field("attachment", "file", "扫描件"),
                Field("text", "remark", "备注"),
            ),
            _certificates,
        )
    ],
)
FIELD_KINDS = Report(
    "field_kinds",
    "各类字段",
    _kind_parameters,
    [
        Query(
            "各类字段",
            flat(
                Field("string", "serial", "序号"),
                Field("int", "count", "整数"),
                Field("float", "share", "浮点数"),
                Field("decimal", "amount", "小数"),
                Field("string", "code", "编码"),
                Field("text", "note", "文本", ("说明", "文本")),
                Field("date", "day", "日期", ("时间", "日期")),
                Field("timestamp", "moment", "时刻", ("时间", "时刻")),
                Field("enum", "level", "等级"),
                Field("attachment", "file", "附件"),
            ),
            _every_kind,
        )
    ],
)
