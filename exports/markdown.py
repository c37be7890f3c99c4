"""Markdown for Dagster's UI that escapes text of the platform and of files."""

import re
from collections.abc import Iterable, Sequence

WORD = re.compile(r"([^\s|`]+)")
#: Dagster's UI makes links of words with these, even if their punctuation is escaped.
LINK = re.compile(r"://|www\.|@", re.IGNORECASE)
#: Signs of markup within a line, and those that begin a list, a heading, a quotation or a rule.
MARKUP = re.compile(r"([\\`*_\[\]<|~&])")
AT_START = re.compile(r"^((?:[0-9]+(?=[.)]))?)([-+=.)#>])")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with any text in its cells."""
    lines = [" | ".join(text(str(cell)) for cell in line) for line in (columns, *rows)]
    lines.insert(1, " | ".join(["---"] * len(columns)))
    return "\n".join(f"| {line} |" for line in lines)


def text(words: str) -> str:
    """Escape a text to one line without links, images, emphasis or HTML.

    Addresses become code, since the UI searches the rendered text for addresses."""
    one_line = " ".join(CONTROLS.sub(" ", words).split())
    escaped = (
        f"`{part}`" if LINK.search(part) else MARKUP.sub(r"\\\1", part) for part in WORD.split(one_line)
    )
    return AT_START.sub(r"\1\\\2", "".join(escaped))
