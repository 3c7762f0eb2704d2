"""A solution as a notebook shows it: molecules in a box, and those of sub-solutions in boxes inside.

It has no colours of its own but what is half transparent, so that it can be read on any ground. However large a
solution is, what is shown is short, and made in a short time: only as many molecules are looked at as are shown.
"""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from solvent.chemistry.molecule import Endless, List, Molecule, order_key
from solvent.chemistry.printer import print_molecule, print_rule, short_rule
from solvent.chemistry.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.chemistry.solution import Solution

MOLECULES_MAX = 300
"""How many molecules are shown in all."""
SHOWN_MAX = 100
"""How many of one solution, or of one list, are."""
_SORTED_MAX = 5_000
"""What is larger, with all that is inside, is shown in the order in which it comes."""
_LETTERS_MAX = 200
_DIGITS_MAX = 600
_BOX = "display:inline-block;border:1px solid rgba(128,128,128,.45);border-radius:6px;padding:1px 6px;margin:1px"
_RULE = "background:rgba(125,90,200,.16);border-radius:4px;padding:0 4px"
_SOFT = "opacity:.65"


def solution_html(solution: Solution) -> str:
    """Give a solution as HTML."""
    count = len(solution)
    state = "inert" if solution.inert else "not inert"
    said = f"{count:,} molecule{'' if count == 1 else 's'}, {state}"
    head = f'<div style="{_SOFT};font-size:smaller">{said}</div>'
    return f'<div class="solvent"><div style="font-family:monospace">{_Writer().solution(solution)}</div>{head}</div>'


class _Writer:
    """Writes molecules until there are enough."""

    def __init__(self) -> None:
        self._left = MOLECULES_MAX

    def solution(self, solution: Solution) -> str:
        """Write a solution as a box."""
        inside = self._members(solution, len(solution), is_sorted=_is_small(solution))
        return f'<span style="{_BOX}">{inside}</span>'

    def _members(self, members: Iterable[Molecule], count: int, *, is_sorted: bool = False) -> str:
        if is_sorted:
            members = sorted(members, key=order_key)
        shown = [self._molecule(one) for one in islice(members, max(0, min(SHOWN_MAX, self._left)))]
        if count > len(shown):
            shown.append(f'<span style="{_SOFT}">… {count - len(shown):,} more</span>')
        return ", ".join(shown)

    def _molecule(self, molecule: Molecule) -> str:
        self._left -= 1
        kind = type(molecule)
        if kind is tuple:
            return ":".join(f"({one})" if type(part) is tuple else one for part, one in self._parts(molecule))
        if kind is List:
            inside = self._members(molecule, len(molecule))
            return f"list({inside})" if len(molecule) == 1 else f"({inside})"
        if kind is Endless:
            return f"{self._molecule(molecule.molecule)}^inf"
        if kind is Rule:
            return f'<span style="{_RULE}" title="{_cut(print_rule(molecule))}">{_cut(short_rule(molecule))}</span>'
        if getattr(molecule, "is_solution", False):
            return self.solution(molecule)
        if kind is int and molecule.bit_length() > _DIGITS_MAX:
            # To write a long integer in full takes long.
            return f'<span style="{_SOFT}">an integer of {molecule.bit_length():,} bits</span>'
        return _cut(print_molecule(molecule if kind is not str else molecule[: 2 * _LETTERS_MAX]))

    def _parts(self, molecule: tuple[Molecule, ...]) -> list[tuple[Molecule, str]]:
        return [(part, self._molecule(part)) for part in molecule[:SHOWN_MAX]]


def _is_small(solution: Solution) -> bool:
    """Say whether sorting takes no time to speak of; no more is looked at than that needs."""
    count, work = 0, [iter(solution)]
    while work:
        for molecule in work[-1]:
            count += 1
            if count > _SORTED_MAX or (type(molecule) is str and len(molecule) > _SORTED_MAX):
                return False
            if isinstance(molecule, tuple) or getattr(molecule, "is_solution", False):
                work.append(iter(molecule))
                break
        else:
            work.pop()
    return True


def _cut(text: str) -> str:
    return escape(text if len(text) <= _LETTERS_MAX else f"{text[:_LETTERS_MAX]}…")


__all__ = ["solution_html"]
