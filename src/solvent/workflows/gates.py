"""A controlled workflow as molecules: gates that join, instances that call and pass on.

Which rules come along depends on which words are used, so that a small workflow stays one that can be read.

A task may wait for a signal, for its part of an offer, for locks and for milestones, and must get all of it at once: a
lock that is held while a signal is awaited would keep others out. So there is one rule for each combination that a
workflow uses. Its text is put together here from one piece for each thing that is waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from solvent.lang.molecule import List, Molecule, Symbol, copied
from solvent.lang.solution import Solution
from solvent.workflows.model import Arrived, Control, Many, Route, Signalled, test_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from solvent.workflows.forms import Forms
    from solvent.workflows.libraries import Library
    from solvent.workflows.model import Alternative, Argument, Task, Workflow
    from solvent.workflows.paths import Arc


# Which rules of `rules/patterns.hocl` and `rules/instances.hocl` a word of control flow needs.
_RULES_BASE = ("preparePass", "passInfo", "passOver")
_RULES_SYNC = ("synchronize", "sync_setFlag")
_RULES_SYNC_SKIP = ("sync_skip", "sync_dead")
_RULES_MERGE_SKIP = ("mm_setFlag", "mm_back", "mm_skip", "mm_skip_back", "mm_reset", "mm_dead")
_RULES_FIRST = ("discriminate", "discr_setFlag", "discr_ignore", "discr_reset")
_RULES_FIRST_CANCEL = (
    "discriminate", "discr_cancel", "discr_cancel_next", "discr_heard", "discr_cancel_last", "discr_cancelled",
    "passInfoCancel",
)  # fmt: skip
_RULES_FIRST_OPEN = ("discr_cancelled_open", "discr_ignore", "discr_open_reset")
_RULES_FIRST_SKIP = ("discr_skip", "discr_dead")
_RULES_FIRST_NONE = ("discr_skip", "discr_none")
_RULES_ROUND = ("preparePassHead", "preparePassNext", "prepareSkipHead", "prepareSkipNext", "passSkipRound",
         "passSkippedRound", "round_relay", "round_first", "discr_setFlag", "round_ignore", "round_skip",
         "round_reset")  # fmt: skip
_RULES_ROUND_HEAD = ("round_merge_dead", "round_sync_dead")
_RULES_ACTIVE = ("syncMerge", "syncMg_skip", "syncMg_setFlag", "syncMg_dead")
_RULES_SHUT = ("shutGate", "stopServ")
_RULES_SHUT_DATED = ("shutGateDated", "stopServDated")
_RULES_ASK = ("nextCancel", "passInfoCancel")
_RULES_ASK_DATED = ("nextCancelDated", "passInfoCancelDated")
_RULES_CHOICE = ("passInfoCond", "passNowhere", "prepareSkip")
_RULES_VOID = ("withdraw", "withdrawn", "withdrawOver", "withdrawFlag", "withdrawPass", "withdrawSkip", "passSkip",
        "passSkipDated", "passSkipped")  # fmt: skip
_RULES_MANY = ("mi_next", "mi_last", "mi_withdraw_part", "mi_withdraw_spread")
_RULES_COLLECT = ("mi_result", "mi_all", "mi_void", "mi_void_got", "mi_withdraw")


class Needs(NamedTuple):
    """What a task waits for when its tokens are there."""

    signal: bool = False
    offer: bool = False
    locks: int = 0
    during: bool = False
    shuts: bool = False
    """Somebody may shut its gate."""
    is_many: bool = False
    grows: bool = False
    apart: bool = False
    every: bool = False
    """It starts once for each signal: it has no sources, whose tokens would start it."""

    @property
    def is_waiting(self) -> bool:
        """Whether anything but the tokens is waited for."""
        return bool(self.signal or self.offer or self.locks or self.during)

    @property
    def is_named(self) -> bool:
        """Whether its gate names the rule that starts it."""
        return self.is_waiting or self.is_many or self.shuts

    @property
    def wants(self) -> bool:
        """Whether it wants something that others may want too."""
        return bool(self.offer or self.locks or self.during)

    @property
    def rest(self) -> str:
        """What the gate holds while it can start."""
        return "IDLE" if self.is_waiting else "SEVERAL" if self.is_many or self.shuts else "FREE"

    @property
    def name(self) -> str:
        """The rule's name."""
        words = [f"{word}{number if number > 1 else ''}" for word, number in zip(_WORDS, self, strict=True) if number]
        return "_".join(["start", *words])


