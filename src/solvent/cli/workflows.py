"""Workflows on the command line: which files hold one, how they are read and checked, and their arguments.

    pipeline.yaml  pipeline.yml  pipeline.json     our layout; JSON may be a trace in WfFormat
    pipeline.hocl                                  HOCLflow: a solution of tasks with SRV; chemical services: ChWS1
    pipeline.py  pipeline.py:name                  Python

What a program does not need is imported only after a file was found to be a workflow.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import any_file, require_file
from solvent.errors import Misuse, SolventError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from solvent.workflows.model import Workflow
    from solvent.workflows.places import Loaded

_SUFFIXES = (".yaml", ".yml", ".json", ".py")
_MAX_PROBLEMS_SHOWN = 50
_MAX_SCALE = 1_000_000
_INSTEAD = {
    "max_reactions": "limit its time instead: --max-seconds S",
    "functions": "name a function in a service instead: `python: module:function`",
    "save": "leave it out; runs of workflows are recorded, see --store",
}
"""What to do with a workflow instead of an option that only programs have."""


def is_workflow(file: str) -> bool:
    """Return whether a file holds a workflow and not a program."""
    if file.endswith(_SUFFIXES) or ".py:" in file:
        return True
    if not file.endswith(".hocl"):
        return False
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - spares the import of pathlib at every start
            data = opened.read()
    except OSError:
        return False
    # A text without one of these words is a program.
    may_be = b"SRV" in data or b"ChWS" in data or b"invokeServ" in data
    return may_be and _is_text(data.decode("utf-8-sig", errors="replace"), file)


def _is_text(text: str, name: str) -> bool:
    from solvent.hocl.process_settings import deep_stack
    from solvent.hocl.program import MAX_CHARACTERS
    from solvent.source import Source
    from solvent.workflows.formats.chws import is_chws
    from solvent.workflows.formats.hoclflow import is_hoclflow

    source = Source(text, name)
    with deep_stack():
        return len(text) <= MAX_CHARACTERS and (is_hoclflow(source) or is_chws(source))


def add_workflow(parser: ArgumentParser) -> None:
    """Add WORKFLOW and --scale."""
    parser.add_argument(
        "file",
        metavar="WORKFLOW",
        type=any_file,
        help="a workflow: .yaml, .json (also WfFormat), .hocl, or .py[:NAME]",
    )
    add_scale(parser)


def add_scale(parser: Any) -> None:
    """Add --scale."""
    says = "multiply the recorded durations of a WfFormat trace"
    parser.add_argument("--scale", type=_scale, metavar="X", help=says)


def add_inputs(parser: Any) -> None:
    """Add --input."""
    says = "an input of the workflow; VALUE is JSON, or else text"
    parser.add_argument("--input", type=_input, action="append", default=[], metavar="NAME=VALUE", help=says)


def add_signals(parser: Any, *, is_timed: bool = True) -> None:
    """Add --signal: with a time, or for a signal that may come at any moment."""
    when = "; it arrives after SECONDS, or at once" if is_timed else ", which may arrive at any moment"
    parser.add_argument(
        "--signal",
        type=_signal if is_timed else _untimed,
        action="append",
        default=[],
        metavar="NAME[=JSON][@SECONDS]" if is_timed else "NAME[=JSON]",
        help=f"a signal from outside, with a value{when}",
    )


def inputs_of(options: Namespace, workflow: Workflow) -> dict[str, Any]:
    """Return the inputs by name, as the workflow's annotations say; of several values the last one counts."""
    from solvent.workflows.inputs import typed_inputs

    texts = dict(options.input)
    values = {name: text if (found := _json_of(text)) is None else found[0] for name, text in texts.items()}
    return typed_inputs(workflow, values, texts)


def _scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= _MAX_SCALE:
        raise ArgumentTypeError(f"must be a number from 0 to {_MAX_SCALE:,}, not `{text}`")
    return value


