"""What is left of a run: the molecules of all nodes, none of them twice, also those that are between two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.nodes import unpacked
from solvent.runs.nodes.control import Collected, Gift, Loan

if TYPE_CHECKING:
    from collections.abc import Mapping


def collected_from(node: int, capture: Any) -> Collected:
    """Give the molecules that a node's machine has, and what is on its way to others."""
    gifts = [
        Gift(node, number, to, tuple(unpacked(text).value for _, text in items))
        for number, (to, items) in getattr(capture, "gifts", {}).items()
    ]
    texts: list[str] = []
    loans: list[Loan] = []
    for held in capture.molecules.values():
        text = unpacked(held if isinstance(held, str) else held.value).value
        hold = None if isinstance(held, str) else held.hold
        if hold is not None and hold.is_lent:
            loans.append(Loan(hold.requester, hold.attempt, text))
        else:
            texts.append(text)
    got, reacted = tuple(getattr(capture, "got", ())), tuple(getattr(capture, "reacted", ()))
    return Collected(tuple(texts), tuple(gifts), got, tuple(loans), reacted)


def texts_of(collected: Mapping[int, Collected]) -> list[str]:
    """Give every molecule once: those that nodes have, and those that are on their way or lent."""
    return [
        text
        for one in collected.values()
        for text in (*one.texts, *_on_their_way(one, collected), *_not_consumed(one, collected))
    ]


def _on_their_way(one: Collected, collected: Mapping[int, Collected]) -> list[str]:
    """Give the molecules that a node has given and their receiver has not got."""
    return [
        text
        for gift in one.gifts
        if gift.to not in collected or (gift.giver, gift.number) not in collected[gift.to].got
        for text in gift.texts
    ]


def _not_consumed(one: Collected, collected: Mapping[int, Collected]) -> list[str]:
    """Give the molecules that a node has lent and their borrower has not consumed."""
    return [
        loan.text for loan in one.loans if loan.to not in collected or loan.attempt not in collected[loan.to].reacted
    ]


__all__ = ["collected_from", "texts_of"]
