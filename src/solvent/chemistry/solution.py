"""A solution: a multiset of molecules.

A solution has two parts. `fresh` molecules have not been tried yet; `settled` ones are known not to react with
each other. Outside the engine everything is fresh; the engine moves what it has tried into a store of its own
(indexed, see `engine.index`) and so never looks at it again until something new could join it. To its user a
solution is one multiset: iteration, `len`, `in` and equality see both parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from solvent.chemistry.molecule import Endless, Molecule, copied, equal, order_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Settled(Protocol):
    """What the engine keeps for a solution."""

    def __iter__(self) -> Iterator[Molecule]:
        """Give every molecule; an endless one as `Endless`."""

    def __len__(self) -> int:
        """Count them; an endless one counts once."""

    def discard(self, molecule: Molecule) -> bool:
        """Remove one molecule equal to this; say whether there was one."""


class Solution:
    """A multiset of molecules that react with each other."""

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
        """Put a molecule in, `count` times."""
        if count > 0:
            self.fresh.append(molecule)
            self.fresh += [copied(molecule) for _ in range(count - 1)] if count > 1 else ()
        self.inert = False

    def extend(self, molecules: Iterable[Molecule]) -> None:
        """Put molecules in."""
        self.fresh.extend(molecules)
        self.inert = False

    def remove(self, molecule: Molecule) -> bool:
        """Take one molecule equal to this out; say whether there was one."""
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

    def copied(self) -> Self:
        """Give an independent solution with the same molecules, all of them fresh."""
        return type(self)(map(copied, self))

    def order_key(self) -> tuple[Any, ...]:
        """Order solutions by their molecules in canonical order."""
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
        from solvent.chemistry.display import solution_html

        return solution_html(self)
