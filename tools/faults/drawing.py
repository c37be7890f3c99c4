"""Draws faults: small changes of one line, of the kinds that people make, in functions and in SQL."""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from tools.faults.fault import ROOT, Fault
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled

SEED = 44
#: Faults a room, and a mart.
ROOMS = {
    "campus/paging": 30,
    "campus/decoding": 40,
    "campus/http": 40,
    "loading": 60,
    "warehouse/load": 40,
    "warehouse/publish": 40,
    "warehouse/forgetting": 30,
    "writeback": 40,
}
FAULTS_PER_MART = 5
MARTS = (
    "attendance_and_grades",
    "attendance_class_week",
    "attendance_student_pattern",
    "attendance_student_semester",
    "attendance_unrecorded",
    "early_warning",
    "grade_distribution",
    "grade_student_semester",
    "graduation_progress",
    "score_item_analysis",
)
MODELS = "warehouse/dbt/models/marts"

#: What stands in the stead of an operator or a function.
PAIRS = (
    *(("==", "!="), ("<", "<="), (">", ">="), ("in", "not in"), ("is", "is not"), ("and", "or")),
    *(("+", "-"), ("*", "/"), ("|", "&"), ("min", "max"), ("any", "all")),
)
OPPOSITES = {**dict(PAIRS), **{second: first for first, second in PAIRS}, "//": "*"}
#: Of SQL: a kind, its pattern, and the replacement.
SQL_CHANGES = (
    ("comparison", r" (<=) ", "<"),
    ("comparison", r" (<) ", "<="),
    ("comparison", r" (>=) ", ">"),
    ("comparison", r" (>) ", ">="),
    ("comparison", r" (=) ", "<>"),
    ("logic", r"\b(and)\b(?! -?\d)", "or"),
    ("logic", r"\b(or)\b", "and"),
    ("null", r"\b(is not null)\b", "is null"),
    ("null", r"(?<!not )\b(is null)\b", "is not null"),
    ("null", r"\b(is not distinct from)\b", "="),
    ("join", r"\b(left join)\b", "join"),
    ("union", r"\b(union all)\b", "union"),
    ("aggregate", r"\b(min)\(", "max"),
    ("aggregate", r"\b(max)\(", "min"),
    ("aggregate", r"\b(sum)\(", "max"),
    ("aggregate", r"\b(count)\(", "2 * count"),
    ("aggregate", r"\b(bool_or)\(", "bool_and"),
    ("arithmetic", r" (\+) ", "-"),
    ("arithmetic", r" (-) ", "+"),
    ("arithmetic", r" (/) ", "*"),
    ("number", r"(?<![\w.'])(\d+)(?![\w.'])", "{} + 1"),
    ("order", r"\b(desc)\b", "asc"),
    ("default", r"\b(coalesce)\(", "nullif"),
)

#: A place of a text: its start and its end, in characters.
Span = tuple[int, int]


def draw() -> list[Fault]:
    """Draw the faults of all rooms and marts, by the seed: the kinds of a room in turn."""
    chance = random.Random(SEED)
    faults = []
    for room, count in ROOMS.items():
        paths = [str(path.relative_to(ROOT)) for path in sorted((ROOT / room).rglob("*.py"))]
        all_faults = [fault for path in paths for fault in python_faults(path, _text(path))]
        faults += _choose(chance, all_faults, count)
    sql = {model.name.partition(".")[2]: model.sql for model in read_project(compiled()).models}
    for mart in MARTS:
        path = f"{MODELS}/{mart}.sql"
        faults += _choose(chance, list(sql_faults(path, _text(path), sql[mart])), FAULTS_PER_MART)
    return faults


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _choose(chance: random.Random, faults: list[Fault], count: int) -> list[Fault]:
    """Choose faults of different lines, kind after kind."""
    by_kind: Mapping[str, list[Fault]] = defaultdict(list)
    for fault in faults:
        by_kind[fault.kind].append(fault)
    for group in by_kind.values():
        chance.shuffle(group)
    chosen: dict[tuple[str, int], Fault] = {}
    while len(chosen) < count and any(by_kind.values()):
        for group in by_kind.values():
            if group and len(chosen) < count:
                fault = group.pop()
                chosen.setdefault((fault.path, fault.line), fault)
    return sorted(chosen.values(), key=lambda fault: (fault.path, fault.line))


