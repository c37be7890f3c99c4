"""Names from the platform are text in Dagster's UI: no image, link or HTML, whatever they contain."""

import ast
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from assets.exports import _metadata
from assets.shared import markdown
from assets.shared.partitions import partitions_table
from exports.export import Written
from loading.names import Names
from pipelines.notices.automation import metadata_of
from pipelines.status.report import Status

ROOT = Path(__file__).parents[3]
#: What the UI makes links of in text that it has read, after all escapes (mdast-util-gfm-autolink-literal).
LINKS = (
    re.compile(r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)", re.IGNORECASE),
    re.compile(r"([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)"),
)
HOSTILE = [
    "![](/graphql?query=mutation%7BlaunchRun%7D)",
    "![a][b]\n\n[b]: /graphql?query=mutation",
    "[click](javascript:alert(1))",
    "<img src=/graphql?query=mutation>",
    "<https://evil.example>",
    "see https://evil.example/a_b_c and HTTPS://EVIL.EXAMPLE",
    "www.evil.example",
    "(WWW.evil.example)",
    "head@evil.example",
    "`code` ``more``",
    "`![](x)",
    "http://evil.example/`![](x)`",
    "http://evil.example/|![](x)|",
    "\\![](x)",
    "a|b|![](x)",
    "|---|",
    "*a* _b_ **c** ~~d~~ __e__",
    "# head",
    "1. first",
    "- item",
    "> quote",
    "&lt;img&gt; &#33;[](x)",
    "[^1]",
    "```\n![](x)\n```",
    "a\x00b\x1b[31m",
    "\\",
    "---",
    "===",
]
#: Words of Markdown and addresses, since letters alone hardly make any.
PIECES = st.sampled_from(
    [
        *"![]()<>`|\\*_~#&;:/.@-+=1 \n\tä学",
        "http://",
        "https://",
        "www.",
        "evil.example",
        "](x)",
        "![](",
        "\\|",
        "``",
    ]
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=25).map("".join))


def shown(words: str) -> str:
    """What a text looks like where it is one line."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", words).split())


def inline_tokens(source: str) -> Iterator[Token]:
    """The tokens of a document as GitHub's Markdown has them, tables and strikethrough too."""
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source):
        yield from token.children or []


def assert_plain(source: str) -> None:
    """Nothing of a document is an image, a link, HTML or emphasis, and nothing becomes a link afterwards."""
    run = ""
    for token in inline_tokens(source):
        assert token.type in (
            "text",
            "text_special",
            "code_inline",
            "strong_open",
            "strong_close",
            "softbreak",
        ), token
        run = run + token.content if token.type.startswith("text") else ""
        assert not any(pattern.search(run) for pattern in LINKS), run


def content(source: str) -> str:
    return "".join(token.content for token in inline_tokens(source))


def every_example(test: Callable[[str], None]) -> Callable[[str], None]:
    for words in HOSTILE:
        test = example(words)(test)
    return test


@every_example
@given(TEXTS)
def test_text_stays_text_in_a_paragraph(words: str) -> None:
    source = markdown.text(words)
    assert_plain(source)
    assert content(source) == shown(words)
    kinds = [token.type for token in MarkdownIt("commonmark").enable("table").parse(source)]
    assert kinds in ([], ["paragraph_open", "inline", "paragraph_close"])


@every_example
@given(TEXTS)
def test_text_stays_in_its_cell(words: str) -> None:
    source = markdown.table(("school", words), [("101", "a"), (words, words)])
    assert_plain(source)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source)
    cells = [
        "".join(part.content for part in token.children or []) for token in tokens if token.type == "inline"
    ]
    assert cells == ["school", shown(words), "101", "a", shown(words), shown(words)]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_partitions_are_text(name: str) -> None:
    names = Names({101: name}, {(101, 20): name}, {})
    table = partitions_table(["101:20"], [], names)
    assert_plain(str(table.value))
    assert content(str(table.value)).count(shown(name)) >= 2


@pytest.mark.parametrize("name", HOSTILE)
def test_files_and_previews_are_text(name: str) -> None:
    written = Written("board", Path("exports") / f"{name.replace('/', '_')}.xlsx", {"a": 1}, 10, "")
    assert_plain(str(_metadata([written])["files"].value))


def test_the_status_is_text() -> None:
    for name in HOSTILE:
        status = Status(at=datetime(2026, 1, 1, tzinfo=UTC), schools=[], notes=[name], to_do=[name])
        assert_plain(str(metadata_of(status)["status"].value))


EVENTS = {
    "AssetMaterialization",
    "AssetObservation",
    "AssetCheckResult",
    "AssetCheckEvaluation",
    "MaterializeResult",
}


def test_all_markdown_goes_through_one_module() -> None:
    """The UI renders Markdown values and the descriptions of events. No address is made of text."""
    for path in (*(ROOT / "assets").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")):
        if path == ROOT / "assets" / "shared" / "markdown.py":
            continue
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and node.attr in ("md", "url", "notebook"):
                assert ast.unparse(node.value) != "dg.MetadataValue", f"{path}:{node.lineno}"
            if isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("dg.") in EVENTS:
                for keyword in node.keywords:
                    if keyword.arg == "description":
                        assert is_escaped(keyword.value), f"{path}:{node.lineno}: markdown.text"


def is_escaped(value: ast.expr) -> bool:
    """Whether a description is fixed, a number in fixed words, or has gone through markdown.text."""
    if isinstance(value, ast.JoinedStr):
        parts = [part.value for part in value.values if isinstance(part, ast.FormattedValue)]
        return all(is_escaped(part) or ast.unparse(part).endswith("school_id") for part in parts)
    if isinstance(value, ast.BoolOp):
        return is_escaped(value.values[-1])
    if isinstance(value, ast.IfExp):
        return is_escaped(value.body) and is_escaped(value.orelse)
    is_copied = isinstance(value, ast.Attribute) and ast.unparse(value) == "result.description"
    return isinstance(value, ast.Constant) or is_copied or ast.unparse(value).startswith("markdown.text(")
