"""Shows foreign text on a terminal safely: control characters in the text are written out."""

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Control characters (C0 except tabs and line ends, C1), and characters for text direction and line breaks.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with its control characters written out, such as \\x1b."""
    return _CONTROLS.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class VisibleConsole(Console):
    """A console that writes control characters out; only its own styles control the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The printed segments, with control characters written out."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)


def for_stream(text: str, stream: Any) -> str:
    """Text for a stream: exact for a file or a pipe, with visible control characters for a terminal."""
    return visible(text) if stream.isatty() else text
