"""The writes of the interface as data: where each goes, what it needs, and whether it may be repeated."""

from dataclasses import dataclass, field
from typing import Any

from campus.registry.v1 import OF_CLASSES, OF_USERS

#: What no message quotes, and no record keeps.
SECRET_FIELDS = ("password", "idcard")


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of write."""

    name: str
    method: str
    #: With {id} in the place of the id.
    path: str
    #: Any one of these suffices, as far as the interface tells (it shows none for v1).
    scopes: tuple[str, ...]
    #: Sending it twice has the same effect as sending it once.
    repeatable: bool
    #: The interface names form fields, not JSON.
    in_form: bool = False
    #: The method for platforms that do not take `method` here.
    otherwise: str = ""


CREATE_USER = Operation("create_user", "POST", "/api/v1/reflections", OF_USERS, repeatable=False)
CHANGE_USER = Operation(
    "change_user", "PATCH", "/api/v1/reflections/{id}", OF_USERS, repeatable=True, otherwise="PUT"
)
DELETE_USER = Operation("delete_user", "DELETE", "/api/v1/reflections/{id}", OF_USERS, repeatable=True)
CREATE_FIELD = Operation("create_field", "POST", "/api/v1/reflection-fields", OF_USERS, repeatable=False)
CHANGE_FIELD = Operation(
    "change_field", "PATCH", "/api/v1/reflection-fields/{id}", OF_USERS, repeatable=True, otherwise="PUT"
)
DELETE_FIELD = Operation(
    "delete_field", "DELETE", "/api/v1/reflection-fields/{id}", OF_USERS, repeatable=True
)
MARK_LESSON = Operation("mark_lesson", "PUT", "/api/v1/classes/{id}/attendances", OF_CLASSES, repeatable=True)
# "May be sent repeatedly, the last submission wins."
SEND_SWIPES = Operation(
    "send_swipes", "POST", "/api/v1/classrooms/{id}/attendance-logs", OF_CLASSES, repeatable=True
)
SWIPE_STUDENT = Operation(
    "swipe_student", "POST", "/api/v1/students/{id}/attendances", OF_CLASSES, repeatable=False, in_form=True
)
SWIPE_CARD = Operation(
    "swipe_card",
    "POST",
    "/api/v1/studentcard/cards/{id}/attendance",
    OF_CLASSES,
    repeatable=False,
    in_form=True,
)
BIND_CARD = Operation(
    "bind_card", "POST", "/api/v1/studentcard/cards", OF_USERS, repeatable=False, in_form=True
)
# A second unbinding is refused with 422, as one that failed is.
UNBIND_CARD = Operation("unbind_card", "DELETE", "/api/v1/studentcard/cards/{id}", OF_USERS, repeatable=False)
BIND_DEVICE = Operation(
    "bind_device", "POST", "/api/v1/classroompad/devices", OF_CLASSES, repeatable=False, in_form=True
)
UNBIND_DEVICE = Operation(
    "unbind_device", "DELETE", "/api/v1/classroompad/devices/{id}", OF_CLASSES, repeatable=False
)


@dataclass(frozen=True, slots=True)
class Write:
    """One write."""

    operation: Operation
    school_id: int
    #: Of the path.
    id: str | int | None = None
    params: dict[str, str | int] = field(default_factory=dict)
    #: Sent as JSON or as form fields.
    content: Any = field(default=None, repr=False)
    #: Sent instead of `content` with the method `otherwise`, which may empty fields that it leaves out.
    whole: Any = field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The passwords and national id numbers in it."""
        rows = self.content if isinstance(self.content, list) else [self.content]
        return tuple(
            str(row[name]) for row in rows if isinstance(row, dict) for name in SECRET_FIELDS if row.get(name)
        )
