"""The inputs of a workflow as its function says: `n: int` is a number, and `order: Order` an instance of the class.

Only a workflow that was written in Python, and is in the process that made it, has types of its inputs. Values that a
record or an agent has were converted before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.values.annotations import converted, is_plain, type_text, types_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.workflows.model import Workflow

_KEY = "input_types"


def note_types(workflow: Workflow, function: Callable[..., Any]) -> None:
    """Let a workflow know the types of its inputs, from the function that it was made of."""
    vars(workflow)[_KEY] = types_of(function)


def typed_inputs(
    workflow: Workflow, given: Mapping[str, Any], texts: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return inputs as the workflow's annotations say; raise `WorkflowProblem` W212 for one that is of another type.

    `texts` are those that were written as options: where the value that one stands for is wrong, the text may be right.
    """
    types, found = vars(workflow).get(_KEY, {}), dict(given)
    for name in given.keys() & types.keys():
        value, kind = given[name], types[name]
        if not is_plain(value):
            continue
        try:
            found[name] = converted(value, kind)
        except ValueError as error:
            found[name] = _of_text(name, kind, None if texts is None else texts.get(name), str(error))
    return found


def _of_text(name: str, kind: Any, text: str | None, reason: str) -> Any:
    """Return the input that a text is; raise the error about the value where it is none."""
    if text is not None:
        try:
            return converted(text, kind)
        except ValueError:
            pass
    where = f"the input `{name}`" if text is None else f"`--input {name}={text}`"
    raise WorkflowProblem("W212", f"{where} is to be `{type_text(kind)}`: {reason[:1].lower()}{reason[1:]}")


__all__ = ["note_types", "typed_inputs"]
