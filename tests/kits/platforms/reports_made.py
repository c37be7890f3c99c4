"""Reports for tests, written as the platform sends them, and a platform that has them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.kits.platforms.scripted_platform import Request, answer

REPORT = "学生 汇总/1"
PATH = "/v3/reporting/reports/%E5%AD%A6%E7%94%9F%20%E6%B1%87%E6%80%BB%2F1"

GRADE: dict[str, Any] = {
    "type": "select",
    "name": "grade",
    "label": "年级",
    "required": True,
    "options": [{"key": 7, "label": "初一"}, {"key": 8, "label": "初二"}],
    "default_value": None,
}
QUERIES = [
    {"id": 501, "school_id": 101, "report_id": 12, "label": "汇总"},
    {"id": 502, "school_id": 101, "report_id": 12, "label": "明细"},
]


def field(name: str, kind: str, **attributes: Any) -> dict[str, Any]:
    """A field of a query's records."""
    return {
        "name": name,
        "kind": kind,
        "label": name,
        "label_in_path": [name],
        "is_dynamic": False,
        **attributes,
    }


def fields(**kinds: str) -> list[dict[str, Any]]:
    """Fields of these kinds, placed in their order."""
    return [field(name, kind, position=place) for place, (name, kind) in enumerate(kinds.items(), 1)]


def page(
    request: Request, fields: object, rows: Sequence[object], total: int | None = -1, unpaged: bool = True
) -> bytes:
    """The answer to a request for records of a platform that pages as the specification has it. `total`: what
    it counts, None: nothing; else the rows. `unpaged`: it knows paginated=0."""
    query = request.query
    if query.get("paginated") == "0":
        return answer({"fields": fields, "rows": rows}) if unpaged else answer({"message": "paginated"}, 422)
    size = int(query.get("per_page", 20))
    start = (int(query.get("page", 1)) - 1) * size
    counted = len(rows) if total == -1 else total
    counts = {} if counted is None else {"x_pagination_total_count": str(counted)}
    return answer({"fields": fields, "rows": list(rows)[start : start + size]}, **counts)


def platform_of(
    records: Callable[[Request], bytes],
    queries: object = QUERIES,
    parameters: object = (GRADE,),
) -> Callable[[Request], bytes]:
    """What a platform answers that has one report."""

    def on_get(request: Request) -> bytes:
        by_path: Mapping[str, Callable[[], bytes]] = {
            f"{PATH}/queries": lambda: answer(queries),
            f"{PATH}/parameters": lambda: answer(parameters),
            f"{PATH}/queries/501/records": lambda: records(request),
        }
        return by_path.get(request.path, lambda: answer({"message": "没有"}, 404))()

    return on_get


def params_of(request: Request) -> Any:
    """The parameters that a request for records carries."""
    return json.loads(request.query["params"]) if "params" in request.query else None
