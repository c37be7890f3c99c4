"""`make diagram`: draws the imports between and inside the rooms into docs/explanation/design.md.

    .venv/bin/python -m tools.import_diagrams

The import contracts of pyproject.toml name the rooms, and the folders and modules that a diagram shows. The
arrows are the imports of the code."""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import grimp

from pipelines.cli.developer.diagram import BEGIN, END, with_diagrams
from tools.worktree import ROOT

PAGE = ROOT / "docs" / "explanation" / "design.md"
#: The rooms that data of the platform pass, each with a diagram of its own.
DATA_ROOMS = ("campus", "loading", "warehouse", "writeback")
#: By importer: the modules, or boxes of modules, that it imports.
Imports = Mapping[str, Collection[str]]


def import_diagrams() -> str:
    """A diagram in Mermaid of all rooms, and one of the inside of each of `DATA_ROOMS`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contracts = [contract for contract in settings["contracts"] if contract["type"] == "layers"]
    imports = _imports_of(settings["root_packages"])
    allowed = {pair for pair in _pairs(imports) if _is_exception(pair, contracts)}
    regular = {
        importer: {module for module in modules if (importer, module) not in allowed}
        for importer, modules in imports.items()
    }
    dotted = sorted({f"    {_room(importer)} -.-> {_room(module)}" for importer, module in allowed})
    lines = [BEGIN, *_diagram("The rooms", boxed(regular, settings["root_packages"]), dotted)]
    for room in DATA_ROOMS:
        inside = {importer: modules for importer, modules in imports.items() if _room(importer) == room}
        boxes = [f"{room}.{layer}" for layer in _layers(contracts, room)]
        lines += _diagram(f"Inside {room}", boxed(inside, boxes))
    return "\n".join([*lines, "", END])


def boxed(imports: Imports, boxes: Collection[str]) -> dict[str, set[str]]:
    """By box, the boxes that its modules import, directly or through modules that are in no box.

    Args:
        imports: By module, the modules that it imports.
        boxes: Packages and modules. A module is in the box that contains it."""
    arrows: dict[str, set[str]] = {box: set() for box in boxes}
    for box in boxes:
        visited = {module for module in imports if _box(module, boxes) == box}
        waiting = [*visited]
        while waiting:
            for module in imports.get(waiting.pop(), ()):
                target = _box(module, boxes)
                if target is not None and target != box:
                    arrows[box].add(target)
                elif module not in visited:
                    visited.add(module)
                    waiting.append(module)
    return arrows


def reduced(arrows: Imports) -> dict[str, set[str]]:
    """The arrows without those that follow from two or more of them. The arrows form no circle."""
    return {
        box: {target for target in targets if not any(_leads(arrows, via, target) for via in targets)}
        for box, targets in arrows.items()
    }


def _leads(arrows: Imports, box: str, target: str) -> bool:
    return any(via == target or _leads(arrows, via, target) for via in arrows[box])


def _diagram(title: str, arrows: Imports, dotted: Iterable[str] = ()) -> Iterator[str]:
    yield from ("", f"**{title}**", "", "```mermaid", "flowchart TD")
    for box, targets in reduced(arrows).items():
        if targets:
            yield f"    {_label(box)} --> {' & '.join(sorted(map(_label, targets)))}"
    yield from (*dotted, "```")


def _label(box: str) -> str:
    """The name of a box, without its room."""
    return box.partition(".")[2] or box


def _imports_of(rooms: Iterable[str]) -> dict[str, set[str]]:
    graph = grimp.build_graph(*rooms)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def _pairs(imports: Imports) -> Iterator[tuple[str, str]]:
    return ((importer, module) for importer, modules in imports.items() for module in modules)


def _is_exception(pair: tuple[str, str], contracts: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a contract names an import as an exception from its order."""
    exceptions = {line for contract in contracts for line in contract.get("ignore_imports", ())}
    return any(fnmatchcase(" -> ".join(pair), line) for line in exceptions)


def _layers(contracts: Iterable[Mapping[str, Any]], room: str) -> list[str]:
    """The folders and modules of a room that a contract orders, the upper ones first."""
    [layers] = [contract["layers"] for contract in contracts if room in contract.get("containers", ())]
    return [name for layer in layers for name in re.split(r" [|:] ", layer)]


def _box(module: str, boxes: Iterable[str]) -> str | None:
    return next((box for box in boxes if f"{module}.".startswith(f"{box}.")), None)


def _room(module: str) -> str:
    return module.partition(".")[0]


if __name__ == "__main__":
    PAGE.write_text(with_diagrams(PAGE.read_text(encoding="utf-8"), import_diagrams()), encoding="utf-8")
