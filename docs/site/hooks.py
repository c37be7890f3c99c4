"""Hooks of the documentation's site (mkdocs.yml)."""

import re
from pathlib import Path
from typing import Any

import mermaidx

LIST_ITEM = re.compile(r"(?:[-*]|\d+\.) +(?=\S)")
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> None:
    """List the pages of the dictionary in the navigation, a section for each schema."""
    [reference] = [section["Reference"] for section in config.nav if "Reference" in section]
    [dictionary] = [entry for entry in reference if "Dictionary" in entry]
    dictionary["Dictionary"] = _dictionary(Path(config.docs_dir), dictionary["Dictionary"])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Draw diagrams of Mermaid, whose script the theme would fetch, and adapt lists to the site's Markdown.

    The pages indent what belongs to an item as far as the item's text, as Git hosts want it. The site wants
    four spaces, and a blank line before an item that follows a paragraph."""
    lines: list[str] = []
    offsets = [0]  # where the text of each open item begins
    is_fenced = follows_blank = False
    for line in DIAGRAM.sub(_drawn, markdown).splitlines():
        indent = len(line) - len(line.lstrip())
        while line.strip() and not is_fenced and indent < offsets[-1]:
            offsets.pop()
        text = line[offsets[-1] :]
        item = None if is_fenced else LIST_ITEM.match(text)
        if item and follows_blank and lines[-1]:
            lines.append("")
        lines.append(f"{'    ' * (len(offsets) - 1)}{text}".rstrip())
        if item:
            offsets.append(offsets[-1] + item.end())
        follows_blank = not item and (follows_blank or not text.strip())
        is_fenced ^= text.startswith("```")
    return "\n".join(lines)


def _drawn(diagram: re.Match[str]) -> str:
    return f'<div class="diagram">{mermaidx.render(diagram[1]).svg()}</div>'


def _dictionary(docs: Path, folder: str) -> list[Any]:
    schemas = sorted(path for path in (docs / folder).iterdir() if path.is_dir())
    sections = [
        {
            schema.name: [
                {page.stem: page.relative_to(docs).as_posix()} for page in sorted(schema.glob("*.md"))
            ]
        }
        for schema in schemas
    ]
    return [f"{folder}/index.md", *sections]
