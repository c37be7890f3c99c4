"""Checks the head of a push before any of its body is read."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

LONGEST_SCHOOL_ID, LONGEST_NONCE = 18, 256
#: Lowercase hex of HMAC-SHA256; no other text can be a valid signature.
SIGNATURE = re.compile("[0-9a-f]{64}")
#: Longer than seconds: some platforms count milliseconds, and the timestamp of the body may replace this one.
TIMESTAMP = re.compile("[0-9]{1,20}")
#: Headers that a push may have once at most.
SINGLE = ("x-signature", "x-nonce", "x-school-id", "x-timestamp", "content-type")
#: The text of the refusal of any other method than POST, by which the doctor recognizes the receiver.
ONLY_POST = "pushes are posted"
#: Seconds after which the platform may repeat a push that was refused for lack of room.
RETRY_AFTER = 10


class Refusal(Exception):
    """A refused push. `text` is for the client, and quotes nothing of the request."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True)
class PushHead:
    """The head of a request that may be a genuine push."""

    school_id: int
    #: The key that signs the pushes of the school.
    token: str
    signature: str
    nonce: str
    #: Text of the header; empty if missing, since the timestamp of the body may replace it.
    timestamp: str
    #: Bytes to reserve for the body; the allowed maximum for a body in chunks.
    body_bytes: int


def read_head(
    method: bytes,
    target: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    token_of: Callable[[int], str | None],
    max_bytes: int,
) -> PushHead:
    """Check the head of a request. Raises Refusal if no push with this head can be genuine.

    `headers`: names in lowercase. `token_of`: the token of a school; None if the school takes no pushes."""
    if target.partition(b"?")[0] != b"/":
        raise Refusal(404, "pushes are posted to /")
    if method != b"POST":
        raise Refusal(405, ONLY_POST)
    values: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name = raw_name.decode("latin-1")
        if name in SINGLE and name in values:
            raise Refusal(400, f"{name} is there twice")
        values[name] = raw_value.decode("latin-1")
    content_type = values.get("content-type", "application/json").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Refusal(415, "Content-Type must be application/json")
    # Without a length the body comes in chunks, or there is none.
    body_bytes = int(values.get("content-length", max_bytes))
    if body_bytes > max_bytes:
        raise Refusal(413, "the body is too long")
    school = values.get("x-school-id", "")
    if not (school.isascii() and school.isdigit() and len(school) <= LONGEST_SCHOOL_ID):
        raise Refusal(400, "X-School-Id must be a number")
    nonce = values.get("x-nonce", "")
    if not 0 < len(nonce) <= LONGEST_NONCE:
        raise Refusal(400, f"X-Nonce must be text of 1 to {LONGEST_NONCE} characters")
    timestamp = values.get("x-timestamp", "")
    if timestamp and not TIMESTAMP.fullmatch(timestamp):
        raise Refusal(400, "X-Timestamp must be a Unix time")
    signature = values.get("x-signature", "")
    if not SIGNATURE.fullmatch(signature):
        raise Refusal(401, "the signature is not right")
    token = token_of(int(school))
    if token is None:
        raise Refusal(401, "no pushes are taken for this school")
    return PushHead(int(school), token, signature, nonce, timestamp, body_bytes)
