"""The rules by which a gate starts an instance, composed of what the task waits for.

A task may wait for a signal, for its part of an offer, for locks and for milestones, and must get all of it at once: a
lock that is held while a signal is awaited would keep others out. So there is one rule for each combination that a
workflow uses. Its text is put together here from one piece for each thing that is waited for.
"""

from __future__ import annotations

from typing import NamedTuple


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


_WORDS = ("signal", "offer", "locked", "during", "shut", "many", "growing", "apart")


def start_rule(needs: Needs) -> str:
    """Give the text of the rule that starts a task."""
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
    product = f"GATE : tj : <{needs.rest}, {kept}, RUNS : (k + 1), w>"
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


__all__ = ["Needs", "start_rule"]
