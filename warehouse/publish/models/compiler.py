"""Compiles the dbt project: renders the Jinja of models and checks into plain SQL, by the rules of dbt.

The project has the files of dbt 1.11: models in SQL, ymls with their columns and checks, macros, and seeds.
Of dbt's language the compiler has what they use: ref, source, config, var, doc and return. It has neither
packages, snapshots and incremental models, nor queries while it renders."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from jinja2 import Environment, StrictUndefined, TemplateError, TemplateRuntimeError

from warehouse.publish.models.compiled_models import compiled_name
from warehouse.publish.models.dbt_project import DATABASE, ModelsBroken

Node = dict[str, Any]
Value = TypeVar("Value")

#: A macro, or a kind of checks.
_BLOCK = re.compile(r"\{%-? *(macro|test) +(\w+) *\(.*?\{%-? *end\1 *-?%\}", re.DOTALL)
_TEST_TAG = re.compile(r"(\{%-? *)(end)?test\b")
#: An argument of a check that is an expression.
_EXPRESSION = re.compile(r"\s*(ref|source|var|doc)\s*\(.+\)\s*")
#: The configuration of a model or seed, and of a check, by default.
MODEL_CONFIG: Mapping[str, Any] = {
    "materialized": "seed",
    "post_hook": (),
    "column_types": {},
    "persist_docs": {},
    "contract": {"enforced": False},
    "meta": {},
}
CHECK_CONFIG: Mapping[str, Any] = {"severity": "error", "store_failures": False, "where": None, "meta": {}}


class _Returned(Exception):
    """Ends a macro with a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class _Rendering:
    """What the SQL that is being rendered has configured, and the keys of the nodes that it reads."""

    config: dict[str, Any] = field(default_factory=dict)
    inputs: set[str] = field(default_factory=set)


