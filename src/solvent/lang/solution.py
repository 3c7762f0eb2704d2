"""A solution: a multiset of molecules.

A solution has two parts. `fresh` molecules have not been tried yet; `settled` ones are known not to react with
each other. Outside the engine everything is fresh; the engine moves what it has tried into an index of its own
(`engine.index`) and does not look at it again until something new could react with it. To its user a solution is
one multiset: iteration, `len`, `in` and equality see both parts.

The second part of this module shows a solution in a notebook: molecules in a box, those of sub-solutions in boxes
inside. It uses no opaque colours, so it is readable in light and dark themes. Only as many molecules are looked at as
are shown, so that even a huge solution is shown at once.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, Self

from solvent.lang.molecule import SOLUTION_PARTS, Endless, List, Molecule, copied, equal, order_key, take_room
from solvent.lang.printer import print_molecule, print_rule, short_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Settled(Protocol):
    """The engine's index of the settled molecules of a solution."""

    def __iter__(self) -> Iterator[Molecule]:
        """Return every molecule; an endless one as `Endless`."""

    def __len__(self) -> int:
        """Count them; an endless one counts once."""

    def discard(self, molecule: Molecule) -> bool:
        """Remove one molecule equal to this; return whether there was one."""


class Solution:
    """A multiset of molecules that react with each other.

    Iterate over it to read molecules; `len`, `in` and `==` work as for a multiset. `inert` says whether it has been run
    and nothing was added since.

    >>> from solvent import hocl
    >>> solution = hocl.Solution([1, 2, hocl.rule("replace x::int, y::int by x + y")])
    >>> solution.add(4)
    >>> _ = hocl.react(solution)
    >>> solution.inert, 7 in solution, len(solution)
    (True, True, 2)
    """

    __slots__ = ("flight", "fresh", "height", "host", "inert", "settled", "waiting")
    is_solution = True

    def __init__(self, molecules: Iterable[Molecule] = ()) -> None:
        self.fresh: list[Molecule] = list(molecules)
        self.settled: Settled | None = None
        # Molecules, by identity, whose sub-solutions are still reacting; only asynchronous calls leave any.
        self.waiting: dict[int, Molecule] = {}
        # How many reactions of this solution wait for an external call to answer.
        self.flight = 0
        self.inert = not self.fresh
        # How many levels of solutions there are from here inwards, as far as the engine has seen.
        self.height = 1
        # While it is not inert: the solution it is part of, and the molecule there that waits for it.
        self.host: tuple[Solution, Molecule] | None = None

    def add(self, molecule: Molecule, count: int = 1) -> None:
        """Add a molecule, `count` times."""
        if count > 0:
            self.fresh.append(molecule)
            self.fresh += [copied(molecule) for _ in range(count - 1)] if count > 1 else ()
        self.inert = False

    def extend(self, molecules: Iterable[Molecule]) -> None:
        """Add molecules."""
        self.fresh.extend(molecules)
        self.inert = False

    def remove(self, molecule: Molecule) -> bool:
        """Remove one molecule equal to this; return whether there was one."""
        for at, held in enumerate(self.fresh):
            if equal(held, molecule):
                del self.fresh[at]
                return True
        for key, held in self.waiting.items():
            if equal(held, molecule):
                del self.waiting[key]
                return True
        return self.settled is not None and self.settled.discard(molecule)

    def count(self, molecule: Molecule) -> int:
        """Count the molecules equal to this."""
        return sum(1 for held in self if equal(held, molecule))

    def copied(self, room: list[int] | None = None) -> Self:
        """Return an independent solution with the same molecules. `room` is for the engine."""
        if room is not None:
            take_room(room, len(self) + SOLUTION_PARTS)
        return type(self)(copied(one, room) for one in self)

    def order_key(self) -> tuple[Any, ...]:
        """Return a key that orders solutions by their molecules."""
        return (6, tuple(sorted(map(order_key, self))))

    def __iter__(self) -> Iterator[Molecule]:
        if self.settled is not None:
            yield from self.settled
        yield from self.fresh
        yield from self.waiting.values()

    def __len__(self) -> int:
        settled = len(self.settled) if self.settled is not None else 0
        return settled + len(self.fresh) + len(self.waiting)

    def __contains__(self, molecule: object) -> bool:
        return any(equal(held, molecule) or (type(held) is Endless and equal(held.molecule, molecule)) for held in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Solution):
            return NotImplemented
        return self is other or (len(self) == len(other) and self.order_key() == other.order_key())

    def __hash__(self) -> int:
        # Solutions change, yet tuples that hold them are keys of an index: equal ones must meet, so all do.
        return hash(Solution)

    def __repr__(self) -> str:
        return f"Solution({sorted(self, key=order_key)!r})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return _solution_html(self)


