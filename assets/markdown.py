"""Tables as the UI shows them."""

from collections.abc import Iterable, Sequence

import dagster as dg


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. What is in a cell stays text, whatever it is."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(text(str(cell)) for cell in line)} |" for line in lines)


def text(words: str) -> str:
    """Words that the UI shows as they are, in one line."""
    return " ".join(words.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def value(*paragraphs: str) -> dg.MarkdownMetadataValue:
    """Paragraphs of Markdown, as metadata."""
    return dg.MetadataValue.md("\n\n".join(paragraphs))