def _input(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ArgumentTypeError(f"must be NAME=VALUE, not `{text}`")
    return name, value


def _signal(text: str) -> tuple[float, str, Any]:
    """Read a signal: when it comes, its name, its value. An `@` inside of JSON belongs to it."""
    _, sign, value = text.partition("=")
    if sign and _json_of(value) is not None:
        return 0.0, *_untimed(text)
    before, at, after = text.rpartition("@")
    if not at:
        return 0.0, *_untimed(text)
    try:
        due = float(after)
    except ValueError:
        due = -1.0
    if not 0 <= due < float("inf"):
        raise ArgumentTypeError(f"must have a number of seconds behind the `@`, not `{text}`")
    return due, *_untimed(before)


def _untimed(text: str) -> tuple[str, Any]:
    """Read the name and the value of a signal."""
    name, sign, value = text.partition("=")
    if not name:
        raise ArgumentTypeError(f"must begin with the name of a signal, not `{text}`")
    if not sign:
        return name, None
    found = _json_of(value)
    if found is None:
        raise ArgumentTypeError(f"must have JSON behind the `=`, not `{text}`; text needs quotes: '{name}=\"...\"'")
    return name, found[0]


def _json_of(text: str) -> tuple[Any] | None:
    """Return the value of a JSON text in a tuple, or nothing."""
    import json

    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def read_workflow(file: str, *, scale: float | None = None) -> Loaded:
    """Read a workflow, whatever it is written in."""
    from solvent.hocl.process_settings import deep_stack

    with deep_stack():
        if file.endswith(".py") or ".py:" in file:
            from solvent.workflows.formats.python.files import read_python

            return read_python(file)
        from solvent.workflows.formats.files import load

        return load(file, scale=1.0 if scale is None else scale)


def load_workflow(file: str, *, scale: float | None = None) -> tuple[Workflow, Path]:
    """Read and check a workflow; show all problems at once and end the command."""
    return load_sound(file, scale=scale).workflow, folder_of(file)


def load_sound(file: str, *, scale: float | None = None) -> Loaded:
    """Read and check a workflow, and return it with its places in the file; show problems and end the command."""
    from solvent.workflows.checks import check

    loaded = read_workflow(file, scale=scale)
    problems = check(loaded.workflow, loaded.places)
    if problems:
        show_problems(problems)
        raise SystemExit(2)
    return loaded


def load_workflow_to_run(file: str, *, scale: float | None = None) -> Loaded:
    """Read and check a workflow as `load_sound` does, and show warnings."""
    from solvent.cli.render import show_doubt
    from solvent.workflows.doubts import workflow_doubts

    loaded = load_sound(file, scale=scale)
    for doubt in workflow_doubts(loaded):
        show_doubt(doubt)
    return loaded


def show_problems(problems: Sequence[SolventError]) -> None:
    """Write problems to standard error, the first ones in full."""
    from solvent.cli.render import complain, counted, show_error

    for problem in problems[:_MAX_PROBLEMS_SHOWN]:
        show_error(problem)
    if len(problems) > _MAX_PROBLEMS_SHOWN:
        complain(f"and {counted(len(problems) - _MAX_PROBLEMS_SHOWN, 'more problem')}")
    sys.stderr.flush()


def folder_of(file: str) -> Path:
    """Return the folder in which a workflow's modules, programs and files are found."""
    from pathlib import Path

    return Path(file).parent


def is_given(options: Namespace, name: str) -> bool:
    """Return whether an option was given."""
    given = getattr(options, name)
    return given is not None and given is not False and given != []


def refuse(options: Namespace, names: tuple[str, ...], why: str, hint: str = "leave it out") -> None:
    """Refuse options that have no meaning here."""
    for name in names:
        if is_given(options, name):
            raise Misuse("H313", f"`--{name.replace('_', '-')}` {why}", hint=hint)


def refuse_for_program(options: Namespace, names: tuple[str, ...], hint: str = "leave it out") -> None:
    """Refuse options that only workflows have; the file of the options is not one, or is missing."""
    if any(is_given(options, name) for name in names) and options.file != "-":
        require_file(options.file)
    what = "standard input" if options.file == "-" else f"`{options.file}`"
    refuse(options, names, f"is for workflows, and {what} is a HOCL program", hint)


def refuse_for_workflow(options: Namespace, names: tuple[str, ...]) -> None:
    """Refuse options that only programs have; the file of the options is a workflow."""
    for name in names:
        why = f"is for HOCL programs, and `{options.file}` is a workflow"
        refuse(options, (name,), why, _INSTEAD.get(name, "leave it out"))


def refuse_uncallable(loaded: Iterable[Loaded], folder: Path) -> None:
    """Show which services of files cannot be called here, and end with 2 if there are any."""
    from solvent.runs.inspection import service_problems

    problems = [problem for one in loaded for problem in service_problems(one, folder)]
    if problems:
        show_problems(problems)
        raise SystemExit(2)
