"""Whole rows of molecules at once, for rules that take two molecules of one shape.

Most reactions of a program like `replace x::int, y::int by x if x >= y` are between plain values that no other rule
looks at. Trying them one by one through the store would cost more than comparing them. A sweep takes such molecules
out of the queue, holds one of them against all the others in a tight loop, lets it react on the way, and goes on
with the next until no two are left that react. Only then do the survivors settle.

The loop, for a molecule in hand `a` and every other `b`, in both roles:

- nothing reacts: `b` is kept for the next round;
- `b` is taken and `a` is not: go on;
- `a` is taken and `b` is not: `b` is in hand from now on;
- both are taken: the products of the same shape take their places, other products go to the solution.

Whenever another molecule comes to hand, those kept so far have not met it: they are gone through again before the
round ends. A molecule that has met all others and all settled ones settles. Where the two patterns share a variable,
only molecules with equal values there can react, and each such group is swept by itself.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from solvent.engine.sweep_code import SweepCode, sweep_code
from solvent.lang.molecule import ATOMS

if TYPE_CHECKING:
    from solvent.engine.compile import RuleCode
    from solvent.engine.index import Store
    from solvent.engine.reaction import Reacting
    from solvent.lang.molecule import Molecule
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution

MIN_SIZE = 24
_SETTLED_SHARE = 4


def sweep(
    reactor: Reacting, solution: Solution, store: Store, fresh: list[Molecule], kinds: frozenset[type]
) -> list[Molecule]:
    """React what can be swept among fresh molecules, settle the survivors, and give the molecules not dealt with."""
    if len(fresh) < MIN_SIZE or not store.rules or store.has_endless or reactor.max_reactions is not None:
        return fresh
    for kind in kinds & _SWEPT:
        if kind is tuple:
            sizes = set(map(len, [one for one in fresh if type(one) is tuple] if len(kinds) > 1 else fresh))
            for size in sizes:
                fresh = _sweep_shape(reactor, solution, store, fresh, size, alone=len(kinds) == len(sizes) == 1)
        else:
            fresh = _sweep_shape(reactor, solution, store, fresh, kind, alone=len(kinds) == 1)
    return fresh


_SWEPT = frozenset({int, float, str, tuple})


def _sweep_shape(
    reactor: Reacting, solution: Solution, store: Store, fresh: list[Molecule], shape: Any, *, alone: bool
) -> list[Molecule]:
    rule = store.only_reader(shape)
    if rule is None or (type(shape) is int and len(store.tuple_rows(shape)) > 1):
        return fresh
    # What else the rule would look at must not be there: it would not meet what is swept.
    others = {key for key in store.keys_of(rule) if key != shape}
    if others and (any(map(store.has_shape, others)) or not (alone or others.isdisjoint(map(type, fresh)))):
        return fresh
    # The sweep empties the list it works on; the caller's must stay whole until it is known that there is one.
    mine = fresh if alone else [one for one in fresh if _shape(one) == shape]
    row = store.row(shape)
    if len(mine) < max(MIN_SIZE, len(row) // _SETTLED_SHARE):
        return fresh
    settled = [cell.molecule for cell in row if cell.alive]
    code = _code(rule, shape, mine + settled if settled else mine)
    if code is None:
        return fresh
    if settled:
        store.clear(shape)
    out: list[Molecule] = []
    swept: list[Molecule] = []
    groups = _groups(code, mine, settled)
    if alone:
        fresh = []
    reactor.reactions += _sweep_groups(reactor, rule, code, groups, swept, out)
    solution.fresh += out
    # What a broken-off sweep has not finished with is fresh again.
    if any(groups):
        reactor.is_stopping = True
        solution.fresh += [one for group, _ in groups for one in group]
        swept += [one for _, rest in groups for one in rest]
    store.add_all(swept)
    return [one for one in fresh if _shape(one) != shape]


def _sweep_groups(  # noqa: PLR0917 - what it fills comes last
    reactor: Reacting, rule: Rule, code: SweepCode, groups: list[Any], swept: list[Molecule], out: list[Molecule]
) -> int:
    """Sweep every group; those not reached when the run is asked to stop stay in the list."""
    sweep_group = code.bind(rule)
    reactions = 0
    while groups:
        todo, settled = groups.pop()
        if len(todo) + len(settled) == 1:
            swept += todo
            swept += settled
            continue
        reactions += sweep_group(todo, settled, out, reactor.should_stop)
        swept += settled
        if todo:
            groups.append((todo, []))
            break
    return reactions


def _groups(code: SweepCode, mine: list[Molecule], settled: list[Molecule]) -> list[Any]:
    if code.key is None:
        return [(mine, settled)]
    groups: dict[Any, Any] = {}
    key_of = code.key
    for one in mine:
        key = key_of(one)
        group = groups.get(key)
        if group is None:
            groups[key] = ([one], [])
        else:
            group[0].append(one)
    for one in settled:
        groups.setdefault(key_of(one), ([], []))[1].append(one)
    return list(groups.values())


def _code(rule: Rule, shape: Any, molecules: list[Molecule]) -> SweepCode | None:
    """Return the loop for a rule and the types its molecules have, or None where it must not be used."""
    code: RuleCode = rule.node.code
    if code.cannot_sweep:
        return None
    if type(shape) is int:
        kinds: list[type] = []
        for at in range(shape):
            found = set(map(type, map(itemgetter(at), molecules)))
            if len(found) != 1 or not found <= ATOMS:
                return None
            kinds += found
    else:
        kinds = [shape]
    return sweep_code(code.plan, code.sweeps, tuple(kinds), is_tuple=type(shape) is int)


def _shape(molecule: Molecule) -> Any:
    return len(molecule) if type(molecule) is tuple else type(molecule)