def starts_for_each_signal(control: Control, sources: Collection[str]) -> bool:
    """Return whether a task starts as often as its signal comes: nothing else starts it."""
    return control.signal is not None and not sources


_WORDS = ("signal", "offer", "locked", "during", "shut", "many", "growing", "apart", "every")


def start_rule(needs: Needs) -> str:
    """Return the text of the rule that starts a task."""
    gate: list[str] = []
    taken: list[str] = []
    given: list[str] = []
    tokens = "i"
    if needs.signal:
        gate.append("SIGNALLED")
        taken.append("SIGNAL : tj : v")
        tokens = "SIGNAL : 0 : v, i"
    if needs.offer:
        gate.append("OFFERED : o : <{x}> : <{y}>")
        taken.append("OFFER : o")
        given += ["RIVALS : o : <x>", "SKIPPED : <y>"]
    if needs.locks:
        names = [f"l{number}" for number in range(needs.locks)]
        gate.append(f"TAKES : {' : '.join(names)}")
        taken += [f"LOCK : {name}" for name in names]
    if needs.during:
        # It is still there if the task that ends it has not been started again.
        gate.append("DURING : a : tc")
        taken += ["REACHED : a : q", "GATE : tc : <RUNS : q, ?u>"]
        given += ["REACHED : a : q", "GATE : tc : <RUNS : q, u>"]
    if needs.is_many:
        _spread(needs, gate, given, tokens)
    else:
        given.append(f"tj : <SRC : <>, IN : <{tokens}>, FROM : f, RUN : k, m>")
    if needs.wants:
        # What is wanted leads to who wants it: among many gates nobody looks for one.
        wanted = "l0" if needs.locks else "o" if needs.offer else "a"
        gate.append(f"WANTS : {wanted}")
        taken.append(f"WANT : {wanted} : tj")
        if needs.every:
            given.append(f"WANT : {wanted} : tj")
    if needs.every:
        gate.append("EVERY")
    if needs.shuts:
        gate.append("READY")
    if needs.is_named:
        # One that waits for more is not started by a rule for less.
        gate.append(f'BY : "{needs.name}"')
    kept = ", ".join([*gate, "COPY : <{m}>", "FROM : f"])
    if needs.is_waiting:
        reactants = [f"GATE : tj : <ARMED : <?i>, {kept}, RUNS : k::int, ?w>", *taken]
    else:
        reactants = ["FLAG_INVOKE : tj : f : <?i>", f"GATE : tj : <{needs.rest}, {kept}, RUNS : k::int, ?w>", *taken]
    rest = "ARMED : <i>" if needs.every else needs.rest
    product = f"GATE : tj : <{rest}, {kept}, RUNS : (k + 1), w>"
    pattern = ", ".join(reactants)
    products = ", ".join([product, *given])
    for rest_name in "mxyz":
        pattern = pattern.replace(f"{{{rest_name}}}", f"?{rest_name}")
        products = products.replace(f"{{{rest_name}}}", rest_name)
    products = products.replace("CASES : n::int", "CASES : (n + 1)")
    return f"let {needs.name} =\n  replace {pattern}\n  by {products} in\n<{needs.name}>\n"


def _spread(needs: Needs, gate: list[str], given: list[str], tokens: str) -> None:
    """Add what starts many instances, and gathers what they answer."""
    gate.append("MANY : s : b")
    given.append(f"SPREAD : tj : k : f : 0 : parts(s, b, {tokens}) : <m>")
    if needs.apart:
        return
    gate += ["COLLECTS : <{z}>", "CASES : n::int"]
    left = f"LEFT : count(parts(s, b, {tokens})), OUT : <>, FROM : f"
    if needs.grows:
        gate.append("MORE : g")
        left += f", GROWS : g : whole(s, b, {tokens}) : count(parts(s, b, {tokens})) : <m>"
    given.append(f"COLLECT : tj : k : <{left}, z>")


