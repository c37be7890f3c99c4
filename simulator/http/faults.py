"""Injected faults: which request fails, and how.

The seed, the request and the number of equal requests before it decide whether a fault strikes. So a run is
repeatable even if requests overtake each other."""

import time
from collections import Counter
from email.utils import formatdate
from fnmatch import fnmatchcase
from random import Random
from typing import Any, Literal

import msgspec

from simulator.messages import Headers, Request, Response

Kind = Literal[
    "status", "reset", "truncated", "slow", "html", "revoked", "moving", "empty", "repeated", "after", "late"
]


class Fault(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A fault. `path` is a glob on the path; `times` ends the fault after so many strikes.

    With status or html, a write does not happen. With reset, truncated, slow or after, the write happens.
    With late, the write happens `seconds` after the answer with `status`."""

    kind: Kind
    probability: float = 1.0
    path: str = "*"
    times: int | None = None
    status: int = 500  # of kinds status, after and late
    method: str = "*"  # a glob on the method
    retry_after: float | None = None  # seconds, of kind status
    retry_after_form: Literal["seconds", "date"] = "seconds"
    seconds: float = 1.0  # of kinds slow and late
    change: Literal["shrink", "grow", "balanced"] = "balanced"  # of kind moving
    # Of kind empty: the counts in an answer without rows (zero, the true counts, none), and whether an object
    # becomes an empty list or keeps its other members.
    counts: Literal["zero", "true", "none"] = "zero"
    objects: Literal["emptied", "list"] = "emptied"
    # Of kind repeated: whether the total of the answer counts the first row twice, as the answer shows it.
    counted: bool = False


Strike = tuple[Fault, Random]  # with random numbers for the fault


class FaultPlan(msgspec.Struct, forbid_unknown_fields=True):
    """All faults of a run. The first fault that strikes a request happens."""

    faults: list[Fault] = []
    seed: int = 1


class Faults:
    """Decides for each request whether a fault strikes."""

    def __init__(self, plan: FaultPlan) -> None:
        self.plan = plan
        self._seen: Counter[str] = Counter()
        self._struck: Counter[int] = Counter()

    def strike(self, request: Request) -> Strike | None:
        """The fault that strikes this request."""
        if not self.plan.faults:
            return None
        target = f"{request.method} {request.target}"
        self._seen[target] += 1
        for index, fault in enumerate(self.plan.faults):
            if not _applies(fault, request) or self._struck[index] == fault.times:
                continue
            rng = Random(f"{self.plan.seed}/{index}/{target}/{self._seen[target]}")
            if rng.random() < fault.probability:
                self._struck[index] += 1
                return fault, rng
        return None


def _applies(fault: Fault, request: Request) -> bool:
    """Whether a fault can strike a request: a token to revoke, an earlier page to change, or rows to omit or
    repeat."""
    if fault.kind in ("empty", "repeated") and request.method != "GET":
        return False
    if fault.kind == "revoked" and b"authorization" not in request.headers:
        return False
    if fault.kind == "moving" and request.query.get("page", request.query.get("$page", "1")) == "1":
        return False
    return fnmatchcase(request.path, fault.path) and fnmatchcase(request.method, fault.method)


def retry_after(fault: Fault) -> Headers:
    """The header of a status fault, in seconds or as a date."""
    if fault.retry_after is None:
        return []
    if fault.retry_after_form == "seconds":
        return [(b"Retry-After", b"%g" % fault.retry_after)]
    return [(b"Retry-After", formatdate(time.time() + fault.retry_after, usegmt=True).encode())]


def truncated(response: Response) -> Response:
    """The first half of a body, with a matching length: the JSON is invalid."""
    return Response(200, response.body[: len(response.body) // 2], response.headers)


# The members of objects that hold rows, and those that count them.
ROWS_IN_OBJECTS = ("data", "list", "rows", "items", "grade_list", "days", "lessons")
COUNTS_IN_OBJECTS = ("item_num", "statistics")


def emptied(response: Response, fault: Fault) -> Response:
    """An answer of status 200 without its rows, as a platform with a failed database sends it."""
    if response.status != 200:
        return response
    whole = msgspec.json.decode(response.body)
    headers = [
        (name, b"0" if fault.counts == "zero" and name in COUNT_HEADERS else value)
        for name, value in response.headers
        if fault.counts != "none" or not name.startswith(PAGINATION)
    ]
    if isinstance(whole, dict) and fault.objects == "emptied":
        return Response(200, msgspec.json.encode(_without_rows(whole, fault)), headers)
    return Response(200, b"[]", headers)


def _without_rows(whole: dict[str, Any], fault: Fault) -> dict[str, Any]:
    emptied = {name: [] if name in ROWS_IN_OBJECTS else value for name, value in whole.items()}
    for name in emptied.keys() & set(COUNTS_IN_OBJECTS) if fault.counts == "zero" else ():
        value = emptied[name]
        emptied[name] = dict.fromkeys(value, 0) if isinstance(value, dict) else 0
    return emptied


def repeated(response: Response, fault: Fault) -> Response:
    """A list, or the rows of a report, with the first row twice."""
    whole = msgspec.json.decode(response.body) if response.status == 200 else None
    rows = whole.get("rows") if isinstance(whole, dict) else whole
    if not isinstance(rows, list) or not rows:
        return response
    rows.insert(0, rows[0])
    headers = [
        (name, b"%d" % (int(value) + 1) if fault.counted and name == TOTAL_COUNT else value)
        for name, value in response.headers
    ]
    return Response(200, msgspec.json.encode(whole), headers)


PAGINATION = b"X-Pagination-"
TOTAL_COUNT = b"X-Pagination-Total-Count"
COUNT_HEADERS = (TOTAL_COUNT, b"X-Pagination-Page-Count")
HTML_PAGE = Response(
    200,
    "<!DOCTYPE html><html><head><title>系统维护</title></head><body>请稍后再试。</body></html>".encode(),
    [(b"content-type", b"text/html; charset=utf-8")],
)
