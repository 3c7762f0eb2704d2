"""The words between a capture machine and the chemical program it serves.

The machine asks the program two things: which molecules it could react on (`Discover`, answered by `Combination`)
and what the molecules it has captured become (`React`, answered by `Products`). The program tells the machine of
reactions among a node's own molecules (`Rewrite`) and that searching again is worth while (`Wake`). Reports tell the
program, and whoever watches, what became of molecules.

Values are opaque to the protocol: numbers in simulations, the text of a molecule over real nodes.
"""

from __future__ import annotations

from typing import Any, NewType, TypeAlias

from solvent.protocols.machine import NodeId, Value

MoleculeId = NewType("MoleculeId", int)
"""A molecule: unique in the whole system and never given twice."""
RuleId = NewType("RuleId", int)
"""A rule: its place in the program, from zero."""
AttemptId = NewType("AttemptId", int)
"""An attempt of one requester; later ones are greater, across crashes too."""

Place: TypeAlias = tuple[MoleculeId, NodeId]
"""A molecule and the node that holds it."""


# --------------------------------------------------------------------------------------- questions and answers


class Discover(Value, frozen=True, gc=False):
    """Which molecules could react by this rule? Answered by `Combination`."""

    rule: RuleId


class Combination(Value, frozen=True, gc=False):
    """Molecules that could react together; none when there are none."""

    rule: RuleId
    places: tuple[Place, ...]
    #: Their values, where they are known: a holder may then give an equal molecule instead of the one named.
    values: tuple[Any, ...] = ()


class React(Value, frozen=True, gc=False):
    """These molecules have been captured: what do they become? Answered by `Products`."""

    rule: RuleId
    molecules: tuple[tuple[MoleculeId, Any], ...]


class Products(Value, frozen=True, gc=False):
    """The values of the molecules a reaction produced."""

    values: tuple[Any, ...]


# ---------------------------------------------------------------------------------------------------- requests


class Rewrite(Value, frozen=True, gc=False):
    """The program reacted by itself on molecules of this node: take these away, put these in.

    A request, or an answer to `Discover`, which is then asked again. What is removed must be this node's when the
    machine hears of it; only in an answer a program can be sure of that.
    """

    removed: tuple[MoleculeId, ...]
    added: tuple[Any, ...]


class Wake(Value, frozen=True, gc=False):
    """Something changed: look for reactions again."""


# ----------------------------------------------------------------------------------------------------- reports


class Reacted(Value, frozen=True, gc=False):
    """An attempt succeeded: these molecules are consumed, those exist now, at this node."""

    rule: RuleId
    attempt: AttemptId
    consumed: tuple[MoleculeId, ...]
    produced: tuple[tuple[MoleculeId, Any], ...]


class Abandoned(Value, frozen=True, gc=False):
    """An attempt failed; whatever it had taken is given back."""

    rule: RuleId
    attempt: AttemptId


class Gone(Value, frozen=True, gc=False):
    """A molecule is no longer at this node: consumed, or moved to another."""

    molecule: MoleculeId


class Arrived(Value, frozen=True, gc=False):
    """A molecule is at this node now, and free."""

    molecule: MoleculeId
    value: Any


class Switched(Value, frozen=True, gc=False):
    """The node goes about it in another way from now on: optimistic, pessimistic, dormant, idle."""

    mode: str
    rule: RuleId