class Gates:
    """Makes the molecules of the tasks of a workflow that are gates."""

    def __init__(  # noqa: PLR0917 - a workflow, and what its translation knows of it
        self,
        workflow: Workflow,
        forms: Forms,
        symbol: Callable[[str], Molecule],
        argument: Callable[[Argument], Molecule],
        inner: Callable[[Task], list[Molecule]],
        libraries: dict[str, Library],
    ) -> None:
        assert forms.relations is not None
        self.workflow = workflow
        self.symbol = symbol
        self.argument = argument
        self.inner = inner
        self.libraries = libraries
        self.relations = relations = forms.relations
        self.paths = relations.paths
        self.skips = self.paths.skips
        self.names: dict[str, None] = dict.fromkeys(_RULES_BASE)
        self.needs: dict[Needs, None] = {}
        self.tasks = [task for task in workflow.tasks if task.name in forms.gates]
        self.swaps = [one for one in workflow.alternatives if one.name in forms.swapped]
        self.control = relations.control
        self.cancelled = relations.cancelled
        regions = [*relations.regions.values(), *(control.cancels for control in self.control.values())]
        self.shut = frozenset(name for region in regions if self.paths.has_loop(self._known(region)) for name in region)
        if self.cancelled:
            self._use("preparePassDated", "passInfoDated", "dateAgain")
        if any(control.ends for control in self.control.values()) or any(
            new.control is not None and new.control.ends
            for one in self.swaps
            for new in map(workflow.task, one.exits.values())
        ):
            self._use("passOut")

    def molecules(self, only: Collection[str] | None = None) -> list[Molecule]:
        """Return all molecules but the rules, or those of some tasks.

        `names` and `needs` say afterwards which rules are needed. Rules that a task makes necessary may be about
        molecules of another: those of a part are known when all molecules have been made once.
        """
        found: list[Molecule] = []
        for task in self.tasks:
            if only is None or task.name in only:
                found += self._task(task, self.control[task.name])
        for lock, takers in self.relations.takers().items():
            if only is None or takers[0] in only:
                found += [(Symbol("LOCK"), lock)] * self.workflow.locks.get(lock, 1)
        return found

    def elsewhere(self, only: Collection[str]) -> list[Molecule]:
        """Return what a part knows of things that tasks of other parts take: which task each is sent to."""
        found: list[Molecule] = []
        for lock, takers in self.relations.takers().items():
            if takers[0] not in only:
                found.append((Symbol("LOCK_AT"), lock, self.symbol(takers[0])))
        for name in only:
            if name in self.control and self.control[name].split == "deferred":
                taker = next(iter(self.paths.destinations[name]), name)
                if taker not in only:
                    found.append((Symbol("OFFER_AT"), self.symbol(name), self.symbol(taker)))
        return found

    def _use(self, *names: str) -> None:
        self.names |= dict.fromkeys(names)

    # --- Gates.

    def _task(self, task: Task, control: Control) -> list[Molecule]:
        name = self.symbol(task.name)
        needs = self._needs_of(task, control)
        self.needs[needs] = None
        state = [*self._join(task, control), *self._waits(task, control, needs)]
        state.append(Symbol(needs.rest))
        if needs.is_named:
            state.append((Symbol("BY"), needs.name))
        if needs.shuts:
            state.append(Symbol("READY"))
        if control.max_rounds is not None:
            state.append((Symbol("ROUNDS"), 0))
            self._use("countRound", "lastRound")
        if needs.is_waiting:
            self._use("armWant" if needs.wants else "armServ")
        if control.many is not None:
            state += self._many(task, control, control.many)
        if task.name in self.cancelled:
            undone = self.skips.of(task.name)
            is_single = len(self.paths.sources[task.name]) < 2 or control.join == "any"
            state += [
                (Symbol("UNDONE"), self._arcs(undone)),
                (Symbol("LOST"), self._arcs(undone if is_single else [])),
            ]
        gate: list[Molecule] = [
            *state,
            (Symbol("COPY"), Solution(self._instance(task, control))),
            (Symbol("FROM"), 0),
            (Symbol("RUNS"), 0),
        ]
        if task.name in self.cancelled:
            gate.append((Symbol("RESET"), Solution(map(copied, state))))
        found: list[Molecule] = [(Symbol("GATE"), name, Solution(gate))]
        if task.name in self.cancelled:
            found.append((Symbol("EPOCH"), name, 0))
        if task.name in self.paths.starts:
            found.append((Symbol("FLAG_INVOKE"), name, 0, Solution()))
        return found

    def _join(self, task: Task, control: Control) -> list[Molecule]:
        """Return what a gate has at first to collect its tokens in."""
        name = task.name
        sources = [self.symbol(one) for one in self.paths.sources[name] for _ in range(control.threads)]
        is_told = any((source, name) in self.skips.told for source in self.paths.sources[name])
        skips: list[Molecule] = [(Symbol("SKIPS"), self._arcs(self.skips.of(name)))] if is_told else []
        if is_told and any(one in self.paths.numbered for _, one in self.skips.of(name)):
            self._use(*_RULES_ROUND_HEAD)
            skips = [(Symbol("HEADS"), self._arcs(self.skips.of(name)))]
        if is_told:
            self._use("passSkip", "passSkipped", *(["passSkipDated", "prepareSkipDated"] if self.cancelled else []))
        if control.join in self.libraries:
            return self.libraries[control.join].gate(sources, control.need)
        if control.join == "active":
            self._use(*_RULES_ACTIVE)
            return self._groups(name)
        if name in self.paths.numbered:
            return self._round(name, control, sources)
        if control.join == "first":
            self._use(*(_RULES_FIRST_CANCEL if control.cancels_rest else _RULES_FIRST))
            if is_told and not any((source, name) in self.skips.merged for source in self.paths.sources[name]):
                self._use(*_RULES_FIRST_NONE)
                skips = [(Symbol("NONE"), self._arcs(self.skips.of(name)))]
            elif is_told:
                self._use(*_RULES_FIRST_SKIP)
            return [*self._first(name, control, sources), *skips]
        if control.join == "any" or len(sources) <= 1:
            back = self.skips.back(name)
            answers = len(sources) - len(back) * control.threads
            if is_told and answers:
                self._use(*_RULES_MERGE_SKIP)
                return [(Symbol("MERGES"), answers, 0, 0, List(map(self.symbol, back))), *skips]
            self._use("sm_setFlag")
            return [Symbol("MERGE")]
        self._use(*_RULES_SYNC)
        if is_told:
            self._use(*_RULES_SYNC_SKIP)
        return [
            (Symbol("SYNC_SRC"), Solution(sources)),
            (Symbol("SYNC_INBOX"), Solution()),
            (Symbol("DEAD"), Solution()),
            (Symbol("SOURCES"), Solution(sources)),
            *skips,
        ]

    def _round(self, name: str, control: Control, sources: list[Molecule]) -> list[Molecule]:
        """Return what a gate of a branch, or behind branches, has at first where rounds have numbers."""
        self._use(*_RULES_ROUND)
        arcs = self._arcs(self.skips.of(name))
        if control.join != "first":
            self._use("sm_setFlag")
            return [Symbol("MERGE"), (Symbol("RELAYS"), arcs)]
        is_merged = any((source, name) in self.skips.merged for source in self.paths.sources[name])
        self._use("round_dead" if is_merged else "round_none")
        return [
            (Symbol("ROUND"), 0),
            (Symbol("NEED"), control.need),
            (Symbol("ROUND_SRC"), Solution(sources)),
            (Symbol("DISCR_INBOX"), Solution()),
            (Symbol("SOURCES"), Solution(sources)),
            (Symbol("NEEDS"), control.need),
            Symbol("IGNORES"),
            (Symbol("SKIPS" if is_merged else "NONE"), arcs),
        ]

    def _first(self, name: str, control: Control, sources: list[Molecule]) -> list[Molecule]:
        found: list[Molecule] = [
            (Symbol("NEED"), control.need),
            (Symbol("DISCR_SRC"), Solution(sources)),
            (Symbol("DISCR_INBOX"), Solution()),
            (Symbol("SOURCES"), Solution(sources)),
            (Symbol("NEEDS"), control.need),
        ]
        if not control.cancels_rest:
            return [*found, Symbol("IGNORES")]
        self._use(*_RULES_VOID)
        found.append((Symbol("CANCELS"), self._steps(self.relations.regions[name], _RULES_SHUT)))
        left = self.paths.open_sources(name, self.relations.regions[name])
        if not left:
            return [*found, Symbol("CLOSED")]
        self._use(*_RULES_FIRST_OPEN)
        return [*found, (Symbol("OPEN"), List(map(self.symbol, left)))]

    def _groups(self, name: str) -> list[Molecule]:
        """Return a synchronizing merge's sources: those that lead to it, and those that only come back to it."""
        found: list[Molecule] = []
        back = [source for source in self.paths.sources[name] if self.skips.loops.is_back(source, name)]
        for number, is_back in ((1, False), (2, True)):
            names = back if is_back else [one for one in self.paths.sources[name] if one not in back]
            if names:
                sources = [self.symbol(one) for one in names]
                found += [
                    (Symbol("SYNCMG_SRC"), number, Solution(sources)),
                    (Symbol("SYNCMG_INBOX"), number, Solution()),
                    (Symbol("SOURCES"), number, Solution(sources)),
                    (Symbol("SKIPS"), number, self._arcs([] if found else self.skips.of(name))),
                ]
        return found

    def _needs_of(self, task: Task, control: Control) -> Needs:
        many = control.many
        return Needs(
            signal=control.signal is not None,
            offer=task.name in self.relations.offered,
            locks=len(control.takes),
            during=control.during is not None,
            shuts=task.name in self.shut,
            is_many=many is not None,
            grows=many is not None and many.more is not None,
            apart=many is not None and many.apart,
            every=starts_for_each_signal(control, self.paths.sources[task.name]),
        )

    def _waits(self, task: Task, control: Control, needs: Needs) -> list[Molecule]:
        found: list[Molecule] = []
        if needs.every:
            found.append(Symbol("EVERY"))
        if control.timeout is not None:
            self._use("elapse")
            said = f"the signal `{control.signal}` did not come within {control.timeout:g} s"
            found.append((Symbol("LIMITED"), int(needs.every), said))
        if needs.signal:
            found.append(Symbol("SIGNALLED"))
            if control.is_transient:
                found.append(Symbol("TRANSIENT"))
                self._use("loseSignal")
        if needs.offer:
            giver = self.relations.offered[task.name]
            rivals = [one for one in self.paths.destinations[giver] if one != task.name]
            arcs = [arc for rival in rivals if self.skips.is_told(giver, rival) for arc in self.skips.of(rival)]
            found.append((Symbol("OFFERED"), self.symbol(giver), Solution(map(self.symbol, rivals)), self._arcs(arcs)))
            self._use("loseOffer", "loseFlag", "loseArmed", "lostOffer", "passSkip", "passSkipped")
        if needs.locks:
            found.append((Symbol("TAKES"), *control.takes))
        if control.during is not None:
            milestone = _milestone(control.during, task.name)
            found.append((Symbol("DURING"), milestone, self.symbol(control.during[1])))
        if needs.is_waiting and not needs.wants:
            found.append(Symbol("ALONE"))
        elif needs.wants:
            offered = self.symbol(self.relations.offered[task.name]) if needs.offer else None
            milestone = "" if control.during is None else _milestone(control.during, task.name)
            found.append((Symbol("WANTS"), control.takes[0] if control.takes else offered or milestone))
        return found

    # --- Instances.

    def _instance(self, task: Task, control: Control) -> list[Molecule]:
        """Return the molecules of an instance that has not been called yet."""
        name = self.symbol(task.name)
        if control.many is None:
            arguments = List(self._argument(task, slot) for slot in task.slots)
            return [
                (Symbol("SRV"), task.service), (Symbol("ARG"), name, arguments), Symbol("OPEN"),
                *self.inner(task), *self._adapting(task), *self._onward(task, control),
            ]  # fmt: skip
        called: list[Molecule] = [(Symbol("SRV"), task.service), *self.inner(task)]
        if control.many.apart:
            return [*called, *self._onward(task, control)]
        return [*called, Symbol("COLLECTED")]

    def _adapting(self, task: Task) -> list[Molecule]:
        found = _stand_ins(self.workflow, self.swaps, task.name, self.symbol, lambda slot: self._argument(task, slot))
        if any(len(one) > _SIMPLE for one in found):
            self._use(*_RULES_CHOICE)
        return found

    def _argument(self, task: Task, slot: Argument) -> Molecule:
        if isinstance(slot, Arrived):
            sources = List(map(self.symbol, self.paths.sources[task.name]))
            return (Symbol("ARRIVED"), sources, *([Symbol("ALL")] if slot.which == "all" else []))
        return (Symbol("SIGNALLED"), 0) if isinstance(slot, Signalled) else self.argument(slot)

    def _onward(self, task: Task, control: Control) -> list[Molecule]:
        """Return what an instance does when it has its result."""
        name = task.name
        then: list[Molecule] = []
        if control.split == "deferred":
            then.append((Symbol("OFFER"), self.symbol(name)))
        if control.ends:
            then.append((Symbol("END"), self.symbol(name), Symbol(control.ends.upper())))
        region = [one for one in control.cancels if one != name and one in self.control]
        cancels = self._steps(region, _RULES_SHUT_DATED if name in self.cancelled else _RULES_SHUT)
        completes = [self.symbol(one) for one in control.completes if one in self.control]
        sends = [self.symbol(one) for signal in control.sends for one in self.relations.listeners.get(signal, ())]
        held: list[Molecule] = [(Symbol("LOCK"), lock) for lock in control.gives]
        reaches = [(self.symbol(d[1]), _milestone(d, one)) for d, one in self.relations.milestones if d[0] == name]
        if reaches:
            self._use("prepareReach", "reachOver")
        found: list[Molecule] = [
            (Symbol("SENDS"), Solution(sends)),
            (Symbol("REACHES"), Solution(reaches)),
            (Symbol("HELD"), Solution(held)),
            (Symbol("LOSES"), Solution((Symbol("LOCK"), lock) for lock in {*control.takes, *control.gives})),
            (Symbol("UNDONE"), self._arcs(self.skips.of(name) if name in self.cancelled else [])),
            Symbol("DATED" if name in self.cancelled else "SURE"),
        ]
        if control.many is None or not control.many.apart:
            found.append(Symbol("WHOLE"))
        if sends:
            self._use("prepareSignal")
        later = [one for one in self.paths.destinations[name] for _ in range(control.copies)]
        is_choice = control.split in ("one", "some") or control.again is not None
        if not (then or cancels or completes or is_choice):
            onward = (Symbol("DST"), Solution(self._to(one, name) for one in later))
            return [*found, onward, (Symbol("OUTBOX"), Solution()), (Symbol("SKIPS"), Solution())]
        self._use(*_RULES_CHOICE)
        if cancels:
            self._use("prepareCancel", "hearCancel", "lastCancel", *_RULES_VOID)
            self._use(*(_RULES_ASK_DATED if name in self.cancelled else _RULES_ASK))
        if completes:
            self._use("mi_complete", "mi_complete_cancel", "mi_complete_none", "mi_some_cancel")
        return [
            *found,
            (Symbol("CHOICE"), self.symbol(name), Symbol(control.split.upper()), *self._ways(name, control)),
            (Symbol("CANCELS"), self._counted(control, cancels)),
            (Symbol("COMPLETES"), Solution(completes)),
            (Symbol("THEN"), Solution(then)),
        ]

    @staticmethod
    def _counted(control: Control, cancels: List) -> Molecule:
        """Return what is cancelled once the round has been counted, where rounds are."""
        return cancels if control.max_rounds is None else (Symbol("ROUNDS"), control.max_rounds, cancels)

    def _ways(self, name: str, control: Control) -> tuple[List, List]:
        """Return the ways onwards, and whom to tell when the loop that the task is in is left.

        A way is `BACK or ON : destination : condition : level : TOLD or UNTOLD : tokens it gets : skips it gets`; for
        levels, and who is told that a way is not taken, see `paths`.
        """
        routes = [*control.routes]
        named = {route.task for route in routes}
        if control.again is not None:
            named.add(control.again.task)
        routes += [Route(one) for one in self.paths.destinations[name] if one not in named]
        ways: list[Molecule] = []
        if control.again is not None:
            ways.append(self._way(Symbol("BACK"), name, control.again, 1))
        ways += [self._way(Symbol("ON"), name, route, control.copies) for route in routes]
        exits = [(level, *molecule) for level, arc in self.skips.exits(name) for molecule in self._arcs([arc])]
        return List(ways), List(exits)

    def _way(self, kind: Symbol, name: str, route: Route, copies: int) -> Molecule:
        level = self.skips.loops.level(name, route.task)
        told = Symbol("TOLD" if self.skips.is_told(name, route.task) else "UNTOLD")
        text = test_text(route.test, route.task)
        return kind, self._to(route.task, name), text, level, told, copies, self.control[route.task].threads

    def _known(self, tasks: Iterable[str]) -> list[str]:
        return [task for task in tasks if task in self.control]

    def _steps(self, region: Iterable[str], shutting: tuple[str, ...]) -> List:
        """Return the steps by which a region is cancelled."""
        names = self.paths.upstream_first(region)
        words: tuple[str, ...] = ("DROP",)
        if self.paths.has_loop(names):
            words = ("SHUT", "STOP", "DROP")
            self._use(*shutting)
        return List((Symbol(word), self.symbol(name)) for word in words for name in names)

    def _arcs(self, arcs: Iterable[Arc]) -> Solution:
        return Solution(
            (*self._to(to, one), self.symbol(one)) for one, to in arcs for _ in range(self.control[to].threads)
        )

    def _to(self, task: str, source: str) -> tuple[Molecule, Molecule]:
        """Return a destination: what is sent to a task that someone may cancel is dated; what has a round, numbered."""
        if task in self.paths.numbered:
            return Symbol("HEAD" if source == self.paths.numbered[task] else "NEXT"), self.symbol(task)
        return Symbol("DATED" if task in self.cancelled else "TO"), self.symbol(task)

    # --- Many instances.

    def _many(self, task: Task, control: Control, many: Many) -> list[Molecule]:
        slots = [self._argument(task, slot) for slot in task.slots]
        if many.count is not None:
            slots.append(self._argument(task, many.count))
        self._use(*_RULES_MANY)
        over = -1 if many.over is None else many.over
        found: list[Molecule] = [(Symbol("MANY"), over, List(slots))]
        if many.apart:
            return found
        self._use(*_RULES_COLLECT, "mi_some_cancel" if many.cancels else "mi_some", "mi_rest", "mi_rest_end")
        parts: list[Molecule] = [
            (Symbol("NEED"), -1 if many.need is None else many.need),
            Symbol("CANCELS" if many.cancels else "IGNORES"),
            (Symbol("POST"), Solution(self._onward(task, control))),
        ]
        if many.enough is not None:
            self._use("mi_enough")
            parts.append((Symbol("ENOUGH"), test_text(many.enough, "enough")))
        if many.more is None:
            self._use("mi_collect")
            parts.append(Symbol("FIXED"))
        else:
            self._use("mi_more", "mi_no_more")
            found.append((Symbol("MORE"), test_text(many.more, "more")))
        return [*found, (Symbol("COLLECTS"), Solution(parts)), (Symbol("CASES"), 0)]


