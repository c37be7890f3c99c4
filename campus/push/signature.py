"""Whether a push was signed with our token.

The platform signs what its body says, with a nonce and a timestamp of the headers beneath it, as one JSON
text with sorted keys. Whether it escapes slashes in it is not specified, so either counts.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from campus.push.exact_json import Number, compact


def signed_texts(nonce: str, timestamp: int, body: Mapping[str, Any]) -> tuple[str, str]:
    """The two texts that a platform may sign: with plain slashes, and with escaped slashes.

    `nonce` and `timestamp` are of the headers. `body` is as `exact_json.parse` gives it; its own keys win, so
    that a timestamp of its own is what is signed, and that of the header is not."""
    text = compact({"nonce": nonce, "timestamp": Number(timestamp), **body})
    # Slashes stand in texts alone.
    return text, text.replace("/", "\\/")


def sign(text: str, token: str) -> str:
    """HMAC-SHA256 of a text, in lowercase hex. Raises UnicodeEncodeError for half a surrogate pair."""
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def is_signed(signature: str, nonce: str, timestamp: int, body: Mapping[str, Any], token: str) -> bool:
    """Whether `signature` is ours, compared in constant time."""
    try:
        own = [sign(text, token) for text in signed_texts(nonce, timestamp, body)]
    except (UnicodeEncodeError, RecursionError):
        # Nobody can have signed such a text.
        return False
    given = signature.encode("utf-8", "replace")
    # Both, always: how long this takes tells nothing.
    plain, escaped = (hmac.compare_digest(given, expected.encode()) for expected in own)
    return plain or escaped
