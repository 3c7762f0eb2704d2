"""Workflows in Python files: `pipeline.py`, or `flows.py:pipeline` where a file holds several.

The file is imported as Python imports a script: modules beside it are found, and it is known under its own name, so
that worker processes find its functions. If that name belongs to another module already, it gets one of its own.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.errors import SolventError, WorkflowProblem, exception_text, unread_file, user_frames
from solvent.workflows.formats.python.builder import line_span
from solvent.workflows.formats.python.callables import LOCAL_MODULES, WorkflowFunction
from solvent.workflows.formats.python.import_guard import importing
from solvent.workflows.places import Loaded, Places

if TYPE_CHECKING:
    from types import ModuleType

    from solvent.source import Span
    from solvent.workflows.formats.python.builder import Place
    from solvent.workflows.model import Workflow
    from solvent.workflows.places import Key

_LINES_OF_ONE_FRAME = 2


def load_python(path: str | Path, name: str | None = None) -> Workflow:
    """Import a Python file and return the model of its workflow.

    - `path`: the file, or `"flows.py:pipeline"` to name the workflow, too.
    - `name`: which workflow, if the file has several.

    Raises `WorkflowProblem`: W100 if there is no such file, W158 if it cannot be imported, W159 if it has no such
    workflow, W205 if the workflow function raises.

    >>> from pathlib import Path
    >>> from solvent import load_python, run
    >>> _ = Path("flows.py").write_text('''
    ... from solvent import service, workflow
    ... upper = service(str.upper)
    ... @workflow
    ... def shout(text: str) -> str:
    ...     return upper(text)
    ... ''')
    >>> run(load_python("flows.py:shout"), {"text": "hi"}).results
    {'upper': 'HI'}
    """
    return read_python(path, name).workflow


def read_python(path: str | Path, name: str | None = None) -> Loaded:
    """Import a Python file and give its workflow with the lines on which its tasks are called."""
    path, name = _split(Path(path), name)
    chosen = _choose(_workflows(_import_file(path)), path, name)
    return _loaded(*_trace(chosen, path))


def loaded_of(chosen: WorkflowFunction[..., object]) -> Loaded:
    """Return a workflow with the lines on which its tasks are called."""
    return _loaded(*chosen.trace())


def _loaded(workflow: Workflow, places: dict[str, Place]) -> Loaded:
    return Loaded(workflow, Places(lambda: _spans(workflow, places)))


def _trace(chosen: WorkflowFunction[..., object], path: Path) -> tuple[Workflow, dict[str, Place]]:
    """Trace a workflow; what its function raises is the user's exception."""
    try:
        return chosen.trace()
    except (SolventError, KeyboardInterrupt):
        raise
    except BaseException as reason:
        says = f"the workflow `{chosen.described.name}` cannot be built"
        raise _user_problem("W205", says, path.resolve(), reason) from reason


def _spans(workflow: Workflow, places: dict[str, Place]) -> dict[Key, Span]:
    known = {place: line_span(*place) for place in set(places.values())}
    found: dict[Key, Span] = {
        ("task", task): span for task, place in places.items() if (span := known[place]) is not None
    }
    for one in workflow.alternatives:
        # An alternative has no line of its own; the step that takes over stands near the `attempt`.
        for task in one.exits.values():
            if ("task", task) in found:
                found["alternative", one.name] = found["task", task]
    return found


def _split(path: Path, name: str | None) -> tuple[Path, str | None]:
    """Take `file.py:name` apart."""
    stem, colon, behind = path.name.rpartition(":")
    if name is None and colon and stem.endswith(".py"):
        return path.with_name(stem), behind
    return path, name


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        message, hint = unread_file(path, FileNotFoundError())
        raise WorkflowProblem("W100", message, hint=hint)
    place = path.resolve()
    name = _module_name(place)
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise WorkflowProblem("W158", f"`{path}` is no Python file", hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    if str(place.parent) not in sys.path:
        # For good, not for this import only: a function may import its neighbours when it runs.
        sys.path.insert(0, str(place.parent))
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        with importing():
            spec.loader.exec_module(module)
    except BaseException as reason:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
        if isinstance(reason, SolventError | KeyboardInterrupt):
            raise
        raise _import_problem(path, place, reason) from reason
    return module


def _module_name(place: Path) -> str:
    """Return the name under which a file is imported: its own, unless that is another module's."""
    name = place.stem.replace(".", "_")
    known = sys.modules.get(name)
    if known is None:
        found = importlib.util.find_spec(name) if name.isidentifier() else None
        is_free = found is None or found.origin in {None, str(place)}
    else:
        is_free = getattr(known, "__file__", None) == str(place)
    if is_free:
        return name
    LOCAL_MODULES.add(f"{name}_workflow")
    return f"{name}_workflow"


def _import_problem(path: Path, place: Path, reason: BaseException) -> WorkflowProblem:
    """Return why a file cannot be imported."""
    if isinstance(reason, SyntaxError) and reason.filename == str(place) and reason.lineno is not None:
        span = line_span(str(place), reason.lineno, (reason.offset or 1) - 1, None)
        return WorkflowProblem("W158", f"`{path}` is not Python: {reason.msg}", span=span)
    return _user_problem("W158", f"`{path}` cannot be imported", place, reason)


def _user_problem(code: str, says: str, place: Path, reason: BaseException) -> WorkflowProblem:
    """Make the error for a user's exception: it points at the last line of the file that was running."""
    lines = [at.lineno for at in traceback.extract_tb(reason.__traceback__) if at.filename == str(place)]
    span = line_span(str(place), lines[-1] or 0) if lines else None
    problem = WorkflowProblem(code, f"{says}: {exception_text(reason)}", span=span)
    frames = user_frames(reason)
    # A single frame is the line that is shown already.
    problem.frames = frames if span is None or len(frames) > _LINES_OF_ONE_FRAME else ()
    return problem


def _workflows(module: ModuleType) -> dict[str, WorkflowFunction[..., object]]:
    """Find the workflows that a module defines; those it has imported are used by its own."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, WorkflowFunction) and value.function.__module__ == module.__name__
    }


def _outer(found: dict[str, WorkflowFunction[..., object]]) -> str:
    """Return the workflow that calls others and is called by none of them; the first, if that is not one alone."""
    names = {id(one.function): name for name, one in found.items()}
    called = set[str]()
    for one in found.values():
        globals_, code = one.function.__globals__, one.function.__code__
        for name in code.co_names:
            inner = globals_.get(name)
            if isinstance(inner, WorkflowFunction) and inner.function is not one.function:
                called.add(names.get(id(inner.function), ""))
    outer = [name for name in found if name not in called]
    return outer[0] if len(outer) == 1 else next(iter(found))


def _choose(
    found: dict[str, WorkflowFunction[..., object]], path: Path, name: str | None
) -> WorkflowFunction[..., object]:
    known = ", ".join(f"`{one}`" for one in found)
    if name is not None:
        if name in found:
            return found[name]
        hint = f"it has {known}" if found else "put @workflow above the function"
        raise WorkflowProblem("W159", f"`{path}` has no workflow `{name}`", hint=hint)
    if not found:
        raise WorkflowProblem("W159", f"`{path}` has no workflow", hint="put @workflow above the function")
    if len(found) > 1:
        hint = f"name one of them: `{path}:{_outer(found)}`"
        raise WorkflowProblem("W159", f"`{path}` has several workflows: {known}", hint=hint)
    return next(iter(found.values()))