# --- What takes the place of a task: another service, in its instance, with its tokens.

_KINDS = {"failure": ("FAILED", "TIMEOUT", "LOST", "UNROUTED"), "timeout": ("TIMEOUT",), "condition": ("CONDITION",)}
"""The kinds of faults that an alternative is for."""
_SIMPLE = 7
"""How many parts a stand-in has that does what the task it stands in for would have done."""


def _stand_ins(
    workflow: Workflow,
    alternatives: Iterable[Alternative],
    task: str,
    symbol: Callable[[str], Molecule],
    argument: Callable[[Argument], Molecule],
) -> list[Molecule]:
    """Return what takes another service where one fails: for each alternative of a task, and those after these."""
    found: list[Molecule] = []
    todo = [task]
    for name in todo:
        judges: list[Molecule] = []
        for one in alternatives:
            if name not in one.exits:
                continue
            other = workflow.task(one.exits[name])
            todo.append(other.name)
            kinds = List(dict.fromkeys(Symbol(kind) for on in one.on for kind in _KINDS[on]))
            place = (symbol(name), one.name, kinds, symbol(other.name), other.service)
            found.append((Symbol("OTHER"), *place, List(map(argument, other.slots)), *_ending(other, symbol)))
            if "condition" in one.on:
                judges.append((one.name, one.when or ""))
        if judges:
            found.append((Symbol("JUDGES"), symbol(name), List(judges)))
    return found


def _ending(task: Task, symbol: Callable[[str], Molecule]) -> list[Molecule]:
    """Return what a stand-in that ends the case does in place of passing on."""
    if task.control is None or not task.control.ends:
        return []
    end = (Symbol("END"), symbol(task.name), Symbol(task.control.ends.upper()))
    ways = (Symbol("CHOICE"), symbol(task.name), Symbol("ALL"), List(), List())
    empty = [(Symbol("CANCELS"), List()), (Symbol("COMPLETES"), Solution())]
    return [Solution([ways, *empty, (Symbol("THEN"), Solution([end]))])]


def _milestone(during: tuple[str, str], task: str) -> str:
    return f"{task} from {during[0]} to {during[1]}"
