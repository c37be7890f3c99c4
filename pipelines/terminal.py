"""Text from elsewhere on a terminal, which would obey control characters in it."""

import re
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Controls (C0 but tabs and ends of lines, C1), and what turns the direction of letters or begins a line.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with its control characters written out, such as \\x1b."""
    return _CONTROLS.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class VisibleConsole(Console):
    """A console that writes control characters out; only its own styles reach the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The parts of what is printed."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(visible(part.text), part.style)


def for_stream(text: str, stream: Any) -> str:
    """Text for a stream: exact for a file or a pipe, visible on a terminal."""
    return visible(text) if stream.isatty() else text
