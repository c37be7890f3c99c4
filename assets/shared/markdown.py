"""Markdown for Dagster's metadata. `text` and `table` escape text from outside."""

import dagster as dg

from exports.markdown import table as table
from exports.markdown import text as text


def value(*paragraphs: str) -> dg.MarkdownMetadataValue:
    """Metadata of Markdown paragraphs."""
    return dg.MetadataValue.md("\n\n".join(paragraphs))
