"""What watches the reactions of a run and writes down which molecules come and go.

A molecule that holds a solution is known by that solution, which changes inside; where a reaction takes it apart and
puts it together again, it is still the same to people, so it is known by what stands before its solution, too. Only
what is there now is in memory: what has gone is in the file.
"""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from solvent.engine.compile import code_of
from solvent.errors import LimitReached
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, order_key, sub_solutions
from solvent.lang.printer import TreePrinter, print_molecule, short_rule
from solvent.lang.rule import Rule
from solvent.runs.replay_index import sheet
from solvent.runs.replay_index.sheet import FOREVER, MAX_TEXT, ROOT, Kind, Role
from solvent.workflows.forms import task_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from solvent.engine.reaction import Flight, Reaction
    from solvent.lang.solution import Solution
    from solvent.runs.replay_index.sheet import Sheet


class Out:
    """Stands in a solution for a call that is out."""

    def order_key(self) -> tuple[Any, ...]:
        """Be like no molecule, and no other call."""
        return (9, id(self))


def described(molecule: Molecule, solutions: list[int]) -> tuple[int, str, str | None]:
    """Give the kind of a molecule, its text, and, if it holds solutions, the parts of that with their numbers."""
    if type(molecule) is Out:
        return Kind.FLAT, "a call is out", None
    if solutions:
        pieces: list[str | int] = []
        _pieces(molecule, iter(solutions), pieces)
        text = "".join(piece if isinstance(piece, str) else "<…>" for piece in pieces)
        return Kind.NESTED, text, json.dumps(pieces, ensure_ascii=False)
    is_rule = type(molecule) is Rule or (type(molecule) is Endless and type(molecule.molecule) is Rule)
    return Kind.RULE if is_rule else Kind.FLAT, print_molecule(molecule), None


def _pieces(molecule: Molecule, solutions: Iterator[int], found: list[str | int]) -> None:
    """Write a molecule, with numbers in the place of its solutions."""

    def say(text: str) -> None:
        if found and isinstance(found[-1], str):
            found[-1] += text
        else:
            found.append(text)

    if type(molecule) is Endless:
        _pieces(molecule.molecule, solutions, found)
        say("^inf")
    elif type(molecule) is tuple or type(molecule) is List:
        is_tuple = type(molecule) is tuple
        if not is_tuple:
            say("list(" if len(molecule) == 1 else "(")
        for at, part in enumerate(molecule):
            if at:
                say(":" if is_tuple else ", ")
            if is_tuple and type(part) is tuple:
                say("(")
                _pieces(part, solutions, found)
                say(")")
            else:
                _pieces(part, solutions, found)
        if not is_tuple:
            say(")")
    elif getattr(molecule, "is_solution", False):
        found.append(next(solutions))
    else:
        say(print_molecule(molecule))


MAX_ROWS = 20_000_000


class _Shown:
    """A molecule that is there."""

    __slots__ = ("born", "id", "is_opened", "made", "molecule", "pool", "subs")

    def __init__(self, number: int, molecule: Molecule, pool: _Pool, born: int, made: int | None) -> None:
        self.id = number
        self.molecule = molecule
        self.pool = pool
        self.born = born
        self.made = made
        #: Whether it stands for a sub-workflow, whose solution is in no other one.
        self.is_opened = False
        #: Its solutions, as they are numbered in the film.
        self.subs: list[_Pool] = []


class _Pool:
    """A solution, and what is in it."""

    __slots__ = ("endless", "holder", "id", "members", "names", "solution", "task")

    def __init__(self, number: int, solution: Solution, holder: int, task: str) -> None:
        self.id = number
        self.solution = solution
        self.holder = holder
        #: The task that it is part of.
        self.task = task
        #: Of the solution of a workflow: its tasks, by their molecules.
        self.names: Mapping[Molecule, str] | None = None
        self.members: dict[Any, list[_Shown]] = {}
        #: Those of which there are endlessly many.
        self.endless: dict[Any, _Shown] = {}


