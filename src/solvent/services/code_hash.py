"""What a service does, as a hash: the same in every process, on every machine, as long as its code is the same.

Calls of a service whose hash is unchanged, with the same arguments, may keep their answers. The hash covers what is
called, not how often or how long (`Policy`): the source of a Python function and of what it uses in the same module,
its defaults and its closure; the template and the options of a shell command; the target and the options of HTTP; the
content of a HOCL program; the tasks of a workflow with the hashes of their services. Comments, docstrings and the
`@service` decorator do not count. What a function calls in other modules is not followed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import linecache
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.errors import SolventError
from solvent.services.python import function_of
from solvent.values import codec
from solvent.values.encoding import encoder
from solvent.workflows.model import Service, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator

HASH_BYTES = 8
_OURS = frozenset({"service"})
"""Decorators that say how a function is called, not what it does."""
_OWN = __name__.partition(".")[0]
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def code_hash(service: Service, folder: Path | None = None) -> bytes:
    """Return the hash of what a service does; no bytes where that cannot be said, as its code cannot be found."""
    try:
        return _digest(service, folder)
    except (SolventError, OSError, SyntaxError, ValueError, RecursionError):
        # Whoever calls it says what is wrong with it.
        return b""


def _digest(service: Service, folder: Path | None, around: tuple[object, ...] = ()) -> bytes:
    """Return the hash of a service; `around` are the workflows whose services it is one of."""
    code = _Code(folder, around)
    code.add_text(service.kind)
    code.add_value(service.options)
    match service.kind:
        case "python":
            code.add_callable(function_of(service, folder))
        case "hocl":
            code.add_bytes(((folder or Path()) / service.target).read_bytes())
        case "workflow":
            _add_service_workflow(code, service, folder)
        case "http":
            code.add_text(service.method)
            code.add_text(service.target)
        case _:
            code.add_text(service.target)
    return code.digest()


def _add_service_workflow(code: _Code, service: Service, folder: Path | None) -> None:
    if service.function is not None:
        code.add_workflow(service.function)
        return
    path = ((folder or Path()) / service.target).resolve()
    if path in code.around:
        code.add_text("itself")
        return
    if ".py" in path.name:
        code.add_text(path.name)
        code.add_bytes(Path(str(path).partition(".py:")[0] + ".py" if ".py:" in path.name else path).read_bytes())
        return
    from solvent.workflows.formats.files import load

    code.folder, code.around = path.parent, (*code.around, path)
    code.add_workflow(load(path).workflow)


class _Code:
    """A hash under construction."""

    def __init__(self, folder: Path | None, around: tuple[object, ...] = ()) -> None:
        self.folder = folder
        self.around = around
        self._hash = hashlib.blake2b(digest_size=HASH_BYTES)
        self._seen = set[int]()
        # What was seen stays alive, so that nothing else gets its number.
        self._alive: list[object] = []

    def digest(self) -> bytes:
        return self._hash.digest()

    def add_bytes(self, data: bytes) -> None:
        self._hash.update(len(data).to_bytes(8, "big"))
        self._hash.update(data)

    def add_text(self, text: str) -> None:
        self.add_bytes(text.encode("utf-8", "surrogatepass"))

    def add_value(self, value: Any) -> None:
        """Add a default, a cell of a closure, or what an object has."""
        if callable(value) or isinstance(value, Workflow):
            self.add_callable(value)
            return
        try:
            self.add_bytes(codec.encode(value))
        except codec.Unrecordable:
            self.add_text(f"{type(value).__module__}.{type(value).__qualname__}")

    def add_workflow(self, found: Any) -> None:
        """Add a workflow: its tasks and alternatives, and the hashes of its services."""
        workflow: Workflow = found if isinstance(found, Workflow) else found.definition()
        if any(one is workflow for one in self.around):
            self.add_text("itself")
            return
        self.around = (*self.around, workflow)
        plain = encoder(enc_hook=self._hook, order="deterministic")
        self.add_bytes(plain(replace(workflow, services=(), name="")))
        for service in workflow.services:
            self.add_text(service.name)
            self.add_bytes(_digest(service, self.folder, self.around))

    def _hook(self, value: Any) -> Any:
        inner = _Code(self.folder, self.around)
        inner.add_value(value)
        return inner.digest()

    def add_callable(self, value: Any) -> None:
        """Add a function or what else can be called, once."""
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._alive.append(value)
        match value:
            case functools.partial():
                self.add_callable(value.func)
                for one in (*value.args, *(part for pair in sorted(value.keywords.items()) for part in pair)):
                    self.add_value(one)
            case types.MethodType():
                self.add_callable(value.__func__)
                self._add_object(value.__self__)
            case types.FunctionType():
                self._add_function(value)
            case type():
                self._add_class(value)
            case types.BuiltinFunctionType():
                self.add_text(f"{value.__module__}.{value.__qualname__}")
            case Workflow():
                self.add_workflow(value)
            case _ if isinstance(described := getattr(value, "described", None), Service):
                # What `@service` makes of a function.
                found = getattr(value, "function", None)
                self.add_callable(found) if found is not None else self.add_bytes(
                    _digest(described, self.folder, self.around)
                )
            case _:
                self._add_object(value)

    def _add_object(self, value: Any) -> None:
        self._add_class(value if isinstance(value, type) else type(value))
        for name, part in sorted(getattr(value, "__dict__", {}).items() if not isinstance(value, type) else ()):
            self.add_text(name)
            self.add_value(part)

    def _add_class(self, kind: type) -> None:
        self.add_text(kind.__qualname__)
        if kind.__module__.partition(".")[0] == _OWN:
            # Ours, which is no part of what a user changes.
            return
        for function in vars(kind).values():
            if isinstance(function, types.FunctionType):
                self._add_named(function.__code__.co_filename, kind.__qualname__.partition(".")[0])
                return

    def _add_function(self, function: types.FunctionType) -> None:
        for value in (*(function.__defaults__ or ()), *(part for one in (function.__kwdefaults__ or {}).items()
                                                        for part in one)):  # fmt: skip
            self.add_value(value)
        for cell in function.__closure__ or ():
            try:
                self.add_value(cell.cell_contents)
            except ValueError:
                # It is bound only later, to the function itself, say.
                continue
        code = function.__code__
        module = _module(code.co_filename)
        node = None if module is None else module.find(code)
        if module is None or node is None:
            self._add_compiled(code)
        else:
            self.add_text(_source(node))
            for text in module.used_by(node):
                self.add_text(text)

    def _add_named(self, filename: str, name: str) -> None:
        module = _module(filename)
        if module is not None and name in module.statements:
            for text in module.used({name}):
                self.add_text(text)

    def _add_compiled(self, code: types.CodeType) -> None:
        """Add a function whose source is not there."""
        self.add_bytes(code.co_code)
        self.add_text(" ".join(code.co_names))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_compiled(constant)
            else:
                self.add_value(constant)


class _Module:
    """The top level of a file: which statements bind each name."""

    def __init__(self, text: str) -> None:
        self._tree = ast.parse(text)
        self._sources: dict[ast.stmt, tuple[str, set[str]]] = {}
        self.statements: dict[str, list[ast.stmt]] = {}
        for statement in self._tree.body:
            for name in _bound_by(statement):
                self.statements.setdefault(name, []).append(statement)

    def find(self, code: types.CodeType) -> ast.AST | None:
        """Return the definition of a function; nothing if there is none, or several."""
        name, line = code.co_name, code.co_firstlineno
        found = [
            node
            for node in ast.walk(self._tree)
            if (isinstance(node, _Definition) and _first_line(node) == line and node.name == name)
            or (isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line)
        ]
        return found[0] if len(found) == 1 else None

    def used_by(self, node: ast.AST) -> Iterator[str]:
        """Yield the source of what a definition uses of the module, besides itself."""
        own = {node.name} if isinstance(node, _Definition) and node in self._tree.body else set[str]()
        yield from self.used(_names_in(node), besides=own)

    def used(self, names: set[str], besides: set[str] = frozenset()) -> Iterator[str]:  # type: ignore[assignment]
        """Yield the source of what these names mean, and of what that uses, in the order of names."""
        known, todo = set(besides), [*names]
        while todo:
            name = todo.pop()
            if name not in known and name in self.statements:
                known.add(name)
                todo += [one for statement in self.statements[name] for one in self._read(statement)[1]]
        for name in sorted(known - set(besides)):
            yield from (self._read(one)[0] for one in self.statements[name])

    def _read(self, statement: ast.stmt) -> tuple[str, set[str]]:
        """Return the source of a statement, and the names that it uses."""
        found = self._sources.get(statement)
        if found is None:
            found = self._sources[statement] = _source(statement), _names_in(statement)
        return found


def _module(filename: str) -> _Module | None:
    linecache.checkcache(filename)
    text = "".join(linecache.getlines(filename))
    try:
        return _parsed(text) if text else None
    except SyntaxError:
        return None


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> _Module:
    return _Module(text)


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            yield from ((one.asname or one.name).partition(".")[0] for one in statement.names)
        case _:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
                elif isinstance(node, _Definition):
                    yield node.name


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


class _Plain(ast.NodeTransformer):
    """Leaves out docstrings and our decorators; of a copy, as the tree is used again."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        fields = {name: self._plain(value) for name, value in ast.iter_fields(node)}
        if isinstance(node, _Definition):
            fields["decorator_list"] = [one for one in node.decorator_list if _last_name(one) not in _OURS]
            if ast.get_docstring(node, clean=False) is not None:
                fields["body"] = fields["body"][1:] or [ast.Pass()]
        return ast.copy_location(type(node)(**fields), node)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._plain(one) for one in value]
        return self.visit(value) if isinstance(value, ast.AST) else value


def _last_name(decorator: ast.expr) -> str:
    found = decorator.func if isinstance(decorator, ast.Call) else decorator
    return found.attr if isinstance(found, ast.Attribute) else found.id if isinstance(found, ast.Name) else ""


def _source(node: ast.AST) -> str:
    """Return the source of a definition without what does not count."""
    return ast.unparse(_Plain().visit(node))


__all__ = ["HASH_BYTES", "code_hash"]
