"""The writes of the interface as data: path, scopes, and whether the write is repeatable."""

from dataclasses import dataclass, field
from typing import Any

from campus.registry.v1 import CLASS_SCOPES, USER_SCOPES

#: Fields that no message quotes and no record stores.
SECRET_FIELDS = ("password", "idcard")


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of write."""

    name: str
    method: str
    #: The path, with {id} in the place of the id.
    path: str
    #: Any of these scopes should suffice. The interface documents none for v1.
    scopes: tuple[str, ...]
    #: Sending it twice has the same effect as sending it once.
    repeatable: bool
    #: Whether the interface expects form fields instead of JSON.
    in_form: bool = False
    #: The method for platforms that reject `method` here.
    otherwise: str = ""


CREATE_USER = Operation("create_user", "POST", "/api/v1/reflections", USER_SCOPES, repeatable=False)
CHANGE_USER = Operation(
    "change_user", "PATCH", "/api/v1/reflections/{id}", USER_SCOPES, repeatable=True, otherwise="PUT"
)
DELETE_USER = Operation("delete_user", "DELETE", "/api/v1/reflections/{id}", USER_SCOPES, repeatable=True)
CREATE_FIELD = Operation("create_field", "POST", "/api/v1/reflection-fields", USER_SCOPES, repeatable=False)
CHANGE_FIELD = Operation(
    "change_field", "PATCH", "/api/v1/reflection-fields/{id}", USER_SCOPES, repeatable=True, otherwise="PUT"
)
DELETE_FIELD = Operation(
    "delete_field", "DELETE", "/api/v1/reflection-fields/{id}", USER_SCOPES, repeatable=True
)
MARK_LESSON = Operation(
    "mark_lesson", "PUT", "/api/v1/classes/{id}/attendances", CLASS_SCOPES, repeatable=True
)
# "May be sent repeatedly, the last submission wins."
SEND_SWIPES = Operation(
    "send_swipes", "POST", "/api/v1/classrooms/{id}/attendance-logs", CLASS_SCOPES, repeatable=True
)
SWIPE_STUDENT = Operation(
    "swipe_student", "POST", "/api/v1/students/{id}/attendances", CLASS_SCOPES, repeatable=False, in_form=True
)
SWIPE_CARD = Operation(
    "swipe_card",
    "POST",
    "/api/v1/studentcard/cards/{id}/attendance",
    CLASS_SCOPES,
    repeatable=False,
    in_form=True,
)
BIND_CARD = Operation(
    "bind_card", "POST", "/api/v1/studentcard/cards", USER_SCOPES, repeatable=False, in_form=True
)
# A second unbinding is refused with 422, as one that failed is.
UNBIND_CARD = Operation(
    "unbind_card", "DELETE", "/api/v1/studentcard/cards/{id}", USER_SCOPES, repeatable=False
)
BIND_DEVICE = Operation(
    "bind_device", "POST", "/api/v1/classroompad/devices", CLASS_SCOPES, repeatable=False, in_form=True
)
UNBIND_DEVICE = Operation(
    "unbind_device", "DELETE", "/api/v1/classroompad/devices/{id}", CLASS_SCOPES, repeatable=False
)


@dataclass(frozen=True, slots=True)
class Write:
    """One write."""

    operation: Operation
    school_id: int
    #: The id in the path.
    id: str | int | None = None
    params: dict[str, str | int] = field(default_factory=dict)
    #: Sent as JSON or as form fields.
    content: Any = field(default=None, repr=False)
    #: Sent instead of `content` with the method `otherwise`, which may empty fields that it leaves out.
    whole: Any = field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The passwords and national id numbers in the content."""
        rows = self.content if isinstance(self.content, list) else [self.content]
        return tuple(
            str(row[name]) for row in rows if isinstance(row, dict) for name in SECRET_FIELDS if row.get(name)
        )
