"""No identifier is a word that says nothing of the thing that it names."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.kits.repository.rooms import ROOMS, ROOT, modules

#: Say what the thing is: `row`, `slice_`, `report`, `requests`, `existing`, `stored_ids`.
VAGUE = {
    *("one", "each", "more", "told", "tell", "asked", "found", "held", "known", "kept", "carried", "wished"),
    *("unwelcome", "grave", "lies", "believed", "fate", "where", "here", "ours"),
}
#: How often each room still has such a name. Lower the number with each name that goes; at 0, the room goes.
LEFT = {
    "warehouse": 1,
    "tests": 67,
}


def test_no_vague_name_is_new() -> None:
    places = _vague_names()
    grown = {room: names for room, names in places.items() if len(names) > LEFT.get(room, 0)}
    assert grown == {}, "say what the thing is"


def test_what_is_left_only_shrinks() -> None:
    counts = {room: len(names) for room, names in _vague_names().items()}
    assert {room: counts.get(room, 0) for room in LEFT} == LEFT, (
        f"write the lower numbers into LEFT: {counts}"
    )


def _vague_names() -> dict[str, list[str]]:
    """By room where a vague name is given, as `file:line name`."""
    places = defaultdict[str, list[str]](list)
    for room in (*ROOMS, "tests", "benchmarks", "tools"):
        for path in sorted(modules((room,))):
            for name, line in _given_names(ast.parse(path.read_text(encoding="utf-8"))):
                if name.strip("_") in VAGUE:
                    places[room].append(f"{path.relative_to(ROOT)}:{line} {name}")
    return dict(places)


def _given_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each name that a module gives to a variable, an attribute, an argument, a function or a class."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
