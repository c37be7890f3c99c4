"""The file of a plan. It is sealed when it is written, and the seal is checked before the plan is applied.

The seal is an HMAC with a key of the home, over the name and the content of the file. A plan that was edited,
made elsewhere, or copied under another name is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec

from untrusted.files import read_below
from warehouse.keys import home_key
from writeback.roster.fields import SECRET, STUDENT_OUTER_ID
from writeback.roster.plan import CHECKED_BEFORE_DELETION, NEEDED, VERSION, Plan, Step

#: The folder of plans in a home.
PLANS = "plans"
#: The most bytes of a plan. The plan of 100,000 rows has 40 million.
LONGEST_PLAN = 100_000_000
#: A name has no path separator, so that it cannot name a file in another folder.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Fields without planned values: secrets are read from the roster, and a role is never changed.
NEVER_PLANNED = frozenset({*SECRET, "role", "id", "school_id", STUDENT_OUTER_ID})
MAKES_ONE = "campus roster plan makes one"


class PlanError(Exception):
    """A plan that cannot be used; the message says why and what to do."""


class _Versioned(msgspec.Struct):
    """The only field that plans of all versions have."""

    version: int


class _Sealed(msgspec.Struct, kw_only=True):
    seal: str
    plan: msgspec.Raw


def plan_name(home: Path, plan: str) -> str:
    """The name of a plan, by its name or by the path of its .json or workbook in the home's folder of plans.

    Raises PlanError for a path in another folder, and for an invalid name."""
    path = Path(plan)
    if path.name != plan and path.absolute().parent.resolve() != (home / PLANS).resolve():
        raise PlanError(f"{plan} is not in {home / PLANS}, where the plans of this home are: {MAKES_ONE}")
    name = path.name.removesuffix(".json").removesuffix(".xlsx")
    if not NAME.fullmatch(name):
        raise PlanError(f"{plan} is no plan: {MAKES_ONE}")
    return name


def plan_path(home: Path, name: str) -> Path:
    """The path of the plan of this name."""
    return home / PLANS / f"{name}.json"


def save_plan(plan: Plan, home: Path, name: str) -> Path:
    """Write and seal a plan that only this user can read. Returns its path. A second plan of the same name
    gets a number. Raises OSError, and PlanError for a plan that is too long."""
    content = msgspec.json.format(msgspec.json.encode(plan), indent=1)
    (home / PLANS).mkdir(parents=True, exist_ok=True)
    for number in count(1):
        own_name = name if number == 1 else f"{name}-{number}"
        path = plan_path(home, own_name)
        sealed = msgspec.json.encode(_Sealed(seal=_seal(home, own_name, content), plan=msgspec.Raw(content)))
        if len(sealed) > LONGEST_PLAN:
            raise PlanError(f"the plan is longer than {LONGEST_PLAN:,} bytes: plan fewer rows at a time")
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(sealed)
            return path
    raise AssertionError("there is always another number")


def load_plan(home: Path, name: str) -> Plan:
    """Read the plan of this name and check its seal and its steps. Raises PlanError."""
    if not NAME.fullmatch(name):
        # Not quoted, since it may be any path.
        raise PlanError(f"it takes the name of a plan in {home / PLANS}, without a folder: {MAKES_ONE}")
    try:
        read = read_below(home, PLANS, plan_path(home, name).name, max_bytes=LONGEST_PLAN)
        sealed = msgspec.json.decode(read.content, type=_Sealed)
    except OSError as error:
        raise PlanError(f"the plan {name} cannot be read: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise PlanError(f"{name} is no plan: {MAKES_ONE}") from None
    content = bytes(sealed.plan)
    if not hmac.compare_digest(sealed.seal.encode(), _seal(home, name, content).encode()):
        raise PlanError(f"the plan {name} was edited, renamed, or made elsewhere: make a new plan")
    try:
        if msgspec.json.decode(content, type=_Versioned).version != VERSION:
            raise PlanError(f"{name} is a plan of another version of campus: make a new plan")
        plan = msgspec.json.decode(content, type=Plan)
    except msgspec.DecodeError:
        raise PlanError(f"{name} is no plan: {MAKES_ONE}") from None
    if problem := _wrong_counts(plan):
        raise PlanError(f"the plan {name} {problem}: make a new plan")
    for step in plan.steps:
        if problem := _problem(step):
            raise PlanError(f"line {step.line} of the plan {name} {problem}: make a new plan")
    return plan


def digest(content: bytes) -> str:
    """The digest that identifies the content of a file."""
    return hashlib.sha256(content).hexdigest()


def _seal(home: Path, name: str, content: bytes) -> str:
    return hmac.new(home_key(home, PLANS), name.encode() + b"\0" + content, "sha256").hexdigest()


def _wrong_counts(plan: Plan) -> str:
    """The inconsistency between a plan's counts and rows; empty: none."""
    of_roster = sum(step.action != "delete" for step in plan.steps)
    if plan.rows != plan.unchanged + of_roster + len(plan.refused):
        return "has other rows than it counts"
    for what, values in (
        ("user", [step.id for step in plan.steps if step.id is not None]),
        ("outer_id", [step.outer_id for step in plan.steps]),
    ):
        if len(set(values)) < len(values):
            return f"has two steps for one {what}"
    return ""


def _problem(step: Step) -> str:
    """The reason to refuse a step; empty: the step is valid."""
    planned = {name for name in step.after if step.action != "create" or name != "role"}
    if forbidden := {name for name in planned if name in NEVER_PLANNED or name.casefold() in SECRET}:
        return f"would write {', '.join(sorted(forbidden))}"
    if step.role not in NEEDED:
        return "is about users of no role that a roster has"
    if not set(step.secret) <= set(SECRET) or (step.secret and step.action != "create"):
        return "names fields as secret that are none"
    if step.action == "create":
        is_whole = step.after.get("role") == step.role and step.after.get("outer_id") == step.outer_id
        return "" if is_whole and not step.before else "creates another user than it names"
    if step.id is None:
        return "names no user"
    if step.action == "delete":
        is_whole = set(CHECKED_BEFORE_DELETION) <= step.before.keys() and not step.after
        return "" if is_whole else "does not say whom it deletes"
    return (
        "" if step.after and step.before.keys() == step.after.keys() else "does not say what was there before"
    )
