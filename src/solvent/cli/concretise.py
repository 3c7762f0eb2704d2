"""`solvent concretise`: a workflow as the program that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import Opaque
from solvent.chemistry.solution import Solution
from solvent.cli.loading import parser_for
from solvent.cli.render import write_program
from solvent.cli.workflows import add_inputs, add_workflow, inputs_of, load_workflow
from solvent.errors import WorkflowProblem
from solvent.running.saving import program_text, write_whole
from solvent.workflow.concrete import concretise

if TYPE_CHECKING:
    from solvent.chemistry.molecule import Molecule

_FORM_MAX = 60


def main(arguments: list[str]) -> int:
    """Print the concrete program: the rules it uses, then the solution of its tasks."""
    parser = parser_for(
        "concretise",
        "Print the concrete program of a workflow. `solvent run PROGRAM --services WORKFLOW` runs it.",
        example="solvent concretise pipeline.yaml > pipeline.concrete.hocl",
    )
    add_workflow(parser)
    add_inputs(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to a file instead")
    options = parser.parse_args(arguments)
    workflow, folder = load_workflow(options.file, scale=options.scale)
    concrete = concretise(workflow, inputs_of(options), folder=folder)
    for name, molecule in concrete.tasks.items():
        _refuse_opaque(name, molecule, concrete.solution)
    text = program_text(concrete.solution)
    if options.output is None:
        write_program(text)
    else:
        write_whole(options.output, text)
    return 0


def _refuse_opaque(name: str, symbol: Molecule, solution: Solution) -> None:
    """Refuse a task with an argument that HOCL has no form for."""
    for one in solution:
        if type(one) is tuple and one[0] == symbol and type(one[-1]) is Solution:
            value = _opaque_in(one[-1])
            if value is not None:
                form = repr(value.value)
                form = form if len(form) <= _FORM_MAX else f"{form[: _FORM_MAX - 1]}…"
                raise WorkflowProblem(
                    "W133",
                    f"the task `{name}` has the argument {form}, which a HOCL program cannot say",
                    hint="programs hold numbers, texts, booleans and lists; let a service make the value",
                )


def _opaque_in(molecule: Any) -> Opaque | None:
    if type(molecule) is Opaque:
        return molecule
    if isinstance(molecule, tuple | list | Solution):
        return next((found for one in molecule if (found := _opaque_in(one)) is not None), None)
    return None
