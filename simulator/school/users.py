"""The fields of persons that only v1 shows, and the custom fields of users."""

from datetime import date
from functools import lru_cache
from random import Random

from simulator.school.calendar import stamp
from simulator.school.rows import KEYS, Row, Values

ROLES = {"student": 1, "teacher": 2, "staff": 2, "guardian": 8}
GUARDIAN = 8
STATUSES = {"normal": 1, "archived": 2, "disabled": 4}
STATUS_LABELS = {1: "正常", 2: "已归档", 4: "已停用"}
GENDERS = {"m": "男", "f": "女", "u": ""}
NO_REGION = "000000"  # the first six digits of a national id number are a region; this region does not exist
YEARS_OF_SCHOOLING = 3

# Role, name, label and options; without options a text field. One name occurs in both roles.
FIELDS: tuple[tuple[int, str, str, tuple[str, ...]], ...] = (
    (1, "boarding", "走读/住校", ("走读", "住校")),
    (1, "dormRoom", "宿舍", ()),
    (1, "remark", "备注", ()),
    (2, "title", "职称", ("一级", "二级", "高级", "正高级")),
    (2, "remark", "备注", ()),
)
REMARKS = ("", "", "", "转入", "对花生过敏", '请联系"王老师"', "第一行\n第二行")


def fields(school_id: int, first_day: date) -> list[Row]:
    """The custom fields of a school's users."""
    rows = []
    for number, (role, name, label, options) in enumerate(FIELDS, 1):
        values: Values = {"name": name, "label": label, "role": role, "type": 2 if options else 1}
        if options:
            values["options"] = list(options)
        rows.append(Row(KEYS["user_fields"].key(school_id, number), values, stamp(first_day)))
    return rows


@lru_cache(maxsize=50_000)
def _details(seed: int, key: int, role: int, graduates_in: int | None) -> Values:
    rng = Random(f"{seed}/user/{key}")
    gender = rng.choice("mmmmmfffffu")
    born = (graduates_in or 2000 - rng.randrange(30)) - 18
    birthday = f"{born}{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}"
    values: Values = {
        "gender": gender,
        "avatar_url": f"https://avatars.example.edu.cn/{key}.png" if rng.random() < 0.8 else "",
        "email": f"u{key}@example.edu.cn" if rng.random() < 0.7 else "",
        "duration": YEARS_OF_SCHOOLING if role == 1 else None,
        "entered_at": f"{graduates_in - YEARS_OF_SCHOOLING}-09-01" if graduates_in else None,
        "idcard": f"{NO_REGION}{birthday}{rng.randrange(1_000):03d}X" if rng.random() < 0.9 else "",
        "guardian_role": rng.choice((1, 2, 2, 0)) if role == GUARDIAN else None,
    }
    for field_role, name, _, options in FIELDS:
        if field_role == role:
            text = (
                rng.choice(REMARKS) if name == "remark" else f"{rng.randrange(1, 7)}{rng.randrange(30):02d}"
            )
            values[name] = rng.choice((*options, "")) if options else text
    return values


def details(seed: int, key: int, role: object, graduates_in: int | None) -> Values:
    """The fields of a user that only v1 shows. Do not modify."""
    return _details(seed, key, role if isinstance(role, int) else 0, graduates_in)
