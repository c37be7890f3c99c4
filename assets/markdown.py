"""Markdown of Dagster's metadata. Text that is not ours goes through `text` or `table`."""

import dagster as dg

from exports.markdown import table as table
from exports.markdown import text as text


def value(*paragraphs: str) -> dg.MarkdownMetadataValue:
    """Paragraphs of Markdown, as metadata."""
    return dg.MetadataValue.md("\n\n".join(paragraphs))