class Compiler:
    """Compiles the project in a folder. `docs`: the texts that its ymls take by `doc(name)`.

    Raises ModelsBroken, here and in `compile`, with the name of the file."""

    def __init__(self, folder: Path, docs: Mapping[str, str]) -> None:
        self._folder = folder
        self._project = self._read_yml(folder / "dbt_project.yml")
        self._ymls = {
            path: self._read_yml(path)
            for path in sorted(folder.glob("*/**/*.yml"))
            # Those of unit tests are for developers (pipelines/cli/developer/unit_tests.py).
            if "unit_tests" not in path.name
        }
        self._files = [*sorted(folder.glob("models/**/*.sql")), *sorted(folder.glob("seeds/*.csv"))]
        self._schemas = by_name((path.stem, self._name(path), self._schema(path)) for path in self._files)
        self._keys = {
            path.stem: f"{'seed' if path.suffix == '.csv' else 'model'}.{DATABASE}.{path.stem}"
            for path in self._files
        }
        self._rendering = _Rendering()
        self._environment = Environment(undefined=StrictUndefined, extensions=["jinja2.ext.do"])
        self._functions = by_name(self._macros())
        self._environment.globals |= {
            "ref": self._ref,
            "source": self._source,
            "config": self._configure,
            "var": lambda name: _look_up(self._project["vars"], name),
            "doc": lambda name: _look_up(docs, name),
            "return": _return,
            **self._functions,
        }

    def compile(self) -> dict[str, dict[str, Node]]:
        """The nodes and sources by their unique ids, in the form of dbt's manifest."""
        described = by_name(
            (entry["name"], self._name(path), entry) for path, entry in self._entries("models", "seeds")
        )
        nodes = []
        for path in self._files:
            with self._errors_of(path):
                nodes.append(self._node(path, _look_up(described, path.stem)))
        sources = []
        for path, source in self._entries("sources"):
            with self._errors_of(path):
                tables = _look_up(source, "tables")
                sources += [self._source_node(path, source, table) for table in tables]
        return {
            "nodes": by_unique_id((*nodes, *self._checks())),
            "sources": by_unique_id(sources),
        }

    def _entries(self, *kinds: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """The entries of these kinds in all ymls, with their files."""
        for path, yml in self._ymls.items():
            for kind in kinds:
                for entry in yml.get(kind) or ():
                    if not isinstance(entry, dict) or "name" not in entry:
                        raise ModelsBroken(f"{self._name(path)}: write each of {kind} as `- name: …`")
                    yield path, entry

    def _settings(self, path: Path) -> dict[str, Any]:
        """The configuration of a file by its folder, from dbt_project.yml."""
        root, *folders = path.relative_to(self._folder).parent.parts
        section, sections, settings = self._project, (root, DATABASE, *folders[:1]), dict[str, Any]()
        for name in sections:
            section = section.get(name) or {}
            settings |= {key[1:]: value for key, value in section.items() if key.startswith("+")}
        for key in ("schema",) if path.suffix == ".csv" else ("schema", "materialized"):
            if key not in settings:
                raise TemplateRuntimeError(f"add +{key} to {'.'.join(sections)} of dbt_project.yml")
        return settings

    def _schema(self, path: Path) -> str:
        with self._errors_of(path):
            schema: str = self._settings(path)["schema"]
        return schema

    def _node(self, path: Path, described: Mapping[str, Any]) -> Node:
        """A model or a seed."""
        self._rendering, is_seed = _Rendering(), path.suffix == ".csv"
        source = path.read_text(encoding="utf-8").strip()
        compiled = {} if is_seed else {"compiled_code": self._environment.from_string(source).render()}
        by_folder = self._settings(path)
        del by_folder["schema"]
        config = {**MODEL_CONFIG, **by_folder, **described.get("config", {}), **self._rendering.config}
        _check_names(config, MODEL_CONFIG)
        return {
            "unique_id": self._keys[path.stem],
            "resource_type": "seed" if is_seed else "model",
            "schema": self._schemas[path.stem],
            "name": path.stem,
            "alias": path.stem,
            "description": self._text(described.get("description", "")),
            "original_file_path": self._name(path),
            **compiled,
            "config": config,
            "columns": self._columns(described),
            "depends_on": {"nodes": sorted(self._rendering.inputs)},
        }

    def _columns(self, described: Mapping[str, Any]) -> dict[str, Node]:
        return {
            _look_up(column, "name"): {
                "name": column["name"],
                "data_type": column.get("data_type"),
                "description": self._text(column.get("description", "")),
                "config": {"meta": column.get("config", {}).get("meta", {})},
            }
            for column in described.get("columns", ())
        }

    def _source_node(self, path: Path, source: Mapping[str, Any], table: Mapping[str, Any]) -> Node:
        name = _look_up(table, "name")
        return {
            "unique_id": f"source.{DATABASE}.{source['name']}.{name}",
            "resource_type": "source",
            "schema": source["name"],
            "name": name,
            "source_name": source["name"],
            "description": self._text(table.get("description", "")),
            "original_file_path": self._name(path),
            "config": {"meta": table.get("config", {}).get("meta", {})},
            "columns": self._columns(table),
        }

    def _checks(self) -> Iterator[Node]:
        """The checks of models, seeds and sources, and of their columns."""
        tables: list[tuple[Path, dict[str, Any], str, dict[str, Any]]] = []
        for path, entry in self._entries("models", "seeds"):
            name = entry["name"]
            if name not in self._keys:
                files = f"no {name}.sql and no {name}.csv"
                raise ModelsBroken(f"{self._name(path)}: there is {files}: add the file, or remove the entry")
            tables.append((path, entry, f"ref('{name}')", {"attached_node": self._keys[name]}))
        tables += [
            (path, table, f"source('{source['name']}', '{table['name']}')", {})
            for path, source in self._entries("sources")
            for table in source["tables"]
        ]
        for path, table, model, attached in tables:
            of_columns = [
                (check, {"column_name": column["name"]})
                for column in table.get("columns", ())
                for check in column.get("data_tests") or ()
            ]
            for check, column_name in (
                *((check, {}) for check in table.get("data_tests") or ()),
                *of_columns,
            ):
                with self._errors_of(path):
                    kind, described = _named_check(check, table["name"])
                    arguments = column_name | described.get("arguments", {})
                    yield self._check(path, kind, described, arguments, model) | attached

    def _check(
        self, path: Path, kind: str, described: Mapping[str, Any], arguments: Mapping[str, Any], model: str
    ) -> Node:
        """A check of a kind. `model`: the expression of the table that is checked."""
        self._rendering, config = _Rendering(), described.get("config", {})
        checked = self._argument(model)
        if "where" in config:
            checked = f"(select * from {checked} where {config['where']}) dbt_subquery"
        rendered = {name: self._argument(value) for name, value in arguments.items()}
        sql = _look_up(self._functions, f"test_{kind}")(model=checked, **rendered)
        config = {**CHECK_CONFIG, **self._rendering.config, **config}
        _check_names(config, CHECK_CONFIG)
        return {
            "unique_id": f"test.{DATABASE}.{described['name']}",
            "resource_type": "test",
            "schema": self._project["data_tests"][DATABASE]["+schema"],
            "name": described["name"],
            "alias": described["name"],
            "description": self._text(described.get("description", "")),
            "original_file_path": self._name(path),
            "compiled_code": sql,
            "test_metadata": {"name": kind, "kwargs": dict(arguments)},
            "config": config,
            "columns": {},
            "depends_on": {"nodes": sorted(self._rendering.inputs)},
        }

    def _argument(self, value: Any) -> Any:
        """An argument of a check, rendered."""
        if isinstance(value, dict):
            return {name: self._argument(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        if not isinstance(value, str):
            return value
        return self._text(f"{{{{ {value} }}}}" if _EXPRESSION.fullmatch(value) else value)

    def _text(self, text: str) -> str:
        """A text of a yml, rendered."""
        return self._environment.from_string(text).render() if "{{" in text else text

    def _macros(self) -> Iterator[tuple[str, str, Callable[..., Any]]]:
        """The macros and, as test_<kind>, the kinds of checks: name, file and function."""
        for path in (*self._folder.glob("macros/**/*.sql"), *self._folder.glob("tests/generic/*.sql")):
            for block in _BLOCK.finditer(path.read_text(encoding="utf-8")):
                kind, name = block.groups()
                text = _TEST_TAG.sub(r"\1\2macro", block[0]) if kind == "test" else block[0]
                with self._errors_of(path):
                    function = self._macro(name, text)
                yield (f"test_{name}" if kind == "test" else name), self._name(path), function

    def _macro(self, name: str, text: str) -> Callable[..., Any]:
        """A macro as a function. Its template has it under another name, so that each call of the macro is a
        call of the function."""
        template = self._environment.from_string(re.sub(rf"\b{name}\b", "macro_body", text, count=1))

        def call(*arguments: Any, **named: Any) -> Any:
            body = vars(template.module)["macro_body"]
            try:
                return body(*arguments, **named)
            except _Returned as end:
                return end.value
            except TypeError as error:
                reason = str(error).removeprefix("macro 'macro_body' ")
                raise TemplateRuntimeError(f"{name}({', '.join(body.arguments)}) {reason}") from error

        return call

    def _ref(self, name: str) -> str:
        self._rendering.inputs.add(_look_up(self._keys, name))
        return compiled_name(f"{self._schemas[name]}.{name}")

    def _source(self, schema: str, table: str) -> str:
        self._rendering.inputs.add(f"source.{DATABASE}.{schema}.{table}")
        return compiled_name(f"{schema}.{table}")

    def _configure(self, **config: Any) -> str:
        self._rendering.config |= config
        return ""

    def _read_yml(self, path: Path) -> dict[str, Any]:
        with self._errors_of(path):
            content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        if not isinstance(content, dict):
            raise ModelsBroken(f"{self._name(path)}: write a section, such as `models:`, or remove the file")
        return content

    def _name(self, path: Path) -> str:
        """The name of a file in the project."""
        return path.relative_to(self._folder).as_posix()

    @contextmanager
    def _errors_of(self, path: Path) -> Iterator[None]:
        """Name the file in errors of YAML and Jinja, and of calls that Jinja makes (TypeError)."""
        try:
            yield
        except (TemplateError, yaml.YAMLError, TypeError) as error:
            raise ModelsBroken(f"{self._name(path)}: {' '.join(str(error).split())}") from error


def by_name(entries: Iterable[tuple[str, str, Value]]) -> dict[str, Value]:
    """The values by name; an entry is a name, the name of its file, and a value.

    Raises ModelsBroken for a name that occurs twice, with both files."""
    files, values = dict[str, str](), dict[str, Value]()
    for name, file, value in entries:
        if name in files:
            raise ModelsBroken(f"{file}: {name} is in {files[name]} too: rename one of them")
        files[name], values[name] = file, value
    return values


def by_unique_id(nodes: Iterable[Node]) -> dict[str, Node]:
    """The nodes by their unique ids. Raises ModelsBroken for an id that occurs twice."""
    return by_name((node["unique_id"], node["original_file_path"], node) for node in nodes)


def _named_check(check: Any, table: str) -> tuple[str, dict[str, Any]]:
    """The kind of a check and its description. Raises TemplateRuntimeError for a check without a name."""
    kind, described = next(iter(check.items())) if isinstance(check, dict) and check else (check, None)
    if not isinstance(described, dict) or "name" not in described:
        raise TemplateRuntimeError(f"{table}: name the check: `- {kind}: {{name: …}}`")
    if len(check) > 1:
        raise TemplateRuntimeError(f"{table}: indent {', '.join(list(check)[1:])} below {kind}")
    return kind, described


def _look_up(values: Mapping[str, Value], name: str) -> Value:
    """The value of a name. Raises TemplateRuntimeError for an unknown name."""
    if name not in values:
        raise TemplateRuntimeError(f"there is no {name}")
    return values[name]


def _check_names(config: Mapping[str, Any], supported: Collection[str]) -> None:
    """Raise TemplateRuntimeError for a configuration that this compiler would ignore."""
    if unknown := sorted(config.keys() - supported):
        raise TemplateRuntimeError(f"the configuration {', '.join(unknown)} is not supported")


def _return(value: Any) -> None:
    raise _Returned(value)
