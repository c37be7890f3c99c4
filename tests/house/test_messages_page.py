"""The index of messages quotes messages that the code really has."""

import ast
import re
from pathlib import Path

from tests.kits.repository.rooms import PRODUCT, ROOT, modules

PAGE = ROOT / "docs" / "reference" / "messages.md"
#: Of Starlette, whose middleware checks the host.
OF_OTHERS = {"Invalid host header"}


def test_each_quoted_message_is_in_the_code() -> None:
    texts = "\n".join(text for path in modules(PRODUCT) for text in _texts(path))
    messages = [message for heading in _headings() for message in re.findall(r"`(.+?)`", heading)]
    assert len(messages) > 60
    unknown = [
        message
        for message in messages
        if message not in OF_OTHERS and any(part.strip() not in texts for part in message.split("…"))
    ]
    assert unknown == []


def test_messages_of_a_part_are_sorted() -> None:
    for part in PAGE.read_text(encoding="utf-8").split("\n## "):
        keys = [_key(heading) for heading in re.findall(r"^### (.+)$", part, re.MULTILINE)]
        assert keys == sorted(keys), part.partition("\n")[0]


def _headings() -> list[str]:
    return re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def _key(message: str) -> str:
    return re.sub(r"\W+", " ", message).strip().lower()


def _texts(path: Path) -> list[str]:
    """The string literals of a module; the fields of an f-string become `…`."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        if isinstance(node, ast.JoinedStr)
        else str(node.value)
        for node in nodes
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]
