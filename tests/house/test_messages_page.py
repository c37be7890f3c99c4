"""The index of messages quotes messages that the code really has."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "messages.md"
ROOMS = ("campus", "warehouse", "loading", "assets", "exports", "pipelines")
#: Of Starlette, whose middleware checks the host.
OF_OTHERS = {"Invalid host header"}


def test_each_quoted_message_is_in_the_code() -> None:
    texts = "\n".join(text for room in ROOMS for path in (ROOT / room).rglob("*.py") for text in _texts(path))
    page, _, _ = PAGE.read_text(encoding="utf-8").partition("## In the tables")
    cells = re.findall(r"^\| (`.+?) \| ", page, re.MULTILINE)
    messages = [message for cell in cells for message in re.findall(r"`(.+?)`", cell)]
    assert len(messages) > 60
    unknown = [
        message
        for message in messages
        if message not in OF_OTHERS and any(part.strip() not in texts for part in message.split("…"))
    ]
    assert unknown == []


def test_each_table_is_sorted_by_its_messages() -> None:
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        keys = [_key(cell) for cell in re.findall(r"^\| `(.+?)`", section, re.MULTILINE)]
        assert keys == sorted(keys), section.partition("\n")[0]


def _key(message: str) -> str:
    return re.sub(r"\W+", " ", message).strip().lower()


def _texts(path: Path) -> list[str]:
    """The string literals of a module; the fields of an f-string become `…`."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [
        "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        if isinstance(node, ast.JoinedStr)
        else node.value
        for node in nodes
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    ]