class Film:
    """Watches one solution; given to a reactor as its `observe`."""

    wants_texts = False

    def __init__(self, file: Sheet) -> None:
        self.number = 0
        #: When what happens was noted, in seconds since 1970.
        self.at = 0.0
        self._file = file
        self._ids = self._pool_ids = 0
        self._pools: dict[int, _Pool] = {}
        #: Calls that are out, by the list of what they took.
        self._out: dict[int, tuple[Flight, _Shown]] = {}
        self._rules: set[str] = set()

    def begin(self, solution: Solution, names: Mapping[Molecule, str]) -> None:
        """Show a solution as it is before the first reaction; `names` are the tasks by their molecules."""
        root = self._pool(solution, 0, "")
        root.names = names
        self._add(root, solution, None)

    def opened(self, around: Solution, what: Molecule, solution: Solution, names: Mapping[Molecule, str]) -> bool:
        """Show the solution of a sub-workflow as one molecule beside the task that calls it, from now on."""
        self._next(None, "opened", around)
        one = self._make(self._pool_of(around), (what, solution), self.number, names)
        one.is_opened = True
        self._part(Role.MADE, one)
        return True

    def finish(self, **about: Any) -> None:
        """Write what is still there."""
        for pool in self._pools.values():
            for several in pool.members.values():
                for one in several:
                    self._write(one, FOREVER)
        self._file.finish(reactions=self.number, **about)

    # --- What happens.

    def __call__(self, reaction: Reaction) -> None:
        """Take a reaction."""
        self._next(reaction.rule, "answer" if id(reaction.reactants) in self._out else "reaction", reaction.solution)
        pool = self._pool_of(reaction.solution)
        out = self._out.pop(id(reaction.reactants), None)
        rules = [reaction.rule] if reaction.rule.one_shot else []
        taken = self._taken(pool, [*reaction.reactants, *rules], reaction.products) if out is None else [out[1]]
        for one in reaction.kept:
            known = pool.members.get(_key(one))
            if known:
                self._part(Role.KEPT, known[0])
        self._replace(pool, taken, reaction.products)
        if code_of(reaction.rule.node).is_late:
            # It took the rest of its own solution, which is not among its reactants.
            self._sync(pool)

    def called(self, flight: Flight) -> None:
        """Take a call that goes out: what it was made of is gone, and what comes of it not there yet."""
        rule, pool = flight.entry.rule, self._pool_of(flight.solution)
        self._next(rule, "call", flight.solution)
        taken = self._taken(pool, [*flight.reactants, *([rule] if flight.entry.one_shot else [])])
        for one in taken:
            self._touch(one)
            self._take(one)
        waits = self._make(pool, Out(), self.number)
        self._part(Role.MADE, waits)
        self._out[id(flight.reactants)] = flight, waits

    def outside(self, solution: Solution) -> None:
        """Take what somebody has put into the solution."""
        pool = self._pools.get(id(solution))
        if pool is None or pool.id != ROOT or not solution.fresh:
            return
        new = [one for one in solution.fresh if _key(one) not in pool.members]
        if new:
            self._next(None, "came", solution)
            for one in self._add(pool, new, None):
                self._part(Role.MADE, one)

    def _next(self, rule: Rule | None, what: str, solution: Solution) -> None:
        self.number += 1
        if self._file.rows > MAX_ROWS:
            raise LimitReached("H501", f"the film ends after {self.number - 1:,} reactions: it is too long")
        name = "" if rule is None else short_rule(rule)
        if rule is not None and name not in self._rules:
            self._rules.add(name)
            self._file.write("rule", name[:MAX_TEXT], TreePrinter().rule(rule.node))
        pool = self._pool_of(solution)
        self._file.write("reaction", self.number, name[:MAX_TEXT], what, pool.id, self.at)
        if pool.task:
            self._file.write("touched", pool.task, self.number)

    def _replace(self, pool: _Pool, gone: list[_Shown], come: Iterable[Molecule]) -> None:
        """Let molecules go, and others come; those that hold solutions stay, changed, where that is what happened."""
        pairs = _paired(gone, come)
        stays = {id(one) for one, _ in pairs if one is not None}
        for one in gone:
            if id(one) not in stays:
                self._take(one)
        for same, now in pairs:
            if same is None:
                self._part(Role.MADE, self._make(pool, now, self.number))
            else:
                self._part(Role.CHANGED, same)
                self._change(same, now)

    def _change(self, one: _Shown, now: Molecule) -> None:
        """Let a molecule be what it has become, and look into its solutions."""
        self._touch(one)
        self._forget(one)
        one.molecule = now
        one.pool.members.setdefault(_key(now), []).append(one)
        for sub, solution in zip(one.subs, sub_solutions(now), strict=True):
            self._unpool(sub)
            sub.solution = solution
            self._pools[id(solution)] = sub
            self._sync(sub)

    def _sync(self, pool: _Pool) -> None:
        """See what has come into a solution, and what has gone."""
        left = {key: [one for one in several if not one.is_opened] for key, several in pool.members.items()}
        new: list[Molecule] = []
        for molecule in pool.solution:
            same = left.get(_key(molecule))
            if not same:
                new.append(molecule)
                continue
            one = same.pop()
            for sub in one.subs:
                self._sync(sub)
        gone = [one for several in left.values() for one in several]
        self._replace(pool, gone, new)
        for one in gone:
            if type(one.molecule) is Endless:
                # What took it has taken all that there was.
                self._gone(one)

    # --- Molecules.

    def _add(self, pool: _Pool, molecules: Iterable[Molecule], made: int | None) -> list[_Shown]:
        return [self._make(pool, one, made) for one in molecules]

    def _make(
        self, pool: _Pool, molecule: Molecule, made: int | None, names: Mapping[Molecule, str] | None = None
    ) -> _Shown:
        self._ids += 1
        one = _Shown(self._ids, molecule, pool, self.number, made)
        pool.members.setdefault(_key(molecule), []).append(one)
        if type(molecule) is Endless:
            pool.endless[_key(molecule)] = one
        task = pool.task or self._task_of(molecule, pool)
        for solution in sub_solutions(molecule):
            sub = self._pool(solution, one.id, "" if names is not None else task)
            sub.names = names
            one.subs.append(sub)
            self._add(sub, solution, made)
        if made is not None and pool.names is not None:
            self._touch(one)
        return one

    def _taken(self, pool: _Pool, molecules: list[Molecule], products: Iterable[Molecule] = ()) -> list[_Shown]:
        """Find the molecules that a reaction took."""
        found: list[_Shown] = []
        for molecule in molecules:
            key = _key(molecule)
            known, endless = pool.members.get(key, []), pool.endless.get(key)
            one = next((one for one in known if one not in found), endless)
            if one is not None and endless is not None:
                # Of an equal one there are endlessly many: only what is left tells which of them it took.
                plain = [each for each in known if each is not endless and each not in found]
                one = plain[0] if len(plain) + _count(key, products) > _count(key, pool.solution) else endless
            # What is not known was put in from outside, and not seen before.
            found.append(one if one is not None else self._make(pool, molecule, None))
        return found

    def _take(self, one: _Shown) -> None:
        """Let a reaction take a molecule; of an endless one there is always more."""
        self._part(Role.TAKEN, one)
        if type(one.molecule) is not Endless:
            self._gone(one)

    def _gone(self, one: _Shown) -> None:
        """Let a molecule go, with all that is in it."""
        for sub in one.subs:
            for several in list(sub.members.values()):
                for inner in list(several):
                    self._gone(inner)
            self._unpool(sub)
        self._forget(one)
        self._write(one, self.number)

    @staticmethod
    def _forget(one: _Shown) -> None:
        key, members = _key(one.molecule), one.pool.members
        if one.pool.endless.get(key) is one:
            del one.pool.endless[key]
        several = members.get(key, [])
        if one in several:
            several.remove(one)
            if not several:
                del members[key]

    # --- Solutions.

    def _pool(self, solution: Solution, holder: int, task: str) -> _Pool:
        self._pool_ids += 1
        pool = _Pool(self._pool_ids, solution, holder, task)
        self._pools[id(solution)] = pool
        self._file.write("solution", pool.id, holder)
        return pool

    def _pool_of(self, solution: Solution) -> _Pool:
        found = self._pools.get(id(solution))
        return found if found is not None else self._pool(solution, 0, "")

    def _unpool(self, pool: _Pool) -> None:
        """Know a solution no longer by what it was; it may be another one's by now."""
        if self._pools.get(id(pool.solution)) is pool:
            del self._pools[id(pool.solution)]

    # --- The file.

    @staticmethod
    def _task_of(molecule: Molecule, pool: _Pool) -> str:
        """Give the task that a molecule of the solution of a workflow belongs to."""
        names = pool.names
        if type(molecule) is not tuple or names is None:
            return ""
        return next((names[one] for one in molecule if type(one) in ATOMS and one in names), "")

    def _touch(self, one: _Shown) -> None:
        task = one.pool.task or self._task_of(one.molecule, one.pool)
        if task and (one.subs or task_of(one.molecule) is not None):
            self._file.write("touched", task, self.number)

    def _part(self, role: int, *several: _Shown) -> None:
        for one in several:
            self._file.write("part", self.number, role, one.id)

    def _write(self, one: _Shown, died: int) -> None:
        kind, text, parts = described(one.molecule, [sub.id for sub in one.subs])
        row = sheet.Molecule(one.id, one.pool.id, kind, text[:MAX_TEXT], parts, one.born, died, one.made, len(text))
        self._file.write("molecule", *row)


