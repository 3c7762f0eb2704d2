"""What stands on every node's table: the rules that stand, and the molecules of which there are always more.

Molecules that were captured are put there for exactly one reaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.compile import code_of
from solvent.engine.matches import Match, Matches
from solvent.lang.molecule import Endless, Molecule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.engine.choice import Chance
    from solvent.engine.compile import RuleCode
    from solvent.lang.rule import Rule


class Table:
    """What every node has."""

    def __init__(self, standing: list[Rule | Endless], endless: list[Endless]) -> None:
        self._standing = standing
        self._endless = endless
        #: The number of a reaction by a loose rule, and that of many reactions at once.
        self.loose = len(standing)
        self.many = len(standing) + 1

    def laid(self, *, chance: Chance | None = None) -> Matches:
        """Give a place for molecules where all of it is at hand."""
        return self._laid(range(self.loose), chance)

    def _laid(self, numbers: Iterable[int], chance: Chance | None = None) -> Matches:
        matches = Matches(chance=chance)
        for number in numbers:
            matches.add_rule(self._standing[number], number)
        for molecule in self._endless:
            matches.add_endless(molecule)
        return matches

    def react(self, rule: int, molecules: list[Molecule]) -> tuple[Match, list[int]]:
        """Give the reaction of exactly these molecules, and which of them it leaves."""
        # A rule may look at others.
        is_alone = rule < self.loose and not self._code(rule).meets_rules
        matches = self._laid((rule,) if is_alone else range(self.loose))
        whole = [matches.add(molecule, at, is_own=True) for at, molecule in enumerate(molecules)]
        match = matches.find_among(whole)
        assert match is not None, "what was captured together reacts together"
        return match, [held.name for held in whole if held not in match.consumed]

    @property
    def rules(self) -> list[Rule]:
        """The rules that stand."""
        return [one.molecule if isinstance(one, Endless) else one for one in self._standing]

    @property
    def shared(self) -> list[Molecule]:
        """All of it, as molecules."""
        return [*self._standing, *self._endless]

    def title(self, rule: int) -> str:
        """Give the name of a rule."""
        if rule < self.loose:
            return self._code(rule).title
        return "a loose rule" if rule == self.loose else "many at once"

    def _code(self, rule: int) -> RuleCode:
        found: Any = self._standing[rule]
        return code_of(found.molecule.node if type(found) is Endless else found.node)


__all__ = ["Table"]
