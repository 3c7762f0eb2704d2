"""The API reference, `docs/reference/api*.md`: made of the signatures and docstrings of the public names.

    python -m tests.repo.api              write the pages (`make reference`)

One page for each public module. What a page lists and in which order stands in `PAGES`; everything else comes from the
code: signatures as they are written, docstrings as Markdown, with `>>>` examples as fenced blocks. Tests compare the
written pages with the code, and run the examples.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cached_property
from importlib import import_module
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, get_overloads

from tests.repo.project import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Page(NamedTuple):
    """What the page of a module shows."""

    module: str
    file: str
    #: The public names, under headings.
    groups: dict[str, str]
    #: Types that signatures of the page name, by where they are defined: not imported by users.
    types: dict[str, str]


PAGES = [
    Page(
        "solvent",
        "api.md",
        {
            "Services and workflows": "service shell http program delay workflow attempt resource register_codec",
            "Running": "run run_async submit attach check explore show load_python call Workflow",
            "Lists": "each cross",
            "Start a step": "any_of first_of active_of joined_by all_threads signal_value waits_for milestone",
            "Branch and loop": "choose choose_some deferred repeat threads",
            "Lock, signal, cancel": "locked section sends cancels completes ends",
            "Errors": (
                "SolventError RunFailed WorkflowProblem Misuse ProgramError SyntaxProblem NameProblem ReactionFailed "
                "LimitReached Interrupted DataProblem DataLost SpaceProblem NodeProblem RingProblem LockLost"
            ),
            "Modules": "hocl ring shared dho",
        },
        {
            "solvent.workflows.formats.python.callables": "ServiceFunction WorkflowFunction",
            "solvent.workflows.formats.python.declarations": "Limits",
            "solvent.runs.report": "Report TaskEvent Failed Timing",
            "solvent.runs.api": "RunOptions",
            "solvent.runs.run_handle": "Run Status",
            "solvent.runs.inspection": "Checked Explored",
            "solvent.services.current_call": "CallIdentity",
            "solvent.services.processes": "Processes",
        },
    ),
    Page(
        "solvent.hocl",
        "api-hocl.md",
        {
            "Programs": "parse load rule molecules Program",
            "Reacting": "react react_async step record Outcome Run Reaction Recorder",
            "Explain and explore": "why_not explore Never Refines",
            "Values": "Solution Symbol List Rule Opaque Endless Molecule molecule_from_python python_from_molecule",
            "Python functions": "Functions",
            "Text and files": "show program_text save load_solution",
        },
        {
            "solvent.hocl.embedded": "RunLimits RunOptions",
            "solvent.engine.trace": "Record Made",
            "solvent.engine.explain": "Report PatternReport ConditionReport",
            "solvent.engine.explore": "Exploration Violation",
        },
    ),
    Page(
        "solvent.ring",
        "api-ring.md",
        {"Take part": "join Ring", "Lock and messages": "Lock Fence RingMessage RingStatus"},
        {},
    ),
    Page(
        "solvent.shared",
        "api-shared.md",
        {"Take part": "join Opening BlockingSpace Space", "Handles": "BlockingHandle Handle HandleState Mode"},
        {},
    ),
    Page(
        "solvent.dho",
        "api-dho.md",
        {"Calls": "dho_create dho_ew_request dho_test dho_ew_acquire dho_ew_release dho_destroy"},
        {},
    ),
]
ALIASES = {"Mode": "solvent.handover.claiming", "Molecule": "solvent.lang.molecule"}
"""Types that have no home of their own, by where they are defined."""
CONSTRUCTED = frozenset(
    {"Endless", "Functions", "List", "Never", "Opaque", "Processes", "Recorder", "Refines", "Run", "Solution", "Symbol"}
)
"""Classes whose objects users make themselves; of all others the page shows no constructor."""
INTERNAL = frozenset(
    {
        "Functions.find",
        "Never.check_reaction",
        "Never.check_state",
        "Processes.add_function",
        "Processes.give_up",
        "Processes.put",
        "Recorder.held",
        "Recorder.note_additions",
        "Refines.check_reaction",
        "Refines.check_state",
        "Rule.copied",
        "Rule.order_key",
        "ServiceFunction.build",
        "Solution.order_key",
        "SolventError.details",
        "WorkflowFunction.function",
        "WorkflowFunction.trace",
    }
)
"""Members that other packages of Solvent use, and its users do not."""
_MAX_WIDTH = 100
_INTRO = "<!-- Made by `make reference` of the docstrings; do not edit. -->"
_TYPES_INTRO = "Types in the signatures above. They are not imported: functions return them, or take what fits them."


class Member(NamedTuple):
    """A method, a property or a field of a class."""

    name: str
    signature: str
    text: str
    #: The function that is called, where there is one.
    function: Callable[..., Any] | None = None


class Entry(NamedTuple):
    """A public name, or a type that signatures name."""

    name: str
    value: Any
    signatures: list[str]
    text: str
    members: list[Member]
    #: Members that another class of the page has too, and the name of that class.
    shared: dict[str, list[str]]


def entries(page: Page) -> Iterator[tuple[str, list[Entry]]]:
    """Return what a page lists, heading by heading."""
    seen: dict[str, str] = {}
    module = import_module(page.module)
    for heading, names in page.groups.items():
        yield heading, [_entry(module, name, seen) for name in names.split()]
    found = [_entry(import_module(home), name, seen) for home, names in page.types.items() for name in names.split()]
    if found:
        yield "Types", found


def made(page: Page) -> str:
    """Return the text of a page."""
    module = import_module(page.module)
    parts = [f"# `{page.module}`", _INTRO, markdown(inspect.getdoc(module) or "")]
    found = list(entries(page))
    anchors = _anchors([entry.name for _, listed in found for entry in listed])
    links = {name: f"[`{name}`](#{anchor})" for name, anchor in anchors.items()}
    rows = [f"- {heading}: {', '.join([links[entry.name] for entry in listed])}" for heading, listed in found]
    parts.append("\n".join(rows))
    for heading, listed in found:
        parts.append(f"## {heading}")
        parts += [_TYPES_INTRO] if heading == "Types" else []
        parts += [_section(entry) for entry in listed]
    return "\n\n".join(parts) + "\n"


def _anchors(names: list[str]) -> dict[str, str]:
    """Return the anchors of headings: of two that differ in case only, the second is numbered."""
    found: dict[str, str] = {}
    for name in names:
        again = sum(1 for other in found if other.lower() == name.lower())
        found[name] = f"{name.lower()}-{again}" if again else name.lower()
    return found


def _section(entry: Entry) -> str:
    parts = [f"### `{entry.name}`"]
    if inspect.ismodule(entry.value):
        page = next(one for one in PAGES if one.module == entry.value.__name__)
        return f"{parts[0]}\n\n[{entry.text.splitlines()[0]}]({page.file})"
    if entry.signatures:
        parts.append("```python no-check\n{}\n```".format("\n".join(entry.signatures)))
    parts.append(markdown(entry.text))
    if entry.members:
        parts.append("\n".join(map(_bullet, entry.members)))
    for other, names in entry.shared.items():
        parts.append(f"Also, as in [`{other}`](#{other.lower()}): {', '.join(f'`{name}`' for name in names)}.")
    return "\n\n".join(parts)


def _bullet(member: Member) -> str:
    first, *rest = markdown(member.text).split("\n\n")
    line = f"- `{member.signature}`" + (f": {first}" if first else "")
    return textwrap.indent("\n\n".join([line, *rest]), "  ").removeprefix("  ") + ("\n" if rest else "")


def markdown(text: str) -> str:
    """Return a docstring as Markdown: examples become fenced blocks."""
    parts = re.split(r"\n{2,}", text.strip())
    return "\n\n".join([f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in parts])


def _entry(module: Any, name: str, seen: dict[str, str]) -> Entry:
    value = getattr(module, name)
    text = inspect.getdoc(value) or ""
    if inspect.ismodule(value):
        return Entry(name, value, [], text, [], {})
    if inspect.isclass(value) and value is not Any:
        return Entry(name, value, _class_signature(value), text, *_members(value, seen))
    if inspect.isfunction(value):
        functions = get_overloads(value) or [value]
        word = "async def" if inspect.iscoroutinefunction(value) else "def"
        return Entry(name, value, [f"{word} {name}{_signature(one)}" for one in functions], text, [], {})
    return Entry(name, value, *_alias(name), [], {})


def _alias(name: str) -> tuple[list[str], str]:
    """Return the definition of a type alias, and the string after it."""
    body = ast.parse(inspect.getsource(import_module(ALIASES[name]))).body
    for at, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return [ast.unparse(node)], _string(body, at)
    raise LookupError(name)


def _string(body: list[ast.stmt], at: int) -> str:
    """Return the string that follows a statement, as its documentation."""
    after = body[at + 1] if at + 1 < len(body) else None
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
        return inspect.cleandoc(after.value.value)
    return ""


# --------------------------------------------------------------------------------------------------- signatures


def _signature(function: Any, *, is_method: bool = False, prefix: str = "", is_wide: bool = False) -> str:
    """Return a signature as it is written, one parameter on a line where it is long."""
    found = inspect.signature(function)
    parameters = list(found.parameters.values())[1 if is_method else 0 :]
    words = _parameters(parameters)
    ends = "" if found.return_annotation is found.empty else f" -> {_type(found.return_annotation)}"
    line = f"({', '.join(words)}){ends}"
    if is_wide or len(line) + len(prefix) <= _MAX_WIDTH:
        return line
    return "(\n" + "".join(f"    {word},\n" for word in words) + f"){ends}"


def _parameters(parameters: list[inspect.Parameter]) -> list[str]:
    words: list[str] = []
    for at, one in enumerate(parameters):
        before = parameters[at - 1] if at else None
        if before is not None and before.kind is one.POSITIONAL_ONLY is not one.kind:
            words.append("/")
        starred = (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        if one.kind is one.KEYWORD_ONLY and (before is None or before.kind not in starred):
            words.append("*")
        stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        word = f"{stars}{one.name}" + ("" if one.annotation is one.empty else f": {_type(one.annotation)}")
        words.append(word if one.default is one.empty else f"{word} = {one.default!r}")
    if parameters and parameters[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        words.append("/")
    return words


def _type(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.replace('"', "'").replace("model.", "")
    return annotation.__name__ if inspect.isclass(annotation) else str(annotation)


def _class_signature(value: Any) -> list[str]:
    head = f"class {value.__name__}"
    if value.__name__ not in CONSTRUCTED:
        groups = [names for page in PAGES for names in (*page.groups.values(), *page.types.values())]
        known = {name for names in groups for name in names.split()}
        bases = [base.__name__ for base in value.__bases__ if base.__name__ in known or base is Exception]
        return [f"{head}({', '.join(bases)})" if bases else head]
    maker = next((vars(value)[name] for name in ("__init__", "__new__") if name in vars(value)), None)
    if maker is None:
        return [f"{head}(items: Iterable[Molecule] = ())"]
    return [head + _signature(maker, is_method=True, prefix=head).rpartition(" -> ")[0]]


# ------------------------------------------------------------------------------------------------------ members


def _members(value: Any, seen: dict[str, str]) -> tuple[list[Member], dict[str, list[str]]]:
    """Return the members of a class that are not on the page yet, and the names of those that are."""
    found, shared = dict[str, Member](), dict[str, list[str]]()
    for one in value.__mro__:
        if not one.__module__.startswith("solvent"):
            continue
        for member in _own_members(one):
            key = f"{one.__module__}.{one.__name__}.{member.name}"
            if member.name in found or any(member.name in names for names in shared.values()):
                continue
            if key in seen:
                shared.setdefault(seen[key], []).append(member.name)
            else:
                seen[key] = value.__name__
                found[member.name] = member
    return list(found.values()), {} if issubclass(value, Exception) else shared


def _own_members(one: Any) -> Iterator[Member]:
    source = inspect.getsource(one)
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.ClassDef)
    for at, statement in enumerate(node.body):
        field = _field(statement)
        if field and field[0][0] != "_" and f"{one.__name__}.{field[0]}" not in INTERNAL:
            text = _string(node.body, at) or _comment(source.splitlines()[: statement.lineno - 1])
            if text or not isinstance(statement, ast.Assign):
                yield Member(*field, text)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            member = inspect.getattr_static(one, statement.name)
            is_public = statement.name[0] != "_" and f"{one.__name__}.{statement.name}" not in INTERNAL
            if is_public and not _is_overload(statement):
                yield _method(statement.name, member, is_async=isinstance(statement, ast.AsyncFunctionDef))


def _is_overload(statement: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "overload" for one in statement.decorator_list)


def _field(statement: ast.stmt) -> tuple[str, str] | None:
    """Return the name and the text of a field of a class."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        name, kind = statement.target.id, ast.unparse(statement.annotation)
        has_plain_default = isinstance(statement.value, ast.Constant | ast.Tuple | ast.List | ast.Dict)
        default = f" = {ast.unparse(statement.value)}" if statement.value is not None and has_plain_default else ""
        return name, f"{name}: {kind}{default}"
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        return name, f"{name} = {ast.unparse(statement.value)}"
    return None


def _comment(before: list[str]) -> str:
    """Return the comment `#:` at the end of some lines."""
    found = [*takewhile(lambda line: line.strip().startswith("#:"), reversed(before))]
    return " ".join([line.strip().removeprefix("#:").strip() for line in reversed(found)])


def _method(name: str, member: Any, *, is_async: bool) -> Member:
    if isinstance(member, property | cached_property):
        function = member.fget if isinstance(member, property) else member.func
        assert function is not None
        kind = _type(inspect.signature(function).return_annotation)
        return Member(name, f"{name}: {kind}", inspect.getdoc(member) or "", function)
    signature = _signature(member, is_method=True, is_wide=True)
    return Member(name, f"{'await ' if is_async else ''}{name}{signature}", inspect.getdoc(member) or "", member)


def written(page: Page) -> Path:
    """Return the file of a page."""
    return ROOT / "docs" / "reference" / page.file


if __name__ == "__main__":
    for one in PAGES:
        written(one).write_text(made(one), encoding="utf-8")