def _key(molecule: Molecule) -> Any:
    if type(molecule) is Endless:
        molecule = molecule.molecule
    for sub in sub_solutions(molecule):
        # A reaction may give the solution of one molecule to another.
        return id(sub), _head(molecule)
    return order_key(molecule)


def _count(key: Any, molecules: Iterable[Molecule]) -> int:
    """Count the molecules of a key that are not endless."""
    return sum(type(one) is not Endless and _key(one) == key for one in molecules)


def _head(molecule: Molecule) -> Any:
    """Give what people know a molecule by that holds solutions: the atoms before them, and how many there are."""
    subs = len(list(sub_solutions(molecule)))
    if type(molecule) is not tuple:
        return (subs,)
    return subs, *(order_key(one) for one in takewhile(lambda part: type(part) in ATOMS, molecule))


def _shape(molecule: Molecule) -> str:
    """Give the text of a molecule but for its solutions."""
    return described(molecule, list(range(len(list(sub_solutions(molecule))))))[1]


def _paired(gone: list[_Shown], come: Iterable[Molecule]) -> list[tuple[_Shown | None, Molecule]]:
    """Find, for what has come and holds solutions, which one that has gone it was: by its solution, or by its head."""
    left = [one for one in gone if one.subs]
    found: list[tuple[_Shown | None, Molecule]] = []
    for molecule in come:
        if not left or not sub_solutions(molecule):
            found.append((None, molecule))
            continue
        key, head, shape = _key(molecule), _head(molecule), _shape(molecule)
        alike = [one for one in left if _shape(one.molecule) == shape]
        same = next((one for one in alike if _key(one.molecule) == key), None)
        if same is None and len(head) > 1:
            same = next((one for one in alike if _head(one.molecule) == head), None)
        if same is not None:
            left.remove(same)
        found.append((same, molecule))
    return found


__all__ = ["Film"]
