"""What to raise when a product cannot be computed: the rule, the place, the reactants and the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import ReactionFailed, SolventError, TooLarge, exception_text, user_frames
from solvent.lang.operators import Incomputable
from solvent.lang.printer import print_molecule, short_rule
from solvent.source import Span

if TYPE_CHECKING:
    from solvent.engine.compile import Entry


def _hint(message: str) -> str:
    """Return how to keep a rule from what it cannot compute."""
    if message == "division by zero":
        return "add a condition to the rule, such as `if y != 0`"
    if message.startswith(("cannot ", "expected ")):
        return "let the rule take only what fits: by a type, such as `x::int`, or by a condition, `if ...`"
    return "add a condition to the rule, `if ...`, so that it reacts only where this can be computed"


def reaction_failed(
    error: BaseException, entry: Entry, match: Any, molecule: Any, reactants: list[Any] | None = None
) -> SolventError:
    """Return the error to raise for one that came out of a rule's product."""
    if isinstance(error, SolventError) and not isinstance(error, TooLarge):
        return error
    code = entry.code
    node = code.node_at(error) or code.node
    span = Span(code.node.source, node.start, node.end) if code.node.source is not None and node.start >= 0 else None
    if isinstance(error, TooLarge):
        error.span = error.span or span
        return error
    if reactants is None:
        cells = match[: len(code.elements)]
        reactants = [molecule if cell is None else cell.molecule for cell in cells]
    known = isinstance(error, Incomputable | ArithmeticError)
    message = (str(error) or type(error).__name__) if known else f"a function raised {exception_text(error)}"
    if isinstance(error, ZeroDivisionError):
        message = "division by zero"
    problem = ReactionFailed(
        "H401" if known else "H402",
        message,
        rule=short_rule(entry.rule),
        reactants=[print_molecule(one) for one in reactants],
        span=span,
        hint=_hint(message) if known else "",
    )
    if not isinstance(error, Incomputable):
        problem.frames = user_frames(error)
    return problem
