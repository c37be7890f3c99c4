"""Addresses of servers that have passwords in them, for people to read."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

#: In the place of what nobody is told.
HIDDEN = "***"
#: Shorter passwords are parts of many words.
SHORTEST = 3
_SECRET_NAMES = re.compile(r"pass|pwd|secret|token|key", re.IGNORECASE)
_USER_INFO = re.compile(r"[a-z][a-z0-9+.-]*://(?P<user_info>.*)@", re.IGNORECASE | re.DOTALL)
_KEYWORD = re.compile(r"(?P<name>\w+)\s*=\s*(?:'(?P<quoted>(?:[^'\\]|\\.)*)'|(?P<plain>(?:\\.|[^\s;&\\])+))")
#: What ends a password in a URL, or a host, for one parser or another.
_ENDS = re.compile(r"[@/:#?\[\]\s]")


def without_secrets(text: str, *addresses: str) -> str:
    """The text without the passwords of these addresses, however they are spelled in it.

    An address is a URL, whatever letters its password has, or keywords as libpq takes them."""
    secrets = {form for address in addresses for secret in _secrets(address) for form in _forms(secret)}
    if not secrets:
        return text
    longest_first = "|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))
    # Parsers put what they take for a host into small letters.
    return re.sub(longest_first, HIDDEN, text, flags=re.IGNORECASE)


def _secrets(address: str) -> Iterator[str]:
    # Passwords with @, / or # end a URL for a parser: the last @ is what ends the user.
    if found := _USER_INFO.match(address):
        password = found["user_info"].partition(":")[2]
        yield password
        # A parser that ends the password earlier quotes its parts as a host or a port.
        yield from _ENDS.split(password)
    for name, value in parse_qsl(address.partition("?")[2], keep_blank_values=True):
        if _SECRET_NAMES.search(name):
            yield value
    for found in _KEYWORD.finditer(address):
        if _SECRET_NAMES.search(found["name"]):
            value = found["plain"] or found["quoted"] or ""
            yield from (value, re.sub(r"\\(.)", r"\1", value))


def _forms(secret: str) -> Iterator[str]:
    """How a password may be spelled in a message: as it is, decoded, and encoded in each way."""
    plain = {secret, unquote(secret), unquote_plus(secret)}
    encoded = {way(word, safe="") for word in plain for way in (quote, quote_plus)}
    encoded |= {quote(word) for word in plain} | {repr(word)[1:-1] for word in plain}
    return (form for form in plain | encoded if len(form) >= SHORTEST)
