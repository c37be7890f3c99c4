"""Markdown as Dagster's UI shows it, with text of the platform and of files that stays text."""

import re
import string
from collections.abc import Iterable, Sequence

#: Words with what Dagster's UI makes a link of, even where all its punctuation is escaped.
LINK_LIKE = re.compile(r"([^\s|`]*(?:://|www\.|@)[^\s|`]*)", re.IGNORECASE)
PUNCTUATION = re.compile(f"([{re.escape(string.punctuation)}])")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with any text in its cells."""
    lines = [" | ".join(text(str(cell)) for cell in line) for line in (columns, *rows)]
    lines.insert(1, " | ".join(["---"] * len(columns)))
    return "\n".join(f"| {line} |" for line in lines)


def text(words: str) -> str:
    """Escape words so that they are shown as they are, in one line: no link, image, emphasis or HTML.

    CommonMark lets each punctuation sign be escaped. Addresses become code, since the UI looks for them once
    more in what it has read."""
    parts = LINK_LIKE.split(" ".join(CONTROLS.sub(" ", words).split()))
    # Every second part is one that the pattern matched.
    return "".join(
        f"`{part}`" if index % 2 else PUNCTUATION.sub(r"\\\1", part) for index, part in enumerate(parts)
    )
