"""Every reaction of a run, and where each molecule came from.

A `Recorder` watches a reactor. Molecules get numbers: those of the first solution at the start, every other
one when a reaction makes it. Equal molecules are the same to a rule, so when one of several equal molecules
is taken, which number it had does not matter; a molecule that holds a solution is known by that solution,
which may change inside.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.engine.reaction import Stopped
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, check_printable, order_key, sub_solutions
from solvent.lang.printer import print_molecule, short_rule
from solvent.lang.syntax import RestPattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.reaction import Reaction
    from solvent.lang.solution import Solution


_POLL_MASK = 0xFF
_MAX_SHOWN = 50
"""The most reactions that a notebook shows."""


class Made:
    """A molecule of a recorded run.

    It has a `number`, the `molecule`, its `text` when it was made, the number of the `reaction` that made it (`None`
    for what was there at the start), and where it was `moved` from.

    >>> from solvent import hocl
    >>> recorder = hocl.record(hocl.parse("<1, 2, replace x::int, y::int by x + y>").solution())
    >>> recorder.why(3).reaction, recorder.why(3).text
    (1, '3')
    """

    __slots__ = ("molecule", "moved", "number", "reaction", "text")

    def __init__(self, number: int, molecule: Molecule, reaction: int | None, moved: Made | None) -> None:
        self.number = number
        self.molecule = molecule
        self.text = print_molecule(molecule)
        # The reaction that made it; None for the molecules the run started with.
        self.reaction = reaction
        # The same molecule inside the sub-solution it was taken from.
        self.moved = moved


_Known: TypeAlias = dict[Any, deque[Made]]
"""Molecules by `_key`, those that came first first."""


class Record:
    """One reaction of a recorded run.

    `rule` is the name of the rule, `reactants`, `kept` and `products` are molecules (`Made`), `before` and `after`
    their texts; `level` and `place` say in which sub-solution it happened.

    >>> from solvent import hocl
    >>> recorder = hocl.record(hocl.parse("<1, 2, (sum = replace x::int, y::int by x + y)>").solution())
    >>> recorder.records[0].rule, recorder.records[0].after
    ('sum', ['3'])
    """

    __slots__ = ("after", "before", "by", "kept", "level", "number", "place", "products", "reactants", "rule")

    def __init__(self, number: int, rule: str, by: Made, level: int, place: str = "") -> None:
        self.number = number
        self.rule = rule
        # The rule as a molecule of the run.
        self.by = by
        # How many solutions stand around the one it happened in, and the tuples among them: `T1:SRC`.
        self.level = level
        self.place = place
        self.reactants: list[Made] = []
        self.kept: list[Made] = []
        self.products: list[Made] = []
        # What it found (kept ones first) and what it left, as text: a solution changes after it was made.
        self.before: list[str] = []
        self.after: list[str] = []


class Recorder:
    """The record of a run: `records` are its reactions, `molecules` all molecules. `record` returns one.

    To record a run of your own, pass it as the observer: `react(solution, observe=Recorder(solution))`.

    >>> from solvent import hocl
    >>> solution = hocl.parse("<1, 2, 3, (sum = replace x::int, y::int by x + y)>").solution()
    >>> recorder = hocl.Recorder(solution)
    >>> _ = hocl.react(solution, observe=recorder)
    >>> len(recorder.records), recorder.why(6).reaction, recorder.why(1).reaction
    (2, 2, None)
    """

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.records: list[Record] = []
        self.molecules: list[Made] = []
        self._held: dict[int, dict[Any, list[Made]]] = {}
        self._levels: dict[int, int] = {}
        self._places: dict[int, str] = {}
        # Solutions are known by identity, so none may be forgotten while the run lasts.
        self._seen: list[Solution] = []
        # How many molecules of solutions were looked at, and who is asked now and then whether to go on.
        self._synced = 0
        self._should_stop: Callable[[], bool] | None = None
        self._sync(solution, None, 0, {})

    def __call__(self, reaction: Reaction) -> None:
        """Record a reaction; raise `TooLarge` if the text of what it made would be too long.

        Raise `Stopped` if the run is to stop before all that is inside the products has been numbered.
        """
        check_printable(reaction.products)
        where = id(reaction.solution)
        if where not in self._held:
            self._sync(reaction.solution, None, 1, {})
        level, place = self._levels.get(where, 0), self._places.get(where, "")
        held = self._held[where]
        record = Record(len(self.records) + 1, short_rule(reaction.rule), self._rule(held, reaction), level, place)
        self.records.append(record)
        record.before = reaction.before or [*map(self._text, reaction.kept), *map(self._text, reaction.reactants)]
        kept_texts = record.before[: len(reaction.kept)]
        endless = reaction.endless
        record.reactants = [
            self._taken(held, one, is_endless=at in endless) for at, one in enumerate(reaction.reactants)
        ]
        record.kept = [self._kept(held, one) for one in reaction.kept]
        inside = self._inside(reaction.reactants)
        if any(type(one) is RestPattern for one in reaction.rule.node.patterns):
            for taken in self._take_rest(record, reaction, held):
                inside.setdefault(_key(taken.molecule), deque()).append(taken)
        self._should_stop = reaction.should_stop
        left = iter(reaction.products)
        try:
            for product in left:
                made = self._make(product, record.number, self._find(inside, product))
                held.setdefault(_key(product), []).append(made)
                record.products.append(made)
                for sub in sub_solutions(product):
                    self._places[id(sub)] = _place(record.place, product)
                    self._sync(sub, record.number, record.level + 1, inside)
        except Stopped:
            # The reaction has happened, so it is recorded, if without what is inside its products.
            record.products += [self._make(product, record.number) for product in left]
            raise
        finally:
            self._should_stop = None
            record.after = [*kept_texts, *(one.text for one in record.products)]

    def held(self, solution: Solution) -> list[Made]:
        """Return the molecules of a solution, as they are known after the last reaction."""
        return [made for several in self._held.get(id(solution), {}).values() for made in several]

    def note_additions(self) -> None:
        """Number what was put into the solution from outside since the last reaction."""
        self._sync(self.solution, None, 0, {})

    def why(self, molecule: Molecule) -> Made | None:
        """Return what made a molecule, or `None`: one that is there at the end if possible, else the last one made."""
        key = _key(molecule)
        for solution in self._everywhere(self.solution):
            found = self._held.get(id(solution), {}).get(key)
            if found:
                return found[-1]
        same = [made for made in self.molecules if print_molecule(molecule) == made.text]
        return same[-1] if same else None

    def _repr_html_(self) -> str:
        """Show it in a notebook: of many reactions, the first and the last."""
        from solvent.pictures.tables import table

        half, count = _MAX_SHOWN // 2, len(self.records)
        if count <= _MAX_SHOWN:
            rows = [*map(_row, self.records)]
        else:
            more = "…", f"{count - 2 * half:,} more", "", ""
            rows = [*map(_row, self.records[:half]), more, *map(_row, self.records[-half:])]
        state = "inert" if self.solution.inert else "not inert"
        says = f"{state} after {count:,} reaction{'' if count == 1 else 's'}"
        return table(("", "rule", "found", "left"), rows, says=says)

    def _everywhere(self, solution: Solution) -> Iterator[Solution]:
        yield solution
        for molecule in solution:
            for sub in sub_solutions(molecule):
                yield from self._everywhere(sub)

    def _make(self, molecule: Molecule, reaction: int | None, moved: Made | None = None) -> Made:
        made = Made(len(self.molecules) + 1, molecule, reaction, moved)
        self.molecules.append(made)
        return made

    def _rule(self, held: dict[Any, list[Made]], reaction: Reaction) -> Made:
        """Return the rule of a reaction; one that its reaction consumes goes, unless it puts itself back."""
        rule = reaction.rule
        is_consumed = rule.one_shot if rule.node.code is None else rule.node.code.one_shot
        known = held.get(_key(rule), [])
        if not is_consumed or all(type(one.molecule) is Endless for one in known):
            return self._kept(held, rule)
        return self._taken(held, rule, is_endless=False)

    def _taken(self, held: dict[Any, list[Made]], molecule: Molecule, *, is_endless: bool) -> Made:
        known = held.get(_key(molecule), [])
        for made in known:
            if (type(made.molecule) is Endless) is is_endless:
                if not is_endless:
                    known.remove(made)
                return made
        return self._make(molecule, None)

    def _take_rest(self, record: Record, reaction: Reaction, held: dict[Any, list[Made]]) -> list[Made]:
        """Record, and return, what a rest of the whole solution took: what is neither there any more nor a reactant."""
        left = Counter(map(_key, reaction.solution))
        left.subtract(map(_key, reaction.products))
        taken: list[Made] = []
        for key, several in held.items():
            gone = max(0, len(several) - max(0, left[key]))
            taken += several[:gone]
            del several[:gone]
        record.reactants += taken
        record.before = [*record.before, *(self._text(made.molecule) for made in taken)]
        return taken

    def _kept(self, held: dict[Any, list[Made]], molecule: Molecule) -> Made:
        known = held.get(_key(molecule))
        return known[0] if known else self._make(molecule, None)

    def _text(self, molecule: Molecule) -> str:
        """Write a molecule as it was before a reaction took it and perhaps used its solutions up."""
        return print_molecule(self._as_held(molecule)) if sub_solutions(molecule) else print_molecule(molecule)

    def _as_held(self, molecule: Molecule) -> Molecule:
        kind = type(molecule)
        if kind is tuple or kind is List:
            parts = map(self._as_held, molecule)
            return tuple(parts) if kind is tuple else List(parts)
        if not getattr(molecule, "is_solution", False) or id(molecule) not in self._held:
            return molecule
        held = self._held[id(molecule)]
        return type(molecule)(self._as_held(made.molecule) for several in held.values() for made in several)

    def _inside(self, molecules: list[Molecule]) -> _Known:
        """Return the molecules known inside the solutions of reactants."""
        found: _Known = {}
        for molecule in molecules:
            for sub in sub_solutions(molecule):
                for key, several in self._held.get(id(sub), {}).items():
                    found.setdefault(key, deque()).extend(several)
        return found

    @staticmethod
    def _find(inside: _Known, molecule: Molecule) -> Made | None:
        found = inside.get(_key(molecule)) if inside else None
        return found.popleft() if found else None

    def _poll(self) -> None:
        self._synced += 1
        if not self._synced & _POLL_MASK and self._should_stop is not None and self._should_stop():
            raise Stopped

    def _sync(self, solution: Solution, reaction: int | None, level: int, inside: _Known) -> None:
        """Number what is new in a solution, forget what is gone."""
        if id(solution) not in self._held:
            self._seen.append(solution)
        self._levels[id(solution)] = level
        known: _Known = {key: deque(several) for key, several in self._held.get(id(solution), {}).items()}
        now: dict[Any, list[Made]] = {}
        for molecule in solution:
            self._poll()
            key = _key(molecule)
            mine = known.get(key)
            made = mine.popleft() if mine else self._make(molecule, reaction, self._find(inside, molecule))
            now.setdefault(key, []).append(made)
            for sub in sub_solutions(molecule):
                self._places[id(sub)] = _place(self._places.get(id(solution), ""), molecule)
                self._sync(sub, reaction, level + 1, inside)
        self._held[id(solution)] = now


def _row(record: Record) -> tuple[object, ...]:
    return record.number, record.rule, ", ".join(record.before) or "nothing", ", ".join(record.after) or "nothing"


def _place(around: str, molecule: Molecule) -> str:
    """Name a sub-solution by the atoms that stand before it in its tuple."""
    if type(molecule) is not tuple:
        return around
    atoms = ":".join(print_molecule(one) for one in takewhile(lambda part: type(part) in ATOMS, molecule))
    return f"{around} / {atoms}" if around and atoms else around or atoms


def _key(molecule: Molecule) -> Any:
    if type(molecule) is Endless:
        molecule = molecule.molecule
    for sub in sub_solutions(molecule):
        return id(sub)
    return order_key(molecule)