def sql_faults(path: str, text: str, compiled: str) -> Iterator[Fault]:
    """All faults of a model, in lines that stand once in it and in its compiled SQL."""
    lines, compiled_lines = _code_lines(text), _code_lines(compiled)
    for number, code in enumerate(lines, 1):
        if lines.count(code) > 1 or compiled_lines.count(code) != 1:
            continue
        for kind, pattern, replacement in SQL_CHANGES:
            for match in re.finditer(pattern, code):
                start, end = match.span(1)
                changed = code[:start] + replacement.format(match[1]) + code[end:]
                yield Fault(path, number, kind, code, changed)


def _code_lines(text: str) -> list[str]:
    return [line.partition("--")[0].rstrip() for line in text.split("\n")]


def python_faults(path: str, text: str) -> Iterator[Fault]:
    """All faults of the functions of a module that change one line."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def span(node: ast.expr | ast.stmt) -> Span:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    for kind, (start, end), replacement in _changes(ast.parse(text), text, span):
        if "\n" in text[start:end]:
            continue
        number = next(line for line, first in enumerate(starts) if first > start)
        line = lines[number - 1].rstrip("\n")
        first = start - starts[number - 1]
        changed = line[:first] + replacement + line[first + end - start :]
        if changed != line:
            yield Fault(path, number, kind, line, changed)


#: A kind, the place of a text, and its replacement.
Change = tuple[str, Span, str]


def _changes(module: ast.Module, text: str, span: Callable[[ast.expr | ast.stmt], Span]) -> Iterator[Change]:
    for node in _inside_functions(module):
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for left, right in pairwise(operands):
                    yield from _operator("comparison", text, span(left)[1], span(right)[0])
            case ast.BoolOp():
                for left, right in pairwise(node.values):
                    yield from _operator("logic", text, span(left)[1], span(right)[0])
            case ast.BinOp():
                yield from _operator("arithmetic", text, span(node.left)[1], span(node.right)[0])
            case ast.UnaryOp(op=ast.Not()):
                yield "logic", (span(node)[0], span(node.operand)[0]), ""
            case ast.If() | ast.While() | ast.IfExp():
                start, end = span(node.test)
                yield "condition", (start, end), f"not ({text[start:end]})"
            case ast.Constant(value=bool()):
                yield "constant", span(node), str(not node.value)
            case ast.Constant(value=int(number)):
                yield "constant", span(node), str(number + 1)
            case ast.Call(func=ast.Name(id="min" | "max" | "any" | "all" as name)):
                yield "function", span(node.func), OPPOSITES[name]
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield "statement", span(node), "pass"
            case ast.Raise():
                yield "raise", span(node), "pass"
            case ast.Return(value=ast.expr()):
                yield "return", span(node), "return None"
            case ast.Continue():
                yield "loop", span(node), "break"
            case ast.Break():
                yield "loop", span(node), "continue"
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                yield from _without_keyword(keyword, text, span)


def _operator(kind: str, text: str, start: int, end: int) -> Iterator[Change]:
    """The change of the operator that stands alone between two operands."""
    gap = text[start:end]
    operator = gap.strip(" ()")
    if operator in OPPOSITES:
        first = start + gap.index(operator)
        yield kind, (first, first + len(operator)), OPPOSITES[operator]


def _without_keyword(
    keyword: ast.keyword, text: str, span: Callable[[ast.expr | ast.stmt], Span]
) -> Iterator[Change]:
    if keyword.arg is None:
        return
    _, end = span(keyword.value)
    start = text.rindex(keyword.arg, 0, span(keyword.value)[0])
    end += len(re.match(r",? ?", text[end:])[0])  # type: ignore[index]
    yield "keyword", (start, end), ""


def _inside_functions(module: ast.Module) -> Iterator[ast.AST]:
    """The nodes of the bodies of all functions, without messages, annotations and decorators."""
    pending: list[tuple[ast.AST, bool]] = [(module, False)]
    while pending:
        node, is_inside = pending.pop()
        if isinstance(node, ast.JoinedStr | ast.Assert):
            continue
        if is_inside:
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += [(child, True) for child in node.body]
        elif isinstance(node, ast.AnnAssign):
            pending += [(node.value, is_inside)] if node.value else []
        elif not isinstance(node, ast.arguments):
            pending += [(child, is_inside) for child in ast.iter_child_nodes(node)]
