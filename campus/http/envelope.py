"""Envelopes: objects that some platforms put around an answer, and in which they may report a refusal.

The specification shows no shape for the answers of base data, nor for errors. A platform may send its rows
bare, or as the member of an object: {data: [...]}, {list: [...], total: 9}, {code: 0, data: [...]}.
The last kind often reports a refusal with status 200 and a code of its own."""

import codecs
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

# Members that may contain the answer itself, in the order of preference.
CONTENT = ("data", "list", "items", "records", "results", "result")
# Members that describe the answer. An object with any other member beside its content is the answer itself.
ABOUT = frozenset(
    {
        *("code", "errcode", "errno", "error_code", "status", "success", "ok"),
        *("message", "msg", "errmsg", "error", "errors"),
        *("total", "total_count", "count", "page", "per_page", "page_size", "page_count"),
        *("last_page", "current_page", "pagination", "meta", "links"),
        *("timestamp", "time", "request_id", "trace_id"),
    }
)
CODES = ("code", "errcode", "errno", "error_code", "status")
# Codes of success, besides any 2xx.
SUCCESS = frozenset({"0", "00000", "ok", "success", "succeeded", "true", "成功", "操作成功"})
# The status of a refusal whose own code is no HTTP status.
UNKNOWN_REFUSAL = 422


def open_envelope(status: int, body: bytes) -> tuple[int, bytes]:
    """The status and the content of an answer, without an envelope, a byte order mark or space before it.

    A refusal with status 2xx gets the status that its code names (403 for 403, 40301 or "403"), else
    UNKNOWN_REFUSAL; its body stays whole, since messages quote it."""
    if not 200 <= status < 300:
        return status, body
    bare = body.removeprefix(codecs.BOM_UTF8).lstrip()
    if not bare.startswith(b"{"):
        return status, bare
    try:
        members = _MEMBERS.decode(bare)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return status, bare
    if refused := _refusal(members):
        return refused, bare
    content = _content(members)
    return (status, bare) if content is None else open_envelope(status, bytes(content))


def _content(members: Mapping[str, Raw]) -> Raw | None:
    """The member that is the answer; None where the object itself is."""
    name = next((name for name in CONTENT if name in members), None)
    if name is None or _beyond_envelope(members) - {name}:
        return None
    # Only `data` may be an object or null. The other names stand for lists.
    return members[name] if name == "data" or bytes(members[name])[:1] == b"[" else None


def _beyond_envelope(members: Mapping[str, Raw]) -> set[str]:
    """The members that do not describe the answer; those that begin with _ are a framework's own."""
    return {name for name in members if name not in ABOUT and not name.startswith("_")}


def _refusal(members: Mapping[str, Raw]) -> int | None:
    """The status that a refusal inside an envelope stands for; None where it is none. An object with members
    that are not about an answer, or with content, is no refusal."""
    if _beyond_envelope(members).difference(CONTENT) or any(_has_content(members, name) for name in CONTENT):
        return None
    verdicts = {_text(members.get(name)) for name in ("success", "ok", "message", "msg")}
    failed = [code for name in CODES if (code := _text(members.get(name))) and not _is_success(code)]
    if verdicts & SUCCESS or not (failed or "false" in verdicts):
        return None
    return next((status for code in failed if (status := _http_status(code))), UNKNOWN_REFUSAL)


def _has_content(members: Mapping[str, Raw], name: str) -> bool:
    return bytes(members.get(name, b"null")) not in (b"null", b"[]", b"{}", b'""', b"false")


def _text(value: Raw | None) -> str:
    """A code as text in lower case; "" for null and for what is no scalar."""
    if value is None or bytes(value)[:1] in (b"{", b"[", b"n"):
        return ""
    decoded: Any = msgspec.json.decode(value)
    return str(decoded).lower()


def _is_success(code: str) -> bool:
    return code in SUCCESS or (len(code) == 3 and code.startswith("2") and code.isdigit())


def _http_status(code: str) -> int | None:
    """The HTTP status that a code begins with, as 40301 does with 403."""
    digits = code[:3]
    return int(digits) if len(digits) == 3 and digits.isdigit() and 400 <= int(digits) < 600 else None


_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
