"""All that happens to a molecule of one kind, in one function.

Where every rule that could want tuples with a certain first part is ready to react at once, the searches of all of
them are written one after the other into `visit(molecule)`, which makes the first possible reaction happen or settles
the molecule. The text is made once for a set of rules and bound to each store that holds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.code import Code
from solvent.engine.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.chemistry.molecule import Molecule
    from solvent.chemistry.solution import Solution
    from solvent.engine.compile import Entry
    from solvent.engine.index import Store

_made: dict[Any, Callable[..., Any]] = {}


def make_visit(
    entries: tuple[Entry, ...], store: Store, solution: Solution, add: Callable[[Molecule], None]
) -> Callable[[Molecule], Any]:
    """Give the function that visits a molecule for which these are all the entries."""
    key = tuple((entry.code, entry.element and entry.element.number) for entry in entries)
    make = _made.get(key)
    if make is None:
        make = _made[key] = _write(entries)
    owns = [entry.cell for entry in entries]
    rules = [entry.rule for entry in entries]
    visit: Callable[[Molecule], Any] = make(store, solution, add, owns, rules)
    return visit


def _write(entries: tuple[Entry, ...]) -> Callable[..., Any]:
    code = Code("+".join(dict.fromkeys(entry.code.title for entry in entries)))
    code.open("def make(s0, solution, add, owns, rules):")
    top = code.mark()
    code.open("def visit(m):")
    indexes: dict[Any, str] = {}
    for at, entry in enumerate(entries):
        matcher = Matcher(code, entry.code.plan, entry.code.functions, [])
        matcher.indexes = indexes
        matcher.top_line = top
        code.open("while True:")
        code.line(f"own = owns[{at}]; rule = rules[{at}]") if _needs_itself(entry) else None
        matcher.unpack_captures()
        matcher.write_body(entry.element, reacts=True, fail="break")
        code.close(3)
        code.line("break")
        code.close(2)
        entry.code.note_text(code)
    code.line("add(m)")
    code.close(1)
    code.line("return visit")
    code.close(0)
    return code.made()["make"]


def _needs_itself(entry: Entry) -> bool:
    """Say whether a rule's text mentions the rule: to capture, to recur, or not to take itself."""
    return bool(entry.code.node.captures) or entry.code.node.is_recursive or entry.code.meets_rules
