"""`solvent convert`: a workflow in another format, or as the concrete program that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import parser_for
from solvent.cli.render import harmless_json, write_program
from solvent.cli.workflows import add_inputs, add_workflow, inputs_of, load_workflow, refuse
from solvent.errors import Misuse, WorkflowProblem
from solvent.hocl.program_file import program_text, write_whole
from solvent.lang.molecule import Opaque
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.workflows.translate import Concrete

_PROGRAM = "hocl"
_SUFFIXES = {"yaml": ".yaml", "json": ".json", "hoclflow": ".hocl", _PROGRAM: ".hocl"}
"""What the files of each format end in."""


def main(arguments: list[str]) -> int:
    """Write a workflow in another format; refuse what the format cannot express."""
    options = parser().parse_args(arguments)
    form = _format(options)
    if form == _PROGRAM:
        text = _program(options)
    else:
        refuse(options, ("input",), f"is for `--to {_PROGRAM}`: other formats keep the workflow's own inputs")
        text = _file(options, form)
    if options.output is not None:
        write_whole(options.output, text)
    elif form == _PROGRAM:
        write_program(text)
    else:
        sys.stdout.write(text)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for(
        "convert",
        "Write a workflow in another format; with --to hocl, as the concrete program that runs it.\n"
        "`solvent run PROGRAM --services WORKFLOW` runs that program.",
        example="solvent convert pipeline.py -o pipeline.yaml\n"
        "  solvent convert pipeline.yaml --to hocl -o pipeline.concrete.hocl",
    )
    add_workflow(parser)
    says = "the format; hocl is the concrete program (default: what FILE ends in, or yaml)"
    parser.add_argument("--to", choices=tuple(_SUFFIXES), help=says)
    add_inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to a file instead")
    return parser


def _format(options: Namespace) -> str:
    """Return the format that was asked for, or that the output's name says."""
    if options.output is None:
        return str(options.to or "yaml")
    from pathlib import Path

    suffix = Path(options.output).suffix.replace(".yml", ".yaml")
    named = [form for form, one in _SUFFIXES.items() if one == suffix]
    if options.to is None and len(named) != 1:
        hint = f"add --to {' or '.join(named) or 'yaml, json, hoclflow or hocl'}"
        raise Misuse("H315", f"`{options.output}` does not tell the format", hint=hint)
    if options.to is not None and named and options.to not in named:
        hint = f"let it end in {_SUFFIXES[options.to]}"
        raise Misuse("H315", f"`{options.output}` would not be read as {options.to}", hint=hint)
    return str(options.to or named[0])


def _file(options: Namespace, form: str) -> str:
    from solvent.hocl.process_settings import deep_stack
    from solvent.workflows.formats.files import write

    workflow, _ = load_workflow(options.file, scale=options.scale)
    with deep_stack():
        text = write(workflow, suffix=_SUFFIXES[form])
    return harmless_json(text) if form == "json" else text


def _program(options: Namespace) -> str:
    """Return the concrete program: the rules it uses, then the solution of its tasks."""
    from solvent.workflows.translate import concretise

    workflow, folder = load_workflow(options.file, scale=options.scale)
    concrete = concretise(workflow, inputs_of(options, workflow), folder=folder)
    _refuse_opaque(concrete)
    return program_text(concrete.solution)


def _refuse_opaque(concrete: Concrete) -> None:
    """Refuse a task with an argument that HOCL has no form for."""
    from solvent.workflows.forms import task_of
    from solvent.workflows.value_checks import shown

    for one in concrete.solution:
        task = task_of(one)
        value = _opaque_in(one) if task in concrete.names else None
        if task is not None and value is not None:
            raise WorkflowProblem(
                "W133",
                f"the task `{concrete.names[task]}` has the argument {shown(value.value)}, which a HOCL program cannot "
                "express",
                hint="programs hold numbers, texts, booleans and lists; let a service make the value",
            )


def _opaque_in(molecule: Any) -> Opaque | None:
    if type(molecule) is Opaque:
        return molecule
    if isinstance(molecule, tuple | list | Solution):
        return next((found for one in molecule if (found := _opaque_in(one)) is not None), None)
    return None
