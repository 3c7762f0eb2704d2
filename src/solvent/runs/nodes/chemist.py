"""The chemical program as one node sees it: what the machine asks, it answers; what the machine reports, it notes.

A chemist knows the molecules of its own node and those of others that it has heard of. Asked what could react
(`Discover`), it first lets its own molecules react among themselves and tells the machine what became of them
(`Rewrite`); only what is left is worth a message, and then it names molecules of its own and of others (`Combination`).
It computes a product only when the machine has captured everything it needs (`React`): functions that a program calls
are never called for a reaction that does not happen.

It acts only in answers. Reports are told before a question is asked and the answer is the machine's next event, so
what a chemist believes to have when it answers is what the machine has.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from solvent.engine.compile import code_of
from solvent.engine.matches import LOOSE, Match
from solvent.engine.reaction import Stopped
from solvent.errors import Misuse
from solvent.hocl.process_settings import deep_stack
from solvent.lang.rule import Rule
from solvent.protocols.capture.vocabulary import (
    Abandoned,
    Arrived,
    Combination,
    Discover,
    Gone,
    MoleculeId,
    Products,
    React,
    Reacted,
    Rewrite,
    RuleId,
)
from solvent.protocols.directory.messages import Seen
from solvent.protocols.nodes.offers import Offer
from solvent.runs.nodes.alone import Alone
from solvent.runs.nodes.items import Item, of_one_holder
from solvent.runs.nodes.settling import Settling
from solvent.runs.nodes.standing import may_take

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from solvent.engine.choice import Chance
    from solvent.lang.molecule import Molecule
    from solvent.protocols.machine import NodeId
    from solvent.runs.nodes.alone import Patient
    from solvent.runs.nodes.shapes import Shapes
    from solvent.runs.nodes.table import Table
    from solvent.runs.nodes.writing import Writing

_REACTIONS_AT_ONCE = 256
_SECONDS_AT_ONCE = 0.01
_MAX_GATHERED = 256
_MAX_PREPARED = 8


class Chemist:
    """One node's part of a program.

    Without `reacts_locally` the node's own molecules react through the machine too. One that `gathers` captures many
    molecules at once where they are in its charge and nobody else wants them. A chemist `at_rest` looks for nothing at
    all: its molecules have reacted to the end, and nobody else has any.
    """

    def __init__(
        self,
        node: NodeId,
        writing: Writing,
        table: Table,
        *,
        shapes: Shapes,
        functions: Patient | None = None,
        chance: Chance | None = None,
        reacts_locally: bool = True,
        gathers: bool = True,
        at_rest: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.node = node
        self.rule = ""
        self._writing = writing
        self._table = table
        self._shapes = shapes
        self._functions = functions
        self._reacts_locally = reacts_locally
        self._gathers = gathers
        self._at_rest = at_rest
        self._should_stop = should_stop
        self._settling = Settling(writing, should_stop)
        self._matches = table.laid(chance=chance)
        self._matches.prepare(_MAX_PREPARED)
        self._reactions = 0
        self._own: dict[MoleculeId, Item] = {}
        self._others: dict[MoleculeId, Item] = {}
        self._engaged: list[Item] = []
        # Molecules that reactions here have made and the machine has not named yet, by their text.
        self._unnamed: dict[str, list[Item]] = {}

    # --- What the machine reports.

    def told(self, outcome: Any) -> None:
        """Hear a report."""
        match outcome:
            case Arrived(molecule, offer):
                self._on_arrived(molecule, offer.value)
            case Gone(molecule):
                self._forget(self._own.pop(molecule, None))
            case Reacted():
                self._on_reacted(outcome)
            case Abandoned():
                self._let_go()
            case Seen():
                self._on_seen(outcome)

    def _on_arrived(self, number: MoleculeId, text: str) -> None:
        if number in self._own:
            return
        before = self._others.pop(number, None)
        self._forget(before)
        waiting = self._unnamed.get(text)
        if waiting:
            item = waiting.pop()
            if not waiting:
                del self._unnamed[text]
            item.number = number
        else:
            molecule = self._settling.read(text) if before is None or before.text != text else before.molecule
            item = Item(number, self.node, molecule, text)
        self._own[number] = item
        self._have(item)

    def _on_reacted(self, reacted: Reacted) -> None:
        self._reactions += 1
        self.rule = self._table.title(reacted.rule)
        for number in reacted.consumed:
            for known in (self._own, self._others):
                self._forget(known.pop(number, None))
        self._let_go()
        for number, offer in reacted.produced:
            self._on_arrived(number, offer.value)

    def _let_go(self, spare: list[Item] | None = None) -> None:
        """Let what was part of an attempt, and is still there, react again; all of it, or all but some."""
        engaged, self._engaged = self._engaged, spare or []
        spared = set(map(id, self._engaged))
        for item in engaged:
            if id(item) in spared:
                continue
            item.is_engaged = False
            known = self._own if item.holder == self.node else self._others
            if item.number is not None and known.get(item.number) is item:
                self._have(item)

    def _on_seen(self, seen: Seen) -> None:
        for number, holder in seen.removed:
            item = self._others.get(number)
            if item is not None and item.holder == holder:
                del self._others[number]
                self._forget(item)
        for entry in seen.added:
            number = entry.molecule
            if entry.holder == self.node or number in self._own:
                continue
            known = self._others.get(number)
            if known is None:
                item = self._others[number] = Item(number, entry.holder, self._settling.read(entry.value), entry.value)
                item.is_charge = entry.shape in self._shapes.homes
                self._have(item)
            else:
                # It went from one holder to another.
                known.holder = entry.holder

    def _have(self, item: Item | None) -> None:
        if item is not None and item.held is None and not item.is_engaged and not self._at_rest:
            if type(item.molecule) is Rule:
                self._check(item.molecule)
            is_own = item.holder == self.node
            item.held = self._matches.add(item.molecule, item, is_own=is_own, is_charge=item.is_charge and not is_own)

    def _check(self, rule: Rule) -> None:
        """Refuse a rule that nobody could foresee: only a function can have made it."""
        code = code_of(rule.node)
        is_foreseen = not code.is_late and self._shapes.are_heard(rule.node)
        if not is_foreseen or any(may_take(code, one) for one in self._table.rules):
            message = f"a function has made the rule `{code.title}`, which no rule of the program makes"
            raise Misuse("H341", message, hint="over nodes, a program must know its rules: run it without --nodes")

    def _forget(self, item: Item | None) -> None:
        if item is not None and item.held is not None:
            self._matches.remove(item.held)
            item.held = None

    # --- What the machine asks.

    def begin(self, molecules: Iterable[Molecule]) -> Rewrite:
        """Give the molecules that this node begins with; the solutions inside them are at rest from now on."""
        items = []
        with deep_stack():
            for molecule in molecules:
                self._settling.settle(molecule)
                items.append(Item(None, self.node, molecule, ""))
            return self._rewrite((), items)

    def answer(self, question: Any) -> Any:
        """Answer a question; an awaitable where a product waits for an external call."""
        match question:
            case Discover(rule):
                return self._discover(rule)
            case React(rule, molecules):
                return self._react(rule, molecules)
        raise Misuse("H330", f"nobody here can answer `{type(question).__name__}`")

    def _discover(self, rule: RuleId) -> Rewrite | Combination:
        with deep_stack():
            if self._reacts_locally:
                found = self._react_here()
                if found is not None:
                    return found
            # What needs nobody else comes first.
            match = None if self._reacts_locally else self._matches.find_own()
            match = match or self._matches.find()
            if match is None:
                return Combination(rule, ())
            items = self._engage(match)
            if any(item.is_charge for item in items):
                return self._home(match, items)
        return self._combination(self._table.loose if match.number == LOOSE else match.number, items)

    def _home(self, match: Match, items: list[Item]) -> Combination:
        """Ask for what is in this node's charge, with what else can be gathered.

        Who has no part of a combination may not ask several holders for it. So what is nobody's here comes from one
        of them first, and lives here from then on.
        """
        if self._gathers and not match.is_async:
            items = items + self._gathered(len(items))
        if all(item.holder != self.node for item in items):
            few = of_one_holder(items)
            self._let_go(spare=few)
            return self._combination(self._table.many, few)
        return self._combination(self._table.many if self._gathers and not match.is_async else match.number, items)

    def _engage(self, match: Match) -> list[Item]:
        """Take what a reaction needs; until it has succeeded or failed, that takes part in nothing else."""
        items: list[Item] = [held.name for held in match.reactants]
        for item in items:
            self._forget(item)
            item.is_engaged = True
        self._engaged += items
        return items

    def _gathered(self, count: int) -> list[Item]:
        """Take what further reactions need whose molecules are in this node's charge: nobody else asks for them."""
        found: list[Item] = []
        while count + len(found) < _MAX_GATHERED:
            match = self._matches.find()
            if match is None or match.is_async or not any(held.is_charge for held in match.reactants):
                break
            found += self._engage(match)
        return found

    def _combination(self, number: int, items: list[Item]) -> Combination:
        places = tuple((MoleculeId(item.number or 0), item.holder) for item in items)
        return Combination(RuleId(number), places, tuple(self._offer(item.molecule, item.text) for item in items))

    def _offer(self, molecule: Molecule, text: str) -> Offer:
        """Give a molecule as the machine knows it: its text, and how others find it."""
        listing = self._shapes.listing(molecule, text)
        return Offer(text) if listing is None else Offer(text, *listing)

    # --- Reactions among this node's own molecules.

    def _react_here(self) -> Rewrite | Combination | None:
        """Let own molecules react for a short while; what waits for a call goes the way of captured ones."""
        removed: list[MoleculeId] = []
        made: dict[Item, None] = {}
        until = time.monotonic() + _SECONDS_AT_ONCE
        for count in range(_REACTIONS_AT_ONCE):
            match = self._matches.find_own()
            if match is None or (match.is_async and (made or removed)):
                break
            if match.is_async:
                number = self._table.loose if match.number == LOOSE else match.number
                return self._combination(number, self._engage(match))
            if count and time.monotonic() > until:
                break
            self._react_by(match, removed, made)
        if not removed and not made:
            return None
        return self._rewrite(removed, made)

    def _rewrite(self, removed: Iterable[MoleculeId], made: Iterable[Item]) -> Rewrite:
        offers = []
        for item in made:
            item.text = self._writing.write(item.molecule)
            self._unnamed.setdefault(item.text, []).append(item)
            offers.append(self._offer(item.molecule, item.text))
        return Rewrite(tuple(removed), tuple(offers))

    def _react_by(self, match: Match, removed: list[MoleculeId], made: dict[Item, None]) -> None:
        if self._should_stop is not None and self._should_stop():
            raise Stopped
        products = match.react()
        for product in products:
            self._settling.settle(product)
        for held in match.consumed:
            item: Item = held.name
            self._forget(item)
            if item.number is None:
                del made[item]
            else:
                del self._own[item.number]
                removed.append(item.number)
        for product in products:
            item = Item(None, self.node, product, "")
            self._have(item)
            made[item] = None
        self._reactions += 1
        self.rule = match.entry.code.title

    # --- Reactions among molecules that were captured.

    def _react(self, rule: RuleId, molecules: tuple[tuple[MoleculeId, Any], ...]) -> Any:
        """Make exactly one reaction, of exactly these molecules; or many, of those that were gathered."""
        if rule == self._table.many:
            return self._react_many(molecules)
        with deep_stack():
            match, left = self._table.react(rule, [self._settling.read(offer.value) for _, offer in molecules])
            kept = [molecules[at][1] for at in left]
            products = match.react()
            return self._react_later(match, products, kept) if match.is_async else self._products(products, kept)

    def _react_many(self, molecules: tuple[tuple[MoleculeId, Any], ...]) -> Products:
        """Let what was gathered react for a short while, as in a solution of its own."""
        until = time.monotonic() + _SECONDS_AT_ONCE
        own = [self._settling.read(offer.value) for _, offer in molecules]
        alone = Alone(self._table.shared, own, functions=self._functions, should_stop=self._should_stop)
        alone.react_until(until)
        # The machine counts one of them.
        self._reactions += alone.reactions - 1
        return self._products(alone.left(), [])

    async def _react_later(self, match: Match, call: Coroutine[Any, Any, Any], kept: list[Offer]) -> Products:
        try:
            products = await call
        except Exception as error:
            raise match.failure(error) from error
        with deep_stack():
            return self._products(products, kept)

    def _products(self, products: list[Molecule], kept: list[Offer]) -> Products:
        made = [Item(None, self.node, product, "") for product in products]
        for product in products:
            self._settling.settle(product)
        return Products((*kept, *self._rewrite((), made).added))

    # --- For those who look on.

    @property
    def reactions(self) -> int:
        """How many reactions it has made."""
        return self._reactions + self._settling.reactions

    @property
    def is_curious(self) -> bool:
        """Whether there is something it has not tried yet."""
        return self._matches.has_untried

    def texts(self) -> list[str]:
        """Give the molecules of this node as text."""
        return [item.text for item in self._own.values()]

    def __len__(self) -> int:
        return len(self._own)

    @property
    def known_count(self) -> int:
        """How many molecules of others it has heard of."""
        return len(self._others)


__all__ = ["Chemist"]
