"""The index of messages quotes messages that the code really has."""

import ast
import re
from pathlib import Path

from tests.kits.repository.rooms import PRODUCT, ROOT, modules

TESTS = ROOT / "tests"
TRANSCRIPTS = [*(TESTS / "pipelines" / "cli" / "transcripts").rglob("*.txt")]
PAGE = ROOT / "docs" / "reference" / "messages.md"
#: Of Starlette, whose middleware checks the host.
OF_OTHERS = {"Invalid host header"}


def test_each_quoted_message_is_in_the_code() -> None:
    texts = "\n".join(text for path in modules(PRODUCT) for text in _texts(path))
    messages = _messages()
    assert len(messages) > 60
    unknown = [
        message
        for message in messages
        if message not in OF_OTHERS and any(part.strip() not in texts for part in message.split("…"))
    ]
    assert unknown == []


def test_each_quoted_message_is_provoked_by_a_test() -> None:
    """One text of a test, or one transcript, quotes the fixed parts of a message in their order."""
    texts = [
        *_expected_texts(),
        *(" ".join(path.read_text(encoding="utf-8").split()) for path in TRANSCRIPTS),
    ]
    unprovoked = [message for message in _messages() if not any(map(_pattern(message).search, texts))]
    assert unprovoked == []


def test_messages_of_a_part_are_sorted() -> None:
    for part in PAGE.read_text(encoding="utf-8").split("\n## "):
        keys = [_key(heading) for heading in re.findall(r"^### (.+)$", part, re.MULTILINE)]
        assert keys == sorted(keys), part.partition("\n")[0]


def _messages() -> list[str]:
    """The messages that the headings quote."""
    headings = re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [message for heading in headings for message in re.findall(r"`(.+?)`", heading)]


def _pattern(message: str) -> re.Pattern[str]:
    parts = message.strip("…:,( ").split("…")
    return re.compile(".{0,300}?".join(map(re.escape, parts)), re.DOTALL)


def _expected_texts() -> list[str]:
    """The texts of the tests without this room's, and without the backslashes of a pattern's escapes."""
    paths = [path for path in TESTS.rglob("*.py") if path.parent != Path(__file__).parent]
    return [re.sub(r"\\(\W)", r"\1", text) for path in paths for text in _texts(path)]


def _key(message: str) -> str:
    return re.sub(r"\W+", " ", message).strip().lower()


def _texts(path: Path) -> list[str]:
    """The texts of a module, docstrings left out; what is computed becomes `…`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    kinds = (ast.Constant, ast.JoinedStr, ast.BinOp)
    return [_text(node) for node in ast.walk(tree) if isinstance(node, kinds) and id(node) not in docstrings]


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_text, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.Call(func=ast.Attribute(attr="escape"), args=[text]):
            return _text(text)
        case _:
            return "…"
