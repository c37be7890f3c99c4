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
    "tests": 63,
}


def test_vague_names_only_go() -> None:
    names = _vague_names()
    wrong = {
        room: names.get(room) for room in {*LEFT, *names} if len(names.get(room, ())) != LEFT.get(room, 0)
    }
    assert wrong == {}, "say what the thing is; if names have gone, write the lower number into LEFT"


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
