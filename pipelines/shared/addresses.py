"""Hides passwords of server addresses in text for people."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

#: The replacement of a secret.
HIDDEN = "***"
#: Shorter passwords occur in many words, so they stay.
SHORTEST = 3
_SECRET_NAMES = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)
_USER_INFO = re.compile(r"[a-z][a-z0-9+.-]*://(?P<user_info>.*)@", re.IGNORECASE | re.DOTALL)
_KEYWORD = re.compile(r"(?P<name>\w+)\s*=\s*(?:'(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<plain>(?:\\.|[^\s;&\\])+))")
#: The characters that end a password or a host in a URL, for one parser or another.
_ENDS = re.compile(r"[@/:#?\[\]\s]")


def without_secrets(text: str, *addresses: str) -> str:
    """The text with the passwords of these addresses hidden, in every spelling.

    An address is a URL, whose password may have any letters, or libpq's keywords."""
    secrets = {form for address in addresses for secret in _secrets(address) for form in _forms(secret)}
    if not secrets:
        return text
    longest_first = "|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))
    # Parsers lowercase hosts, and may take a password for a host.
    return re.sub(longest_first, HIDDEN, text, flags=re.IGNORECASE)


def _secrets(address: str) -> Iterator[str]:
    # The last @ ends the user info: the password itself may have @, / or #.
    if user_info := _USER_INFO.match(address):
        password = user_info["user_info"].partition(":")[2]
        yield password
        # A parser that ends the password earlier quotes parts of it as a host or a port.
        yield from _ENDS.split(password)
    for name, value in parse_qsl(address.partition("?")[2], keep_blank_values=True):
        if _SECRET_NAMES.search(name):
            yield value
    for keyword in _KEYWORD.finditer(address):
        if _SECRET_NAMES.search(keyword["name"]):
            value = keyword["plain"] or keyword["quoted"] or ""
            yield from (value, re.sub(r"\\(.)", r"\1", value))


def _forms(secret: str) -> Iterator[str]:
    """The spellings of a password in messages: plain, decoded, and encoded in each way."""
    plain = {secret, unquote(secret), unquote_plus(secret)}
    encoded = {way(word, safe="") for word in plain for way in (quote, quote_plus)}
    encoded |= {quote(word) for word in plain} | {repr(word)[1:-1] for word in plain}
    return (form for form in plain | encoded if len(form) >= SHORTEST)