MAX_MOLECULES = 300
"""The most molecules shown in all."""
MAX_SHOWN = 100
"""The most molecules shown of one solution or list."""
_MAX_SORTED = 5_000
"""A larger solution, counting all that is inside, is shown unsorted."""
_MAX_LETTERS = 200
_MAX_DIGITS = 600
_BOX = "display:inline-block;border:1px solid rgba(128,128,128,.45);border-radius:6px;padding:1px 6px;margin:1px"
_RULE = "background:rgba(125,90,200,.16);border-radius:4px;padding:0 4px"
_SOFT = "opacity:.65"


def _solution_html(solution: Solution) -> str:
    """Return a solution as HTML."""
    count = len(solution)
    state = "inert" if solution.inert else "not inert"
    said = f"{count:,} molecule{'' if count == 1 else 's'}, {state}"
    head = f'<div style="{_SOFT};font-size:smaller">{said}</div>'
    return f'<div class="solvent"><div style="font-family:monospace">{_Writer().solution(solution)}</div>{head}</div>'


class _Writer:
    """Writes molecules until the limit is reached."""

    def __init__(self) -> None:
        self._left = MAX_MOLECULES

    def solution(self, solution: Solution) -> str:
        """Write a solution as a box."""
        inside = self._members(solution, len(solution), is_sorted=_is_small(solution))
        return f'<span style="{_BOX}">{inside}</span>'

    def _members(self, members: Iterable[Molecule], count: int, *, is_sorted: bool = False) -> str:
        if is_sorted:
            members = sorted(members, key=order_key)
        shown = [self._molecule(one) for one in islice(members, max(0, min(MAX_SHOWN, self._left)))]
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
        if getattr(molecule, "is_rule", False):
            return f'<span style="{_RULE}" title="{_cut(print_rule(molecule))}">{_cut(short_rule(molecule))}</span>'
        if getattr(molecule, "is_solution", False):
            return self.solution(molecule)
        if kind is int and molecule.bit_length() > _MAX_DIGITS:
            # To write a long integer in full takes long.
            return f'<span style="{_SOFT}">an integer of {molecule.bit_length():,} bits</span>'
        return _cut(print_molecule(molecule if kind is not str else molecule[: 2 * _MAX_LETTERS]))

    def _parts(self, molecule: tuple[Molecule, ...]) -> list[tuple[Molecule, str]]:
        return [(part, self._molecule(part)) for part in molecule[:MAX_SHOWN]]


def _is_small(solution: Solution) -> bool:
    """Return whether a solution is small enough to sort; look at no more molecules than necessary."""
    count, work = 0, [iter(solution)]
    while work:
        for molecule in work[-1]:
            count += 1
            if count > _MAX_SORTED or (type(molecule) is str and len(molecule) > _MAX_SORTED):
                return False
            if isinstance(molecule, tuple) or getattr(molecule, "is_solution", False):
                work.append(iter(molecule))
                break
        else:
            work.pop()
    return True


def _cut(text: str) -> str:
    from html import escape  # spares the import at every start

    return escape(text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…")
