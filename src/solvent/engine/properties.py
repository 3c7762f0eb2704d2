"""What must hold in every state that a program can reach, or of every reaction: watched while it is explored.

    explore(solution, properties=[Never(rule), Refines(coarser, mapping, name="token.hocl")])

`Never`: a rule, not one of the program's, that describes a bad state by being able to react in it.

`Refines`: the program does only what a coarser program does. A mapping gives for each of its states one of the coarser
program's: the state without its rules, and among its molecules rules and molecules of the mapping, until that is inert;
what is not a rule is left. Two things are checked, and they are what one calls a refinement mapping with stuttering:

- the first state becomes the first state of the coarser program;
- a reaction from a state to another either changes nothing of what the mapping shows, or there is a reaction of the
  coarser program from the one mapped state to the other; or, where `max_steps` allows it, a run of so many reactions.

So every mapped state is one that the coarser program reaches, and what never happens there never happens here, as far
as the mapping shows it. Nothing is said about progress: a program that does nothing refines every other.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from solvent.engine.successors import Opened, Successors
from solvent.errors import LimitReached
from solvent.lang.printer import print_molecule, short_rule
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.engine.interned import Content
    from solvent.lang.molecule import Molecule

_MAX_MAPPING = 100_000
Run: TypeAlias = tuple[str, ...]
"""A run by its rules."""


class Never:
    """A property for `explore`: no state is reached in which a rule could react. The rule is none of the program's.

    `text` is what reports call it.

    >>> from solvent import hocl
    >>> counter = hocl.parse("<N:0, (up = replace N:n by N:(n + 1) if n < 5)>").solution()
    >>> found = hocl.explore(counter, properties=[hocl.Never(hocl.rule("replace N:n by if n > 2"))])
    >>> [record.rule for record in found.run_to_violation()]
    ['up', 'up', 'up']
    """

    def __init__(self, rule: Rule, *, text: str = "") -> None:
        self.rule = rule
        self.name = f"never {text or short_rule(rule)}"

    def check_state(self, number: int, opened: Opened) -> str | None:  # noqa: ARG002 - every state alike
        """Return a reason where the rule could react."""
        return "it can be" if opened.fits(self.rule) else None

    def check_reaction(self, before: int, rule: Rule, after: int, state: Solution) -> str | None:  # noqa: ARG002
        """Look at states only."""
        return None


class Refines:
    """A property for `explore`: each reaction is none, or one, of a coarser program.

    - `coarser`: the first state of the coarser program, with its rules.
    - `mapping`: rules and molecules that turn a state, without its rules, into one of the coarser program.
    - `name`: what reports call the coarser program.
    - `max_steps`: how many reactions of the coarser program one reaction may stand for.

    Exploring raises `LimitReached` if the mapping does not end.

    >>> from solvent import hocl
    >>> fine = hocl.parse("<N:0, (half = replace N:n by N:(n + 1) if n < 4)>").solution()
    >>> coarse = hocl.parse("<N:0, (full = replace N:n by N:(n + 2) if n < 4)>").solution()
    >>> refines = hocl.Refines(coarse, [hocl.rule("replace N:n by N:(n - 1) if n % 2 == 1")])
    >>> hocl.explore(fine, properties=[refines]).violation is None
    True
    >>> refines.counterparts()
    {'half': [(), ('full',)]}
    """

    def __init__(
        self, coarser: Solution, mapping: Iterable[Molecule], *, name: str = "the coarser program", max_steps: int = 1
    ) -> None:
        self.coarser = name
        self.name = f"refines {name}"
        self.max_steps = max_steps
        # For each rule: the shortest runs of the coarser program that its reactions can be, and of how many they are.
        self._runs: dict[str, Counter[frozenset[Run]]] = {}
        self._rules = [one for one in coarser if type(one) is Rule]
        self._mapping = list(mapping)
        self._successors = Successors()
        self._mapper = Successors()
        # Each of our states as one of the coarser program, and those after each of these as far as asked for.
        self._mapped: dict[int, Content] = {}
        self._after: dict[Content, list[tuple[str, Content]]] = {}
        self._first = self._successors.content(coarser)

    @property
    def states_shown(self) -> int:
        """How many states of the coarser program were found."""
        return len(set(self._mapped.values()))

    def counterparts(self) -> dict[str, list[Run]]:
        """Return for each rule the runs of the coarser program that its reactions stand for."""
        found: dict[str, list[Run]] = {}
        for rule, counted in sorted(self._runs.items()):
            left = Counter(counted)
            found[rule] = runs = []
            while left:
                votes = Counter[Run]()
                for choice, times in left.items():
                    votes.update(dict.fromkeys(choice, times))
                best = min(votes, key=lambda run: (-votes[run], run))
                runs.append(best)
                left = Counter({choice: times for choice, times in left.items() if best not in choice})
            runs.sort(key=lambda run: (len(run), run))
        return found

    def check_state(self, number: int, opened: Opened) -> str | None:
        """Compare the first states; whoever explores may stop what is done for this state, too."""
        self._successors.should_stop = self._mapper.should_stop = opened.should_stop
        if number or self._image(0, opened.state) is self._first:
            return None
        return f"the first state is {self._text(self._mapped[0])}, and not {self._text(self._first)}"

    def check_reaction(self, before: int, rule: Rule, after: int, state: Solution) -> str | None:
        """Find the run of the coarser program that a reaction stands for."""
        start, end = self._mapped[before], self._image(after, state)
        runs = self._runs_between(start, end)
        if runs:
            self._runs.setdefault(short_rule(rule), Counter())[runs] += 1
            return None
        allowed = "one reaction" if self.max_steps == 1 else f"{self.max_steps} reactions"
        says = f"`{short_rule(rule)}` does what {allowed} of {self.coarser} cannot do"
        return f"{says}: from {self._text(start)} to {self._text(end)}"

    def _image(self, number: int, state: Solution) -> Content:
        found = self._mapped.get(number)
        if found is None:
            begin = Solution(one for one in state if type(one) is not Rule)
            begin.extend(self._mapping)
            try:
                image = self._mapper.run(self._mapper.content(begin), _MAX_MAPPING)
            except LimitReached as error:
                message = f"the mapping to {self.coarser} does not end: {error.message}"
                raise LimitReached(error.code, message, hint="its rules must use up what they react with") from None
            shown = Solution(one for one in self._mapper.interned.plain(image) if type(one) is not Rule)
            shown.extend(self._rules)
            found = self._mapped[number] = self._successors.content(shown)
        return found

    def _runs_between(self, start: Content, end: Content) -> frozenset[Run]:
        """Return the shortest runs of the coarser program from one state to another, none if they are too long."""
        edge: dict[Content, set[Run]] = {start: {()}}
        for _ in range(self.max_steps):
            if end in edge:
                break
            further: dict[Content, set[Run]] = {}
            for state, runs in edge.items():
                for rule, after in self._reactions(state):
                    further.setdefault(after, set()).update((*run, rule) for run in runs)
            edge = further
        return frozenset(edge.get(end, ()))

    def _reactions(self, state: Content) -> list[tuple[str, Content]]:
        found = self._after.get(state)
        if found is None:
            found = self._after[state] = [(short_rule(rule), after) for rule, after in self._successors.after(state)]
        return found

    def _text(self, state: Content) -> str:
        molecules = self._successors.interned.plain(state)
        return print_molecule(Solution(one for one in molecules if type(one) is not Rule))


__all__ = ["Never", "Refines", "Run"]
